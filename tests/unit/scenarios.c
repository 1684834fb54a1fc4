// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scenes that decide between policies, one each, with what must come of them worked out on paper in
 * the comment, from the kernel's source and the text of "what a replay means". The plainer ones
 * (two CPUs and a page, fork, lazy CPUs, limits, losses) are in engine.c.
 */
#include "tests/unit/scene.h"

#define BEGIN(name, cpus, tlb, ...)                               \
	do {                                                      \
		static const char *const these[] = {__VA_ARGS__}; \
                                                                  \
		nr_tested = sizeof(these) / sizeof(these[0]);     \
		memcpy(specs, these, sizeof(these));              \
		begin_scene(name, cpus, tlb);                     \
	} while (0)

/* CPU uses the page: one of all accesses, as recorded. */
static void use(uint64_t ns, unsigned int cpu, uint32_t mm, uint64_t page, bool write)
{
	put((struct tlb_event){.time_ns = ns,
			       .addr = page << 12,
			       .pages = 1,
			       .mm = mm,
			       .cpu = cpu,
			       .kind = EVENT_ACCESS,
			       .flags = write ? EVENT_WRITE : 0,
			       .sure = certain});
}

/* A decision about the page of an mm that has so many users. */
static void decide_of(uint64_t ns, unsigned int cpu, unsigned int users, enum point point)
{
	put((struct tlb_event){.time_ns = ns,
			       .began_ns = ns,
			       .addr = 5 << 12,
			       .pages = 1,
			       .mm = 1,
			       .cpu = cpu,
			       .users = users,
			       .kind = EVENT_DECISION,
			       .point = point,
			       .level = LEVEL_PTE,
			       .sure = certain});
}

/*
 * Read on 1, upgrade on 0 at 200, CPU 1 switches away at 300 and back at 350, and faults (taken at
 * 480, over at 500). With tags (PCID) the entry survives: stale from 200 to 500, proven by the
 * fault. Without, the switch back has flushed it: stale for 150, and the fault has another cause or
 * would not have been. On arm64 with ASIDs it survives; in a TLB without tags the evidence is gone
 * with the first switch, so that the share (0.1) stands for it instead.
 */
static void switch_without_asid(void)
{
	BEGIN("a switch in between, with and without tags", 2, NULL, "x86", "x86:pcid=off");
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	reuse(200, 0, 1, 5);
	run(300, 1, 2);
	run(350, 1, 1);
	spurious(480, 500, 1, 1, 5);
	end(1000);
	LOW(0, STALE_BENIGN, ENDED_REFAULT, 1, 300, 300);
	CHECK(result(0)->spurious_proven[LEVEL_PTE] == 1);
	LOW(1, STALE_BENIGN, ANY, 0, 0, 0);
	HIGH(1, STALE_BENIGN, ENDED_FLUSH, 1, 150, 150);
	CHECK(result(1)->spurious_proven[LEVEL_PTE] == 0);
	CHECK(result(1)->avoided.low == 0 && result(1)->avoided.estimate == 1 &&
	      result(1)->avoided.high == 1);
	finish();

	for (unsigned int tagged = 0; tagged < 2; tagged++) {
		BEGIN("a switch before the upgrade", 2, tagged ? "4/4" : "4/4,untagged",
		      "arm64-local");
		run(10, 0, 1);
		run(20, 1, 1);
		touch(30, 1, 1, 5, false);
		run(100, 1, 2);
		reuse(200, 0, 1, 5);
		end(1000);
		HIGH(0, STALE_BENIGN, ENDED_TRACE, 1, 800, 800);
		CHECK(sum_of(result(0)->held[STALE_BENIGN], ANY).entries == tagged);
		CHECK(sum_of(result(0)->likely[STALE_BENIGN], ANY).entries == !tagged);
		finish();
	}
}

