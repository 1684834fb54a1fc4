-- SPDX-License-Identifier: GPL-2.0-or-later
-- Invalidations by CPU: issued there, received from others; events and losses
-- about: Under a broadcast every CPU of the recording receives each invalidation of another one; by interrupt only those in the mask.
-- picture: what each CPU issued to others, by broadcast or interrupt, and what reached it from them, a line a policy
-- per trace
-- title: Invalidations by policy and CPU
-- note: received: interrupts or broadcasts of other CPUs that reach this one.
SELECT c.trace, c.policy, c.cpu, c.scope, c.issued, c.received
FROM v_cpu c JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = c.policy
ORDER BY t.id, p.id, c.cpu, c.scope;

-- title: What was recorded on each CPU
-- note: lost: counted in the recording. lost unknown: places where events are missing that nobody counted.
SELECT t.trace, c.cpu, c.buffer, c.events, c.lost_events AS lost, c.lost_unknown, c.overrun, c.dropped
FROM cpus c JOIN traces t ON t.id = c.trace
ORDER BY t.id, c.buffer, c.cpu;

-- plot
WITH c AS (
  SELECT t.id AS nr, t.trace, p.id, p.policy, f.cpu, sum(f.issued) AS issued, sum(f.received) AS received
  FROM flush_cpu f JOIN policies p ON p.id = f.policy JOIN traces t ON t.id = p.trace
  WHERE f.scope IN ('mask', 'broadcast') GROUP BY p.id, f.cpu),
 -- A CPU that has no row issued nothing and was reached by nothing.
 a AS (
  SELECT t.id AS nr, t.trace, p.id, p.policy, u.cpu
  FROM traces t JOIN policies p ON p.trace = t.id
       JOIN (SELECT DISTINCT trace, cpu FROM cpus) u ON u.trace = t.id)
SELECT a.trace || ': ' || w.what AS panel, a.policy AS series,
       a.cpu, coalesce(CASE w.nr WHEN 1 THEN c.issued ELSE c.received END, 0) AS n
FROM a JOIN (SELECT 1 AS nr, 'issued to other CPUs' AS what UNION ALL SELECT 2, 'received from other CPUs') w
     LEFT JOIN c ON c.id = a.id AND c.cpu = a.cpu
ORDER BY a.nr, w.nr, a.id, a.cpu;
