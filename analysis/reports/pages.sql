-- SPDX-License-Identifier: GPL-2.0-or-later
-- Hottest pages: where the decisions to flush fell
-- per trace
-- title: Pages with the most decisions
-- note: page: address of its first byte; "(others)": behind the limit up to which pages are stored singly.
-- long
SELECT g.trace, CASE WHEN g.page IS NULL THEN '(others)' ELSE printf('0x%x', g.page) END AS page, g.mm, m.comm, g.point, g.level,
       g.decisions
FROM v_page g JOIN traces t USING (trace) LEFT JOIN v_mm m ON m.trace = g.trace AND m.mm = g.mm
ORDER BY t.id, g.page IS NULL, g.decisions DESC, g.mm, g.page, g.point, g.level;