/*
 * CPU 1 has a TLB of two entries and uses page 5 at 30, 6 at 40 and in the second scene 7 at 50,
 * which pushes 5 out. CPU 0 upgrades 5 at 200, CPU 1 writes it at 300. In the first scene the entry
 * was there, read-only: one spurious fault, stale for 100. In the second it walked anew: none.
 * Possible (high) it is in both, for nobody knows the TLB.
 */
static void capacity(void)
{
	for (unsigned int pushed = 0; pushed < 2; pushed++) {
		BEGIN(pushed ? "pushed out" : "room for both", 2, "2/2", "arm64-local");
		run(10, 0, 1);
		run(20, 1, 1);
		touch(25, 1, 1, 5, false);
		use(30, 1, 1, 5, false);
		use(40, 1, 1, 6, false);
		if (pushed)
			use(50, 1, 1, 7, false);
		reuse(200, 0, 1, 5);
		use(300, 1, 1, 5, true);
		end(1000);
		CHECK(result(0)->spurious_predicted[LEVEL_PTE] == !pushed);
		CHECK(sum_of(result(0)->held[STALE_BENIGN], ENDED_REFAULT).entries == !pushed);
		CHECK(sum_of(result(0)->held[STALE_BENIGN], ENDED_REFAULT).max_ns ==
		      (pushed ? 0 : 100));
		HIGH(0, STALE_BENIGN, ENDED_TRACE, 1, 800, 800);
		finish();
	}
}

/*
 * CPU 1 has written page 5; at 250,000 CPU 0 takes the permission away. Under none both CPUs may go
 * on writing, until the recording ends at 3,000,000: 2 x 2,750,000. Deferred flushes on CPU 0 and
 * leaves CPU 1 until the tick at 1,000,000: 750,000. The change was meant to hold at once: unsafe.
 * With lazy_protect=off it is interrupted instead, and so it is on x86.
 */
static void protect_down(void)
{
	BEGIN("mprotect down", 2, NULL, "none", "deferred:tick=1ms",
	      "deferred:tick=1ms,lazy_protect=off", "x86", "arm64-local");
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, true);
	decide(250000, 0, 1, POINT_PROTECT, LEVEL_PTE, 5, 1);
	end(3000000);
	HIGH(0, STALE_UNSAFE, ENDED_TRACE, 2, 5500000, 2750000);
	CHECK(result(0)->unsafe.seen && result(0)->unsafe.time_ns == 250000 &&
	      result(0)->unsafe.addr == 5 << 12 && result(0)->unsafe.point == POINT_PROTECT);
	HIGH(1, STALE_UNSAFE, ENDED_FLUSH, 1, 750000, 750000);
	HIGH(1, STALE_UNSAFE, ANY, 1, 750000, 750000);
	CHECK(result(1)->unsafe.seen && result(1)->unsafe.holder == 1);
	FLUSH(2, POINT_PROTECT, LEVEL_PTE, SCOPE_MASK, 1, 1, 1, 1);
	for (unsigned int p = 2; p < 5; p++) {
		HIGH(p, STALE_UNSAFE, ANY, 0, 0, 0);
		CHECK(!result(p)->unsafe.seen);
	}
	finish();
}

/* Task TID ends a batch. */
static void batch_end(uint64_t ns, unsigned int cpu, uint32_t tid)
{
	put((struct tlb_event){
		.time_ns = ns, .cpu = cpu, .tid = tid, .kind = EVENT_BATCH_END, .sure = certain});
}

/*
 * A batch whose DSB comes later. CPUs 0 and 1 run the mm and may hold page 5; task 9 on CPU 2
 * reclaims it at 1,000 and ends its batch at 6,000; that of task 8 at 3,000 is another. Where the
 * flush waits for the batch both may use the entry until 6,000: 2 entries of 5,000 ns, a window and
 * not unsafe, for the page is given to nobody before. arm64 has issued its broadcast at 1,000, x86
 * (the mm is on another CPU than the reclaimer's) interrupts both. Without batching the flush is
 * complete at once: nothing. So it is taken to be where a recording does not show the ends of
 * batches; and with no end at all what is left of it is cut off by the end of the recording at
 * 10,000: 2 entries of 9,000 ns.
 */
