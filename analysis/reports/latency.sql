-- SPDX-License-Identifier: GPL-2.0-or-later
-- How long the kernel's flushing functions took, as recorded
-- about: From the entry probe of a call to its return probe, by the flush that was seen inside it, by the number of CPUs that the address space had run on, and by how many other such calls were under way meanwhile. A duration is all that lay in between: what the function does beside flushing, what probes inside it cost, interrupts. base: the median of calls of the same recording that change nothing (a write fault that finds the entry written): the cost of two probes and of reading an entry; where there is none, what the probes cost is not known. Needs entry and return of such a function: tlbcapture --profile latency; on arm64 the upgrades of any recording.
-- picture: durations of each kind of call: dot at the median, whisker from the shortest to the 99th percentile
-- per trace
-- title: How long calls took
-- note: upgrade, young, unchanged: ptep_set_access_flags, for a write, for a read, without a change. cow: ptep_clear_flush. gather: tlb_finish_mmu. range: flush_tlb_mm_range. p50, p90, p99: less than 1/32 above the true value. p50_less_base: at most what the call itself took, flush included; missing: what the probes cost is not known.
-- empty: The recording has no function's entry and return (tlbcapture --profile latency).
-- column: longest_ns: the longest
-- long
SELECT l.trace, l.call, l.flush,
       CASE WHEN l.cpus = 0 THEN 'unknown' WHEN l.cpus = l.cpus_to THEN '' || l.cpus
            ELSE l.cpus || '-' || l.cpus_to END AS mm_cpus,
       CASE WHEN l.concurrent = l.concurrent_to THEN '' || l.concurrent
            ELSE l.concurrent || '-' || l.concurrent_to END AS concurrent,
       l.calls, l.probes_inside, l.min_ns, l.p50_ns, l.p90_ns, l.p99_ns, l.max_ns AS longest_ns,
       max(l.p50_ns - l.base_ns, 0) AS p50_less_base_ns
FROM v_latency l JOIN traces t USING (trace)
ORDER BY t.id, l.call, l.flush, l.cpus, l.concurrent;

-- title: Calls that were not timed
-- empty: None.
-- note: no entry, no return: only one end was recorded. switched: its task did not run all the time, or moved. lost: events were lost meanwhile.
SELECT l.trace, l.reason, l.calls
FROM v_latency_left_out l JOIN traces t USING (trace)
WHERE l.calls > 0
ORDER BY t.id, l.reason;

-- plot
SELECT l.trace || ': time from entry to return' AS panel,
       l.call || CASE l.flush WHEN 'not recorded' THEN '' WHEN 'none' THEN '' ELSE ', ' || l.flush END ||
       CASE WHEN l.cpus = 0 THEN '' WHEN l.cpus = l.cpus_to THEN ', ' || l.cpus || ' CPU' || substr('s', 1, l.cpus > 1)
            ELSE ', ' || l.cpus || '-' || l.cpus_to || ' CPUs' END ||
       CASE WHEN l.concurrent = 0 THEN '' WHEN l.concurrent = l.concurrent_to THEN ', ' || l.concurrent || ' beside'
            ELSE ', ' || l.concurrent || '-' || l.concurrent_to || ' beside' END AS what,
       max(l.min_ns, 1) AS low, max(l.p50_ns, 1) AS middle, max(l.p99_ns, 1) AS high,
       printf('%,d call%s, median %,d ns', l.calls, substr('s', 1, l.calls <> 1), l.p50_ns) AS label
FROM v_latency l JOIN traces t USING (trace)
ORDER BY t.id, l.call, l.flush, l.cpus, l.concurrent;
