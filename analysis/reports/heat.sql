-- SPDX-License-Identifier: GPL-2.0-or-later
-- Where in memory and when the broadcasts fall
-- about: The decisions of the recording in cells of address and time, as small as their bounded number allows (16,384 in a recording; the first table says how large they are). What a policy makes of a cell's decisions is its mean over all decisions at that point and level. A decision about several pages counts where the first one lies.
-- picture: broadcasts a second in the twelve hottest regions of memory over time, the darker, the more; a panel for each of the first four policies that broadcast at all
-- per trace
-- column: cell_bytes: height of a cell: bytes of address space
-- column: cells: cells in which a decision fell
-- title: The grid
SELECT t.trace, g.bytes AS cell_bytes, g.width_ns, count(*) AS cells, sum(h.decisions) AS decisions
FROM heat h JOIN heat_grid g USING (trace) JOIN traces t ON t.id = h.trace
GROUP BY t.id ORDER BY t.id;

-- title: When each region was busy
-- column: start: first byte of the region; (whole mm): decisions about all of an address space
-- column: size: bytes from its first to its last cell
-- column: from_ns: when its first decision fell, since the recording began
-- column: to_ns: when its last decision fell, since the recording began
-- column: peak_per_s: decisions a second in the cell-wide stretch of time that has most
-- note: from, to: first and last decision, since the recording began. peak: in the busiest stretch as long as a cell. Cells less than 16 apart are one region.
-- long
WITH a AS (SELECT trace, mm, addr, min(start_ns) AS start_ns FROM heat
           WHERE trace IN (SELECT id FROM traces) GROUP BY trace, mm, addr),
 s AS (
  SELECT a.*, g.bytes, addr IS NOT NULL AND addr - lag(addr) OVER (PARTITION BY trace, mm ORDER BY addr)
              <= 16 * g.bytes AS joined
  FROM a JOIN heat_grid g USING (trace)),
 r AS (
  SELECT *, sum(NOT coalesce(joined, 0)) OVER (PARTITION BY trace, mm ORDER BY addr) AS region FROM s),
 d AS (
  SELECT r.trace, r.mm, r.region, min(r.addr) AS first, max(r.addr) + r.bytes AS end, h.start_ns,
         sum(h.decisions) AS decisions
  FROM r JOIN heat h ON h.trace = r.trace AND h.mm = r.mm AND h.addr IS r.addr
  GROUP BY r.trace, r.mm, r.region, h.start_ns)
SELECT t.trace, d.mm, m.comm,
       CASE WHEN min(d.first) IS NULL THEN '(whole mm)' ELSE printf('0x%x', min(d.first)) END AS start,
       max(d.end) - min(d.first) AS size_bytes, sum(d.decisions) AS decisions,
       max(0, min(d.start_ns) - t.first_ns) AS from_ns,
       min(t.last_ns, max(d.start_ns) + g.width_ns) - t.first_ns AS to_ns,
       max(d.decisions) * 1e9 / g.width_ns AS peak_per_s
FROM d JOIN heat_grid g USING (trace) JOIN traces t ON t.id = d.trace
     LEFT JOIN mms m ON m.trace = d.trace AND m.mm = d.mm
GROUP BY d.trace, d.mm, d.region
ORDER BY d.trace, sum(d.decisions) DESC, d.mm, start;

