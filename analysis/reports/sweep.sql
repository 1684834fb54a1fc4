-- SPDX-License-Identifier: GPL-2.0-or-later
-- Costs with one or two things varied, as tlbreplay --sweep was asked to
-- about: For a cost item, the number of CPUs or a share, which policy costs least where. More CPUs than recorded are extrapolated: the recording stays what it is, and only how many others a broadcast reaches changes.
-- picture: one thing varied: cost of each policy, at the estimate; two: which policy costs least where
-- per trace
-- fold: cost
-- title: Which policy costs least
-- empty: Nothing was varied: tlbreplay --sweep NAME=FROM:TO:N.
-- column: axis1: what was varied
-- column: from_value: first value at which this policy costs least, estimate: ns, CPUs or a fraction
-- column: to_value: last value at which it does before another one does
-- column: axis2: what else was varied
-- column: value2: at this value of it: ns, CPUs or a fraction
-- column: least: policy that costs least, estimate
-- column: sure: 1: by its bounds, too, everywhere there
-- note: from, to: first and last value of axis1 between which this policy costs least at the estimate. sure: also by the bounds.
-- long
WITH r AS (
  SELECT s.*, row_number() OVER (PARTITION BY s.trace, s.cost, s.axis1, s.axis2, s.value1, s.value2
                                 ORDER BY s.estimate_ns, p.id) AS place,
         min(s.low_ns) OVER (PARTITION BY s.trace, s.cost, s.axis1, s.axis2, s.value1, s.value2) AS least_low,
         t.id AS nr
  FROM v_sweep s JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = s.policy),
 w AS (
  SELECT r.*, (SELECT count(*) FROM v_sweep o WHERE o.trace = r.trace AND o.cost = r.cost
               AND o.axis1 = r.axis1 AND o.axis2 = r.axis2 AND o.value1 = r.value1
               AND o.value2 IS r.value2 AND o.policy <> r.policy AND o.low_ns <= r.high_ns) = 0 AS sure
  FROM r WHERE place = 1),
 g AS (
  SELECT w.*, sum(new) OVER (PARTITION BY nr, cost, axis1, axis2, value2 ORDER BY value1) AS run
  FROM (SELECT w.*, policy IS NOT lag(policy) OVER (PARTITION BY nr, cost, axis1, axis2, value2
                                                  ORDER BY value1) AS new FROM w) w)
SELECT trace, cost, axis1, min(value1) AS from_value, max(value1) AS to_value, axis2, value2,
       policy AS least, min(sure) AS sure
FROM g GROUP BY nr, cost, axis1, axis2, value2, run
ORDER BY nr, cost, axis1, axis2, value2, min(value1);

-- plot
WITH s AS (
  SELECT s.*, t.id AS nr, p.id,
         dense_rank() OVER (PARTITION BY t.id, s.cost, s.axis1, s.axis2 ORDER BY s.value1) AS i,
         CASE WHEN s.value2 IS NULL THEN 0
              ELSE dense_rank() OVER (PARTITION BY t.id, s.cost, s.axis1, s.axis2 ORDER BY s.value2) END AS j,
         row_number() OVER (PARTITION BY t.id, s.cost, s.axis1, s.axis2, s.value1, s.value2
                            ORDER BY s.estimate_ns, p.id) AS place
  FROM v_sweep s JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = s.policy)
SELECT trace || ' (costs: ' || cost || CASE WHEN axis2 = '' THEN '): cost over ' ELSE '): least cost over ' END
       || axis1 || CASE WHEN axis1 IN ('cpus', 'share', 'write_share') THEN '' ELSE ' in ns' END
       || CASE WHEN axis2 = '' THEN '' ELSE ' and ' || axis2 ||
            CASE WHEN axis2 IN ('cpus', 'share', 'write_share') THEN '' ELSE ' in ns' END END AS panel,
       policy AS series, i, j, value1, value2, estimate_ns, place = 1 AS least
FROM s ORDER BY nr, cost, axis1, axis2, id, value1, value2;
