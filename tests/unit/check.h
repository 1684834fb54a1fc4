/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a unit test says when something is not as it should be. A test fails if FAILURES is not 0.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <stdio.h>

static int failures __attribute__((unused));

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition)) {                                                \
			printf("%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                                \
		}                                                                  \
	} while (0)

#endif
