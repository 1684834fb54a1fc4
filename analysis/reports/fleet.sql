-- SPDX-License-Identifier: GPL-2.0-or-later
-- A fleet: how cost, flushes, faults and stale entries spread over its hosts, and who would lose
-- about: For a database that "tlbreport merge --manifest" made. Shares are of the CPU time recorded on a host; p5, p50 and p95 are what 5, 50 and 95 percent of the hosts stay below, each host counted by its weight. What is compared with the kernel's own policy is left out where a recording does not show it.
-- picture: for each policy, which part of the hosts stays below a share of CPU time, by the estimate
-- title: The fleet
-- column: hosts: hosts of the list
-- column: weight: hosts that these stand for
-- column: recordings: recordings of the list
-- column: missing: of these, those without a replay
SELECT count(DISTINCT host) AS hosts,
       (SELECT sum(weight) FROM (SELECT DISTINCT host, weight FROM v_fleet)) AS weight,
       count(*) AS recordings, count(missing) AS missing
FROM v_fleet;

-- fold: cost
-- title: Share of CPU time over the hosts
-- empty: No host of a fleet is in this database: tlbreport merge --manifest puts them there.
-- note: Each: of the low bounds, of the estimates, of the high bounds.
-- column: metric: cost share: modelled cost of the CPU time; flush share: of that, the flushes themselves
-- column: hosts: hosts that it is known of
-- column: p5_low_share: what 5 % of the hosts stay below, of the low bounds
-- column: p5_share: the same, of the estimates
-- column: p5_high_share: the same, of the high bounds
-- column: p50_low_share: the median host, of the low bounds
-- column: p50_share: the same, of the estimates
-- column: p50_high_share: the same, of the high bounds
-- column: p95_low_share: what 95 % of the hosts stay below, of the low bounds
-- column: p95_share: the same, of the estimates
-- column: p95_high_share: the same, of the high bounds
SELECT metric, policy, cost, count(*) AS hosts,
       weighted_quantile(low, weight, 0.05) AS p5_low_share,
       weighted_quantile(estimate, weight, 0.05) AS p5_share,
       weighted_quantile(high, weight, 0.05) AS p5_high_share,
       weighted_quantile(low, weight, 0.5) AS p50_low_share,
       weighted_quantile(estimate, weight, 0.5) AS p50_share,
       weighted_quantile(high, weight, 0.5) AS p50_high_share,
       weighted_quantile(low, weight, 0.95) AS p95_low_share,
       weighted_quantile(estimate, weight, 0.95) AS p95_share,
       weighted_quantile(high, weight, 0.95) AS p95_high_share
FROM v_fleet_metric
WHERE metric IN ('cost share', 'flush share')
GROUP BY metric, cost, policy
ORDER BY metric, cost, policy;

-- title: Per second, over the hosts
-- column: metric: what is counted, per second of recording
-- column: hosts: hosts that it is known of
-- column: p5_low: what 5 % of the hosts stay below, of the low bounds
-- column: p5: the same, of the estimates
-- column: p5_high: the same, of the high bounds
-- column: p50_low: the median host, of the low bounds
-- column: p50: the same, of the estimates
-- column: p50_high: the same, of the high bounds
-- column: p95_low: what 95 % of the hosts stay below, of the low bounds
-- column: p95: the same, of the estimates
-- column: p95_high: the same, of the high bounds
SELECT metric, policy, count(*) AS hosts,
       weighted_quantile(low, weight, 0.05) AS p5_low,
       weighted_quantile(estimate, weight, 0.05) AS p5,
       weighted_quantile(high, weight, 0.05) AS p5_high,
       weighted_quantile(low, weight, 0.5) AS p50_low,
       weighted_quantile(estimate, weight, 0.5) AS p50,
       weighted_quantile(high, weight, 0.5) AS p50_high,
       weighted_quantile(low, weight, 0.95) AS p95_low,
       weighted_quantile(estimate, weight, 0.95) AS p95,
       weighted_quantile(high, weight, 0.95) AS p95_high
FROM v_fleet_metric
WHERE metric NOT IN ('cost share', 'flush share')
GROUP BY metric, policy
HAVING max(high) > 0
ORDER BY metric, policy;

-- fold: cost
-- title: Cost by label
-- note: Of the estimates.
-- long
-- column: label: a column of the list
-- column: value: what it says of the host
-- column: hosts: hosts of which it says so
-- column: weight: hosts that these stand for
-- column: p5_share: what 5 % of them stay below
-- column: p50_share: the median
-- column: p95_share: what 95 % of them stay below
SELECT l.label, l.value, m.policy, m.cost, count(*) AS hosts, sum(m.weight) AS weight,
       weighted_quantile(m.estimate, m.weight, 0.05) AS p5_share,
       weighted_quantile(m.estimate, m.weight, 0.5) AS p50_share,
       weighted_quantile(m.estimate, m.weight, 0.95) AS p95_share
