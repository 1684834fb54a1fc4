// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each level of each CPU is an array of sets; a set is a row of entries in order of use, the most
 * recent first, so that LRU needs no clocks: a hit moves to the front, a miss pushes the last one
 * out. All levels are filled together (inclusive). A CPU without tags forgets by an ordinal: what
 * was filled before the last switch is not there.
 */
#include "replay/tlb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t page;
	uint64_t filled; /* 0: empty */
	uint64_t used;
	uint32_t mm;
};

struct core {
	struct entry *entries; /* all levels, one after the other */
	uint64_t flushed_seq;
};

struct tlb {
	struct tlb_geometry geometry;
	size_t per_core; /* entries */
	unsigned int nr_cpus;
	struct core cores[];
};

int tlb_parse(const char *text, struct tlb_geometry *geometry, char *err, size_t err_size)
{
	const char *at = text;

	*geometry = (struct tlb_geometry){.tagged = true};
	for (;;) {
		unsigned long entries, ways;
		char *end;

		if (geometry->nr_levels == TLB_MAX_LEVELS) {
			snprintf(err, err_size, "'%s': more than %d levels", text, TLB_MAX_LEVELS);
			return -EINVAL;
		}
		if (*at < '0' || *at > '9')
			goto form;
		entries = strtoul(at, &end, 10);
		if (*end != '/' || end[1] < '0' || end[1] > '9')
			goto form;
		ways = strtoul(end + 1, &end, 10);
		at = end;
		if (!entries || entries > 1 << 20 || !ways || ways > 4096 || entries % ways ||
		    (entries / ways & (entries / ways - 1))) {
			snprintf(
				err, err_size,
				"'%s': %lu entries of %lu ways: the number of sets must be a power of two, "
				"at most 2^20 entries and 4096 ways",
				text, entries, ways);
			return -EINVAL;
		}
		geometry->level[geometry->nr_levels].sets = (uint32_t)(entries / ways);
		geometry->level[geometry->nr_levels++].ways = (uint32_t)ways;
		if (entries > geometry->entries)
			geometry->entries = (uint32_t)entries;
		if (*at != '+')
			break;
		at++;
	}
	if (!strcmp(at, ",untagged")) {
		geometry->tagged = false;
		return 0;
	}
	if (!*at)
		return 0;
form:
	snprintf(err, err_size, "'%s' is not of the form ENTRIES/WAYS[+ENTRIES/WAYS...][,untagged]",
		 text);
	return -EINVAL;
}

struct tlb *tlb_new(const struct tlb_geometry *geometry, unsigned int nr_cpus)
{
	struct tlb *t = calloc(1, sizeof(*t) + nr_cpus * sizeof(t->cores[0]));

	if (!t)
		return NULL;
	t->geometry = *geometry;
	t->nr_cpus = nr_cpus;
	for (unsigned int i = 0; i < geometry->nr_levels; i++)
		t->per_core += (size_t)geometry->level[i].sets * geometry->level[i].ways;
	return t;
}

void tlb_free(struct tlb *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; i < t->nr_cpus; i++)
		free(t->cores[i].entries);
	free(t);
}

/* The set that (level, page) falls into. */
static struct entry *set_of(const struct tlb *t, const struct core *core, unsigned int level,
			    uint64_t page)
{
	struct entry *base = core->entries;

	for (unsigned int i = 0; i < level; i++)
		base += (size_t)t->geometry.level[i].sets * t->geometry.level[i].ways;
	return base + (page & (t->geometry.level[level].sets - 1)) * t->geometry.level[level].ways;
}

static bool valid(const struct core *core, const struct entry *e)
{
	return e->filled > core->flushed_seq;
}

static void touch(struct tlb *t, unsigned int cpu, uint32_t mm, uint64_t page, uint64_t seq,
		  bool anew)
{
	struct core *core = &t->cores[cpu];

	if (!core->entries) {
		core->entries = calloc(t->per_core, sizeof(*core->entries));
		if (!core->entries)
			return; /* no evidence then: the share decides */
	}
	for (unsigned int level = 0; level < t->geometry.nr_levels; level++) {
		struct entry *set = set_of(t, core, level, page);
		uint32_t ways = t->geometry.level[level].ways, i;
		struct entry now = {.page = page, .mm = mm, .filled = seq, .used = seq};

		/* Where it is, else an empty place, else the one used longest ago. */
		for (i = 0; i < ways; i++)
			if (set[i].mm == mm && set[i].page == page && valid(core, &set[i]))
				break;
		if (i < ways && !anew)
			now.filled = set[i].filled;
		if (i == ways)
			for (i = 0; i < ways - 1; i++)
				if (!valid(core, &set[i]))
					break;
		memmove(set + 1, set, i * sizeof(*set));
		set[0] = now;
	}
}

void tlb_fill(struct tlb *t, unsigned int cpu, uint32_t mm, uint64_t page, uint64_t seq)
{
	touch(t, cpu, mm, page, seq, false);
}

void tlb_refill(struct tlb *t, unsigned int cpu, uint32_t mm, uint64_t page, uint64_t seq)
{
	touch(t, cpu, mm, page, seq, true);
}

bool tlb_look(const struct tlb *t, unsigned int cpu, uint32_t mm, uint64_t page, uint64_t *filled,
	      uint64_t *used)
{
	const struct core *core = &t->cores[cpu];

	if (!core->entries)
		return false;
	for (unsigned int level = t->geometry.nr_levels; level-- > 0;) {
		const struct entry *set = set_of(t, core, level, page);

		for (uint32_t i = 0; i < t->geometry.level[level].ways; i++) {
			if (set[i].mm != mm || set[i].page != page || !valid(core, &set[i]))
				continue;
			*filled = set[i].filled;
			*used = set[i].used;
			return true;
		}
	}
	return false;
}

void tlb_switch(struct tlb *t, unsigned int cpu, uint64_t seq)
{
	if (!t->geometry.tagged)
		t->cores[cpu].flushed_seq = seq;
}
