-- SPDX-License-Identifier: GPL-2.0-or-later
-- What each policy would have flushed at each decision point, side by side
-- about: The decision points where a kernel may flush, and what each policy does there.
-- picture: a matrix of decision points and policies: how many flushes of which kind, told by colour and letter
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

-- plot
WITH f AS (
  SELECT t.id AS nr, t.trace, p.id, p.policy, f.point, sum(f.flushes) AS n,
         CASE f.scope WHEN 'broadcast' THEN 'B' WHEN 'mask' THEN 'I' WHEN 'local' THEN 'L' ELSE '-' END AS kind
  FROM flush f JOIN policies p ON p.id = f.policy JOIN traces t ON t.id = p.trace
  GROUP BY p.id, f.point, kind),
 s AS (
  SELECT *, CASE WHEN n < 1e6 THEN human_count(n) WHEN n < 1e9 THEN printf('%.3gM', n / 1e6)
                 ELSE printf('%.3gG', n / 1e9) END || ' ' || kind AS said
  FROM f)
SELECT trace AS panel, policy AS series, dense_rank() OVER (PARTITION BY nr ORDER BY point) AS row, point,
       coalesce(max(CASE WHEN kind = 'B' AND n > 0 THEN said END), '') AS broadcasts,
       coalesce(max(CASE WHEN kind = 'I' AND n > 0 THEN said END), '') AS by_interrupt,
       coalesce(max(CASE WHEN kind = 'L' AND n > 0 THEN said END), '') AS local
FROM s
GROUP BY nr, id, point
ORDER BY nr, id, point;
