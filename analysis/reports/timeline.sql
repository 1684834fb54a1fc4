-- SPDX-License-Identifier: GPL-2.0-or-later
-- Invalidations over time
-- per trace
-- title: Invalidations over time (estimates)
-- note: start: since the recording began.
-- long
SELECT f.trace, f.start_ns - coalesce(t.first_ns, 0) AS start_ns, f.width_ns, f.policy,
       sum(CASE f.scope WHEN 'broadcast' THEN f.flushes ELSE 0 END) AS broadcasts,
       sum(CASE f.scope WHEN 'mask' THEN f.flushes ELSE 0 END) AS by_interrupt,
       sum(CASE f.scope WHEN 'local' THEN f.flushes ELSE 0 END) AS local
FROM v_time f JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = f.policy
GROUP BY t.id, f.start_ns, f.width_ns, p.id
ORDER BY t.id, f.start_ns, f.width_ns, p.id;
