-- SPDX-License-Identifier: GPL-2.0-or-later
-- Every cell of the flush table: policy, point, level, scope, with bounds
-- about: The finest grain there is. flushes_low and flushes_high differ only where the recording cannot tell whether a point was reached.
-- per trace
-- title: Invalidations by policy, decision point, level and scope
-- note: decisions: times the point was reached. a .. b .. c: low bound, estimate, high bound.
SELECT f.trace, f.policy, f.point, f.level, f.scope, f.decisions, f.flushes_low, f.flushes,
       f.flushes_high, f.pages
FROM v_flush f JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = f.policy
ORDER BY t.id, p.id, f.point, f.level, f.scope;
