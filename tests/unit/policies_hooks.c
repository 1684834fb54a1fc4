// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The further policies: their tables against the text of "what a replay means" (differences to
 * arm64-broadcast and x86), and their hooks, called as the engine calls them with a view that the
 * test makes up. Every expectation is worked out from the kernel source, series or paper that the
 * policy names.
 *
 * A cell is written as its actions with "; " between: B broadcast, L local, I interrupts, then the
 * reach, then words: leaf (walk caches kept), quiet (secondary TLBs not told), lazy, batched,
 * deferred, {CPUs} for a set of its own, xN for N times. "-" is nothing.
 */
#include "replay/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

/* ---- a view of eight CPUs and one mm ---- */

static struct {
	uint64_t loaded, lazy, visited, holders, holders_any, set, out;
} cpus;

static const uint64_t *answer(uint64_t value)
{
	cpus.out = value;
	return &cpus.out;
}

static const uint64_t *loaded(const struct policy_view *view, uint32_t mm)
{
	(void)view;
	return answer(mm == 1 ? cpus.loaded : 0);
}

static const uint64_t *lazy(const struct policy_view *view)
{
	(void)view;
	return answer(cpus.lazy);
}

static const uint64_t *visited(const struct policy_view *view, uint32_t mm)
{
	(void)view;
	return answer(mm == 1 ? cpus.visited : 0);
}

static const uint64_t *holders(const struct policy_view *view, uint32_t mm, uint64_t addr)
{
	(void)view;
	return answer(mm != 1 ? 0 : addr ? cpus.holders : cpus.holders_any);
}

static struct policy_view view = {.nr_cpus = 8,
				  .words = 1,
				  .page_shift = 12,
				  .loaded = loaded,
				  .lazy = lazy,
				  .visited = visited,
				  .holders = holders,
				  .set = &cpus.set};

#define CPU(n) (UINT64_C(1) << (n))

/* ---- the policy under test ---- */

static const struct policy *policy;
static void *params, *state;

static void end(void)
{
	if (policy && state && policy->forget)
		policy->forget(state, 0);
	free(params);
	free(state);
	params = state = NULL;
	policy = NULL;
}

static void begin(const char *name, const char *given)
{
	char err[256];

	end();
	memset(&cpus, 0, sizeof(cpus));
	view.page_shift = 12;
	policy = policy_find(name);
	if (!policy) {
		printf("no policy %s\n", name);
		exit(1);
	}
	params = calloc(1, policy->params_size + 1);
	state = calloc(1, policy->state_size + 1);
	param_defaults(policy->params, params);
	if (param_parse(policy->params, params, given, err, sizeof(err))) {
		printf("%s:%s: %s\n", name, given, err);
		exit(1);
	}
}

static const char *cell_text(const struct policy_cell *cell)
{
	static const char *const reaches[] = {"page", "block", "hull", "mm", "all"};
	static const char *const waits[] = {"", " batched", " deferred"};
	static char text[256];
	size_t n = 0;

	for (unsigned int i = 0; i < POLICY_ACTIONS && cell->act[i].scope != SCOPE_NONE; i++) {
		const struct policy_action *act = &cell->act[i];

		n += (size_t)sprintf(text + n, "%s%c %s%s%s%s%s", i ? "; " : "", "-LIB"[act->scope],
				     reaches[act->reach], act->flags & ACT_KEEP_WALK ? " leaf" : "",
				     act->flags & ACT_NOTIFY ? "" : " quiet",
				     act->flags & ACT_LAZY ? " lazy" : "", waits[act->wait]);
		if (act->flags & ACT_SET) {
			n += (size_t)sprintf(text + n, " {");
			for (unsigned int cpu = 0; cpu < 8; cpu++)
				if (cpus.set & CPU(cpu))
					n += (size_t)sprintf(text + n, "%u", cpu);
			n += (size_t)sprintf(text + n, "}");
		}
		if (act->times > 1)
			n += (size_t)sprintf(text + n, " x%u", act->times);
	}
	if (!n)
		sprintf(text, "-");
	return text;
}

static const char *decide_event(struct tlb_event *event)
{
	struct policy_cell cell = policy->table[event->point][event->level];

	if (policy->decide)
		policy->decide(&view, params, state, event, &cell);
	return cell_text(&cell);
}

