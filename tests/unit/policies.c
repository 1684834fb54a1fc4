// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of arm64-broadcast, arm64-local, x86 and none, cell by cell, against the table of
 * decision points in "what a replay means", written out again here by hand. A cell that is not
 * listed flushes nothing.
 */
#include "replay/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"
#include "tests/unit/check.h"

/*
 * A cell: up to two actions, "SCOPE REACH WORDS" each, with ";" between. SCOPE: B broadcast, L
 * local, I the CPUs in the mask. Words: leaf (walk caches kept), walk (dropped), quiet (secondary
 * TLBs are not told), lazy (lazy CPUs too), batched, late (batched or deferred). Of leaf and walk
 * the table may say neither. A reach "page/block" stands where it has both. "" is none, "=" the
 * column to the left, "*" what the table does not tell.
 */
static const struct {
	enum point point;
	enum level level;
	const char *broadcast, *local, *x86;
} rows[] = {
	{POINT_WP_REUSE, LEVEL_PTE, "B page leaf", "L page leaf", ""},
	{POINT_WP_REUSE, LEVEL_CONTPTE, "B block leaf; B page", "B block; L page", ""},
	{POINT_WP_REUSE, LEVEL_PMD, "B block", "L block", ""},
	{POINT_WP_REUSE, LEVEL_HUGETLB, "B page/block", "L page", ""},
	{POINT_DIRTY_UP, LEVEL_PTE, "B page leaf", "L page leaf", ""},
	{POINT_DIRTY_UP, LEVEL_CONTPTE, "B block leaf", "L block leaf", ""},
	{POINT_DIRTY_UP, LEVEL_PMD, "B block", "L block", ""},
	{POINT_DIRTY_UP, LEVEL_HUGETLB, "B page/block", "L page", ""},
	{POINT_HUGETLB_REUSE, LEVEL_HUGETLB, "B page/block", "L page", ""},
	/* young: nothing, anywhere */
	{POINT_SPURIOUS, LEVEL_PTE, "", "L page leaf quiet", ""},
	{POINT_SPURIOUS, LEVEL_CONTPTE, "", "L page leaf quiet", ""},
	{POINT_SPURIOUS, LEVEL_PMD, "", "L page leaf quiet", ""},
	{POINT_COW, LEVEL_PTE, "B page leaf", "=", "I page"},
	{POINT_COW, LEVEL_CONTPTE, "B block; B page leaf", "=", "I page"},
	{POINT_COW, LEVEL_PMD, "B block walk; B page leaf", "=", "I mm lazy; I page"},
	{POINT_COW, LEVEL_HUGETLB, "B page/block", "=", "I page/block"},
	{POINT_UNMAP, LEVEL_PTE, "B hull leaf", "=", "I hull"},
	{POINT_UNMAP, LEVEL_CONTPTE, "B hull leaf", "=", "I hull"},
	{POINT_UNMAP, LEVEL_PMD, "B hull leaf", "=", "I hull"},
	{POINT_UNMAP, LEVEL_HUGETLB, "B hull leaf", "=", "I hull"},
	{POINT_TABLES_FREED, LEVEL_PTE, "B hull walk", "=", "I hull lazy"},
	{POINT_TABLES_FREED, LEVEL_PMD, "B hull walk", "=", "I hull lazy"},
	{POINT_NESTED, LEVEL_MM, "B mm", "=", "I mm lazy"},
	{POINT_BATCH_PENDING, LEVEL_MM, "B mm", "=", "I mm lazy"},
	{POINT_PROTECT, LEVEL_PTE, "B hull leaf", "=", "I hull"},
	{POINT_PROTECT, LEVEL_CONTPTE, "B hull leaf", "=", "I hull"},
	{POINT_PROTECT, LEVEL_PMD, "B hull leaf; B hull leaf", "=", "I hull"},
	{POINT_PROTECT, LEVEL_HUGETLB, "B hull leaf", "=", "I hull"},
	{POINT_NUMA, LEVEL_PTE, "B hull leaf", "=", "I hull"},
	{POINT_NUMA, LEVEL_CONTPTE, "B hull leaf", "=", "I hull"},
	{POINT_NUMA, LEVEL_PMD, "B hull leaf; B hull leaf", "=", "I hull"},
	/* by mprotect; a NUMA fault flushes nothing and is another point */
	{POINT_PROT_NONE_RW, LEVEL_PTE, "B hull leaf", "=", ""},
	{POINT_PROT_NONE_RW, LEVEL_CONTPTE, "B hull leaf", "=", ""},
	{POINT_PROT_NONE_RW, LEVEL_PMD, "B hull leaf; B hull leaf", "=", ""},
	{POINT_PROT_NONE_RW, LEVEL_HUGETLB, "B hull leaf", "=", ""},
	{POINT_FORK, LEVEL_MM, "B mm", "=", "I mm lazy"},
	{POINT_MIGRATE, LEVEL_PTE, "B page batched", "=", "I mm late"},
	{POINT_MIGRATE, LEVEL_CONTPTE, "B block; B page batched", "=", "I mm late"},
	{POINT_MIGRATE, LEVEL_PMD, "B block", "=", "I mm lazy"},
	{POINT_MIGRATE, LEVEL_HUGETLB, "B block", "=", "I page/block"},
	{POINT_RECLAIM, LEVEL_PTE, "B page batched", "=", "I mm late"},
	{POINT_RECLAIM, LEVEL_CONTPTE, "B block; B page batched", "=", "I mm late"},
	{POINT_RECLAIM, LEVEL_PMD, "*", "=", "*"},
	{POINT_RECLAIM, LEVEL_HUGETLB, "*", "=", "*"},
	{POINT_MIGRATE, LEVEL_HUGETLB, "*", "=", "*"},
	{POINT_NUMA, LEVEL_HUGETLB, "*", "=", "*"},
	{POINT_PROT_NONE_RW, LEVEL_HUGETLB, "*", "=", "*"},
	{POINT_AGE, LEVEL_HUGETLB, "*", "=", "*"},
	{POINT_CLEAN, LEVEL_HUGETLB, "*", "=", "*"},
	{POINT_TABLES_FREED, LEVEL_CONTPTE, "*", "=", "*"},
	{POINT_TABLES_FREED, LEVEL_HUGETLB, "*", "=", "*"},
	{POINT_AGE, LEVEL_PTE, "B page batched", "=", ""},
	{POINT_AGE, LEVEL_CONTPTE, "B page/block batched", "=", ""},
	{POINT_AGE, LEVEL_PMD, "B block", "=", "I mm lazy"},
	{POINT_CLEAN, LEVEL_PTE, "B page", "=", "I page"},
	{POINT_CLEAN, LEVEL_CONTPTE, "B page/block", "=", "I page"},
	{POINT_CLEAN, LEVEL_PMD, "B block", "=", "I mm lazy"},
	{POINT_MREMAP, LEVEL_PTE, "B hull walk", "=", "I hull lazy"},
	{POINT_MREMAP, LEVEL_CONTPTE, "B hull walk", "=", "I hull lazy"},
	{POINT_MREMAP, LEVEL_PMD, "B hull walk", "=", "I hull lazy"},
	{POINT_MREMAP, LEVEL_HUGETLB, "B hull walk", "=", "I hull lazy"},
	{POINT_SPLIT, LEVEL_PMD, "B block walk", "=", "I mm lazy"},
	{POINT_COLLAPSE, LEVEL_PMD, "B block walk", "=", "I mm lazy"},
	{POINT_FOLD, LEVEL_CONTPTE, "B block leaf", "=", ""},
	{POINT_UNFOLD, LEVEL_CONTPTE, "B block leaf", "=", ""},
	{POINT_EXIT, LEVEL_MM, "B mm", "=", "I mm lazy"},
	{POINT_KERNEL, LEVEL_ALL, "B hull", "=", "I hull lazy"},
};

