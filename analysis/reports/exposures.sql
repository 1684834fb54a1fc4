-- SPDX-License-Identifier: GPL-2.0-or-later
-- Stale TLB entries: how many, how long, benign or unsafe, and the longest ones
-- about: An exposure is an entry that a CPU may still hold after its page changed, because the policy did not flush it there. Table 1 has exact sums; single ones are stored for the longest only.
-- picture: how many entries stay stale for longer than a time, at the high bound, both axes logarithmic; curves end at the shortest one that is stored singly
-- per trace
-- title: Stale entries (one per page and CPU), how long in sum and at most
-- note: benign: allows less than the page table. hint: only the access flag differs. unsafe: allows more, or maps what is gone. window: unsafe, but only until a synchronous flush completes.
-- empty: No policy left a stale entry behind.
SELECT e.trace, e.policy, e.kind, e.bound, e.entries, e.entry_ns AS sum_ns, e.max_ns AS longest_ns
FROM v_exposure e JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = e.policy
ORDER BY t.id, p.id, e.kind, CASE e.bound WHEN 'low' THEN 0 WHEN 'estimate' THEN 1 ELSE 2 END, e.bound;

-- title: The longest single ones, at the high bound
-- note: ended: by a flush, by the CPU's own spurious fault (refault), with the address space (gone), or not before the recording did (end).
-- long
-- empty: No single stale entries are stored.
SELECT s.trace, s.policy, s.kind, s.ns AS stale_ns, s.page, s.cpu, s.mm, m.comm, s.start_ns, s.ended
FROM v_stale s JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = s.policy
     LEFT JOIN mms m ON m.trace = t.id AND m.mm = s.mm
ORDER BY t.id, s.ns DESC, p.id, s.mm, s.page, s.cpu, s.start_ns, s.kind;

-- plot
WITH s AS (
  SELECT t.id AS nr, p.id, s.trace, s.policy, s.kind, s.ns,
         row_number() OVER (PARTITION BY t.id, p.id, s.kind ORDER BY s.ns DESC) AS rank,
         count(*) OVER (PARTITION BY t.id, p.id, s.kind) AS stored,
         lead(s.ns) OVER (PARTITION BY t.id, p.id, s.kind ORDER BY s.ns DESC) AS shorter
  FROM v_stale s JOIN traces t USING (trace)
       JOIN policies p ON p.trace = t.id AND p.policy = s.policy
  WHERE s.ns > 0),
 -- Of entries that stay equally long the last; of what a logarithmic axis cannot tell apart one.
 k AS (
  SELECT *, row_number() OVER (PARTITION BY nr, id, kind, CAST(40 * log10(ns) AS INT),
                               CAST(40 * log10(rank) AS INT) ORDER BY rank) AS same
  FROM s WHERE shorter IS NULL OR shorter < ns)
SELECT k.trace AS panel,
       k.policy || ', ' || k.kind AS series,
       k.ns, k.rank AS entries,
       coalesce(e.entries, k.stored) AS all_entries, k.policy, k.kind
FROM k LEFT JOIN v_exposure e ON e.trace = k.trace AND e.policy = k.policy AND e.kind = k.kind
                              AND e.bound = 'high'
WHERE k.same = 1
ORDER BY k.nr, k.id, k.kind, k.ns, k.rank;