/* A decision on CPU 0 about mm 1. */
static struct tlb_event event_of(enum point point, enum level level, uint64_t pages)
{
	return (struct tlb_event){.kind = EVENT_DECISION,
				  .point = (uint8_t)point,
				  .level = (uint8_t)level,
				  .addr = level == LEVEL_MM ? 0 : 0x40000000,
				  .pages = pages,
				  .mm = 1,
				  .tid = 7,
				  .users = 2,
				  .sure = {1, 1, 1}};
}

static const char *decide(enum point point, enum level level, uint64_t pages)
{
	struct tlb_event event = event_of(point, level, pages);

	return decide_event(&event);
}

static const char *switch_to(uint32_t mm, unsigned int cpu)
{
	struct tlb_event event = event_of(POINT_SWITCH, LEVEL_MM, 0);

	event.mm = mm;
	event.cpu = cpu;
	return decide_event(&event);
}

#define IS(got, wanted) is(__LINE__, got, wanted)
static void is(int line, const char *got, const char *wanted)
{
	if (!strcmp(got, wanted))
		return;
	printf("%s:%d: %s: '%s' instead of '%s'\n", __FILE__, line, policy ? policy->name : "", got,
	       wanted);
	failures++;
}

/* ---- tables ---- */

static void same_table(const char *name, const char *as, uint32_t without)
{
	const struct policy *a = policy_find(name), *b = policy_find(as);
	static const struct policy_cell nothing[NR_LEVELS];

	for (unsigned int point = 0; point < NR_POINTS; point++)
		if (memcmp(a->table[point], without & POINT_BIT(point) ? nothing : b->table[point],
			   sizeof(nothing))) {
			printf("%s: %s is not as under %s\n", name, point_name(point), as);
			failures++;
		}
}

static void check_same_tables(void)
{
	const uint32_t upgrades = POINT_BIT(POINT_WP_REUSE) | POINT_BIT(POINT_DIRTY_UP) |
				  POINT_BIT(POINT_HUGETLB_REUSE);

	same_table("arm64-active-cpu", "arm64-broadcast", 0);
	same_table("arm64-cpumask", "arm64-broadcast", 0);
	same_table("single-thread-local", "arm64-broadcast", 0);
	same_table("upgrade-never", "arm64-broadcast", upgrades);
	same_table("x86-invlpgb", "x86", 0);
}

struct row {
	enum point point;
	enum level level;
	const char *cell;
};

static void check_rows(const char *name, const struct row *rows, size_t nr)
{
	begin(name, "");
	for (unsigned int point = 0; point < NR_POINTS; point++)
		for (unsigned int level = 0; level < NR_LEVELS; level++) {
			const char *wanted = "-", *got;

			for (size_t i = 0; i < nr; i++)
				if (rows[i].point == point && rows[i].level == level)
					wanted = rows[i].cell;
			got = cell_text(&policy->table[point][level]);
			if (!strcmp(got, wanted))
				continue;
			printf("%s: %s %s is '%s' instead of '%s'\n", name, point_name(point),
			       level_name(level), got, wanted);
			failures++;
		}
}

#define LEVEL_ROWS(point, cell)                                                                    \
	{point, LEVEL_PTE, cell}, {point, LEVEL_CONTPTE, cell}, {point, LEVEL_PMD, cell},          \
		{point, LEVEL_HUGETLB, cell}
#define NR(rows) (sizeof(rows) / sizeof(*(rows)))

/*
 * "local at once, remote CPUs sweep at their next tick or switch; migrate and cow stay synchronous"
 */