static void batch_ends_later(void)
{
	for (unsigned int shown = 0; shown < 3; shown++) {
		batches = shown;
		BEGIN("a batch whose barrier comes later", 3, NULL, "arm64-broadcast", "x86",
		      "arm64-broadcast:reclaim_batching=off", "none");
		run(10, 0, 1);
		run(20, 1, 1);
		touch(30, 1, 1, 5, true);
		put((struct tlb_event){.time_ns = 1000, .began_ns = 1000, .addr = 5 << 12,
				       .pages = 1, .mm = 1, .cpu = 2, .tid = 9,
				       .kind = EVENT_DECISION, .point = POINT_RECLAIM,
				       .level = LEVEL_PTE, .sure = certain});
		if (shown == 1) {
			batch_end(3000, 1, 8);
			batch_end(6000, 2, 9);
			batch_end(7000, 2, 9); /* an empty one */
		}
		end(10000);
		FLUSH(0, POINT_RECLAIM, LEVEL_PTE, SCOPE_BROADCAST, 1, 1, 1, 1);
		FLUSH(1, POINT_RECLAIM, LEVEL_PTE, SCOPE_MASK, 1, 1, 1, 1);
		for (unsigned int p = 0; p < 2; p++) {
			HIGH(p, STALE_WINDOW, ENDED_FLUSH, shown == 1 ? 2 : 0,
			     shown == 1 ? 10000 : 0, shown == 1 ? 5000 : 0);
			HIGH(p, STALE_WINDOW, ENDED_TRACE, shown == 2 ? 2 : 0,
			     shown == 2 ? 18000 : 0, shown == 2 ? 9000 : 0);
		}
		for (unsigned int p = 0; p < 3; p++) {
			HIGH(p, STALE_UNSAFE, ANY, 0, 0, 0);
			CHECK(!result(p)->unsafe.seen);
		}
		HIGH(2, STALE_WINDOW, ANY, 0, 0, 0);
		HIGH(3, STALE_UNSAFE, ENDED_TRACE, 2, 18000, 9000);
		finish();
	}
	batches = false;
}

/*
 * Page 5 is unmapped at 250,000 and comes back with other content at 300,000. Under none both CPUs
 * may still use the old page: unsafe to the end. Deferred gives the old page to nobody before all
 * have swept at 1,000,000: CPU 1 has it for a window of 750,000, which is not unsafe. That the
 * address is used again meanwhile changes nothing: the upgrade at 400,000 leaves CPU 1 the fresh
 * entry that it may have made at 300,000, to the end: benign.
 */
static void reused_in_window(void)
{
	BEGIN("freed and used again in a deferred window", 2, NULL, "none", "deferred:tick=1ms");
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, true);
	decide(250000, 0, 1, POINT_UNMAP, LEVEL_PTE, 5, 1);
	touch(300000, 0, 1, 5, false);
	reuse(400000, 0, 1, 5);
	end(3000000);
	HIGH(0, STALE_UNSAFE, ENDED_TRACE, 2, 5500000, 2750000);
	HIGH(1, STALE_WINDOW, ENDED_FLUSH, 1, 750000, 750000);
	HIGH(1, STALE_WINDOW, ANY, 1, 750000, 750000);
	HIGH(1, STALE_UNSAFE, ANY, 0, 0, 0);
	CHECK(!result(1)->unsafe.seen);
	HIGH(1, STALE_BENIGN, ENDED_TRACE, 1, 2600000, 2600000);
	finish();
}

/*
 * A 2 MiB page, read on 1, made writable on 0 at 200, written on 1 (taken at 480, over at 500). A
 * broadcast at its start; or a local flush and one spurious fault that is fixed by another one. It
 * is one entry, stale for 300.
 */
