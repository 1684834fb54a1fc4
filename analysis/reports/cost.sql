-- SPDX-License-Identifier: GPL-2.0-or-later
-- Modelled cost of each policy, in parts, with bounds
-- about: Counts times what one of each costs (table 3), per policy and cost preset. A total whose parts rest on a cost that nobody measured is uncalibrated. Which policy is cheapest is decided only where bounds do not overlap: see verdict.
-- picture: bars or marks at the estimate, whiskers from the low to the high bound; logarithmic where the bounds span more than two decades
-- per trace
-- fold: cost
-- title: Cost in all
-- note: a .. b .. c: low bound, estimate, high bound. cpu share: of the time that the CPUs in the recording had.
SELECT c.trace, c.policy, c.cost, c.low_ns, c.estimate_ns, c.high_ns, c.uncalibrated,
       1.0 * c.low_ns / nullif(c.cpu_ns, 0) AS cpu_low_share,
       1.0 * c.estimate_ns / nullif(c.cpu_ns, 0) AS cpu_share,
       1.0 * c.high_ns / nullif(c.cpu_ns, 0) AS cpu_high_share
FROM v_cost_total c JOIN traces t USING (trace)
     JOIN policies p ON p.trace = t.id AND p.policy = c.policy
ORDER BY t.id, c.cost, p.id;

-- fold: cost
-- title: Cost by part
SELECT c.trace, c.policy, c.cost, c.part, c.low_ns, c.estimate_ns, c.high_ns, c.uncalibrated
FROM v_cost c JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = c.policy
ORDER BY t.id, c.cost, p.id, c.part;

-- fold: cost
-- column: low: low bound, in the unit of the row
-- column: estimate: value, in the unit of the row
-- column: high: high bound, in the unit of the row
-- column: source: where the value comes from
-- title: What one of each costs
SELECT t.trace, i.cost, i.item, i.low, i.value AS estimate, i.high, i.unit, i.trust, i.source
FROM cost_items i JOIN traces t ON t.id = i.trace
ORDER BY t.id, i.cost, i.item, i.unit, i.source;

-- plot
SELECT c.trace || ' (costs: ' || c.cost || ')' AS panel, c.policy, c.low_ns, c.estimate_ns,
       c.high_ns, c.uncalibrated <> 0 AS uncalibrated,
       human_ns(c.low_ns, c.estimate_ns, c.high_ns) AS label
FROM v_cost_total c JOIN traces t USING (trace)
     JOIN policies p ON p.trace = t.id AND p.policy = c.policy
ORDER BY t.id, c.cost, p.id;