static void check_deferred_table(void)
{
	static const struct row rows[] = {
		{POINT_COW, LEVEL_PTE, "I page"},
		{POINT_COW, LEVEL_CONTPTE, "I page"},
		{POINT_COW, LEVEL_PMD, "I mm lazy; I page"},
		{POINT_COW, LEVEL_HUGETLB, "I block"},
		LEVEL_ROWS(POINT_UNMAP, "L hull; I hull quiet deferred"),
		{POINT_TABLES_FREED, LEVEL_PTE, "L hull; I hull quiet lazy deferred"},
		{POINT_TABLES_FREED, LEVEL_PMD, "L hull; I hull quiet lazy deferred"},
		{POINT_NESTED, LEVEL_MM, "L mm; I mm quiet lazy deferred"},
		{POINT_BATCH_PENDING, LEVEL_MM, "L mm; I mm quiet lazy deferred"},
		LEVEL_ROWS(POINT_PROTECT, "L hull; I hull quiet deferred"),
		{POINT_NUMA, LEVEL_PTE, "L hull; I hull quiet deferred"},
		{POINT_NUMA, LEVEL_CONTPTE, "L hull; I hull quiet deferred"},
		{POINT_NUMA, LEVEL_PMD, "L hull; I hull quiet deferred"},
		{POINT_FORK, LEVEL_MM, "L mm; I mm quiet lazy deferred"},
		{POINT_MIGRATE, LEVEL_PTE, "I page"},
		{POINT_MIGRATE, LEVEL_CONTPTE, "I page"},
		{POINT_MIGRATE, LEVEL_PMD, "I mm lazy"},
		{POINT_MIGRATE, LEVEL_HUGETLB, "I block"},
		{POINT_RECLAIM, LEVEL_PTE, "L page; I page quiet deferred"},
		{POINT_RECLAIM, LEVEL_CONTPTE, "L page; I page quiet deferred"},
		{POINT_RECLAIM, LEVEL_PMD, "L mm; I mm quiet lazy deferred"},
		{POINT_RECLAIM, LEVEL_HUGETLB, "L block; I block quiet deferred"},
		{POINT_AGE, LEVEL_PMD, "L mm; I mm quiet lazy deferred"},
		{POINT_CLEAN, LEVEL_PTE, "L page; I page quiet deferred"},
		{POINT_CLEAN, LEVEL_CONTPTE, "L page; I page quiet deferred"},
		{POINT_CLEAN, LEVEL_PMD, "L mm; I mm quiet lazy deferred"},
		LEVEL_ROWS(POINT_MREMAP, "L hull; I hull quiet lazy deferred"),
		{POINT_SPLIT, LEVEL_PMD, "I mm lazy"},
		{POINT_COLLAPSE, LEVEL_PMD, "I mm lazy"},
		{POINT_EXIT, LEVEL_MM, "L mm; I mm quiet lazy deferred"},
		{POINT_KERNEL, LEVEL_ALL, "I hull lazy"},
	};

	check_rows("deferred", rows, NR(rows));
}

/*
 * The upper limit: broadcast and waited for wherever any other policy flushes, and no less often.
 */
static void check_broadcast_all(void)
{
	const struct policy *all = policy_find("broadcast-all");

	for (size_t i = 0; policies[i]; i++)
		for (unsigned int point = 0; point < NR_POINTS; point++)
			for (unsigned int level = 0; level < NR_LEVELS; level++)
				for (unsigned int k = 0; k < POLICY_ACTIONS; k++) {
					const struct policy_action *other =
						&policies[i]->table[point][level].act[k];
					const struct policy_action *own =
						&all->table[point][level].act[k];

					/*
					 * A flush that an entry left behind is no change of an
					 * entry.
					 */
					if (point == POINT_SPURIOUS || other->scope == SCOPE_NONE ||
					    other->scope == SCOPE_LOCAL ||
					    other->wait == WAIT_DEFERRED)
						continue;
					if (own->scope == SCOPE_BROADCAST && own->wait == WAIT_SYNC)
						continue;
					printf("broadcast-all: %s %s %u: less than %s\n",
					       point_name(point), level_name(level), k,
					       policies[i]->name);
					failures++;
				}
	begin("broadcast-all", "");
	IS(decide(POINT_YOUNG, LEVEL_PTE, 1), "B page");
	IS(decide(POINT_AGE, LEVEL_PTE, 1), "B page");
	IS(decide(POINT_SPURIOUS, LEVEL_PTE, 1), "-");
}

/* ---- arm64: limits and overlays ---- */