FROM v_fleet_metric m JOIN v_fleet_label l ON l.host = m.host
WHERE m.metric = 'cost share'
GROUP BY l.label, l.value, m.cost, m.policy
ORDER BY l.label, l.value, m.cost, m.policy;

-- fold: cost
-- title: Against the policy of the hosts' own kernels
-- note: gain, lose: the bounds do not overlap; undecided: they do. By the estimate: where the estimate is lower or higher.
-- column: hosts: hosts whose kernel's policy is known and was replayed, too
-- column: gain_share: part of the hosts, by weight, that surely gain
-- column: undecided_share: part of the hosts whose bounds overlap
-- column: lose_share: part of the hosts that surely lose
-- column: estimated_gain_share: part of the hosts that gain by the estimate
-- column: estimated_lose_share: part of the hosts that lose by the estimate
SELECT policy, cost, count(*) AS hosts,
       sum(weight * (change_high_share < 0)) / sum(weight) AS gain_share,
       sum(weight * (change_low_share <= 0 AND change_high_share >= 0)) / sum(weight) AS undecided_share,
       sum(weight * (change_low_share > 0)) / sum(weight) AS lose_share,
       sum(weight * (change_share < 0)) / sum(weight) AS estimated_gain_share,
       sum(weight * (change_share > 0)) / sum(weight) AS estimated_lose_share
FROM v_fleet_change
GROUP BY cost, policy
ORDER BY cost, policy;

-- fold: cost
-- title: Hosts that would lose
-- note: By the estimate, those that lose most first. surely: also at the most favourable bounds.
-- empty: None, by the estimate.
-- long
-- column: kernel_policy: what the host's kernel does
-- column: change_low_share: CPU time that the policy would take more, at the most favourable bounds
-- column: change_share: the same, by the estimate
-- column: change_high_share: the same, at the least favourable bounds
-- column: surely: yes: at all bounds
SELECT host, policy, cost, kernel_policy, change_low_share, change_share, change_high_share,
       iif(change_low_share > 0, 'yes', 'no') AS surely
FROM v_fleet_change
WHERE change_share > 0
ORDER BY change_share DESC, host, policy, cost;

-- fold: cost
-- title: Hosts unlike the others
-- note: More than 5 times as far from the median as the median host (by the estimate).
-- empty: None.
-- long
-- column: share: cost of the CPU time on this host, by the estimate
-- column: median_share: that of the median host
-- column: times: how many times as far from it as the median host
SELECT m.host, m.policy, m.cost, m.estimate AS share, c.middle AS median_share,
       round(abs(m.estimate - c.middle) / s.spread, 1) AS times
FROM v_fleet_metric m
JOIN (SELECT policy, cost, weighted_quantile(estimate, weight, 0.5) AS middle FROM v_fleet_metric
      WHERE metric = 'cost share' GROUP BY policy, cost) c ON c.policy = m.policy AND c.cost = m.cost
JOIN (SELECT a.policy, a.cost, weighted_quantile(abs(a.estimate - b.middle), a.weight, 0.5) AS spread
      FROM v_fleet_metric a
      JOIN (SELECT policy, cost, weighted_quantile(estimate, weight, 0.5) AS middle FROM v_fleet_metric
            WHERE metric = 'cost share' GROUP BY policy, cost) b ON b.policy = a.policy AND b.cost = a.cost
      WHERE a.metric = 'cost share' GROUP BY a.policy, a.cost) s ON s.policy = m.policy AND s.cost = m.cost
WHERE m.metric = 'cost share' AND s.spread > 0 AND abs(m.estimate - c.middle) > 5 * s.spread
ORDER BY times DESC, m.host, m.policy, m.cost;

-- title: Missing recordings
-- empty: None.
-- long
-- column: missing: why there is no replay of it
SELECT host, recording, path, missing
FROM v_fleet WHERE missing IS NOT NULL ORDER BY host, recording, path;

-- plot
SELECT 'Cost over ' || count_of(hosts, 'host') || ' (costs: ' || cost || ')' AS panel, policy AS series,
       estimate AS share, below
FROM (SELECT cost, policy, host, estimate,
             count(*) OVER (PARTITION BY cost, policy) AS hosts,
             sum(weight) OVER (PARTITION BY cost, policy ORDER BY estimate, host) /
             sum(weight) OVER (PARTITION BY cost, policy) AS below
      FROM v_fleet_metric WHERE metric = 'cost share')
ORDER BY cost, policy, estimate, host;
