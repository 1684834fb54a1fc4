-- SPDX-License-Identifier: GPL-2.0-or-later
-- Stale TLB entries: how many, how long, benign or unsafe, and the longest ones
-- per trace
-- title: Stale entries (one per page and CPU), how long in sum and at most
-- note: benign: allows less than the page table. hint: only the access flag differs. unsafe: allows more, or maps what is gone. window: unsafe, but only until a synchronous flush completes.
-- empty: No policy left a stale entry behind.
SELECT e.trace, e.policy, e.kind, e.bound, e.entries, e.entry_ns AS sum_ns, e.max_ns AS longest_ns
FROM v_exposure e JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = e.policy
ORDER BY t.id, p.id, e.kind, CASE e.bound WHEN 'low' THEN 0 WHEN 'estimate' THEN 1 ELSE 2 END, e.bound;

-- title: The longest single ones, at the high bound
-- long
-- empty: No single stale entries are stored.
SELECT s.trace, s.policy, s.kind, s.ns AS stale_ns, s.page, s.cpu, s.mm, m.comm, s.start_ns, s.ended
FROM v_stale s JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = s.policy
     LEFT JOIN v_mm m ON m.trace = s.trace AND m.mm = s.mm
ORDER BY t.id, s.ns DESC, p.id, s.mm, s.page, s.cpu, s.start_ns, s.kind;