static void check_arm64_limits(void)
{
	/* Without range operations: MAX_DVM_OPS, as many strides as a table has entries. */
	begin("arm64-broadcast", "range_ops=off");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 511), "B hull leaf");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 512), "B mm leaf");
	/* A stride of a block: 511 x 512 pages are 511 strides. */
	IS(decide(POINT_UNMAP, LEVEL_PMD, 511 * 512), "B hull leaf");
	IS(decide(POINT_UNMAP, LEVEL_PMD, 512 * 512), "B mm leaf");
	IS(decide(POINT_TABLES_FREED, LEVEL_PMD, 511 * 512), "B hull");
	/* mremap goes by pages whatever the level. */
	IS(decide(POINT_MREMAP, LEVEL_PMD, 512), "B mm");
	view.page_shift = 14; /* 16K: 2048 entries */
	IS(decide(POINT_UNMAP, LEVEL_PTE, 2047), "B hull leaf");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 2048), "B mm leaf");
	view.page_shift = 16; /* 64K: 8192 */
	IS(decide(POINT_UNMAP, LEVEL_PTE, 8191), "B hull leaf");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 8192), "B mm leaf");

	begin("arm64-local", "");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 512), "B hull leaf");
	IS(decide(POINT_UNMAP, LEVEL_PTE, UINT64_C(1) << 21), "B hull leaf");
	IS(decide(POINT_UNMAP, LEVEL_PTE, (UINT64_C(1) << 21) + 1), "B mm leaf");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 0), "B mm leaf");
	/* Kernel ranges: > 2 MB is everything, range operations or not. */
	IS(decide(POINT_KERNEL, LEVEL_ALL, 512), "B hull");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 513), "B all");
}

static void check_overlays(void)
{
	begin("arm64-local", "");
	IS(decide(POINT_WP_REUSE, LEVEL_PTE, 1), "L page leaf");
	IS(decide(POINT_WP_REUSE, LEVEL_CONTPTE, 1), "B block leaf; L page leaf");
	IS(decide(POINT_DIRTY_UP, LEVEL_CONTPTE, 16), "L block leaf");
	IS(decide(POINT_SPURIOUS, LEVEL_PMD, 512), "L page leaf quiet");
	IS(decide(POINT_SPURIOUS, LEVEL_HUGETLB, 512), "-");

	/* HCR_EL2.FB: local operations become broadcasts. */
	begin("arm64-local", "guest=on");
	for (unsigned int point = 0; point < NR_POINTS; point++)
		for (unsigned int level = 0; level < NR_LEVELS; level++) {
			const char *got = decide((enum point)point, (enum level)level, 1);

			if (*got != 'L' && !strstr(got, "; L"))
				continue;
			printf("arm64-local in a guest: %s %s is %s\n", point_name(point),
			       level_name(level), got);
			failures++;
		}
	IS(decide(POINT_SPURIOUS, LEVEL_PTE, 1), "B page leaf quiet");
	IS(decide(POINT_WP_REUSE, LEVEL_CONTPTE, 1), "B block leaf; B page leaf");

	/* Both ASIDs; not for the kernel's own entries. */
	begin("arm64-local", "kpti=on");
	IS(decide(POINT_WP_REUSE, LEVEL_PTE, 1), "L page leaf x2");
	IS(decide(POINT_FORK, LEVEL_MM, 0), "B mm x2");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 1), "B hull");
	begin("arm64-broadcast", "repeat_tlbi=on");
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page leaf x2");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 1), "B hull x2");
	/* The erratum wants each TLBI followed by its barrier: no batches. */
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "B page leaf x2");
	IS(decide(POINT_BATCH_PENDING, LEVEL_MM, 0), "-");
	begin("arm64-broadcast", "repeat_tlbi=on,kpti=on");
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page leaf x4");
	IS(decide(POINT_COW, LEVEL_CONTPTE, 1), "B block leaf x4; B page leaf x4");

	begin("arm64-broadcast", "");
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "B page leaf batched");
	IS(decide(POINT_BATCH_PENDING, LEVEL_MM, 0), "B mm");
	begin("arm64-broadcast", "reclaim_batching=off");
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "B page leaf");
	IS(decide(POINT_MIGRATE, LEVEL_CONTPTE, 1), "B block leaf; B page leaf");
	IS(decide(POINT_BATCH_PENDING, LEVEL_MM, 0), "-");
	/* Ageing has no barrier of its own either way. */
	IS(decide(POINT_AGE, LEVEL_PTE, 1), "B page leaf batched");
	begin("arm64-broadcast", "sva=off");
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page leaf quiet");
}