static void huge(void)
{
	BEGIN("a 2 MiB page", 2, NULL, "arm64-broadcast", "arm64-local", "x86");
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 512, false);
	decide_if(200, 0, 1, POINT_WP_REUSE, LEVEL_PMD, 512, 512, EVENT_WRITE, certain);
	put((struct tlb_event){.time_ns = 500,
			       .began_ns = 480,
			       .addr = 512 << 12,
			       .pages = 512,
			       .mm = 1,
			       .cpu = 1,
			       .kind = EVENT_DECISION,
			       .point = POINT_SPURIOUS,
			       .level = LEVEL_PMD,
			       .flags = EVENT_WRITE,
			       .sure = certain});
	end(1000);
	FLUSH(0, POINT_WP_REUSE, LEVEL_PMD, SCOPE_BROADCAST, 1, 1, 1, 1);
	FLUSH(1, POINT_WP_REUSE, LEVEL_PMD, SCOPE_LOCAL, 1, 1, 1, 1);
	FLUSH(2, POINT_WP_REUSE, LEVEL_PMD, SCOPE_NONE, 1, 0, 0, 0);
	CHECK(result(0)->avoided.estimate == 1);
	for (unsigned int p = 1; p < 3; p++) {
		CHECK(result(p)->spurious_proven[LEVEL_PMD] == 1);
		LOW(p, STALE_BENIGN, ENDED_REFAULT, 1, 300, 300);
	}
	CHECK(result(1)->spurious_scope[LEVEL_PMD] == SCOPE_LOCAL);
	CHECK(result(2)->spurious_scope[LEVEL_PMD] == SCOPE_NONE);
	finish();
}

/*
 * A block of 16 contiguous entries from page 16 on, read on CPU 1. Its page 19 is written on CPU 0:
 * the block is taken apart, which needs one broadcast of all of it, and then page 19 is flushed
 * here. CPU 1 may read page 19 again between the two, so it counts as stale from 200 on; no other
 * page does.
 */
static void contpte_sub_page(void)
{
	BEGIN("one page of a contpte block", 2, NULL, "arm64-broadcast", "arm64-local");
	run(10, 0, 1);
	run(20, 1, 1);
	for (unsigned int i = 16; i < 32; i++)
		touch(30, 1, 1, i, false);
	decide_if(200, 0, 1, POINT_WP_REUSE, LEVEL_CONTPTE, 19, 1, EVENT_WRITE, certain);
	end(1000);
	FLUSH(0, POINT_WP_REUSE, LEVEL_CONTPTE, SCOPE_BROADCAST, 1, 2, 2, 2);
	FLUSH(1, POINT_WP_REUSE, LEVEL_CONTPTE, SCOPE_BROADCAST, 1, 1, 1, 1);
	CHECK(result(1)->flush[POINT_WP_REUSE][LEVEL_CONTPTE][SCOPE_LOCAL].flushes.estimate == 1);
	CHECK(result(1)->flush[POINT_WP_REUSE][LEVEL_CONTPTE][SCOPE_LOCAL].pages == 1);
	CHECK(!result(1)->unbroken.seen);
	finish();
}

/*
 * Read on 1, upgrade on 0 at 200. CPU 1 faults at 300, a repetition after a wait
 * (FAULT_FLAG_TRIED): the kernel flushes nothing for it, and the entry stays. Its next fault at 500
 * fixes it. Two faults, one entry, stale for 300.
 */
static void tried(void)
{
	BEGIN("a TRIED fault", 2, NULL, "arm64-local");
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	reuse(200, 0, 1, 5);
	decide_if(300, 1, 1, POINT_SPURIOUS, LEVEL_PTE, 5, 1, EVENT_WRITE | EVENT_TRIED, certain);
	spurious(480, 500, 1, 1, 5);
	end(1000);
	CHECK(result(0)->spurious_proven[LEVEL_PTE] == 2);
	LOW(0, STALE_BENIGN, ENDED_REFAULT, 1, 300, 300);
	HIGH(0, STALE_BENIGN, ANY, 1, 300, 300);
	finish();
}

