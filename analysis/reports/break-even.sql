-- SPDX-License-Identifier: GPL-2.0-or-later
-- Where the cheaper one of two policies changes: by the price of a broadcast, by the share of sharers
-- about: Costs are counts times prices, so the price of a broadcast at which two policies cost the same follows from the counts: local flushing wins while a broadcast costs more than that, or while fewer than so many upgrades have a sharer that writes to its stale entry. What a broadcast stalls other CPUs goes with its price, in proportion; all else is as the cost preset says; see sweep for more than one thing at a time.
-- picture: cost of each policy over the price of a broadcast, at the estimate, from a thirtieth of the break-even price to thirty times it
-- per trace
-- fold: cost
-- title: Break-even
-- empty: No two policies that differ in broadcasts.
-- column: policy: the one that broadcasts less
-- column: other: the one that broadcasts more
-- column: fewer_broadcasts: broadcasts that it issues less, estimate
-- column: broadcast_low_ns: the policy costs less while a broadcast costs more than this, low bound; 0: always
-- column: broadcast_ns: the policy costs less while a broadcast costs more than this, estimate; 0: always
-- column: broadcast_high_ns: the policy costs less while a broadcast costs more than this, high bound
-- column: upgrades: write upgrades (wp_reuse, dirty_up, hugetlb_reuse), estimate
-- column: spurious: spurious faults of the policy, estimate
-- column: spurious_most: the policy costs less while it takes fewer spurious faults than this
-- column: sharer_share: the same as a share of the upgrades
-- note: policy costs less than other while a broadcast costs more than "broadcast", and while fewer upgrades than "sharer share" are followed by a spurious fault. 0: always; above 100 %: also if every upgrade is, and more.
SELECT e.trace, e.cost, e.policy, e.other, e.fewer_broadcasts, e.broadcast_low_ns, e.broadcast_ns,
       e.broadcast_high_ns, e.upgrades, e.spurious, e.spurious_most, e.sharer_most AS sharer_share
FROM v_break_even e JOIN traces t USING (trace)
     JOIN policies p ON p.trace = t.id AND p.policy = e.policy
ORDER BY t.id, e.cost, p.id, e.other;

-- plot
WITH RECURSIVE k(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < 60),
 c AS (
  SELECT t.id AS nr, t.trace, p.id, p.policy, c.cost, sum(c.estimate_ns) AS all_ns,
         (SELECT sum(n.estimate * i.value) FROM quantities n
          JOIN cost_items i ON i.trace = t.id AND i.cost = c.cost AND i.item = n.item
          WHERE n.policy = p.id AND i.item IN ('flush_broadcast', 'broadcast_cpu', 'broadcast_page', 'broadcast_mm', 'victim_broadcast')) AS paid,
         (SELECT i.value FROM cost_items i WHERE i.trace = t.id AND i.cost = c.cost
          AND i.item = 'flush_broadcast') AS price
  FROM costs c JOIN policies p ON p.id = c.policy JOIN traces t ON t.id = p.trace
  GROUP BY p.id, c.cost),
 m AS (
  SELECT e.trace, e.cost, min(e.broadcast_ns) AS least, max(e.broadcast_ns) AS most
  FROM v_break_even e WHERE e.broadcast_ns > 0 GROUP BY e.trace, e.cost),
 r AS (
  SELECT c.*, coalesce(min(m.least, c.price), c.price) / 30 AS from_ns,
         coalesce(max(m.most, c.price), c.price) * 30 AS to_ns
  FROM c LEFT JOIN m ON m.trace = c.trace AND m.cost = c.cost WHERE c.price > 0)
SELECT r.trace || ' (costs: ' || r.cost || ')' AS panel, r.policy AS series,
       r.from_ns * exp(k.n / 60.0 * ln(r.to_ns / r.from_ns)) AS broadcast_ns,
       r.all_ns + r.paid * (r.from_ns * exp(k.n / 60.0 * ln(r.to_ns / r.from_ns)) / r.price - 1) AS ns,
       r.price
FROM r, k ORDER BY r.nr, r.cost, r.id, k.n;