/*
 * Eight bits: ASIDs 1 to 255. Mms 2 to 255 and mm 1 have taken them all; the next one rolls over,
 * and each CPU flushes everything at its first switch from then on.
 */
static void check_asids(void)
{
	begin("arm64-broadcast", "asid_bits=8");
	for (uint32_t mm = 1; mm <= 255; mm++)
		IS(switch_to(mm, mm % 2), "-");
	IS(switch_to(300, 0), "L all quiet");
	IS(switch_to(301, 0), "-");
	/* CPU 1 had it loaded: it keeps its ASID, and flushes */
	IS(switch_to(255, 1), "L all quiet");
	IS(switch_to(300, 1), "-");
	IS(switch_to(300, 2), "L all quiet");
	/* Coming back from a kernel thread is no switch. */
	cpus.loaded = CPU(3);
	IS(switch_to(1, 3), "-");
	cpus.loaded = 0;
	IS(switch_to(1, 3), "L all quiet");

	/* With KPTI every other ASID is the kernel's: 127 are left. */
	begin("arm64-local", "asid_bits=8,kpti=on");
	for (uint32_t mm = 1; mm <= 127; mm++)
		IS(switch_to(mm, 0), "-");
	IS(switch_to(128, 0), "L all quiet");
	begin("arm64-local", "asid_bits=8,guest=on");
	for (uint32_t mm = 1; mm <= 255; mm++)
		IS(switch_to(mm, 0), "-");
	IS(switch_to(256, 0), "B all quiet");
}

/* ---- policies that look at who has run where ---- */

static void check_active_cpu(void)
{
	begin("arm64-active-cpu", "");
	cpus.visited = CPU(0);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "L page leaf");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 9), "L hull leaf");
	IS(decide(POINT_FORK, LEVEL_MM, 0), "L mm");
	IS(decide(POINT_RECLAIM, LEVEL_CONTPTE, 1), "L block leaf; L page leaf batched");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 1), "B hull");
	/* Another CPU's mm: reclaim from afar. */
	cpus.visited = CPU(5);
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "B page leaf batched");
	/* Twice is for ever. */
	cpus.visited = CPU(0) | CPU(5);
	cpus.loaded = CPU(0);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page leaf");
	cpus.visited = 0;
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page leaf");
	begin("arm64-active-cpu", "kpti=on,guest=on");
	cpus.visited = CPU(0);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page leaf x2");
}

static void check_cpumask(void)
{
	begin("arm64-cpumask", "ipi_max=2");
	IS(decide(POINT_COW, LEVEL_CONTPTE, 1), "-");
	cpus.visited = CPU(0);
	IS(decide(POINT_COW, LEVEL_CONTPTE, 1), "L block leaf; L page leaf");
	cpus.visited = CPU(4); /* one CPU, and not this one */
	IS(decide(POINT_COW, LEVEL_PTE, 1), "I page leaf {4}");
	cpus.visited = CPU(0) | CPU(4);
	IS(decide(POINT_UNMAP, LEVEL_PTE, 9), "I hull leaf {04}");
	cpus.visited = CPU(0) | CPU(4) | CPU(6);
	IS(decide(POINT_UNMAP, LEVEL_PTE, 9), "B hull leaf");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 1), "B hull");
	begin("arm64-cpumask", "ipi_max=0,local_max=0");
	cpus.visited = CPU(0);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page leaf");
	begin("arm64-cpumask", "");
	cpus.visited = CPU(1) | CPU(2) | CPU(3);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "I page leaf {123}");
	cpus.visited |= CPU(0);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page leaf");
}

