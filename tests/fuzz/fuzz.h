/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fuzzing harnesses share. A harness is one LLVMFuzzerTestOneInput(): libFuzzer's own
 * entry, which AFL++ takes as well, and which tests/fuzz/main.c calls for files. It ends the
 * process if something that must hold does not; everything else is left to the sanitizers.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                               \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                            \
		}                                                                           \
	} while (0)

/* A file in memory that holds DATA. Returns its name, which is good until the next call. */
static inline __attribute__((unused)) const char *fuzz_file(const void *data, size_t size)
{
	static char name[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		FUZZ_CHECK(fd >= 0);
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	}
	FUZZ_CHECK(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	return name;
}

/* Takes numbers from the front of the input; zeros once it is used up. */
struct fuzz_input {
	const uint8_t *at, *end;
};

static inline __attribute__((unused)) uint64_t fuzz_take(struct fuzz_input *in, size_t bytes)
{
	uint64_t v = 0;

	while (bytes-- && in->at < in->end)
		v = v << 8 | *in->at++;
	return v;
}

/* An error's text has to be there and to end, whatever the input was. */
static inline __attribute__((unused)) void fuzz_check_text(const char *text, size_t size)
{
	size_t n = strnlen(text, size);

	FUZZ_CHECK(n > 0 && n < size);
}

#endif
