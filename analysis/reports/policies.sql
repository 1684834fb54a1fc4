-- SPDX-License-Identifier: GPL-2.0-or-later
-- What each policy would have flushed at each decision point, side by side
-- about: The decision points where a kernel may flush, and what each policy does there.
-- per trace
-- title: Invalidations by decision point and policy (estimates)
-- note: decisions: times the point was reached. pages: pages that the invalidations cover.
SELECT f.trace, f.point, f.policy, sum(f.decisions) AS decisions,
       sum(CASE f.scope WHEN 'broadcast' THEN f.flushes ELSE 0 END) AS broadcasts,
       sum(CASE f.scope WHEN 'mask' THEN f.flushes ELSE 0 END) AS by_interrupt,
       sum(CASE f.scope WHEN 'local' THEN f.flushes ELSE 0 END) AS local,
       sum(f.pages) AS pages
FROM v_flush f JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = f.policy
GROUP BY t.id, f.point, p.id
ORDER BY t.id, f.point, p.id;
