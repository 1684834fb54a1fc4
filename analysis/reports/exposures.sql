-- SPDX-License-Identifier: GPL-2.0-or-later
-- Stale TLB entries: how many, how long, benign or unsafe, and the longest ones
-- about: An exposure is an entry that a CPU may still hold after its page changed, because the policy did not flush it there. Table 1 has exact sums; single ones are stored for the longest only.
-- picture: how many entries stay stale for longer than a time, at the high bound, both axes logarithmic; exact at powers of two and where entries are stored singly, straight lines in between
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
         row_number() OVER (PARTITION BY t.id, p.id, s.kind ORDER BY s.ns DESC) AS entries,
         lead(s.ns) OVER (PARTITION BY t.id, p.id, s.kind ORDER BY s.ns DESC) AS shorter
  FROM v_stale s JOIN traces t USING (trace)
       JOIN policies p ON p.trace = t.id AND p.policy = s.policy
  WHERE s.ns > 0),
 -- Of entries that stay equally long the last; of what a logarithmic axis cannot tell apart one.
 k AS (
  SELECT *, row_number() OVER (PARTITION BY nr, id, kind, CAST(40 * log10(ns) AS INT),
                               CAST(40 * log10(entries) AS INT) ORDER BY entries) AS same
  FROM s WHERE shorter IS NULL OR shorter < ns),
 -- All entries, by powers of two: how many stay at least so long.
 b AS (
  SELECT t.id AS nr, p.id, l.trace, l.policy, l.kind, l.below_ns / 2 AS ns,
         sum(l.entries) OVER (PARTITION BY t.id, p.id, l.kind ORDER BY l.below_ns DESC) AS entries
  FROM v_length l JOIN traces t USING (trace)
       JOIN policies p ON p.trace = t.id AND p.policy = l.policy),
 a AS (
  SELECT nr, id, trace, policy, kind, ns, entries FROM k WHERE same = 1
  UNION
  SELECT nr, id, trace, policy, kind, ns, entries FROM b WHERE ns > 0)
SELECT a.trace AS panel, a.policy || ', ' || a.kind AS series, a.ns, a.entries,
       coalesce(e.entries, (SELECT max(c.entries) FROM a c WHERE c.id = a.id AND c.kind = a.kind))
         AS all_entries,
       a.policy, a.kind
FROM a LEFT JOIN v_exposure e ON e.trace = a.trace AND e.policy = a.policy AND e.kind = a.kind
                              AND e.bound = 'high'
ORDER BY a.nr, a.id, a.kind, a.ns, a.entries DESC;
