-- SPDX-License-Identifier: GPL-2.0-or-later
-- How far to trust it: what was lost, unseen, assumed or never measured
-- about: Read this before you rely on a number: what the recording could not show is not in any count.
-- per trace
-- title: What the recording could not show, and what was done about it
-- empty: Nothing to say: no notes on this recording.
SELECT n.trace, n.kind, n.subject, n.n, n.text
FROM v_trust n JOIN traces t USING (trace)
ORDER BY t.id, n.kind, n.subject, n.text, n.n;

-- note: overrun: overwritten before they were read. "-": not stored in the recording.
-- title: Lost events
SELECT trace, lost_events AS lost, lost_unknown, overrun, dropped, tasks, tasks_unknown_mm
FROM traces ORDER BY id;

-- title: Values that nobody measured or gave
-- empty: None.
SELECT trace, what, name, value, unit, origin FROM (
  SELECT t.id AS nr, 0 AS kind, t.trace, 'run' AS what, r.name, r.value, '' AS unit, r.origin
  FROM runs r JOIN traces t ON t.id = r.trace WHERE r.origin = 'assumed'
  UNION ALL
  SELECT t.id, 1, t.trace, a.policy, a.name, a.value, a.unit, a.origin
  FROM v_param a JOIN traces t USING (trace) WHERE a.origin = 'assumed'
  UNION ALL
  SELECT t.id, 2, t.trace, 'cost ' || i.cost, i.item,
         human_count(i.low) || ' .. ' || human_count(i.value) || ' .. ' || human_count(i.high),
         i.unit, i.trust
  FROM cost_items i JOIN traces t ON t.id = i.trace WHERE i.trust = 'uncalibrated')
ORDER BY nr, kind, what, name, value;