/*
 * hugetlb_fault() has no flush for a spurious fault. Where the reuse at 200 is flushed here only,
 * CPU 1 faults for ever: stuck. On x86 its CPU drops the entry by itself; a broadcast leaves none.
 */
static void hugetlb_stuck(void)
{
	BEGIN("hugetlb reuse", 2, NULL, "arm64-local", "arm64-broadcast", "x86");
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 512, false);
	decide_if(200, 0, 1, POINT_HUGETLB_REUSE, LEVEL_HUGETLB, 512, 512, EVENT_WRITE, certain);
	end(1000);
	CHECK(result(0)->stuck.seen && result(0)->stuck.time_ns == 200 &&
	      result(0)->stuck.addr == 512 << 12 && result(0)->stuck.holder == 1);
	HIGH(0, STALE_BENIGN, ENDED_TRACE, 1, 800, 800);
	CHECK(!result(1)->stuck.seen && !result(2)->stuck.seen);
	CHECK(!result(0)->unsafe.seen);
	finish();
}

/*
 * The one thread of mm 1 moves from CPU 0 to CPU 1, where it unmaps page 5 at 300: flushed there
 * only, and CPU 0 is marked. CPU 0 may hold the page, unsafe, until it switches back to the mm at
 * 600, finds the mark and flushes: 300. Where a kernel thread had kept the mm on CPU 0 the task
 * comes back without a switch, the mark is not looked at, and the entry lives to the end: 700.
 */
static void migrating_thread(void)
{
	for (unsigned int kept = 0; kept < 2; kept++) {
		BEGIN(kept ? "the old CPU keeps the mm" : "the old CPU leaves the mm", 2, NULL,
		      "single-thread-local", "arm64-broadcast");
		run(10, 0, 1);
		touch(20, 0, 1, 5, true);
		if (kept)
			idle(100, 0, 1);
		else
			run(100, 0, 2);
		run(110, 1, 1);
		decide_of(300, 1, 1, POINT_UNMAP);
		run(600, 0, 1);
		end(1000);
		FLUSH(0, POINT_UNMAP, LEVEL_PTE, SCOPE_LOCAL, 1, 1, 1, 1);
		CHECK(result(0)->unsafe.seen && result(0)->unsafe.time_ns == 300 &&
		      result(0)->unsafe.holder == 0);
		HIGH(0, STALE_UNSAFE, kept ? ENDED_TRACE : ENDED_FLUSH, 1, kept ? 700 : 300,
		     kept ? 700 : 300);
		HIGH(0, STALE_UNSAFE, ANY, 1, kept ? 700 : 300, kept ? 700 : 300);
		HIGH(1, STALE_UNSAFE, ANY, 0, 0, 0);
		finish();
	}

	/* With two users nothing is local. */
	BEGIN("two threads", 2, NULL, "single-thread-local");
	run(10, 0, 1);
	touch(20, 0, 1, 5, true);
	run(110, 1, 1);
	decide_of(300, 1, 2, POINT_UNMAP);
	end(1000);
	FLUSH(0, POINT_UNMAP, LEVEL_PTE, SCOPE_BROADCAST, 1, 1, 1, 1);
	CHECK(!result(0)->unsafe.seen);
	finish();
}

/* In a KVM guest each local operation is a broadcast: nothing is gained, nothing is stale. */
static void guest(void)
{
	BEGIN("a guest", 2, NULL, "arm64-local:guest=on", "arm64-local");
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	reuse(200, 0, 1, 5);
	spurious(480, 500, 1, 1, 5);
	decide(600, 0, 1, POINT_DIRTY_UP, LEVEL_PTE, 5, 1);
	end(1000);
	FLUSH(0, POINT_WP_REUSE, LEVEL_PTE, SCOPE_BROADCAST, 1, 1, 1, 1);
	FLUSH(0, POINT_DIRTY_UP, LEVEL_PTE, SCOPE_BROADCAST, 1, 1, 1, 1);
	CHECK(result(0)->scope[SCOPE_LOCAL].high == 0);
	HIGH(0, STALE_BENIGN, ANY, 0, 0, 0);
	CHECK(result(0)->spurious_proven[LEVEL_PTE] == 0 && result(0)->avoided.estimate == 1);
	CHECK(result(1)->scope[SCOPE_BROADCAST].high == 0 &&
	      result(1)->spurious_proven[LEVEL_PTE] == 1);
	finish();
}