static void check_single_thread(void)
{
	struct tlb_event alone = event_of(POINT_UNMAP, LEVEL_PTE, 3);
	struct tlb_event together = alone, unknown = alone;

	alone.users = 1;
	unknown.users = 0;
	begin("single-thread-local", "");
	cpus.loaded = CPU(0);
	IS(decide_event(&together), "B hull leaf");
	IS(decide_event(&unknown), "B hull leaf");
	IS(switch_to(1, 1), "-"); /* nothing has been local yet */
	IS(decide_event(&alone), "L hull leaf");

	/* The user moves to CPU 1, which is out of date once. */
	cpus.loaded = 0;
	IS(switch_to(1, 1), "L mm quiet");
	cpus.loaded = CPU(1);
	alone.cpu = 1;
	IS(decide_event(&alone), "L hull leaf");
	cpus.loaded = 0;
	IS(switch_to(1, 1), "-");
	IS(switch_to(1, 0), "L mm quiet");
	IS(switch_to(1, 0), "-");

	/*
	 * The hole: CPU 0 keeps the mm lazily under a kernel thread, and its user comes back to it.
	 */
	cpus.loaded = CPU(0) | CPU(1);
	cpus.lazy = CPU(0);
	IS(decide_event(&alone), "L hull leaf");
	IS(switch_to(1, 0), "-");

	/* Somebody else's flush: a kernel thread over the lazy mm, another process. */
	alone.cpu = 0;
	IS(decide_event(&alone), "B hull leaf");
	alone.cpu = 3;
	IS(decide_event(&alone), "B hull leaf");

	/* An mm that is gone leaves no mark. */
	policy->forget(state, 1);
	cpus.loaded = cpus.lazy = 0;
	IS(switch_to(1, 5), "-");
}

static void check_upgrade_never(void)
{
	begin("upgrade-never", "");
	for (unsigned int level = 0; level < NR_LEVELS; level++) {
		IS(decide(POINT_WP_REUSE, (enum level)level, 1), "-");
		IS(decide(POINT_DIRTY_UP, (enum level)level, 1), "-");
		IS(decide(POINT_HUGETLB_REUSE, (enum level)level, 1), "-");
		IS(decide(POINT_SPURIOUS, (enum level)level, 1), "-");
	}
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page leaf");
}

/* ---- x86 ---- */

static void check_x86(void)
{
	begin("x86", "");
	cpus.loaded = CPU(0) | CPU(1);
	IS(decide(POINT_UNMAP, LEVEL_PTE, 33), "I hull");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 34), "I mm");
	IS(decide(POINT_UNMAP, LEVEL_PMD, 33 * 512), "I hull");
	IS(decide(POINT_UNMAP, LEVEL_PMD, 34 * 512), "I mm");
	/* flush_tlb_range() goes by pages: one huge page is over the ceiling. */
	IS(decide(POINT_MREMAP, LEVEL_PMD, 512), "I mm lazy");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 33), "I hull lazy");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 34), "I all lazy");
	IS(decide(POINT_WP_REUSE, LEVEL_PTE, 1), "-");

	/* arch_tlbbatch_should_defer(): only with another CPU in the mask. */
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "I mm batched");
	IS(decide(POINT_MIGRATE, LEVEL_PTE, 1), "I mm batched");
	cpus.loaded = CPU(0);
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "I page");
	begin("x86", "reclaim_batching=off,sva=off");
	cpus.loaded = CPU(0) | CPU(1);
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "I page quiet");
	IS(decide(POINT_BATCH_PENDING, LEVEL_MM, 0), "-");

	/* Six slots: the seventh mm takes that of the first. */
	begin("x86", "");
	for (uint32_t mm = 1; mm <= 6; mm++)
		IS(switch_to(mm, 0), "L mm quiet");
	IS(switch_to(1, 0), "-");
	IS(switch_to(7, 0), "L mm quiet");
	IS(switch_to(1, 0), "L mm quiet");
	/* An absent CPU is behind after a flush. */
	IS(switch_to(1, 1), "L mm quiet");
	IS(switch_to(7, 1), "L mm quiet");
	cpus.loaded = CPU(0);
	IS(decide(POINT_UNMAP, LEVEL_PTE, 1), "I hull");
	IS(switch_to(1, 1), "L mm quiet");
	IS(switch_to(1, 0), "-");
}