-- plot
WITH g AS (
  -- A row a cell. bin: what is one column of the picture, 1/150 of the time or a cell.
  SELECT h.trace AS nr, h.mm, h.addr, coalesce(h.addr, -1) AS place, d.bytes, h.point, h.level,
         h.decisions, h.start_ns - t.first_ns AS at_ns,
         d.width_ns * max(1, (t.last_ns - t.first_ns) / 150 / d.width_ns) AS bin
  FROM heat h JOIN heat_grid d USING (trace) JOIN traces t ON t.id = h.trace),
 a AS (SELECT nr, mm, addr, place, bytes, sum(decisions) AS decisions FROM g GROUP BY nr, mm, place),
 s AS (
  SELECT *, addr IS NOT NULL AND addr - lag(addr) OVER (PARTITION BY nr, mm ORDER BY addr)
            <= 16 * bytes AS joined
  FROM a),
 r AS (
  SELECT *, sum(NOT coalesce(joined, 0)) OVER (PARTITION BY nr, mm ORDER BY addr) AS region FROM s),
 -- The hottest regions, each of at most eight rows; a lower one than two has no room for its label.
 p AS (
  SELECT nr, mm, region, min(addr) AS start, max(addr) + bytes - min(addr) AS size,
         coalesce(min(8, (max(addr) - min(addr)) / bytes + 1), 1) AS rows,
         row_number() OVER (PARTITION BY nr ORDER BY sum(decisions) DESC, mm, region) AS place
  FROM r GROUP BY nr, mm, region),
 q AS (
  SELECT p.*, sum(max(2, rows)) OVER (PARTITION BY nr ORDER BY place) - max(2, rows) AS above,
         max(2, rows) AS high, max(2.0, rows) / rows AS row_high,
         coalesce(nullif(m.comm, '') || ' ', '') || coalesce('tid ' || m.tid || ', ', '')
         || CASE WHEN start IS NULL THEN 'whole mm'
                 ELSE printf('0x%x', start) || ', ' || human_bytes(size) END AS label
  FROM p LEFT JOIN mms m ON m.trace = p.nr AND m.mm = p.mm WHERE p.place <= 12),
 c AS (
  SELECT g.nr, q.place AS region, g.point, g.level, g.bin, g.at_ns / g.bin AS n, sum(g.decisions) AS decisions,
         q.above + q.row_high * CASE WHEN q.start IS NULL THEN 0
           ELSE (g.addr - q.start) / g.bytes * q.rows / (q.size / g.bytes) END AS row
  FROM g JOIN r ON r.nr = g.nr AND r.mm = g.mm AND r.place = g.place
       JOIN q ON q.nr = r.nr AND q.mm = r.mm AND q.region = r.region
  GROUP BY g.nr, q.place, row, n, g.point, g.level),
 -- What part of the decisions at a point and level a policy broadcasts for.
 f AS (
  SELECT p.trace AS nr, p.id, p.policy, f.point, f.level,
         1.0 * sum(CASE f.scope WHEN 'broadcast' THEN f.flushes ELSE 0 END) / sum(f.decisions) AS part
  FROM flush f JOIN policies p ON p.id = f.policy
  GROUP BY p.id, f.point, f.level HAVING sum(f.decisions) > 0 AND part > 0),
 n AS (SELECT nr, id, policy, row_number() OVER (PARTITION BY nr ORDER BY id) AS place
       FROM (SELECT DISTINCT nr, id, policy FROM f)),
 -- Every region is there in every panel, if only by name.
 d AS (
  SELECT n.nr, n.id, n.policy, q.place AS region, q.above AS row, NULL AS n, NULL AS bin, NULL AS broadcasts
  FROM n JOIN q ON q.nr = n.nr WHERE n.place <= 4
  UNION ALL
  SELECT n.nr, n.id, n.policy, c.region, c.row, c.n, c.bin, sum(c.decisions * f.part)
  FROM c JOIN f ON f.nr = c.nr AND f.point = c.point AND f.level = c.level
         JOIN n ON n.id = f.id AND n.place <= 4
  GROUP BY n.id, c.region, c.row, c.n)
SELECT t.trace || ': broadcasts under ' || d.policy AS panel, q.label, d.policy, q.above, q.high,
       d.row, q.row_high, max(0, d.n * d.bin) / 1e9 AS at_s, d.bin / 1e9 AS width_s,
       d.broadcasts * 1e9 / d.bin AS per_s, (t.last_ns - t.first_ns) / 1e9 AS span_s,
       min(d.broadcasts / d.bin) OVER same * 1e9 AS least_per_s,
       max(d.broadcasts / d.bin) OVER same * 1e9 AS most_per_s
FROM d JOIN q ON q.nr = d.nr AND q.place = d.region JOIN traces t ON t.id = d.nr
-- One scale for all panels of a recording.
WINDOW same AS (PARTITION BY d.nr)
ORDER BY d.nr, d.id, q.place, d.row, d.n;
