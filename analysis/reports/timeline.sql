-- SPDX-License-Identifier: GPL-2.0-or-later
-- Invalidations over time
-- about: When the invalidations fall. Rates are means over the span that a row covers.
-- picture: invalidations a second over time, one line a policy, one panel a scope
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
-- terminal
SELECT f.trace, f.start_ns - coalesce(t.first_ns, 0) AS start_ns, f.width_ns, f.policy,
       sum(CASE f.scope WHEN 'broadcast' THEN f.flushes ELSE 0 END) AS broadcasts,
       sum(CASE f.scope WHEN 'mask' THEN f.flushes ELSE 0 END) AS by_interrupt,
       sum(CASE f.scope WHEN 'local' THEN f.flushes ELSE 0 END) AS local
FROM v_time f JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = f.policy
GROUP BY t.id, f.start_ns, f.width_ns, p.id
ORDER BY t.id, f.start_ns, f.width_ns, p.id;

-- plot
WITH RECURSIVE
 t0 AS (
  SELECT t.id, t.trace, t.first_ns,
         max(1, t.last_ns - t.first_ns) AS span,
         (SELECT max(width_ns) FROM v_time f WHERE f.trace = t.trace) AS width
  FROM traces t),
 -- Whole multiples of the stored width, or some would hold more of its spans than others.
 t1 AS (
  SELECT *, width * ((span / width + 119) / 120) AS bin FROM t0 WHERE width > 0),
 bins AS (SELECT id, 0 AS n FROM t1 UNION ALL
          SELECT b.id, b.n + 1 FROM bins b JOIN t1 USING (id) WHERE b.n * t1.bin < t1.span),
 f AS (
  SELECT t1.id, p.id AS policy, f.scope, (f.start_ns - t1.first_ns) / t1.bin AS n,
         sum(f.flushes) AS flushes
  FROM v_time f JOIN t1 USING (trace) JOIN policies p ON p.trace = t1.id AND p.policy = f.policy
  GROUP BY t1.id, p.id, f.scope, n)
SELECT t1.trace || ': ' || s.name AS panel, p.policy AS series,
       min(b.n * t1.bin, t1.span) / 1e9 AS at_s,
       coalesce(f.flushes, 0) * 1e9 / t1.bin AS per_s
FROM t1 JOIN (SELECT 'broadcast' AS scope, 'broadcasts' AS name UNION ALL
              SELECT 'mask', 'flushes by interrupt' UNION ALL SELECT 'local', 'local flushes') s
     JOIN policies p ON p.trace = t1.id JOIN bins b ON b.id = t1.id
     -- The last row closes the last bin with its own value.
     LEFT JOIN f ON f.id = t1.id AND f.policy = p.id AND f.scope = s.scope
               AND f.n = min(b.n, (t1.span - 1) / t1.bin)
WHERE EXISTS (SELECT 1 FROM f x WHERE x.id = t1.id AND x.scope = s.scope AND x.flushes > 0)
ORDER BY t1.id, s.scope, p.id, b.n;