/*
 * CPU 2, which runs mm 2, writes to a shared page of mm 1 for it (GUP, FOLL_WRITE): the page is
 * copied at 200. CPUs 0 and 1 have mm 1 and may hold the old page. arm64 broadcasts before the new
 * entry is there; x86 interrupts both and flushes nothing on CPU 2, which has another mm loaded;
 * without any flush both keep the old page: 2 x 800. CPU 2 holds nothing.
 */
static void gup_breaks_sharing(void)
{
	BEGIN("GUP copies a shared page", 3, NULL, "arm64-local", "x86", "none");
	run(10, 0, 1);
	run(20, 1, 1);
	run(30, 2, 2);
	touch(40, 0, 1, 5, false);
	touch(50, 1, 1, 5, false);
	decide_if(200, 2, 1, POINT_COW, LEVEL_PTE, 5, 1, EVENT_WRITE | EVENT_REMOTE, certain);
	end(1000);
	FLUSH(0, POINT_COW, LEVEL_PTE, SCOPE_BROADCAST, 1, 1, 1, 1);
	FLUSH(1, POINT_COW, LEVEL_PTE, SCOPE_MASK, 1, 1, 1, 1);
	CHECK(result(1)->received[0] == 1 && result(1)->received[1] == 1 &&
	      result(1)->received[2] == 0);
	HIGH(0, STALE_UNSAFE, ANY, 0, 0, 0);
	HIGH(1, STALE_UNSAFE, ANY, 0, 0, 0);
	HIGH(2, STALE_UNSAFE, ENDED_TRACE, 2, 1600, 800);
	CHECK(result(2)->unsafe.seen && result(2)->unsafe.cpu == 2 &&
	      result(2)->unsafe.holder == 0);
	finish();
}

/*
 * 8 bits of ASID: 255 of them. mm 1 runs on CPUs 0 and 1, and CPU 1 keeps an entry that was stale
 * at 200 when it leaves for mm 2. Then 253 more address spaces run on CPU 0, which uses up all 255;
 * the 254th rolls over, at 2000: CPU 0 flushes all at once, CPU 1 at its next switch, at 3000. Its
 * stale entry of mm 1 ends there: 2800.
 */
static void asid_rollover(void)
{
	BEGIN("ASIDs roll over", 2, NULL, "arm64-local:asid_bits=8", "arm64-local");
	run(10, 0, 1);
	run(20, 1, 1);
	touch(30, 1, 1, 5, false);
	reuse(200, 0, 1, 5);
	run(300, 1, 2);
	for (uint32_t i = 0; i < 253; i++)
		run(400 + i, 0, 10 + i);
	run(2000, 0, 1000);
	run(3000, 1, 10);
	end(5000);
	FLUSH(0, POINT_SWITCH, LEVEL_MM, SCOPE_LOCAL, 2, 2, 2, 2);
	HIGH(0, STALE_BENIGN, ENDED_FLUSH, 1, 2800, 2800);
	HIGH(0, STALE_BENIGN, ANY, 1, 2800, 2800);
	FLUSH(1, POINT_SWITCH, LEVEL_MM, SCOPE_LOCAL, 0, 0, 0, 0);
	HIGH(1, STALE_BENIGN, ENDED_TRACE, 1, 4800, 4800);
	finish();
}

int main(void)
{
	switch_without_asid();
	capacity();
	protect_down();
	reused_in_window();
	batch_ends_later();
	huge();
	contpte_sub_page();
	tried();
	hugetlb_stuck();
	migrating_thread();
	guest();
	gup_breaks_sharing();
	asid_rollover();
	return failures != 0;
}
