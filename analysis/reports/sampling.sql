-- SPDX-License-Identifier: GPL-2.0-or-later
-- A fleet: how many hosts must be recorded to know what a policy would change
-- about: So many hosts are drawn from those recorded, with replacement and by weight, 1000 times over (bootstrap, seed 1): between which values does the mean change of CPU time lie then? What none of the recorded hosts shows is not in it, nor the doubt in the model itself: the estimate of each host is taken as it is.
-- picture: the mean change of CPU time as so many hosts would show it: between the lines in 95 of 100 cases
-- fold: cost
-- title: Hosts needed
-- note: -: more than 10,000, or the change is none. within a tenth: of the mean change.
-- empty: No host of a fleet whose own policy is known and was replayed beside another one.
-- column: hosts: hosts recorded
-- column: mean_share: mean change of CPU time against the hosts' own policies, by the estimate
-- column: sign_90: hosts at which its sign is right in 90 of 100 cases
-- column: sign_95: in 95 of 100 cases
-- column: sign_99: in 99 of 100 cases
-- column: tenth_95: hosts at which it is within a tenth in 95 of 100 cases
WITH size(n) AS (VALUES (1), (2), (3), (5), (7), (10), (15), (20), (30), (50), (70), (100), (150), (200),
                        (300), (500), (700), (1000), (1500), (2000), (3000), (5000), (7000), (10000)),
drawn AS (
  SELECT c.policy, c.cost, s.n, count(*) AS hosts, sum(c.change_share * c.weight) / sum(c.weight) AS mean,
         bootstrap_mean(c.change_share, c.weight, s.n, 0.01, 1) AS q01,
         bootstrap_mean(c.change_share, c.weight, s.n, 0.05, 1) AS q05,
         bootstrap_mean(c.change_share, c.weight, s.n, 0.1, 1) AS q10,
         bootstrap_mean(c.change_share, c.weight, s.n, 0.9, 1) AS q90,
         bootstrap_mean(c.change_share, c.weight, s.n, 0.95, 1) AS q95,
         bootstrap_mean(c.change_share, c.weight, s.n, 0.99, 1) AS q99,
         bootstrap_mean(c.change_share, c.weight, s.n, 0.025, 1) AS q025,
         bootstrap_mean(c.change_share, c.weight, s.n, 0.975, 1) AS q975
  FROM v_fleet_change c, size s
  GROUP BY c.policy, c.cost, s.n)
SELECT policy, cost, hosts, mean AS mean_share,
       min(n) FILTER (WHERE mean < 0 AND q90 < 0 OR mean > 0 AND q10 > 0) AS sign_90,
       min(n) FILTER (WHERE mean < 0 AND q95 < 0 OR mean > 0 AND q05 > 0) AS sign_95,
       min(n) FILTER (WHERE mean < 0 AND q99 < 0 OR mean > 0 AND q01 > 0) AS sign_99,
       min(n) FILTER (WHERE mean <> 0 AND max(q975 - mean, mean - q025) <= abs(mean) / 10) AS tenth_95
FROM drawn
GROUP BY policy, cost
ORDER BY cost, policy;

-- fold: cost
-- title: What so many hosts would show
-- note: low and high: in 95 of 100 cases the mean change lies between them.
-- long
-- column: n: hosts drawn
-- column: mean_low_share: in 97.5 of 100 cases the mean change is no lower
-- column: mean_share: mean change of CPU time over all hosts recorded
-- column: mean_high_share: in 97.5 of 100 cases it is no higher
WITH size(n) AS (VALUES (5), (10), (20), (50), (100), (200), (500), (1000), (2000), (5000), (10000))
SELECT c.policy, c.cost, s.n, bootstrap_mean(c.change_share, c.weight, s.n, 0.025, 1) AS mean_low_share,
       sum(c.change_share * c.weight) / sum(c.weight) AS mean_share,
       bootstrap_mean(c.change_share, c.weight, s.n, 0.975, 1) AS mean_high_share
FROM v_fleet_change c, size s
GROUP BY c.policy, c.cost, s.n
ORDER BY c.cost, c.policy, s.n;

-- plot
WITH size(n) AS (VALUES (5), (7), (10), (15), (20), (30), (50), (70), (100), (150), (200), (300), (500), (700),
                        (1000), (2000), (5000), (10000))
SELECT 'Mean change as so many hosts show it (costs: ' || c.cost || ')' AS panel, c.policy AS series, s.n,
       bootstrap_mean(c.change_share, c.weight, s.n, 0.025, 1) AS low_share,
       sum(c.change_share * c.weight) / sum(c.weight) AS mean_share,
       bootstrap_mean(c.change_share, c.weight, s.n, 0.975, 1) AS high_share
FROM v_fleet_change c, size s
GROUP BY c.cost, c.policy, s.n
ORDER BY c.cost, c.policy, s.n;
