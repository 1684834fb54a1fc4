// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Small scenes fed to the engine as normalised events, all built-in policies of the first table at
 * once. What each must come to is worked out by hand beside it, from the text of "what a replay
 * means" (who holds what; staleness), not from what the engine says.
 *
 * Time is in ns from 0. A trace ends at 1000 unless a scene says otherwise.
 */
#include "tests/unit/scene.h"

enum { BROADCAST, LOCAL, X86, NONE, NR_TESTED };

static void begin_with(const char *name, unsigned int cpus, const char *arm64_params)
{
	static const char *const names[NR_TESTED] = {"arm64-broadcast", "arm64-local", "x86",
						     "none"};
	static char with[NR_TESTED][128];

	nr_tested = NR_TESTED;
	for (unsigned int i = 0; i < NR_TESTED; i++) {
		snprintf(with[i], sizeof(with[i]), "%s%s%s", names[i],
			 arm64_params && i <= LOCAL ? ":" : "",
			 arm64_params && i <= LOCAL ? arm64_params : "");
		specs[i] = with[i];
	}
	begin_scene(name, cpus, NULL);
}

static void begin(const char *name, unsigned int cpus)
{
	begin_with(name, cpus, NULL);
}

/* ---- who holds what after an upgrade ---- */

/*
 * Two CPUs fault on the same page together. CPU 1's fault was taken at 190, before CPU 0's upgrade
 * was complete at 200: that it changed nothing proves no stale entry, and it would have happened
 * under every policy. At most (high) CPU 1 did hold one, from 200 to 210.
 */