/* A task with tid 7 looks when jiffies & 31 is 7; a jiffy is 4 ms. */
static void check_invlpgb(void)
{
	struct tlb_event event = event_of(POINT_UNMAP, LEVEL_PTE, 20);

	begin("x86-invlpgb", "");
	cpus.loaded = CPU(0) | CPU(1) | CPU(2) | CPU(3);
	event.time_ns = 6 * 4000000;
	IS(decide_event(&event), "I hull");
	IS(decide_event(&event), "I hull"); /* it did not look */
	event.time_ns = 7 * 4000000;
	cpus.lazy = CPU(3);
	IS(decide_event(&event), "I hull");
	IS(decide_event(&event), "I hull"); /* three are active */
	cpus.lazy = 0;
	IS(decide_event(&event), "I hull"); /* now it looks, after it has interrupted */
	event.time_ns = 0;
	/* Twenty pages by eight each. */
	IS(decide_event(&event), "B hull x3");
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page");
	IS(decide(POINT_FORK, LEVEL_MM, 0), "B mm");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 34), "B mm");
	IS(switch_to(1, 5), "-"); /* nothing to catch up with */
	/* It is not given back, however few are left. */
	cpus.loaded = CPU(0);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page");
	IS(decide(POINT_WP_REUSE, LEVEL_PTE, 1), "-");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 8), "B hull");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 34), "B all");

	begin("x86-invlpgb", "sample=1");
	cpus.loaded = CPU(0) | CPU(1) | CPU(2);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "I page");
	IS(decide(POINT_COW, LEVEL_PTE, 1), "I page"); /* on three CPUs */
	/* Any batch ends with one broadcast over all mms. */
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "B all batched");
	cpus.loaded = CPU(0);
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "I page");
	cpus.loaded = CPU(0) | CPU(1) | CPU(2) | CPU(3);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "I page");
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page");
	begin("x86-invlpgb", "sample=1,active=1");
	cpus.loaded = CPU(0) | CPU(1);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "I page");
	IS(decide(POINT_COW, LEVEL_PTE, 1), "B page");
}

static void check_deferred(void)
{
	begin("deferred", "tick=4ms");
	if (!policy->defer_ns || policy->defer_ns(params) != 4000000) {
		printf("deferred: the tick is not 4 ms\n");
		failures++;
	}
	cpus.loaded = CPU(0) | CPU(1);
	IS(decide(POINT_UNMAP, LEVEL_PTE, 5), "L hull; I hull quiet deferred");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 34), "L mm; I mm quiet deferred");
	IS(decide(POINT_PROTECT, LEVEL_PTE, 5), "L hull; I hull quiet deferred");
	IS(decide(POINT_COW, LEVEL_PTE, 1), "I page");
	IS(decide(POINT_MIGRATE, LEVEL_PTE, 1), "I page");
	IS(decide(POINT_WP_REUSE, LEVEL_PTE, 1), "-");
	/* Nobody else to wait for. */
	cpus.loaded = CPU(0);
	IS(decide(POINT_UNMAP, LEVEL_PTE, 5), "I hull");
	/* Reclaim from a CPU that does not have the mm. */
	cpus.loaded = CPU(3);
	IS(decide(POINT_RECLAIM, LEVEL_PTE, 1), "I page deferred");

	begin("deferred", "lazy_protect=off");
	cpus.loaded = CPU(0) | CPU(1);
	IS(decide(POINT_PROTECT, LEVEL_PTE, 5), "I hull");
	IS(decide(POINT_FORK, LEVEL_MM, 0), "I mm lazy");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 5), "L hull; I hull quiet deferred");
}

/* ---- the oracle ---- */

static void check_sharers(void)
{
	struct tlb_event up = event_of(POINT_PROTECT, LEVEL_PTE, 4);

	up.flags = EVENT_UP;
	begin("sharers", "");
	cpus.loaded = CPU(0) | CPU(1) | CPU(2);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "-");
	cpus.holders = CPU(0);
	IS(decide(POINT_COW, LEVEL_PTE, 1), "L page");
	cpus.holders = CPU(0) | CPU(4); /* 4 has left the mm, its entry stays */
	IS(decide(POINT_COW, LEVEL_PTE, 1), "I page {04}");
	cpus.holders = CPU(4);
	IS(decide(POINT_COW, LEVEL_PMD, 512), "I block {4}");
	IS(decide(POINT_UNMAP, LEVEL_PTE, 1), "I hull {4}");
	/* A range: whoever holds anything. */
	cpus.holders_any = CPU(4) | CPU(5);
	IS(decide(POINT_UNMAP, LEVEL_PTE, 2), "I hull {45}");
	/* Tables: who has it loaded may walk them. */
	IS(decide(POINT_TABLES_FREED, LEVEL_PMD, 512), "I hull {01245}");
	IS(decide(POINT_EXIT, LEVEL_MM, 0), "I mm {01245}");
	/* What allows more is found out by a fault. */
	IS(decide(POINT_WP_REUSE, LEVEL_PTE, 1), "-");
	IS(decide_event(&up), "-");
	up.flags = 0;
	IS(decide_event(&up), "I hull {45}");
	IS(decide(POINT_AGE, LEVEL_PTE, 1), "-");
	IS(decide(POINT_KERNEL, LEVEL_ALL, 1), "I hull lazy");
	begin("sharers", "upgrades=on");
	IS(decide(POINT_WP_REUSE, LEVEL_PTE, 1), "-");
	cpus.holders = CPU(0) | CPU(2);
	IS(decide(POINT_WP_REUSE, LEVEL_PTE, 1), "I page {02}");
}

