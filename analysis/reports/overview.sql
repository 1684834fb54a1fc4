-- SPDX-License-Identifier: GPL-2.0-or-later
-- The answer on one page: what each policy would have done, what was recorded, how far to trust it
-- about: One line for each policy that the recorded kernel did not have comes first: what it would have flushed instead, the spurious faults and the cost with their bounds, and whether it is safe. Then what was recorded and whether replaying the kernel's own policy gives the same; then the counts and the costs side by side; then what all that rests on.
-- per trace

-- Each policy measured against the one that the kernel had. "main." because the kernel's own policy
-- is the measure even where --policy names another.
-- text
WITH base AS (
  SELECT t.id, t.trace, (SELECT p.policy FROM main.policies p
                         WHERE p.trace = t.id AND p.name = t.kernel_policy
                         ORDER BY p.id LIMIT 1) AS policy
  FROM traces t),
 flushes AS (
  SELECT trace, policy, point = 'wp_reuse' AS reuse,
    sum(CASE scope WHEN 'broadcast' THEN flushes ELSE 0 END) AS broadcasts,
    sum(CASE scope WHEN 'mask' THEN flushes ELSE 0 END) AS by_interrupt,
    sum(CASE scope WHEN 'local' THEN flushes ELSE 0 END) AS local
  FROM main.v_flush WHERE trace IN (SELECT trace FROM traces) GROUP BY trace, policy, reuse),
 -- What is issued anywhere else: equal sets mean unchanged. Flushes after spurious faults are left out
 -- since those faults are themselves what the policy brings, and stand in the sentence as such.
 elsewhere AS (
  SELECT DISTINCT trace, policy,
    group_concat(point || ' ' || level || ' ' || scope || ' ' || flushes_low || ' ' || flushes || ' ' || flushes_high)
      OVER (PARTITION BY trace, policy ORDER BY point, level, scope
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS cells
  FROM main.v_flush WHERE trace IN (SELECT trace FROM traces) AND point NOT IN ('wp_reuse', 'spurious') AND scope <> 'none' AND flushes_high > 0),
 spurious AS MATERIALIZED (SELECT * FROM v_fault WHERE kind = 'spurious'),
 costs AS MATERIALIZED (
  SELECT trace, policy,
    group_concat('; cost between ' || human_ns(low_ns) || ' and ' || human_ns(high_ns)
                 || ' (' || iif(presets > 1, cost || ', ', '')
                 || iif(uncalibrated, 'uncalibrated', 'calibrated') || ')', '') AS text
  FROM (SELECT k.*, count(*) OVER (PARTITION BY trace, policy) AS presets
        FROM v_cost_total k ORDER BY trace, policy, cost)
  GROUP BY trace, policy),
 verdicts AS MATERIALIZED (SELECT * FROM v_verdict),
 compared AS (
  SELECT b.id AS nr, b.trace, p.id, p.policy, b.policy AS base,
    coalesce(r.broadcasts, 0) AS reuse, coalesce(rb.broadcasts, 0) AS reuse_base,
    coalesce(o.broadcasts, 0) AS other, coalesce(ob.broadcasts, 0) AS other_base,
    coalesce(o.by_interrupt, 0) + coalesce(r.by_interrupt, 0) AS mask,
    coalesce(ob.by_interrupt, 0) + coalesce(rb.by_interrupt, 0) AS mask_base,
    e.cells IS eb.cells AS unchanged
  FROM base b JOIN policies p ON p.trace = b.id
    LEFT JOIN flushes r ON r.trace = b.trace AND r.policy = p.policy AND r.reuse
    LEFT JOIN flushes rb ON rb.trace = b.trace AND rb.policy = b.policy AND rb.reuse
    LEFT JOIN flushes o ON o.trace = b.trace AND o.policy = p.policy AND NOT o.reuse
    LEFT JOIN elsewhere e ON e.trace = b.trace AND e.policy = p.policy
    LEFT JOIN elsewhere eb ON eb.trace = b.trace AND eb.policy = b.policy
    LEFT JOIN flushes ob ON ob.trace = b.trace AND ob.policy = b.policy AND NOT ob.reuse
  WHERE b.policy IS NULL OR p.policy <> b.policy)
SELECT trace, policy, text FROM (
SELECT DISTINCT c.nr, 0 AS id, c.trace, NULL AS policy,
  c.trace || coalesce(', whose kernel flushed like ' || c.base, '') || ':' AS text
FROM compared c
UNION ALL
SELECT c.nr, c.id, c.trace, c.policy,
  '- ' || c.policy || ' would have issued '
  || CASE WHEN c.base IS NULL THEN count_of(c.reuse, 'broadcast') || ' at wp_reuse and '
               || human_count(c.other) || ' elsewhere, ' || count_of(c.mask, 'flush by interrupt', 'flushes by interrupt')
          WHEN c.reuse_base > 0 THEN human_count(c.reuse) || ' of '
               || count_of(c.reuse_base, 'broadcast') || ' at wp_reuse'
          ELSE count_of(c.reuse, 'broadcast') || ' at wp_reuse, where ' || c.base || ' issued none'
     END
  || CASE WHEN c.base IS NULL THEN ''
          WHEN c.unchanged THEN ' (other flushes unchanged)'
          ELSE ' (elsewhere: '
               || iif(c.other = c.other_base, 'the same ' || count_of(c.other, 'broadcast'),
                      count_of(c.other, 'broadcast') || ' instead of '
                      || human_count(c.other_base))
               || iif(c.mask = c.mask_base, '',
                      '; by interrupt ' || human_count(c.mask) || ' instead of '
                      || human_count(c.mask_base)) || ')' END
  || coalesce(CASE WHEN s.low = s.high THEN '; ' || count_of(s.estimate, 'spurious fault')
                   ELSE '; between ' || human_count(s.low) || ' and ' || human_count(s.high)
                        || ' spurious faults, estimate ' || human_count(s.estimate) END, '')
  || coalesce(k.text, '')
  || '; ' || coalesce(v.verdict || coalesce(': ' || v.witness, ''), 'not judged')
  || '.' AS text
FROM compared c LEFT JOIN spurious s ON s.trace = c.trace AND s.policy = c.policy
  LEFT JOIN costs k ON k.trace = c.trace AND k.policy = c.policy
  LEFT JOIN verdicts v ON v.trace = c.trace AND v.policy = c.policy)
ORDER BY nr, id;

-- text
SELECT l.trace,
  'Least cost' || iif(count(*) OVER (PARTITION BY l.trace) > 1, ' (' || l.cost || ')', '')
  || ': ' || CASE WHEN l.least = 'undecided'
                  THEN 'undecided, the bounds overlap (lowest estimate: ' || l.least_by_estimate
                       || ').'
                  ELSE l.least || ', even at its high bound.' END AS text
FROM v_least l JOIN traces t USING (trace)
WHERE (SELECT count(*) FROM main.policies p WHERE p.trace = t.id) > 1
ORDER BY t.id, l.cost;

-- text
SELECT t.trace,
  t.trace || ': ' || count_of(t.events, 'event') || ' of '
  || CASE t.kernel WHEN '' THEN 'an unnamed kernel' ELSE 'kernel ' || t.kernel END
  || CASE WHEN t.arch = '' THEN ' (architecture unknown)'
          WHEN t.arch_source = 'inferred' THEN ' (' || t.arch || ', inferred)'
          ELSE ' (' || t.arch || ')' END
  || ' on ' || count_of(t.cpus, 'CPU')
  || CASE WHEN t.cpus_with_events < t.cpus
          THEN ' (' || human_count(t.cpus_with_events) || ' with events)' ELSE '' END
  || coalesce(' over ' || printf('%.3f s', (t.last_ns - t.first_ns) / 1e9), '')
  || '; '
  || CASE WHEN t.lost_events = 0 AND t.lost_unknown = 0 AND coalesce(t.overrun, 0) = 0
               AND coalesce(t.dropped, 0) = 0 THEN 'nothing lost.'
     ELSE 'INCOMPLETE: ' || substr(
       CASE WHEN t.lost_events > 0 THEN ', ' || count_of(t.lost_events, 'event') || ' lost'
            ELSE '' END
       || CASE WHEN t.lost_unknown > 0
               THEN ', an unknown number lost at ' || count_of(t.lost_unknown, 'place') ELSE '' END
       || CASE WHEN t.overrun > 0 THEN ', ' || human_count(t.overrun)
               || ' overwritten before they were read' ELSE '' END
       || CASE WHEN t.dropped > 0 THEN ', ' || human_count(t.dropped) || ' dropped' ELSE '' END, 3)
       || '. Real counts are higher than these.' END AS text
FROM traces t ORDER BY t.id;

-- text
WITH s AS (
  SELECT trace, min(policy) AS policy,
    sum(source <> 'tlbi-only' AND recorded IS NOT NULL) AS checked,
    sum(source <> 'tlbi-only' AND recorded IS NOT NULL AND recorded <> replayed) AS differ,
    (SELECT group_concat(d, ', ') FROM (
       SELECT point || iif(level = 'pte', '', ' ' || level) || ' ' || human_count(recorded)
              || ' recorded, ' || human_count(replayed) || ' replayed' AS d
       FROM main.v_selfcheck i WHERE i.trace = o.trace AND source <> 'tlbi-only' AND recorded <> replayed
       ORDER BY point, level)) AS differences,
    (SELECT group_concat(d, ', ') FROM (
       SELECT DISTINCT point AS d FROM main.v_selfcheck i
       WHERE i.trace = o.trace AND source = 'tlbi-only' ORDER BY point)) AS only_tlbi,
    (SELECT group_concat(d, ', ') FROM (
       SELECT DISTINCT point AS d FROM main.v_selfcheck i
       WHERE i.trace = o.trace AND source <> 'tlbi-only' AND recorded IS NULL
       ORDER BY point)) AS unseen
  FROM main.v_selfcheck o GROUP BY trace)
SELECT t.trace,
  CASE WHEN t.kernel_policy IS NULL
       THEN 'The recording does not show which policy its kernel had, so nothing was checked '
            || 'against it.'
       ELSE 'Its kernel flushed like ' || t.kernel_policy || '. '
            || CASE WHEN NOT EXISTS (SELECT 1 FROM main.policies p
                                     WHERE p.trace = t.id AND p.name = t.kernel_policy)
                    THEN 'No self-check: that policy was not replayed (tlbreplay -p '
                         || t.kernel_policy || ')'
                    WHEN coalesce(s.checked, 0) = 0
                    THEN 'Self-check: nothing recorded to check against'
                    ELSE 'Self-check of ' || s.policy || ': ' || count_of(s.checked, 'point')
                         || ' checked, '
                         || CASE WHEN s.differ = 0 THEN iif(s.checked = 1, 'equal', 'all equal')
                                 ELSE human_count(s.differ) || ' DIFFER (' || s.differences || ')'
                            END END
            || coalesce('; shown by the flush alone: ' || s.only_tlbi, '')
            || coalesce('; not seen: ' || s.unseen, '') || '.' END AS text
FROM traces t LEFT JOIN s ON s.trace = t.trace
ORDER BY t.id;

-- title: What each policy would have flushed
-- note: a .. b .. c: low bound, estimate, high bound. Flushes are estimates; IPIs: flushes by interrupt; stale high: entries that are stale at some time, at the high bound.
WITH f AS (
  SELECT trace, policy,
    sum(CASE scope WHEN 'broadcast' THEN flushes ELSE 0 END) AS broadcasts,
    sum(CASE scope WHEN 'mask' THEN flushes ELSE 0 END) AS by_interrupt,
    sum(CASE scope WHEN 'local' THEN flushes ELSE 0 END) AS local
  FROM v_flush GROUP BY trace, policy),
 e AS (
  SELECT trace, policy, sum(entries) AS entries FROM v_exposure WHERE bound = 'high'
  GROUP BY trace, policy)
SELECT t.trace, p.policy, coalesce(f.broadcasts, 0) AS broadcasts,
       coalesce(f.by_interrupt, 0) AS IPIs, coalesce(f.local, 0) AS local,
       s.low AS spurious_faults_low, s.estimate AS spurious_faults, s.high AS spurious_faults_high,
       coalesce(e.entries, 0) AS stale_high
FROM policies p JOIN traces t ON t.id = p.trace
     LEFT JOIN f ON f.trace = t.trace AND f.policy = p.policy
     LEFT JOIN e ON e.trace = t.trace AND e.policy = p.policy
     LEFT JOIN v_fault s ON s.trace = t.trace AND s.policy = p.policy AND s.kind = 'spurious'
ORDER BY t.id, p.id;

-- title: What that would have cost
-- note: cpu share: cost as a share of the CPU time recorded.
-- empty: No cost preset was applied (tlbreplay --cost).
-- fold: cost_preset
SELECT t.trace, p.policy,
       c.low_ns AS cost_low_ns, c.estimate_ns AS cost_ns, c.high_ns AS cost_high_ns, c.uncalibrated,
       1.0 * c.low_ns / nullif(c.cpu_ns, 0) AS cpu_low_share,
       1.0 * c.estimate_ns / nullif(c.cpu_ns, 0) AS cpu_share,
       1.0 * c.high_ns / nullif(c.cpu_ns, 0) AS cpu_high_share,
       c.cost AS cost_preset
FROM v_cost_total c JOIN traces t USING (trace)
     JOIN policies p ON p.trace = t.id AND p.policy = c.policy
ORDER BY t.id, p.id, c.cost;

-- title: What this rests on
-- text
SELECT trace, '- ' || text AS text FROM (
  SELECT t.id AS nr, 0 AS kind, '' AS key, t.trace,
         'assumed: ' || group_concat(what, ', ') || '.' AS text
  FROM traces t JOIN (
    SELECT DISTINCT t2.trace AS of, a.name || ' = ' || a.value || rtrim(' ' || a.unit) AS what
    FROM v_param a JOIN traces t2 USING (trace) WHERE a.origin = 'assumed'
    UNION
    SELECT t2.trace, r.name || ' = ' || r.value
    FROM runs r JOIN traces t2 ON t2.id = r.trace WHERE r.origin = 'assumed'
    ORDER BY 1, 2) ON of = t.trace
  GROUP BY t.id
  UNION ALL
  SELECT t.id, 1, i.cost, t.trace,
         'uncalibrated in ' || i.cost || ', that is, measured by nobody: '
         || sum(i.trust = 'uncalibrated') || ' of ' || count_of(count(*), 'cost') || '.'
  FROM cost_items i JOIN traces t ON t.id = i.trace
  GROUP BY t.id, i.cost HAVING sum(i.trust = 'uncalibrated') > 0
  UNION ALL
  SELECT t.id, 2, '', t.trace, count_of(t.tasks_unknown_mm, 'task')
         || ' of ' || human_count(t.tasks) || ' came from nowhere: each counts as a process of its '
         || 'own.'
  FROM traces t WHERE t.tasks_unknown_mm > 0
  UNION ALL
  SELECT t.id, 3, n.kind, t.trace,
         n.kind || CASE n.kind
           WHEN 'left out' THEN ', stored in sums only'
           WHEN 'missing' THEN ', the recorder could not get it'
           WHEN 'skipped' THEN ', recorded but of no use here'
           WHEN 'unseen' THEN ', decision points that nothing recorded shows'
           WHEN 'unknown' THEN ', nothing says what they are'
           WHEN 'unplaced' THEN ', recorded, at a decision point that cannot be told'
           WHEN 'lost' THEN ', in no count'
           ELSE '' END || ': '
         || group_concat(n.subject || iif(n.n > 0, ' (' || human_count(n.n) || ')', ''), ', ')
         || '.'
  FROM traces t JOIN (SELECT * FROM v_trust ORDER BY trace, kind, subject, n) n
       ON n.trace = t.trace
  WHERE NOT (n.kind = 'assumed' -- stands with its value in the line above
             AND ((t.trace, n.subject) IN (SELECT trace, name FROM v_param WHERE origin = 'assumed')
                  OR (t.id, n.subject) IN (SELECT trace, name FROM runs WHERE origin = 'assumed')))
  GROUP BY t.id, n.kind)
ORDER BY nr, kind, key;

-- title: Next
-- text
-- terminal
SELECT trace, printf('  %-*s  %s', max(length(line)) OVER (PARTITION BY trace), line, why) AS text
FROM (
  SELECT t.id, t.trace, c.nr, c.why,
    shell_word(program()) || ' ' || shell_word(database()) || ' ' || c.command AS line
  FROM traces t JOIN (
    SELECT 1 AS nr, 'processes' AS command, 'who causes the flushes' AS why
    UNION ALL SELECT 2, 'cost --plot -', 'the costs, drawn'
    UNION ALL SELECT 3, 'trust', 'every caveat in full'
    UNION ALL SELECT 4, 'html -o report.html', 'all of it as one page'
    UNION ALL SELECT 5, 'list', 'what else it answers'
    UNION ALL SELECT 6, '--trace NAME', 'only one of the recordings'
              WHERE (SELECT count(*) FROM main.traces) > 1) c)
ORDER BY id, nr;