static void two_race(void)
{
	begin("two CPUs race", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	reuse(200, 0, 1, 5);
	spurious(190, 210, 1, 1, 5);
	end(1000);
	SPURIOUS(BROADCAST, 0, 1, 0, 0);
	for (unsigned int p = LOCAL; p <= NONE; p++) {
		CHECK(result(p)->spurious_proven[LEVEL_PTE] == 0);
		CHECK(result(p)->spurious_unsure[LEVEL_PTE] == 1);
		LOW(p, STALE_BENIGN, ANY, 0, 0, 0);
	}
	HIGH(LOCAL, STALE_BENIGN, ANY, 1, 10, 10);
	HIGH(BROADCAST, STALE_BENIGN, ANY, 0, 0, 0);
	finish();
}

/*
 * CPU 1 reads, CPU 0 upgrades (200), CPU 1 writes (fault taken at 480, over at 500): one spurious
 * fault, proven, of an entry that was stale from 200 to 500. A broadcast would have avoided it.
 */
static void read_upgrade_write(void)
{
	begin("read on 1, upgrade on 0, write on 1", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	reuse(200, 0, 1, 5);
	spurious(480, 500, 1, 1, 5);
	end(1000);
	SPURIOUS(BROADCAST, 0, 0, 0, 1);
	CHECK(result(BROADCAST)->avoided.low == 1 && result(BROADCAST)->avoided.high == 1);
	HIGH(BROADCAST, STALE_BENIGN, ANY, 0, 0, 0);
	SPURIOUS(LOCAL, 1, 0, 0, 0);
	LOW(LOCAL, STALE_BENIGN, ENDED_REFAULT, 1, 300, 300);
	HIGH(LOCAL, STALE_BENIGN, ANY, 1, 300, 300);
	CHECK(result(X86)->spurious_proven[LEVEL_PTE] == 1);
	LOW(X86, STALE_BENIGN, ENDED_REFAULT, 1, 300, 300);
	/*
	 * Nobody flushes on CPU 0 either, and nothing takes CPU 1's out: both are stale to the end.
	 */
	CHECK(result(NONE)->spurious_proven[LEVEL_PTE] == 1);
	HIGH(NONE, STALE_BENIGN, ENDED_REFAULT, 0, 0, 0);
	HIGH(NONE, STALE_BENIGN, ENDED_TRACE, 2, 1600, 800);
	FLUSH(BROADCAST, POINT_WP_REUSE, LEVEL_PTE, SCOPE_BROADCAST, 1, 1, 1, 1);
	FLUSH(LOCAL, POINT_WP_REUSE, LEVEL_PTE, SCOPE_LOCAL, 1, 1, 1, 1);
	FLUSH(X86, POINT_WP_REUSE, LEVEL_PTE, SCOPE_NONE, 1, 0, 0, 0);
	FLUSH(NONE, POINT_WP_REUSE, LEVEL_PTE, SCOPE_NONE, 1, 0, 0, 0);
	finish();
}

/* The entry survives that its CPU runs something else: a switch flushes nothing on arm64. */
static void switch_in_between(void)
{
	begin("the same, CPU 1 switches away and back", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	run(100, 1, 2);
	reuse(200, 0, 1, 5);
	run(300, 1, 1);
	spurious(480, 500, 1, 1, 5);
	end(1000);
	SPURIOUS(LOCAL, 1, 0, 0, 0);
	HIGH(LOCAL, STALE_BENIGN, ANY, 1, 300, 300);
	SPURIOUS(BROADCAST, 0, 0, 0, 1);
	finish();

	/* It never comes back before fork flushes everything at 400: it could cost nothing. */
	begin("CPU 1 switches away and fork flushes", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	run(100, 1, 2);
	reuse(200, 0, 1, 5);
	fork_of(400, 0, 1);
	run(450, 1, 1);
	end(1000);
	SPURIOUS(LOCAL, 0, 0, 0, 0);
	HIGH(LOCAL, STALE_BENIGN, ENDED_FLUSH, 1, 200, 200);
	HIGH(LOCAL, STALE_BENIGN, ANY, 1, 200, 200);
	finish();

	/* It runs the mm from 300 to 350 and could have written. */
	begin("CPU 1 comes back before the flush", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	run(100, 1, 2);
	reuse(200, 0, 1, 5);
	run(300, 1, 1);
	run(350, 1, 2);
	fork_of(400, 0, 1);
	end(1000);
	SPURIOUS(LOCAL, 0, 0, 1, 0);
	HIGH(LOCAL, STALE_BENIGN, ENDED_FLUSH, 1, 200, 200);
	LOW(LOCAL, STALE_BENIGN, ANY, 0, 0, 0);
	finish();
}

/* Fork flushes at 150; who has the mm loaded after that may fill its TLB again. */
static void fork_in_the_middle(void)
{
	begin("fork, CPU 1 runs on", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, true);
	fork_of(150, 0, 1);
	reuse(200, 0, 1, 5);
	end(1000);
	SPURIOUS(LOCAL, 0, 0, 1, 0);
	HIGH(LOCAL, STALE_BENIGN, ENDED_TRACE, 1, 800, 800);
	FLUSH(BROADCAST, POINT_FORK, LEVEL_MM, SCOPE_BROADCAST, 1, 1, 1, 1);
	FLUSH(LOCAL, POINT_FORK, LEVEL_MM, SCOPE_BROADCAST, 1, 1, 1, 1);
	FLUSH(X86, POINT_FORK, LEVEL_MM, SCOPE_MASK, 1, 1, 1, 1);
	FLUSH(NONE, POINT_FORK, LEVEL_MM, SCOPE_NONE, 1, 0, 0, 0);
	CHECK(result(X86)->targets.estimate == 1);
	finish();

	/* An idle CPU keeps the mm and may fill speculatively, but it writes nothing. */
	begin("fork, CPU 1 idle", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, true);
	idle(100, 1, 1);
	fork_of(150, 0, 1);
	reuse(200, 0, 1, 5);
	end(1000);
	SPURIOUS(LOCAL, 0, 0, 0, 0);
	HIGH(LOCAL, STALE_BENIGN, ENDED_TRACE, 1, 800, 800);
	finish();

	/* It left the mm before: it is rid of everything and may hold nothing. */
	begin("fork, CPU 1 had left", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, true);
	run(100, 1, 2);
	fork_of(150, 0, 1);
	reuse(200, 0, 1, 5);
	run(300, 1, 1);
	end(1000);
	SPURIOUS(LOCAL, 0, 0, 0, 0);
	HIGH(LOCAL, STALE_BENIGN, ANY, 0, 0, 0);
	/*
	 * On x86 its generation is behind: it flushes when it comes back. Switches: 10, 20, 100,
	 * 300.
	 */
	FLUSH(X86, POINT_SWITCH, LEVEL_MM, SCOPE_LOCAL, 4, 4, 4, 4);
	FLUSH(BROADCAST, POINT_SWITCH, LEVEL_MM, SCOPE_NONE, 4, 0, 0, 0);
	finish();
}

/* ---- ranges ---- */

static void protect_range(void)
{
	/* Whether a PTE is present is not known: 0 to 1 flush. */
	begin("mprotect of what was never seen", 2);
	run(10, 0, 1);
	decide(100, 0, 1, POINT_PROTECT, LEVEL_PTE, 100, 4);
	end(1000);
	FLUSH(BROADCAST, POINT_PROTECT, LEVEL_PTE, SCOPE_BROADCAST, 1, 0, 0, 1);
	FLUSH(LOCAL, POINT_PROTECT, LEVEL_PTE, SCOPE_BROADCAST, 1, 0, 0, 1);
	FLUSH(X86, POINT_PROTECT, LEVEL_PTE, SCOPE_LOCAL, 1, 0, 0, 1);
	FLUSH(NONE, POINT_PROTECT, LEVEL_PTE, SCOPE_NONE, 1, 0, 0, 0);
	finish();

	/* Page 102, once seen, makes it certain for its range and for no other. */
	begin("mprotect", 2);
	run(10, 0, 1);
	run(150, 1, 1);
	touch(160, 1, 1, 102, true);
	decide(200, 0, 1, POINT_PROTECT, LEVEL_PTE, 100, 4);
	decide(300, 0, 1, POINT_PROTECT, LEVEL_PTE, 103, 4);
	end(1000);
	FLUSH(BROADCAST, POINT_PROTECT, LEVEL_PTE, SCOPE_BROADCAST, 2, 1, 1, 2);
	FLUSH(X86, POINT_PROTECT, LEVEL_PTE, SCOPE_MASK, 2, 1, 1, 2);
	FLUSH(NONE, POINT_PROTECT, LEVEL_PTE, SCOPE_NONE, 2, 0, 0, 0);
	/* Both CPUs may still write to page 102, from 200 on. */
	HIGH(NONE, STALE_UNSAFE, ENDED_TRACE, 2, 1600, 800);
	for (unsigned int p = BROADCAST; p <= X86; p++)
		HIGH(p, STALE_UNSAFE, ANY, 0, 0, 0);
	finish();

	/* To more permission: what stays behind is harmless. */
	begin("mprotect to more", 2);
	run(10, 0, 1);
	touch(20, 0, 1, 102, false);
	decide_if(200, 0, 1, POINT_PROTECT, LEVEL_PTE, 100, 4, EVENT_UP, certain);
	end(1000);
	HIGH(NONE, STALE_BENIGN, ENDED_TRACE, 1, 800, 800);
	HIGH(NONE, STALE_UNSAFE, ANY, 0, 0, 0);
	finish();
}

static void unmap_with_lazy_cpu(void)
{
	begin("unmap, CPU 1 lazy", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	idle(30, 1, 1);
	touch(40, 0, 1, 8, true);
	decide(100, 0, 1, POINT_UNMAP, LEVEL_PTE, 8, 3);
	end(1000);
	/* In the mask, and not interrupted; an IPI at most, where the kernel does not filter. */
	FLUSH(X86, POINT_UNMAP, LEVEL_PTE, SCOPE_MASK, 1, 1, 1, 1);
	CHECK(result(X86)->targets.low == 0 && result(X86)->targets.estimate == 0 &&
	      result(X86)->targets.high == 1);
	CHECK(result(X86)->received[1] == 0);
	CHECK(result(X86)->flush[POINT_UNMAP][LEVEL_PTE][SCOPE_MASK].pages == 3);
	HIGH(X86, STALE_UNSAFE, ANY, 0, 0, 0);
	finish();

	/*
	 * Freed tables: a walker may be in them, so lazy CPUs are interrupted, and leave the mm.
	 * The next unmap has nobody else in the mask. CPU 1 flushes when it comes back, as both did
	 * when they first loaded the mm.
	 */
	begin("unmap, freed tables, unmap; CPU 1 lazy", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	idle(30, 1, 1);
	touch(40, 0, 1, 8, true);
	decide(100, 0, 1, POINT_UNMAP, LEVEL_PTE, 8, 3);
	decide_if(200, 0, 1, POINT_TABLES_FREED, LEVEL_PMD, 8, 3, EVENT_TABLES, certain);
	decide(300, 0, 1, POINT_UNMAP, LEVEL_PTE, 8, 3);
	run(400, 1, 1);
	end(1000);
	FLUSH(X86, POINT_UNMAP, LEVEL_PTE, SCOPE_MASK, 1, 1, 1, 1);
	FLUSH(X86, POINT_TABLES_FREED, LEVEL_PMD, SCOPE_MASK, 1, 1, 1, 1);
	CHECK(result(X86)->targets.low == 1 && result(X86)->targets.estimate == 1 &&
	      result(X86)->targets.high == 2);
	CHECK(result(X86)->received[1] == 1 && result(X86)->received[0] == 0);
	FLUSH(X86, POINT_UNMAP, LEVEL_PTE, SCOPE_LOCAL, 1, 1, 1, 1);
	FLUSH(X86, POINT_SWITCH, LEVEL_MM, SCOPE_LOCAL, 3, 3, 3, 3);
	FLUSH(BROADCAST, POINT_UNMAP, LEVEL_PTE, SCOPE_BROADCAST, 2, 2, 2, 2);
	FLUSH(BROADCAST, POINT_TABLES_FREED, LEVEL_PMD, SCOPE_BROADCAST, 1, 1, 1, 1);
	/* A lazy CPU cannot use its entry before it has flushed it: unsafe under none alone. */
	for (unsigned int p = BROADCAST; p <= X86; p++)
		HIGH(p, STALE_UNSAFE, ANY, 0, 0, 0);
	HIGH(NONE, STALE_UNSAFE, ENDED_TRACE, 2, 1800, 900);
	finish();

	/* Lazy, back without any flush in between: nothing to do on x86. */
	begin("lazy and back", 1);
	run(10, 0, 1);
	idle(30, 0, 1);
	run(40, 0, 1);
	end(1000);
	FLUSH(X86, POINT_SWITCH, LEVEL_MM, SCOPE_LOCAL, 1, 1, 1, 1);
	FLUSH(X86, POINT_SWITCH, LEVEL_MM, SCOPE_NONE, 1, 0, 0, 0);
	finish();
}

/* From where on a range is flushed as a whole. A flush of the whole mm counts no pages. */
static void limits(void)
{
	/* The first upgrade leaves CPU 1's entry on x86, far from what is unmapped. */
	begin("33 pages", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5000, false);
	reuse(100, 0, 1, 5000);
	decide(200, 0, 1, POINT_UNMAP, LEVEL_PTE, 0, 33);
	end(1000);
	CHECK(result(X86)->flush[POINT_UNMAP][LEVEL_PTE][SCOPE_MASK].pages == 33);
	HIGH(X86, STALE_BENIGN, ENDED_FLUSH, 0, 0, 0);
	CHECK(sum_of(result(X86)->possible[STALE_BENIGN], ENDED_TRACE).entries >= 1);
	finish();

	begin("34 pages", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5000, false);
	reuse(100, 0, 1, 5000);
	decide(300, 0, 1, POINT_UNMAP, LEVEL_PTE, 0, 34);
	end(1000);
	FLUSH(X86, POINT_UNMAP, LEVEL_PTE, SCOPE_MASK, 1, 1, 1, 1);
	CHECK(result(X86)->flush[POINT_UNMAP][LEVEL_PTE][SCOPE_MASK].pages == 0);
	/* The full flush took the far entry with it. */
	HIGH(X86, STALE_BENIGN, ENDED_TRACE, 0, 0, 0);
	CHECK(sum_of(result(X86)->possible[STALE_BENIGN], ENDED_FLUSH).entries >= 1);
	CHECK(sum_of(result(X86)->possible[STALE_BENIGN], ENDED_FLUSH).max_ns == 200);
	/* arm64 flushes it by range. */
	CHECK(result(LOCAL)->flush[POINT_UNMAP][LEVEL_PTE][SCOPE_BROADCAST].pages == 34);
	HIGH(LOCAL, STALE_BENIGN, ENDED_TRACE, 1, 900, 900);
	finish();

	begin("2^21 pages and one more", 1);
	run(10, 0, 1);
	decide(100, 0, 1, POINT_UNMAP, LEVEL_PTE, 0, 1 << 21);
	decide(200, 0, 1, POINT_UNMAP, LEVEL_PTE, 0, (1 << 21) + 1);
	end(1000);
	CHECK(result(BROADCAST)->flush[POINT_UNMAP][LEVEL_PTE][SCOPE_BROADCAST].pages == 1 << 21);
	finish();

	begin_with("511 and 512 pages without range operations", 1, "range_ops=off");
	run(10, 0, 1);
	decide(100, 0, 1, POINT_UNMAP, LEVEL_PTE, 0, 511);
	decide(200, 0, 1, POINT_UNMAP, LEVEL_PTE, 0, 512);
	end(1000);
	CHECK(result(BROADCAST)->flush[POINT_UNMAP][LEVEL_PTE][SCOPE_BROADCAST].pages == 511);
	FLUSH(BROADCAST, POINT_UNMAP, LEVEL_PTE, SCOPE_BROADCAST, 2, 2, 2, 2);
	finish();
}

/* ---- unsafe ---- */

/*
 * Fork makes page 5, which was written, read-only: both CPUs may go on writing to it until somebody
 * reuses it at 300. Page 6 was only read.
 */
static void fork_unflushed(void)
{
	begin("fork without a flush", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 0, 1, 5, true);
	touch(40, 0, 1, 6, false);
	fork_of(100, 0, 1);
	reuse(300, 0, 1, 5);
	end(1000);
	HIGH(NONE, STALE_UNSAFE, ANY, 2, 400, 200);
	LOW(NONE, STALE_UNSAFE, ANY, 0, 0, 0);
	for (unsigned int p = BROADCAST; p <= X86; p++)
		HIGH(p, STALE_UNSAFE, ANY, 0, 0, 0);
	finish();
}

static void copy_and_exit_unflushed(void)
{
	/* The old page stays mapped in both TLBs from 200 on. */
	begin("copy", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 0, 1, 5, false);
	decide_if(200, 0, 1, POINT_COW, LEVEL_PTE, 5, 1, EVENT_WRITE, certain);
	end(1000);
	HIGH(NONE, STALE_UNSAFE, ENDED_TRACE, 2, 1600, 800);
	for (unsigned int p = BROADCAST; p <= X86; p++)
		HIGH(p, STALE_UNSAFE, ANY, 0, 0, 0);
	FLUSH(X86, POINT_COW, LEVEL_PTE, SCOPE_MASK, 1, 1, 1, 1);
	CHECK(result(X86)->received[1] == 1);
	finish();

	/* The mm ends unflushed at 500: its entries outlive it. */
	begin("exit", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 0, 1, 5, false);
	run(100, 1, 2);
	run(200, 0, 2);
	decide_if(500, 0, 1, POINT_EXIT, LEVEL_MM, 0, 0, EVENT_TABLES, certain);
	put((struct tlb_event){.time_ns = 500, .mm = 1, .kind = EVENT_MM_END, .sure = certain});
	CHECK(engine_mm_pages(e, 1) == 1);
	end(1000);
	HIGH(NONE, STALE_UNSAFE, ENDED_TRACE, 2, 1000, 500);
	for (unsigned int p = BROADCAST; p <= X86; p++)
		HIGH(p, STALE_UNSAFE, ANY, 0, 0, 0);
	/* Nobody has it loaded: x86 has nobody to interrupt. */
	FLUSH(X86, POINT_EXIT, LEVEL_MM, SCOPE_NONE, 1, 0, 0, 0);
	FLUSH(BROADCAST, POINT_EXIT, LEVEL_MM, SCOPE_BROADCAST, 1, 1, 1, 1);
	finish();

	/* Only the access flag differs. Ageing a PTE flushes nothing on x86. */
	begin("age", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 0, 1, 5, false);
	decide(200, 0, 1, POINT_AGE, LEVEL_PTE, 5, 1);
	end(1000);
	HIGH(X86, STALE_HINT, ENDED_TRACE, 2, 1600, 800);
	HIGH(NONE, STALE_HINT, ENDED_TRACE, 2, 1600, 800);
	HIGH(BROADCAST, STALE_HINT, ANY, 0, 0, 0);
	HIGH(X86, STALE_UNSAFE, ANY, 0, 0, 0);
	finish();
}

/* ---- what is not certain ---- */

/*
 * A fault on behalf of another mm, on a CPU that does not run it: a local flush there helps nobody.
 */
static void upgrade_for_another(void)
{
	begin("upgrade by GUP on CPU 1", 2);
	run(10, 0, 1);
	run(20, 1, 2);
	touch(30, 0, 1, 5, false);
	decide_if(200, 1, 1, POINT_WP_REUSE, LEVEL_PTE, 5, 1, EVENT_WRITE | EVENT_REMOTE, certain);
	spurious(480, 500, 0, 1, 5);
	end(1000);
	FLUSH(LOCAL, POINT_WP_REUSE, LEVEL_PTE, SCOPE_LOCAL, 1, 1, 1, 1);
	CHECK(result(LOCAL)->issued[1 * NR_SCOPES + SCOPE_LOCAL] == 1);
	HIGH(LOCAL, STALE_BENIGN, ENDED_REFAULT, 1, 300, 300);
	HIGH(LOCAL, STALE_BENIGN, ANY, 1, 300, 300);
	SPURIOUS(LOCAL, 1, 0, 0, 0);
	HIGH(BROADCAST, STALE_BENIGN, ANY, 0, 0, 0);
	finish();
}

static void lost_events(void)
{
	/* What CPU 2 ran meanwhile is unknown: it may have the mm, and may run it. */
	begin("events of CPU 2 are lost", 3);
	run(10, 0, 1);
	touch(20, 0, 1, 5, false);
	touch(21, 0, 1, 6, false);
	reuse(30, 0, 1, 5); /* nobody else can hold it yet */
	lost(50, 2);
	reuse(100, 0, 1, 6);
	end(1000);
	HIGH(LOCAL, STALE_BENIGN, ENDED_TRACE, 1, 900, 900);
	SPURIOUS(LOCAL, 0, 0, 1, 0);
	finish();

	/*
	 * From 200 on it is known what CPU 2 runs. Between 50 and 200 it may have had the mm and
	 * read page 6, of which nobody has rid it before 300. A broadcast does, at 400.
	 */
	begin("events of CPU 2 are lost for a while", 3);
	run(10, 0, 1);
	touch(20, 0, 1, 6, false);
	touch(21, 0, 1, 7, false);
	lost(50, 2);
	run(200, 2, 2);
	reuse(300, 0, 1, 6);
	fork_of(400, 0, 1);
	reuse(500, 0, 1, 7);
	end(1000);
	HIGH(LOCAL, STALE_BENIGN, ANY, 1, 100, 100);
	HIGH(LOCAL, STALE_BENIGN, ENDED_FLUSH, 1, 100, 100);
	SPURIOUS(LOCAL, 0, 0, 0, 0); /* it ran mm 2 all that time */
	finish();
}

/*
 * x86 tracepoints: a write fault that was one of three things, a reuse most likely. Whatever it
 * was, the change and the flush that belongs to it are both there or both not: arm64-broadcast
 * leaves nothing behind. But a flush that may not have happened ends nothing that was there before.
 */
static void one_of_three(void)
{
	static const struct event_sureness likely = {0, 1, 1}, unlikely = {0, 0, 1};

	begin("a reuse, a copy or a spurious fault", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	touch(31, 1, 1, 6, false);
	reuse(100, 0, 1, 6);
	decide_if(200, 0, 1, POINT_WP_REUSE, LEVEL_PTE, 5, 1, EVENT_WRITE, likely);
	decide_if(200, 0, 1, POINT_COW, LEVEL_PTE, 5, 1, EVENT_WRITE, unlikely);
	decide_if(200, 0, 1, POINT_SPURIOUS, LEVEL_PTE, 5, 1, EVENT_WRITE, unlikely);
	decide_if(300, 0, 1, POINT_COW, LEVEL_PTE, 6, 1, EVENT_WRITE, likely);
	end(1000);
	FLUSH(BROADCAST, POINT_WP_REUSE, LEVEL_PTE, SCOPE_BROADCAST, 2, 1, 2, 2);
	FLUSH(BROADCAST, POINT_COW, LEVEL_PTE, SCOPE_BROADCAST, 1, 0, 1, 2);
	FLUSH(LOCAL, POINT_WP_REUSE, LEVEL_PTE, SCOPE_LOCAL, 2, 1, 2, 2);
	FLUSH(X86, POINT_WP_REUSE, LEVEL_PTE, SCOPE_NONE, 2, 0, 0, 0);
	FLUSH(X86, POINT_COW, LEVEL_PTE, SCOPE_MASK, 1, 0, 1, 2);
	HIGH(BROADCAST, STALE_UNSAFE, ANY, 0, 0, 0);
	HIGH(BROADCAST, STALE_BENIGN, ANY, 0, 0, 0);
	CHECK(result(BROADCAST)->spurious_likely[LEVEL_PTE] == 0);
	HIGH(LOCAL, STALE_UNSAFE, ANY, 0, 0, 0);
	HIGH(X86, STALE_UNSAFE, ANY, 0, 0, 0);
	/* CPU 1: page 6 from 100, page 5 from 200; the copy at 300 may not have been one. */
	HIGH(LOCAL, STALE_BENIGN, ANY, 2, 1700, 900);
	finish();
}

/* ---- the rest ---- */

static void contpte(void)
{
	begin("contpte", 2);
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	decide_if(200, 0, 1, POINT_WP_REUSE, LEVEL_CONTPTE, 5, 1, EVENT_WRITE, certain);
	end(1000);
	FLUSH(BROADCAST, POINT_WP_REUSE, LEVEL_CONTPTE, SCOPE_BROADCAST, 1, 2, 2, 2);
	FLUSH(LOCAL, POINT_WP_REUSE, LEVEL_CONTPTE, SCOPE_LOCAL, 1, 1, 1, 1);
	CHECK(result(LOCAL)
		      ->flush[POINT_WP_REUSE][LEVEL_CONTPTE][SCOPE_BROADCAST]
		      .flushes.estimate == 1);
	FLUSH(X86, POINT_WP_REUSE, LEVEL_CONTPTE, SCOPE_NONE, 1, 0, 0, 0);
	finish();
}

/* 130 CPUs: sets of more than one word. All have the mm, the last but one is idle. */
static void many_cpus(void)
{
	begin("130 CPUs", 130);
	for (unsigned int cpu = 0; cpu < 130; cpu++)
		run(10 + cpu / 20, cpu, 1);
	idle(50, 128, 1);
	touch(60, 3, 1, 5, true);
	reuse(200, 100, 1, 5);
	spurious(290, 300, 127, 1, 5);
	spurious(290, 300, 64, 1, 5);
	fork_of(400, 63, 1);
	end(1000);
	/*
	 * 129 others; two fault after 100 ns, the rest is flushed after 200, all but the idle one
	 * ran.
	 */
	HIGH(LOCAL, STALE_BENIGN, ENDED_REFAULT, 2, 200, 100);
	HIGH(LOCAL, STALE_BENIGN, ENDED_FLUSH, 127, 25400, 200);
	SPURIOUS(LOCAL, 2, 0, 126, 0);
	CHECK(result(LOCAL)->issued[100 * NR_SCOPES + SCOPE_LOCAL] == 1);
	FLUSH(X86, POINT_FORK, LEVEL_MM, SCOPE_MASK, 1, 1, 1, 1);
	CHECK(result(X86)->targets.low == 129 && result(X86)->targets.high == 129);
	CHECK(result(X86)->received[129] == 1 && result(X86)->received[128] == 1 &&
	      result(X86)->received[63] == 0);
	/* 10 rows are kept, the rest is counted. */
	CHECK(result(LOCAL)->nr_rows == 10 && result(LOCAL)->rows_left_out == 119);
	for (size_t i = 0; i < result(LOCAL)->nr_rows; i++)
		CHECK(result(LOCAL)->rows[i].end_ns - result(LOCAL)->rows[i].start_ns == 200 &&
		      result(LOCAL)->rows[i].page == 5 << 12);
	finish();
}

/*
 * Three CPUs, and an mm that was there before. What they did with it until then nobody knows: each
 * may hold any page of it, with any permission. CPU 1 shows at 50 that it has something else
 * loaded; CPU 2 shows nothing. The upgrade at 200 under a local flush leaves CPUs 1 and 2, to the
 * end at 1000: 2 entries, 1600 ns. CPU 1 does not run the mm again; CPU 2 may run it all the time,
 * so it may write to the page: one possible spurious fault. Neither was ever seen with the mm: they
 * are no part of the estimate.
 */
static void before_the_recording(void)
{
	begin("an mm older than the recording", 3);
	older(5, 1);
	run(10, 0, 1);
	run(50, 1, 2);
	reuse(200, 0, 1, 5);
	end(1000);
	HIGH(LOCAL, STALE_BENIGN, ENDED_TRACE, 2, 1600, 800);
	CHECK(sum_of(result(LOCAL)->likely[STALE_BENIGN], ANY).entries == 0);
	SPURIOUS(LOCAL, 0, 0, 1, 0);
	HIGH(BROADCAST, STALE_BENIGN, ANY, 0, 0, 0);
	/* Interrupts on x86: none here. */
	CHECK(result(X86)->targets.high == 0);
	finish();

	/* The same with a fork at 100, which flushes: only CPU 2 can have filled its TLB again. */
	begin("an mm older than the recording, flushed", 3);
	older(5, 1);
	run(10, 0, 1);
	run(50, 1, 2);
	fork_of(100, 0, 1);
	reuse(200, 0, 1, 5);
	end(1000);
	HIGH(LOCAL, STALE_BENIGN, ENDED_TRACE, 1, 800, 800);
	SPURIOUS(LOCAL, 0, 0, 1, 0);
	/* CPU 2 may have had it loaded, and been interrupted for the fork. */
	CHECK(result(X86)->targets.low == 0 && result(X86)->targets.estimate == 0 &&
	      result(X86)->targets.high == 1);
	finish();

	/* A spurious fault on CPU 1 whose upgrade no event shows: it may have been a local flush's. */
	begin("a spurious fault of an older upgrade", 2);
	older(5, 1);
	run(10, 0, 1);
	run(50, 1, 1);
	spurious(100, 110, 1, 1, 5);
	end(1000);
	SPURIOUS(LOCAL, 0, 1, 0, 0);
	SPURIOUS(BROADCAST, 0, 0, 0, 1);
	CHECK(result(BROADCAST)->avoided.low == 0);
	finish();

	/* Pages that no event has shown are unmapped: without a flush others may hold them. */
	begin("pages older than the recording are unmapped", 2);
	older(5, 1);
	run(10, 0, 1);
	decide(100, 0, 1, POINT_UNMAP, LEVEL_PTE, 100, 4);
	end(1000);
	CHECK(result(NONE)->unsafe.seen && result(NONE)->unsafe.time_ns == 100 &&
	      result(NONE)->unsafe.addr == 100 << 12);
	CHECK(!result(BROADCAST)->unsafe.seen && !result(LOCAL)->unsafe.seen &&
	      !result(X86)->unsafe.seen);
	HIGH(NONE, STALE_UNSAFE, ANY, 0, 0, 0);
	finish();

	/* Of an mm that began in the recording such pages are not there. */
	begin("pages that never were are unmapped", 2);
	run(10, 0, 1);
	decide(100, 0, 1, POINT_UNMAP, LEVEL_PTE, 100, 4);
	end(1000);
	CHECK(!result(NONE)->unsafe.seen);
	finish();
}

/* By scope, over time, by mm and by CPU it is the same number. */
static void sums(void)
{
	uint64_t mm = 0;

	begin("sums", 4);
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		run(10, cpu, 1 + cpu / 2);
	for (unsigned int i = 0; i < 5000; i++) {
		/* Times reach further than the buckets do, so that these are made wider. */
		uint64_t ns = 1000 + i * UINT64_C(7777777);

		touch(ns, i % 4, 1 + i % 4 / 2, i * 7 % 300, i % 3);
		if (i % 50 == 49)
			fork_of(ns, i % 4, 1 + i % 4 / 2);
		reuse(ns, i % 4, 1 + i % 4 / 2, i * 7 % 300);
		if (i % 11 == 0)
			decide(ns, i % 4, 1 + i % 4 / 2, POINT_UNMAP, LEVEL_PTE, i % 300,
			       1 + i % 60);
	}
	end(1000 + UINT64_C(5000) * 7777777);
	for (unsigned int p = 0; p < NR_TESTED; p++) {
		const struct policy_result *r = result(p);

		for (unsigned int scope = 0; scope < NR_SCOPES; scope++) {
			uint64_t table = 0, time = 0, cpus = 0;

			for (unsigned int point = 0; point < NR_POINTS; point++)
				for (unsigned int level = 0; level < NR_LEVELS; level++)
					table += r->flush[point][level][scope].flushes.estimate;
			for (size_t i = 0; i < r->nr_buckets; i++)
				time += r->buckets[i].flushes[scope].estimate;
			for (unsigned int cpu = 0; cpu < 4; cpu++)
				cpus += r->issued[cpu * NR_SCOPES + scope];
			CHECK(table == time && table == cpus && table == r->scope[scope].estimate);
			mm += table;
		}
	}
	CHECK(mm == mm_flushes);
	CHECK(pages_seen == 5000);
	/* 5000 reuses, 100 forks, 455 unmaps; none of them under none. */
	CHECK(result(BROADCAST)->scope[SCOPE_BROADCAST].estimate == 5555);
	CHECK(result(LOCAL)->scope[SCOPE_LOCAL].estimate == 5000);
	CHECK(result(LOCAL)->scope[SCOPE_BROADCAST].estimate == 555);
	CHECK(result(NONE)->scope[SCOPE_BROADCAST].high + result(NONE)->scope[SCOPE_MASK].high +
		      result(NONE)->scope[SCOPE_LOCAL].high == 0);
	finish();
}

int main(void)
{
	two_race();
	read_upgrade_write();
	switch_in_between();
	fork_in_the_middle();
	protect_range();
	unmap_with_lazy_cpu();
	limits();
	fork_unflushed();
	copy_and_exit_unflushed();
	upgrade_for_another();
	lost_events();
	before_the_recording();
	one_of_three();
	contpte();
	many_cpus();
	sums();
	return failures != 0;
}
