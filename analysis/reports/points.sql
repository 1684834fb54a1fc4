-- SPDX-License-Identifier: GPL-2.0-or-later
-- The decision points: how often each was reached, and what was recorded of it
-- about: A decision point is a place in the kernel where a change to a page table raises the question what to flush. All policies are asked at the same ones. What a recording cannot show is listed as unseen; there a policy may do anything.
-- per trace
-- column: decisions: times the point was reached, estimate; the largest of all policies
-- column: pages: distinct pages at which decisions fell, as far as they are stored singly
-- column: processes: address spaces in which they fell
-- title: Decision points, most decisions first
WITH d AS (
  SELECT nr, trace, point, level, max(decisions) AS decisions FROM (
    SELECT t.id AS nr, t.trace, f.policy, f.point, f.level, sum(f.decisions) AS decisions
    FROM v_flush f JOIN traces t USING (trace)
    WHERE f.point <> 'spurious' -- differs by policy: see the report faults
    GROUP BY t.id, f.policy, f.point, f.level)
  GROUP BY nr, point, level),
 g AS (
  SELECT trace, point, level, count(page) AS pages, count(DISTINCT mm) AS processes
  FROM v_page GROUP BY trace, point, level)
SELECT d.trace, d.point, d.level, d.decisions, g.pages, g.processes
FROM d LEFT JOIN g ON g.trace = d.trace AND g.point = d.point AND g.level = d.level
ORDER BY d.nr, d.decisions DESC, d.point, d.level;

-- title: Points that the recording cannot show
-- fold: text
-- empty: None is known.
SELECT n.trace, n.subject AS point, n.text
FROM v_trust n JOIN traces t USING (trace) WHERE n.kind = 'unseen'
ORDER BY t.id, n.subject;
