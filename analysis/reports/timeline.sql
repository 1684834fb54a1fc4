-- SPDX-License-Identifier: GPL-2.0-or-later
-- Invalidations over time
-- per trace
-- title: Invalidations in each tenth of the recording (estimates)
-- note: start: since the recording began. Spans in which a policy issued none are left out.
WITH f AS (
  SELECT t.id AS nr, f.*, t.last_ns - t.first_ns AS span,
         min(9, (f.start_ns - t.first_ns) * 10 / max(1, t.last_ns - t.first_ns)) AS tenth
  FROM v_time f JOIN traces t USING (trace))
SELECT f.trace, f.tenth * f.span / 10 AS start_ns, f.policy,
       sum(CASE f.scope WHEN 'broadcast' THEN f.flushes ELSE 0 END) AS broadcasts,
       sum(CASE f.scope WHEN 'mask' THEN f.flushes ELSE 0 END) AS by_interrupt,
       sum(CASE f.scope WHEN 'local' THEN f.flushes ELSE 0 END) AS local
FROM f JOIN policies p ON p.trace = f.nr AND p.policy = f.policy
GROUP BY f.nr, f.tenth, p.id
ORDER BY f.nr, f.tenth, p.id;

-- title: Invalidations over time, as finely as they are stored (estimates)
-- long
SELECT f.trace, f.start_ns - coalesce(t.first_ns, 0) AS start_ns, f.width_ns, f.policy,
       sum(CASE f.scope WHEN 'broadcast' THEN f.flushes ELSE 0 END) AS broadcasts,
       sum(CASE f.scope WHEN 'mask' THEN f.flushes ELSE 0 END) AS by_interrupt,
       sum(CASE f.scope WHEN 'local' THEN f.flushes ELSE 0 END) AS local
FROM v_time f JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = f.policy
GROUP BY t.id, f.start_ns, f.width_ns, p.id
ORDER BY t.id, f.start_ns, f.width_ns, p.id;
