-- SPDX-License-Identifier: GPL-2.0-or-later
-- Hottest regions of memory: pages with decisions, joined where they lie side by side
-- about: A recording shows pages, not vmas. Pages of a process that lie side by side, with gaps of up to 15 pages that nothing happened at, are taken for one region; a heap, a mapped file or a stack mostly comes out as one. Pages behind the limit up to which they are stored singly are in none.
-- per trace
-- column: pages: pages in it at which a decision fell
-- column: decisions: decisions at its pages
-- column: share: share of all decisions of the process that have a page
-- title: Regions with the most decisions
-- note: start: address of the first byte. share: of all decisions in the process that have a page.
-- long
WITH g AS (
  SELECT t.id AS nr, t.trace, t.page_bytes, g.mm, g.page, sum(g.decisions) AS decisions,
         sum(CASE g.point WHEN 'wp_reuse' THEN g.decisions ELSE 0 END) AS wp_reuse,
         sum(CASE g.point WHEN 'cow' THEN g.decisions ELSE 0 END) AS cow,
         max(CASE g.level WHEN 'pmd' THEN t.page_bytes * t.page_bytes / 8 ELSE t.page_bytes END) AS bytes
  FROM v_page g JOIN traces t USING (trace) WHERE g.page IS NOT NULL
  GROUP BY t.id, g.mm, g.page),
 s AS (
  SELECT *, page - lag(page + bytes) OVER same > 15 * page_bytes AS apart FROM g
  WINDOW same AS (PARTITION BY nr, mm ORDER BY page)),
 r AS (
  SELECT *, sum(coalesce(apart, 1)) OVER (PARTITION BY nr, mm ORDER BY page) AS region FROM s),
 a AS (
  SELECT nr, trace, mm, min(page) AS start, max(page + bytes) AS end, count(*) AS pages,
         sum(decisions) AS decisions, sum(wp_reuse) AS wp_reuse, sum(cow) AS cow,
         sum(sum(decisions)) OVER (PARTITION BY nr, mm) AS of_all
  FROM r GROUP BY nr, mm, region)
SELECT a.trace, printf('0x%x', a.start) AS start,
       a.end - a.start AS size_bytes, a.mm, m.comm, a.pages, a.decisions,
       a.wp_reuse, a.cow, 1.0 * a.decisions / a.of_all AS share
FROM a LEFT JOIN mms m ON m.trace = a.nr AND m.mm = a.mm
ORDER BY a.nr, a.decisions DESC, a.mm, a.start;