/* ---- what policy_check() refuses ---- */

static void refused(struct policy p, const char *why)
{
	char err[256] = "";
	int ret = policy_check(&p, err, sizeof(err));

	if (ret && strstr(err, why))
		return;
	printf("not refused with '%s': %d '%s'\n", why, ret, err);
	failures++;
}

static void check_checks(void)
{
	static const struct param outside[] = {
		{.name = "x", .offset = 8, .unit = "", .help = "", .max = 1}, PARAM_END};
	static const struct param twice[] = {{.name = "x", .unit = "", .help = "", .max = 1},
					     {.name = "x", .unit = "", .help = "", .max = 1},
					     PARAM_END};
	static const struct param range[] = {
		{.name = "x", .unit = "", .help = "", .def = 2, .max = 1}, PARAM_END};
	const struct policy fine = *policy_find("none");
	char err[256];
	struct policy p;

	if (policy_check(&fine, err, sizeof(err))) {
		printf("none: %s\n", err);
		failures++;
	}
	p = fine, p.api++;
	refused(p, "version");
	p = fine, p.name = "";
	refused(p, "name");
	p = fine, p.name = NULL;
	refused(p, "name");
	p = fine, p.name = "a:b";
	refused(p, "name");
	p = fine, p.omits = NULL;
	refused(p, "omits");
	p = fine, p.hooked = 1;
	refused(p, "hooked");
	p = fine, p.table[POINT_COW][LEVEL_PTE].act[0].scope = NR_SCOPES;
	refused(p, "cow, pte: scope");
	p = fine, p.table[POINT_COW][LEVEL_PTE].act[0] =
			  (struct policy_action){.scope = 1, .reach = REACH_ALL + 1};
	refused(p, "reach");
	p = fine,
	p.table[POINT_COW][LEVEL_PTE].act[0] = (struct policy_action){.scope = 1, .wait = 3};
	refused(p, "wait");
	p = fine,
	p.table[POINT_COW][LEVEL_PTE].act[0] = (struct policy_action){.scope = 1, .flags = 0x80};
	refused(p, "flags");
	p = fine, p.table[POINT_COW][LEVEL_PTE].act[0].times = 2;
	refused(p, "nowhere");
	p = fine, p.table[POINT_COW][LEVEL_PTE].act[1].scope = 1;
	refused(p, "second");
	p = fine, p.table[POINT_COW][LEVEL_PTE].act[0] =
			  (struct policy_action){.scope = 1, .flags = ACT_LAZY};
	refused(p, "mask");
	p = fine, p.table[POINT_COW][LEVEL_PTE].act[0] =
			  (struct policy_action){.scope = SCOPE_MASK, .flags = ACT_SET};
	refused(p, "hook");
	p = fine, p.table[POINT_COW][LEVEL_PTE].act[0] =
			  (struct policy_action){.scope = 1, .wait = WAIT_DEFERRED};
	refused(p, "defer_ns");
	p = fine, p.params = outside, p.params_size = 8;
	refused(p, "params_size");
	p = fine, p.params = twice, p.params_size = 8;
	refused(p, "two");
	p = fine, p.params = range, p.params_size = 8;
	refused(p, "range");
}

int main(void)
{
	check_same_tables();
	check_deferred_table();
	check_broadcast_all();
	check_arm64_limits();
	check_overlays();
	check_asids();
	check_active_cpu();
	check_cpumask();
	check_single_thread();
	check_upgrade_never();
	check_x86();
	check_invlpgb();
	check_deferred();
	check_sharers();
	check_checks();
	end();
	return failures != 0;
}