static bool has_word(const char *text, size_t size, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= size; i++)
		if (!strncmp(text + i, word, n) && (!i || text[i - 1] == ' ') &&
		    (i + n == size || text[i + n] == ' '))
			return true;
	return false;
}

static bool action_matches(const struct policy_action *act, const char *text, size_t size)
{
	static const char *const reaches[] = {"page", "block", "hull", "mm", "all"};
	static const char letters[] = {[SCOPE_NONE] = '-', [SCOPE_LOCAL] = 'L', [SCOPE_MASK] = 'I',
				       [SCOPE_BROADCAST] = 'B'};
	bool late = has_word(text, size, "late");

	if (letters[act->scope] != text[0])
		return false;
	if (late ? act->wait == WAIT_SYNC
		 : act->wait != (has_word(text, size, "batched") ? WAIT_BATCHED : WAIT_SYNC))
		return false;
	if (!has_word(text, size, reaches[act->reach]) &&
	    !(has_word(text, size, "page/block") && act->reach <= REACH_BLOCK))
		return false;
	if (has_word(text, size, "leaf") && !(act->flags & ACT_KEEP_WALK))
		return false;
	if (has_word(text, size, "walk") && act->flags & ACT_KEEP_WALK)
		return false;
	if (!(act->flags & ACT_NOTIFY) != has_word(text, size, "quiet"))
		return false;
	return !(act->flags & ACT_LAZY) != has_word(text, size, "lazy");
}

static bool cell_matches(const struct policy_cell *cell, const char *text)
{
	for (unsigned int i = 0; i < POLICY_ACTIONS; i++) {
		size_t size = strcspn(text, ";");

		if (!size)
			return cell->act[i].scope == SCOPE_NONE;
		if (!action_matches(&cell->act[i], text, size))
			return false;
		text += size;
		text += strspn(text, "; ");
	}
	return !*text;
}

