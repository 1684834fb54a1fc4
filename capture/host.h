/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's facts, as schema/hostfacts.h lists them. Only reads.
 */
#ifndef CAPTURE_HOST_H
#define CAPTURE_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "capture/kernel.h"
#include "capture/plan.h"

struct fact {
	char *key, *value;
};

struct fact_list {
	struct fact *facts;
	size_t count, capacity;
};

/*
 * Appends one; blanks of KEY, and bytes that would break a line, are replaced. Returns 0 or
 * -ENOMEM.
 */
int fact_add(struct fact_list *list, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Appends what the host is. Returns 0 or -ENOMEM. */
int host_facts(struct fact_list *list, const struct kernel *kernel);

/* Appends what PLAN has and lacks. Returns 0 or -ENOMEM. */
int plan_facts(struct fact_list *list, const struct plan *plan, const struct plan_wish *wish);

/* Writes them to an open trace_marker. Returns 0 or a negative errno. */
int facts_write(const struct fact_list *list, int marker_fd);

void facts_free(struct fact_list *list);

#endif
