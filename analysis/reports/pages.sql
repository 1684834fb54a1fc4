-- SPDX-License-Identifier: GPL-2.0-or-later
-- Hottest pages: where the decisions to flush fell
-- about: The pages at which most decisions about a flush fell, whatever the policy made of them.
-- picture: the hottest regions, each drawn from its first to its last page: the darker, the more decisions a page
-- column: decisions: times this point was reached at this page
-- column: level: what kind of entry was decided on: pte, contpte, pmd, hugetlb
-- per trace
-- title: Pages with the most decisions
-- note: page: address of its first byte; "(others)": behind the limit up to which pages are stored singly.
-- long
SELECT g.trace, CASE WHEN g.page IS NULL THEN '(others)' ELSE printf('0x%x', g.page) END AS page, g.mm, m.comm, g.point, g.level,
       g.decisions
FROM v_page g JOIN traces t USING (trace) LEFT JOIN mms m ON m.trace = t.id AND m.mm = g.mm
ORDER BY t.id, g.page IS NULL, g.decisions DESC, g.mm, g.page, g.point, g.level;

-- plot
WITH g AS (
  SELECT t.id AS nr, t.trace, t.page_bytes, g.mm, g.page, sum(g.decisions) AS decisions
  FROM v_page g JOIN traces t USING (trace) WHERE g.page IS NOT NULL
  GROUP BY t.id, g.mm, g.page),
 s AS (
  SELECT *, page - lag(page) OVER (PARTITION BY nr, mm ORDER BY page) > 16 * page_bytes AS apart
  FROM g),
 r AS (
  SELECT *, sum(coalesce(apart, 1)) OVER (PARTITION BY nr, mm ORDER BY page) AS region FROM s),
 a AS (
  SELECT nr, trace, mm, region, page_bytes, min(page) AS start,
         max(page) + page_bytes - min(page) AS bytes,
         (max(page) - min(page)) / page_bytes + 1 AS pages,
         min(100, (max(page) - min(page)) / page_bytes + 1) AS cells,
         row_number() OVER (PARTITION BY nr ORDER BY sum(decisions) DESC, mm, min(page)) AS place
  FROM r GROUP BY nr, mm, region)
SELECT a.trace AS panel,
       coalesce(nullif(m.comm, '') || ' ', '') || coalesce('tid ' || m.tid || ' ', '')
       || printf('0x%x', a.start) || ', ' || human_bytes(a.bytes) AS label,
       a.place, r.cell, a.cells,
       -- The mean over all pages of the cell, those without a decision too.
       1.0 * sum(r.decisions) / (((r.cell + 1) * a.pages + a.cells - 1) / a.cells
                                 - (r.cell * a.pages + a.cells - 1) / a.cells) AS per_page
FROM a JOIN (SELECT r.*, (r.page - a.start) / r.page_bytes * a.cells / a.pages AS cell
             FROM r JOIN a USING (nr, mm, region) WHERE a.place <= 20) r USING (nr, mm, region)
     LEFT JOIN mms m ON m.trace = a.nr AND m.mm = a.mm
GROUP BY a.nr, a.place, r.cell
ORDER BY a.nr, a.place, r.cell;