static void check_table(const char *name, unsigned int column)
{
	const struct policy *policy = policy_find(name);

	if (!policy) {
		printf("no policy %s\n", name);
		failures++;
		return;
	}
	for (unsigned int point = 0; point < NR_POINTS; point++)
		for (unsigned int level = 0; level < NR_LEVELS; level++) {
			const struct policy_cell *cell = &policy->table[point][level];
			const char *wanted = "";

			for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
				if (rows[i].point != point || rows[i].level != level)
					continue;
				wanted = column == 0	 ? rows[i].broadcast
					 : column == 1 ? rows[i].local
					 : column == 2 ? rows[i].x86
						       : "";
				if (!strcmp(wanted, "="))
					wanted = rows[i].broadcast;
			}
			if (!strcmp(wanted, "*") || cell_matches(cell, wanted))
				continue;
			printf("%s: %s %s is not \"%s\": scope %s reach %u wait %u flags %u, then scope %s "
			       "reach %u wait %u flags %u\n",
			       name, point_name(point), level_name(level), wanted,
			       scope_name(cell->act[0].scope), cell->act[0].reach,
			       cell->act[0].wait, cell->act[0].flags,
			       scope_name(cell->act[1].scope), cell->act[1].reach,
			       cell->act[1].wait, cell->act[1].flags);
			failures++;
		}
}

/* A level that x86 does not have: its pages are plain PTEs there. */
static void check_x86_levels(void)
{
	const struct policy *x86 = policy_find("x86");

	for (unsigned int point = 0; x86 && point < NR_POINTS; point++)
		if (point != POINT_FOLD && point != POINT_UNFOLD && point != POINT_TABLES_FREED &&
		    memcmp(&x86->table[point][LEVEL_CONTPTE], &x86->table[point][LEVEL_PTE],
			   sizeof(struct policy_cell))) {
			printf("x86: %s: contpte is not as pte\n", point_name(point));
			failures++;
		}
}

/* A fault that is repeated after a wait is not flushed for, and a spurious one otherwise is. */
static void check_tried(void)
{
	const struct policy *local = policy_find("arm64-local");
	struct policy_cell cell = local->table[POINT_SPURIOUS][LEVEL_PTE];
	struct tlb_event event = {.kind = EVENT_DECISION,
				  .point = POINT_SPURIOUS,
				  .level = LEVEL_PTE,
				  .pages = 1,
				  .mm = 1,
				  .flags = EVENT_WRITE,
				  .sure = {1, 1, 1}};
	void *params = calloc(1, local->params_size);

	param_defaults(local->params, params);
	local->decide(NULL, params, NULL, &event, &cell);
	CHECK(cell.act[0].scope == SCOPE_LOCAL);
	event.flags |= EVENT_TRIED;
	local->decide(NULL, params, NULL, &event, &cell);
	CHECK(cell.act[0].scope == SCOPE_NONE);
	free(params);
}

/* What holds of every policy there is. */
static void check_registry(void)
{
	for (size_t i = 0; policies[i]; i++) {
		const struct policy *p = policies[i];

		char err[256] = "";

		CHECK(!policy_check(p, err, sizeof(err)) && !*err);
		CHECK(p->api == POLICY_API);
		CHECK(p->name && *p->name && p->summary && *p->summary && p->source && *p->source &&
		      p->omits);
		CHECK(policy_find(p->name) == p);
		CHECK(!p->params == !p->params_size);
		CHECK(!p->name[strcspn(p->name, ":,= \n")]);
		for (const struct param *a = p->params; a && a->name; a++) {
			CHECK(a->min <= a->def && a->def <= a->max && a->help && *a->help &&
			      a->unit);
			CHECK(a->offset + 8 <= p->params_size);
			for (const struct param *b = common_params; b->name; b++)
				CHECK(strcmp(a->name, b->name));
		}
		for (unsigned int cell = 0; cell < NR_POINTS * NR_LEVELS; cell++) {
			const struct policy_action *act = (&p->table[0][0])[cell].act;

			/* The second action needs the first one, and none has no attributes. */
			CHECK(act[0].scope != SCOPE_NONE || act[1].scope == SCOPE_NONE);
			for (unsigned int k = 0; k < POLICY_ACTIONS; k++) {
				CHECK(act[k].scope < NR_SCOPES && act[k].reach <= REACH_ALL &&
				      act[k].wait <= WAIT_DEFERRED);
				CHECK(act[k].scope != SCOPE_NONE ||
				      (!act[k].reach && !act[k].wait && !act[k].flags));
			}
		}
	}
	CHECK(!policy_find("nonesuch"));
	CHECK(!policy_find(""));
	CHECK(!policy_find("x8"));
}

int main(void)
{
	check_registry();
	check_table("arm64-broadcast", 0);
	check_table("arm64-local", 1);
	check_table("x86", 2);
	check_table("none", 3);
	check_x86_levels();
	check_tried();
	return failures != 0;
}
