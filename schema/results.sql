-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- What a replay leaves behind. One database holds any number of replays; one row of "traces" per
-- recording and run. Counts are whole events unless a column says otherwise; times are nanoseconds of
-- the recording's clock; *_low, (plain or *_estimate), *_high bound what cannot be known.
-- The views are the interface: columns are only ever added to them.

PRAGMA user_version = 3;

CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One replayed recording.
CREATE TABLE traces(
  id INTEGER PRIMARY KEY,
  trace TEXT NOT NULL UNIQUE,        -- base name of the file, "#2", "#3" behind it if repeated
  hash TEXT NOT NULL,                -- identity of the file's bytes, 64 bits, hex
  bytes INTEGER NOT NULL,            -- size of the file
  format INTEGER NOT NULL,           -- trace.dat version
  compression TEXT NOT NULL,
  kernel TEXT NOT NULL,              -- release, '' if not stored
  arch TEXT NOT NULL,                -- arm64, x86 or '' if it cannot be told
  arch_source TEXT NOT NULL,         -- stored, inferred, unknown
  clock TEXT NOT NULL,               -- '' if not stored
  page_bytes INTEGER NOT NULL,
  cpus INTEGER NOT NULL,             -- CPUs with a buffer
  cpus_with_events INTEGER NOT NULL,
  buffers INTEGER NOT NULL,
  events INTEGER NOT NULL,           -- recorded events read
  events_used INTEGER NOT NULL,      -- those that the catalogue knows
  first_ns INTEGER, last_ns INTEGER, -- NULL if there is no event
  lost_events INTEGER NOT NULL,      -- counted in page headers
  lost_unknown INTEGER NOT NULL,     -- places with missing events that nobody counted
  overrun INTEGER,                   -- CPUSTAT: overwritten before they were read; NULL: not stored
  dropped INTEGER,                   -- CPUSTAT: dropped; NULL: not stored
  tasks INTEGER NOT NULL,            -- tasks seen
  tasks_unknown_mm INTEGER NOT NULL, -- user tasks that nothing introduced: own placeholder mm each
  kernel_policy TEXT                 -- policy that the recorded kernel showed; NULL: cannot be told
);

-- What a recording could not show, or what was done with it; one sentence each.
CREATE TABLE notes(trace INTEGER NOT NULL REFERENCES traces(id),
  kind TEXT NOT NULL,                -- lost, missing, unseen, unplaced, unknown, skipped,
                                     -- assumed, left out
  subject TEXT NOT NULL, n INTEGER, text TEXT NOT NULL); -- n: NULL where nothing is counted

-- The host's facts as its recorder wrote them (schema/hostfacts.h), in their order. A key may come more
-- than once.
CREATE TABLE host(trace INTEGER NOT NULL REFERENCES traces(id), key TEXT NOT NULL, value TEXT NOT NULL);

CREATE TABLE cpus(trace INTEGER NOT NULL REFERENCES traces(id), cpu INTEGER NOT NULL,
  buffer TEXT NOT NULL, events INTEGER NOT NULL, lost_events INTEGER NOT NULL,
  lost_unknown INTEGER NOT NULL, overrun INTEGER, dropped INTEGER);

-- Address spaces. id 0 does not exist; "origin": pointer (a probe gave it), derived (clone, exec),
-- snapshot (taken when the recording began), placeholder (a task that nothing introduced).
CREATE TABLE mms(trace INTEGER NOT NULL REFERENCES traces(id), mm INTEGER NOT NULL,
  pointer TEXT, tid INTEGER, comm TEXT, origin TEXT NOT NULL, first_ns INTEGER, last_ns INTEGER,
  pages INTEGER NOT NULL,            -- distinct pages that the events touched
  PRIMARY KEY(trace, mm)) WITHOUT ROWID;

-- Every event of the recording, grouped.
CREATE TABLE recorded(trace INTEGER NOT NULL REFERENCES traces(id), event TEXT NOT NULL,
  op TEXT, scope TEXT, events INTEGER NOT NULL, used INTEGER NOT NULL);

CREATE TABLE runs(trace INTEGER NOT NULL REFERENCES traces(id), name TEXT NOT NULL,
  value TEXT NOT NULL, origin TEXT NOT NULL); -- origin: given, default, assumed

CREATE TABLE policies(id INTEGER PRIMARY KEY, trace INTEGER NOT NULL REFERENCES traces(id),
  policy TEXT NOT NULL,              -- as given
  name TEXT NOT NULL, summary TEXT NOT NULL, source TEXT NOT NULL, omits TEXT NOT NULL,
  UNIQUE(trace, policy));
CREATE TABLE policy_params(policy INTEGER NOT NULL REFERENCES policies(id), name TEXT NOT NULL,
  value TEXT NOT NULL, unit TEXT NOT NULL, origin TEXT NOT NULL); -- given, default, assumed

CREATE TABLE flush(policy INTEGER NOT NULL REFERENCES policies(id), point TEXT NOT NULL,
  level TEXT NOT NULL, scope TEXT NOT NULL, decisions INTEGER NOT NULL,
  flushes_low INTEGER NOT NULL, flushes INTEGER NOT NULL, flushes_high INTEGER NOT NULL,
  pages INTEGER NOT NULL);
-- The three below leave out the point "spurious": its faults are an outcome of the policy, and are known by
-- number only.
CREATE TABLE flush_mm(policy INTEGER NOT NULL REFERENCES policies(id), mm INTEGER NOT NULL,
  point TEXT NOT NULL, scope TEXT NOT NULL, flushes_low INTEGER NOT NULL, flushes INTEGER NOT NULL,
  flushes_high INTEGER NOT NULL);
CREATE TABLE flush_cpu(policy INTEGER NOT NULL REFERENCES policies(id), cpu INTEGER NOT NULL,
  scope TEXT NOT NULL, issued INTEGER NOT NULL, -- by this CPU
  received INTEGER NOT NULL);                   -- interrupts or broadcasts of others that reach it
CREATE TABLE flush_time(policy INTEGER NOT NULL REFERENCES policies(id),
  start_ns INTEGER NOT NULL, width_ns INTEGER NOT NULL, scope TEXT NOT NULL,
  flushes_low INTEGER NOT NULL, flushes INTEGER NOT NULL, flushes_high INTEGER NOT NULL);

-- Decisions by page. page: address of its first byte; NULL: pages behind the stated limit, added up.
CREATE TABLE pages(trace INTEGER NOT NULL REFERENCES traces(id), mm INTEGER NOT NULL, page INTEGER,
  point TEXT NOT NULL, level TEXT NOT NULL, decisions INTEGER NOT NULL);

-- Decisions by time and place, in cells of one size for the recording: as small as a bounded number of
-- them allows. addr: first byte of the cell, NULL where the whole mm is meant. mm 0: too many came and went
-- to tell them apart.
CREATE TABLE heat_grid(trace INTEGER NOT NULL REFERENCES traces(id), bytes INTEGER NOT NULL,
  width_ns INTEGER NOT NULL);
CREATE TABLE heat(trace INTEGER NOT NULL REFERENCES traces(id), mm INTEGER NOT NULL, addr INTEGER,
  start_ns INTEGER NOT NULL, point TEXT NOT NULL, level TEXT NOT NULL, decisions INTEGER NOT NULL);

-- How long the kernel's flushing functions took, from entry to return probe, by what is known of each call.
CREATE TABLE latencies(trace INTEGER NOT NULL REFERENCES traces(id),
  call TEXT NOT NULL,  -- upgrade, young, unchanged, contpte, cow, gather, range
  flush TEXT NOT NULL, -- seen inside: none, local, mask, broadcast; "not recorded": none could be
  cpus INTEGER NOT NULL, cpus_to INTEGER NOT NULL, -- that the mm had run on; 0: mm not known
  concurrent INTEGER NOT NULL, concurrent_to INTEGER NOT NULL, -- other calls under way meanwhile
  calls INTEGER NOT NULL, probes INTEGER NOT NULL,             -- probes: that fired inside them
  min_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL, sum_ns INTEGER NOT NULL);
CREATE TABLE latency_buckets(trace INTEGER NOT NULL REFERENCES traces(id), call TEXT NOT NULL,
  flush TEXT NOT NULL, cpus INTEGER NOT NULL, concurrent INTEGER NOT NULL,
  from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL, calls INTEGER NOT NULL);
-- reason: no entry, no return, switched, lost
CREATE TABLE latency_left_out(trace INTEGER NOT NULL REFERENCES traces(id), reason TEXT NOT NULL,
  calls INTEGER NOT NULL);

CREATE TABLE faults(policy INTEGER NOT NULL REFERENCES policies(id), kind TEXT NOT NULL,
  low REAL NOT NULL, estimate REAL NOT NULL, high REAL NOT NULL);

-- Stale entries, exact sums. ended: flush, refault, gone (with its mm), evicted, end (the trace ended
-- first: censored).
CREATE TABLE exposures(policy INTEGER NOT NULL REFERENCES policies(id), kind TEXT NOT NULL,
  bound TEXT NOT NULL, ended TEXT NOT NULL, entries REAL NOT NULL, entry_ns REAL NOT NULL,
  max_ns INTEGER NOT NULL);
-- Lengths of stale entries at the high bound: how many were shorter than below_ns, and not shorter than
-- half of it.
CREATE TABLE exposure_lengths(policy INTEGER NOT NULL REFERENCES policies(id), kind TEXT NOT NULL,
  below_ns INTEGER NOT NULL, entries INTEGER NOT NULL);
-- Stale entries at the high bound, by address space, and of the pages that had most of them.
CREATE TABLE stale_mm(policy INTEGER NOT NULL REFERENCES policies(id), mm INTEGER NOT NULL,
  pages INTEGER NOT NULL, entries INTEGER NOT NULL);
CREATE TABLE stale_pages(policy INTEGER NOT NULL REFERENCES policies(id), mm INTEGER NOT NULL,
  page INTEGER NOT NULL, entries INTEGER NOT NULL);
-- Single ones at the high bound: the longest, up to the limit that runs.exposure_rows states.
CREATE TABLE exposure_rows(policy INTEGER NOT NULL REFERENCES policies(id), kind TEXT NOT NULL,
  mm INTEGER NOT NULL, page INTEGER NOT NULL, cpu INTEGER NOT NULL, start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL, ended TEXT NOT NULL);

-- Cost presets as used, and what they make of the counts.
CREATE TABLE cost_items(trace INTEGER NOT NULL REFERENCES traces(id), cost TEXT NOT NULL,
  item TEXT NOT NULL, unit TEXT NOT NULL, low REAL NOT NULL, value REAL NOT NULL, high REAL NOT NULL,
  trust TEXT NOT NULL,               -- measured, derived, uncalibrated, given
  source TEXT NOT NULL,
  cpu TEXT NOT NULL, cores TEXT NOT NULL, kernel TEXT NOT NULL); -- of the machine it is from
-- Costs with one or two things varied (tlbreplay --sweep): values on the axes in ns, CPUs or as a
-- fraction; axis2 is '' where only one is varied.
CREATE TABLE sweeps(policy INTEGER NOT NULL REFERENCES policies(id), cost TEXT NOT NULL,
  axis1 TEXT NOT NULL, value1 REAL NOT NULL, axis2 TEXT NOT NULL, value2 REAL,
  low_ns REAL NOT NULL, estimate_ns REAL NOT NULL, high_ns REAL NOT NULL);
-- How often each policy pays each item: costs are these times the item's low, value, high, and what
-- broadcasts waited for each other (part queue).
CREATE TABLE quantities(policy INTEGER NOT NULL REFERENCES policies(id), item TEXT NOT NULL,
  low REAL NOT NULL, estimate REAL NOT NULL, high REAL NOT NULL);
CREATE TABLE costs(policy INTEGER NOT NULL REFERENCES policies(id), cost TEXT NOT NULL,
  part TEXT NOT NULL, low_ns REAL NOT NULL, estimate_ns REAL NOT NULL, high_ns REAL NOT NULL,
  uncalibrated INTEGER NOT NULL);    -- 1: rests on an item that nobody measured

CREATE TABLE selfcheck(trace INTEGER NOT NULL REFERENCES traces(id), policy TEXT NOT NULL,
  point TEXT NOT NULL, level TEXT NOT NULL, recorded INTEGER, replayed INTEGER NOT NULL,
  source TEXT NOT NULL);             -- events, tlbi-only, unseen
CREATE TABLE verdicts(policy INTEGER NOT NULL REFERENCES policies(id), verdict TEXT NOT NULL,
  witness TEXT, unseen INTEGER);     -- unseen: decision points of the policy that nothing shows

-- Dirty pages (replay/dirty.h), of recordings that have do_swap_page, try_to_unmap_one and the writes to
-- swap. A folio that is written at once counts as one page.
CREATE TABLE swap(trace INTEGER NOT NULL REFERENCES traces(id),
  swap_ins INTEGER NOT NULL,         -- pages that do_swap_page mapped
  for_write INTEGER NOT NULL,        -- of these, in a write fault
  writable INTEGER NOT NULL,         -- of these, in a read fault, with a writable entry
  dirty INTEGER NOT NULL,            -- of writable, those that counted as written at once
  unmapped INTEGER NOT NULL,         -- private pages that reclaim unmapped
  shared INTEGER NOT NULL,           -- further mappings of these
  not_private INTEGER NOT NULL,      -- pages of files and shared memory that reclaim unmapped
  writes INTEGER NOT NULL,           -- pages written to swap
  writes_unplaced INTEGER NOT NULL,  -- of these, not told which page
  writes_missing INTEGER NOT NULL,   -- pages that had to be written and were not seen to be
  upgrades INTEGER NOT NULL,         -- of writable, made dirty by a write fault: no dbm
  silent INTEGER NOT NULL,           -- of writable, found dirty without one: dbm
  mkwrite TEXT, dbm TEXT);           -- of the recorded kernel: dirty, clean; on, off; NULL: not told
CREATE TABLE dirty(trace INTEGER NOT NULL REFERENCES traces(id), mkwrite TEXT NOT NULL,
  dbm TEXT NOT NULL, recorded INTEGER, -- 1: the recorded kernel; NULL: not told
  writes_low REAL NOT NULL, writes REAL NOT NULL, writes_high REAL NOT NULL,
  unwritten_low REAL NOT NULL, unwritten REAL NOT NULL, unwritten_high REAL NOT NULL,
  extra_faults_low REAL NOT NULL, extra_faults REAL NOT NULL, extra_faults_high REAL NOT NULL);
CREATE TABLE dirty_mm(trace INTEGER NOT NULL REFERENCES traces(id), mm INTEGER NOT NULL,
  swap_ins INTEGER NOT NULL, writable INTEGER NOT NULL, writes INTEGER NOT NULL,
  unwritten_low REAL NOT NULL, unwritten REAL NOT NULL, unwritten_high REAL NOT NULL);
CREATE TABLE dirty_flush(policy INTEGER NOT NULL REFERENCES policies(id), mkwrite TEXT NOT NULL,
  dbm TEXT NOT NULL, scope TEXT NOT NULL, flushes_low REAL NOT NULL, flushes REAL NOT NULL,
  flushes_high REAL NOT NULL);

-- A fleet: only in what "tlbreport merge --manifest" has made. weight: how many hosts this one stands
-- for. A recording without a trace is missing, and says why.
CREATE TABLE fleet_hosts(id INTEGER PRIMARY KEY, host TEXT NOT NULL UNIQUE, weight REAL NOT NULL);
CREATE TABLE fleet_labels(host INTEGER NOT NULL REFERENCES fleet_hosts(id), label TEXT NOT NULL,
  value TEXT NOT NULL, PRIMARY KEY(host, label)) WITHOUT ROWID;
CREATE TABLE fleet_recordings(host INTEGER NOT NULL REFERENCES fleet_hosts(id), recording TEXT NOT NULL,
  path TEXT NOT NULL, trace INTEGER REFERENCES traces(id), missing TEXT);

-- Only where a replay was a shard of its recording (tlbreplay --shard): which one, and what it counted in
-- the form in which shards add up. "tlbreport merge" makes one replay of all of them and leaves nothing
-- here. n is the same in all shards for share, write_share and fix_scope (a scope's number), and adds up
-- for all others.
CREATE TABLE shards(trace INTEGER NOT NULL REFERENCES traces(id), part INTEGER NOT NULL,
  parts INTEGER NOT NULL);
CREATE TABLE shard_counts(policy INTEGER NOT NULL REFERENCES policies(id), name TEXT NOT NULL,
  subject TEXT NOT NULL, n NUMERIC NOT NULL);
-- sum: proven, held, likely, possible. Entry-ns in units of 2^-20 ns: units_high * 2^62 + units_low.
CREATE TABLE shard_exposures(policy INTEGER NOT NULL REFERENCES policies(id), kind TEXT NOT NULL,
  ended TEXT NOT NULL, sum TEXT NOT NULL, entries REAL NOT NULL, units_high INTEGER NOT NULL,
  units_low INTEGER NOT NULL, max_ns INTEGER NOT NULL);
CREATE TABLE shard_witnesses(policy INTEGER NOT NULL REFERENCES policies(id), verdict TEXT NOT NULL,
  seq INTEGER NOT NULL, witness TEXT NOT NULL); -- seq: ordinal of the event
CREATE TABLE shard_points(trace INTEGER NOT NULL REFERENCES traces(id), point TEXT NOT NULL,
  level TEXT NOT NULL, recorded INTEGER NOT NULL, source TEXT NOT NULL); -- source: as in selfcheck

-- The interface ---------------------------------------------------------------------------------

-- What each policy would have flushed. decisions: times the point was reached (estimate); flushes:
-- invalidations issued, 0 where scope is none.
CREATE VIEW v_flush AS
  SELECT t.trace, p.policy, f.point, f.level, f.scope, f.decisions, f.flushes_low, f.flushes,
         f.flushes_high, f.pages
  FROM flush f JOIN policies p ON p.id = f.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, f.point, f.level, f.scope;

-- Where the decisions fell. mm: see v_mm.
CREATE VIEW v_page AS
  SELECT t.trace, g.mm, g.page, g.point, g.level, g.decisions
  FROM pages g JOIN traces t ON t.id = g.trace
  ORDER BY t.id, g.decisions DESC, g.mm, g.page, g.point, g.level;

-- When and where the decisions fell, in cells of bytes x width_ns; a decision about several pages counts
-- where its first one lies, one about a whole mm (addr is NULL) for all of it.
CREATE VIEW v_heat AS
  SELECT t.trace, h.mm, h.addr, g.bytes, h.start_ns, g.width_ns, h.point, h.level, h.decisions
  FROM heat h JOIN heat_grid g USING (trace) JOIN traces t ON t.id = h.trace
  ORDER BY t.id, h.mm, h.addr, h.start_ns, h.point, h.level;

-- How long calls took. A percentile is the upper end of its bucket, less than 1/32 above the true one, and
-- never above max_ns. base_ns: the median of calls of the recording that change nothing; what their probes
-- cost is in it, and in every other call.
CREATE VIEW v_latency AS
  WITH b AS (
    SELECT b.*, l.max_ns, l.calls AS all_calls,
           sum(b.calls) OVER (PARTITION BY b.trace, b.call, b.flush, b.cpus, b.concurrent
                              ORDER BY b.from_ns) AS behind
    FROM latency_buckets b JOIN latencies l USING (trace, call, flush, cpus, concurrent)),
   q AS (
    SELECT trace, call, flush, cpus, concurrent,
           min(CASE WHEN behind * 100 >= all_calls * 50 THEN min(to_ns, max_ns) END) AS p50_ns,
           min(CASE WHEN behind * 100 >= all_calls * 90 THEN min(to_ns, max_ns) END) AS p90_ns,
           min(CASE WHEN behind * 100 >= all_calls * 99 THEN min(to_ns, max_ns) END) AS p99_ns
    FROM b GROUP BY trace, call, flush, cpus, concurrent),
   u AS (
    SELECT trace, from_ns, to_ns, sum(sum(calls)) OVER (PARTITION BY trace ORDER BY from_ns) AS behind,
           sum(sum(calls)) OVER (PARTITION BY trace) AS all_calls
    FROM latency_buckets WHERE call = 'unchanged' GROUP BY trace, from_ns, to_ns),
   base AS (SELECT trace, min(to_ns) AS base_ns FROM u WHERE behind * 2 >= all_calls GROUP BY trace)
  SELECT t.trace, l.call, l.flush, l.cpus, l.cpus_to, l.concurrent, l.concurrent_to, l.calls,
         round(1.0 * l.probes / l.calls, 2) AS probes_inside, l.min_ns, q.p50_ns, q.p90_ns, q.p99_ns, l.max_ns,
         l.sum_ns, base.base_ns
  FROM latencies l JOIN q USING (trace, call, flush, cpus, concurrent) JOIN traces t ON t.id = l.trace
       LEFT JOIN base ON base.trace = l.trace
  ORDER BY t.id, l.call, l.flush, l.cpus, l.concurrent;

CREATE VIEW v_latency_left_out AS
  SELECT t.trace, l.reason, l.calls
  FROM latency_left_out l JOIN traces t ON t.id = l.trace
  ORDER BY t.id, l.reason;

-- What the recording itself shows; op and scope only where an event is an invalidation.
CREATE VIEW v_recorded AS
  SELECT t.trace, r.event, r.op, r.scope, r.events
  FROM recorded r JOIN traces t ON t.id = r.trace
  ORDER BY t.id, r.events DESC, r.event, r.op, r.scope;

CREATE VIEW v_fault AS
  SELECT t.trace, p.policy, f.kind, f.low, f.estimate, f.high
  FROM faults f JOIN policies p ON p.id = f.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, f.kind;

-- Stale entries (entry x CPU), how long in sum and at most.
CREATE VIEW v_exposure AS
  SELECT t.trace, p.policy, e.kind, e.bound, sum(e.entries) AS entries, sum(e.entry_ns) AS entry_ns,
         max(e.max_ns) AS max_ns
  FROM exposures e JOIN policies p ON p.id = e.policy JOIN traces t ON t.id = p.trace
  GROUP BY t.id, p.id, e.kind, e.bound
  ORDER BY t.id, p.id, e.kind, e.bound;

CREATE VIEW v_cost AS
  SELECT t.trace, p.policy, c.cost, c.part, c.low_ns, c.estimate_ns, c.high_ns, c.uncalibrated
  FROM costs c JOIN policies p ON p.id = c.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, c.cost, c.part;

CREATE VIEW v_selfcheck AS
  SELECT t.trace, s.policy, s.point, s.level, s.recorded, s.replayed, s.source
  FROM selfcheck s JOIN traces t ON t.id = s.trace
  ORDER BY t.id, s.point, s.level;

CREATE VIEW v_verdict AS
  SELECT t.trace, p.policy, v.verdict, v.witness, v.unseen
  FROM verdicts v JOIN policies p ON p.id = v.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id;

-- All parts of a policy's cost added up.
CREATE VIEW v_cost_total AS
  SELECT t.trace, p.policy, c.cost, sum(c.low_ns) AS low_ns, sum(c.estimate_ns) AS estimate_ns,
         sum(c.high_ns) AS high_ns,
         max(c.uncalibrated AND c.high_ns > 0) AS uncalibrated,
         t.cpus_with_events * (t.last_ns - t.first_ns) AS cpu_ns
  FROM costs c JOIN policies p ON p.id = c.policy JOIN traces t ON t.id = p.trace
  GROUP BY p.id, c.cost
  ORDER BY t.id, p.id, c.cost;

-- How many times each cost item is paid under each policy.
CREATE VIEW v_cost_count AS
  SELECT t.trace, p.policy, c.item, c.low, c.estimate, c.high
  FROM quantities c JOIN policies p ON p.id = c.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, c.rowid;

-- Costs with one or two things varied.
CREATE VIEW v_sweep AS
  SELECT t.trace, p.policy, s.cost, s.axis1, s.value1, s.axis2, s.value2, s.low_ns, s.estimate_ns,
         s.high_ns
  FROM sweeps s JOIN policies p ON p.id = s.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, s.cost, s.axis1, s.axis2, s.value1, s.value2, p.id;

-- Where the cheaper one of two policies changes. A policy that broadcasts less ("policy") costs less than one
-- that broadcasts more ("other") while a broadcast costs more than broadcast_ns on the CPU that issues it
-- and, in proportion, what it stalls the others (estimate; low and high from the bounds of all else; 0:
-- always); all other prices stay. And while it takes fewer spurious faults than spurious_most: fewer than
-- that share of the upgrades may have a sharer that writes. NULL: never, or there are no upgrades.
CREATE VIEW v_break_even AS
  WITH u AS (
    SELECT f.policy, sum(f.decisions) AS upgrades FROM flush f
    WHERE f.point IN ('wp_reuse', 'dirty_up', 'hugetlb_reuse') GROUP BY f.policy),
  -- What a policy pays for broadcasts, and how many there are.
  n AS (
    SELECT p.trace, p.id, i.cost, sum(c.low * i.low) AS paid_low, sum(c.estimate * i.value) AS paid,
           sum(c.high * i.high) AS paid_high,
           max(CASE i.item WHEN 'flush_broadcast' THEN c.estimate END) AS broadcasts,
           max(CASE i.item WHEN 'flush_broadcast' THEN i.value END) AS price
    FROM policies p JOIN quantities c ON c.policy = p.id
         JOIN cost_items i ON i.trace = p.trace AND i.item = c.item
    WHERE i.item IN ('flush_broadcast', 'broadcast_cpu', 'broadcast_page', 'broadcast_mm',
                     'victim_broadcast')
    GROUP BY p.id, i.cost),
  i AS (
    SELECT trace, cost, max(CASE item WHEN 'spurious_fault' THEN value END) AS fault,
           max(CASE item WHEN 'flush_local' THEN value END) AS fix
    FROM cost_items GROUP BY trace, cost),
  c AS (
    SELECT n.*, p.policy, u.upgrades, sum(c.estimate_ns) AS all_ns,
           -- What one spurious fault costs with the flush that fixes it, where there is one.
           i.fault + CASE WHEN EXISTS (SELECT 1 FROM flush f WHERE f.policy = n.id AND f.point = 'spurious'
                                       AND f.scope = 'local') THEN i.fix ELSE 0 END AS fault_ns,
           (SELECT q.estimate FROM quantities q WHERE q.policy = n.id AND q.item = 'spurious_fault')
             AS faults,
           sum(c.low_ns) - n.paid_low AS rest_low, sum(c.estimate_ns) - n.paid AS rest,
           sum(c.high_ns) - n.paid_high AS rest_high
    FROM n JOIN policies p ON p.id = n.id JOIN costs c ON c.policy = n.id AND c.cost = n.cost
         JOIN i ON i.trace = n.trace AND i.cost = n.cost
         LEFT JOIN u ON u.policy = n.id
    GROUP BY n.id, n.cost)
  SELECT t.trace, a.cost, a.policy, b.policy AS other, b.broadcasts - a.broadcasts AS fewer_broadcasts,
         max(0, (a.rest_low - b.rest_high) * a.price / (b.paid - a.paid)) AS broadcast_low_ns,
         max(0, (a.rest - b.rest) * a.price / (b.paid - a.paid)) AS broadcast_ns,
         max(0, (a.rest_high - b.rest_low) * a.price / (b.paid - a.paid)) AS broadcast_high_ns,
         a.upgrades, a.faults AS spurious,
         max(0, a.faults + (b.all_ns - a.all_ns) / nullif(a.fault_ns, 0)) AS spurious_most,
         max(0, a.faults + (b.all_ns - a.all_ns) / nullif(a.fault_ns, 0)) / nullif(a.upgrades, 0)
           AS sharer_most
  FROM c a JOIN c b ON b.trace = a.trace AND b.cost = a.cost AND b.broadcasts > a.broadcasts
           AND b.paid > a.paid
       JOIN traces t ON t.id = a.trace
  ORDER BY t.id, a.cost, a.id, b.id;

-- Which policy costs least: a name only if its high bound lies below every other's low bound.
CREATE VIEW v_least AS
  WITH r AS (
    SELECT trace, cost, policy, high_ns,
      row_number() OVER low AS low_place, lead(low_ns) OVER low AS next_low_ns,
      row_number() OVER (PARTITION BY trace, cost ORDER BY estimate_ns, policy) AS place
    FROM v_cost_total WINDOW low AS (PARTITION BY trace, cost ORDER BY low_ns, high_ns))
  SELECT trace, cost,
    max(CASE WHEN low_place = 1 THEN iif(next_low_ns <= high_ns, 'undecided', policy) END) AS least,
    max(CASE WHEN place = 1 THEN policy END) AS least_by_estimate
  FROM r GROUP BY trace, cost;

-- Which processes cause the broadcasts.
CREATE VIEW v_process AS
  SELECT t.trace, p.policy, f.mm, m.comm, m.tid, f.point, f.scope, f.flushes_low, f.flushes,
         f.flushes_high
  FROM flush_mm f JOIN policies p ON p.id = f.policy JOIN traces t ON t.id = p.trace
  LEFT JOIN mms m ON m.trace = t.id AND m.mm = f.mm
  ORDER BY t.id, p.id, f.flushes DESC, f.mm, f.point, f.scope;

CREATE VIEW v_cpu AS
  SELECT t.trace, p.policy, f.cpu, f.scope, f.issued, f.received
  FROM flush_cpu f JOIN policies p ON p.id = f.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, f.cpu, f.scope;

CREATE VIEW v_time AS
  SELECT t.trace, p.policy, f.start_ns, f.width_ns, f.scope, f.flushes_low, f.flushes, f.flushes_high
  FROM flush_time f JOIN policies p ON p.id = f.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, f.start_ns, f.scope;

-- What the recorder wrote about its host; nothing if another tool recorded.
CREATE VIEW v_host AS
  SELECT t.trace, h.key, h.value
  FROM host h JOIN traces t ON t.id = h.trace
  ORDER BY t.id, h.rowid;

CREATE VIEW v_mm AS
  SELECT t.trace, m.mm, m.pointer, m.tid, m.comm, m.origin, m.first_ns, m.last_ns, m.pages
  FROM mms m JOIN traces t ON t.id = m.trace
  ORDER BY t.id, m.mm;

-- Single stale entries at the high bound, longest first.
CREATE VIEW v_stale AS
  SELECT t.trace, p.policy, e.kind, e.mm, printf('0x%x', e.page) AS page, e.cpu, e.start_ns,
         e.end_ns - e.start_ns AS ns, e.ended
  FROM exposure_rows e JOIN policies p ON p.id = e.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, ns DESC, e.mm, e.page, e.cpu;

-- How many entries were stale for less than below_ns (and not for less than half of it), and what
-- share of all that is, added up.
CREATE VIEW v_length AS
  SELECT t.trace, p.policy, l.kind, l.below_ns, l.entries,
         1.0 * sum(l.entries) OVER (PARTITION BY p.id, l.kind ORDER BY l.below_ns) /
         sum(l.entries) OVER (PARTITION BY p.id, l.kind) AS share_below
  FROM exposure_lengths l JOIN policies p ON p.id = l.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, l.kind, l.below_ns;

-- Stale entries at the high bound: by process, and the pages that had most.
CREATE VIEW v_stale_process AS
  SELECT t.trace, p.policy, s.mm, m.comm, m.tid, s.pages, s.entries
  FROM stale_mm s JOIN policies p ON p.id = s.policy JOIN traces t ON t.id = p.trace
  LEFT JOIN mms m ON m.trace = t.id AND m.mm = s.mm
  ORDER BY t.id, p.id, s.entries DESC, s.mm;
CREATE VIEW v_stale_page AS
  SELECT t.trace, p.policy, s.mm, s.page, s.entries
  FROM stale_pages s JOIN policies p ON p.id = s.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, s.entries DESC, s.mm, s.page;

-- How far to trust a recording.
CREATE VIEW v_trust AS
  SELECT t.trace, n.kind, n.subject, n.n, n.text
  FROM notes n JOIN traces t ON t.id = n.trace
  ORDER BY t.id, n.kind, n.subject, n.text;

-- The recordings of a fleet; those without a trace are missing.
CREATE VIEW v_fleet AS
  SELECT h.host, h.weight, r.recording, r.path, t.trace, r.missing
  FROM fleet_recordings r JOIN fleet_hosts h ON h.id = r.host LEFT JOIN traces t ON t.id = r.trace
  ORDER BY h.host, r.recording, r.path;

-- What each policy comes to on a fleet's hosts. Several recordings of a host are added up. metric: cost
-- share (modelled cost of the CPU time recorded), flush share (of that, the flushes themselves: initiator,
-- victims and queue), and per second of recording: broadcasts, interrupts, spurious faults, stale entries, unsafe
-- entries (of these, those that allow too much). cost: the preset, NULL where none is used.
CREATE VIEW v_fleet_metric AS
  WITH replay AS (
    SELECT r.host, p.id AS policy_id, p.policy, (t.last_ns - t.first_ns) / 1e9 AS s,
           t.cpus_with_events * (t.last_ns - t.first_ns) AS cpu_ns
    FROM fleet_recordings r JOIN traces t ON t.id = r.trace JOIN policies p ON p.trace = t.id
    WHERE t.last_ns > t.first_ns),
  price AS (
    SELECT policy, cost, sum(low_ns) AS low, sum(estimate_ns) AS estimate, sum(high_ns) AS high,
           sum(low_ns) FILTER (WHERE part IN ('initiator', 'victims', 'queue')) AS flush_low,
           sum(estimate_ns) FILTER (WHERE part IN ('initiator', 'victims', 'queue')) AS flush_estimate,
           sum(high_ns) FILTER (WHERE part IN ('initiator', 'victims', 'queue')) AS flush_high
    FROM costs GROUP BY policy, cost),
  flushed AS (
    SELECT policy, scope, sum(flushes_low) AS low, sum(flushes) AS estimate, sum(flushes_high) AS high
    FROM flush WHERE scope IN ('broadcast', 'mask') GROUP BY policy, scope),
  stale AS (
    SELECT policy, kind, sum(entries) FILTER (WHERE bound = 'low') AS low,
           sum(entries) FILTER (WHERE bound = 'estimate') AS estimate,
           sum(entries) FILTER (WHERE bound = 'high') AS high
    FROM exposures GROUP BY policy, kind),
  amount AS (
    SELECT y.host, y.policy, 'cost share' AS metric, c.cost, y.cpu_ns AS base, c.low, c.estimate, c.high
    FROM replay y JOIN price c ON c.policy = y.policy_id
    UNION ALL
    SELECT y.host, y.policy, 'flush share', c.cost, y.cpu_ns, c.flush_low, c.flush_estimate, c.flush_high
    FROM replay y JOIN price c ON c.policy = y.policy_id
    UNION ALL
    SELECT y.host, y.policy, 'broadcasts', NULL, y.s, f.low, f.estimate, f.high
    FROM replay y LEFT JOIN flushed f ON f.policy = y.policy_id AND f.scope = 'broadcast'
    UNION ALL
    SELECT y.host, y.policy, 'interrupts', NULL, y.s, f.low, f.estimate, f.high
    FROM replay y LEFT JOIN flushed f ON f.policy = y.policy_id AND f.scope = 'mask'
    UNION ALL
    SELECT y.host, y.policy, 'spurious faults', NULL, y.s, f.low, f.estimate, f.high
    FROM replay y LEFT JOIN faults f ON f.policy = y.policy_id AND f.kind = 'spurious'
    UNION ALL
    SELECT y.host, y.policy, 'stale entries', NULL, y.s, sum(e.low), sum(e.estimate), sum(e.high)
    FROM replay y LEFT JOIN stale e ON e.policy = y.policy_id GROUP BY y.policy_id
    UNION ALL
    SELECT y.host, y.policy, 'unsafe entries', NULL, y.s, e.low, e.estimate, e.high
    FROM replay y LEFT JOIN stale e ON e.policy = y.policy_id AND e.kind = 'unsafe')
  SELECT h.host, h.weight, a.policy, a.metric, a.cost, coalesce(sum(a.low), 0) / sum(a.base) AS low,
         coalesce(sum(a.estimate), 0) / sum(a.base) AS estimate,
         coalesce(sum(a.high), 0) / sum(a.base) AS high
  FROM amount a JOIN fleet_hosts h ON h.id = a.host
  GROUP BY h.id, a.policy, a.metric, a.cost
  ORDER BY h.host, a.policy, a.metric, a.cost;

-- A fleet's policies beside that of each host's own kernel, by share of CPU time; hosts whose kernel's
-- policy is not known, or was not replayed, are not here. change: of the policy, minus that of the kernel's.
CREATE VIEW v_fleet_change AS
  WITH own AS (
    SELECT h.host, min(p.policy) AS policy
    FROM fleet_recordings r JOIN fleet_hosts h ON h.id = r.host JOIN traces t ON t.id = r.trace
    JOIN policies p ON p.trace = t.id AND p.name = t.kernel_policy
    GROUP BY h.id HAVING count(DISTINCT t.kernel_policy) = 1)
  SELECT m.host, m.weight, m.policy, m.cost, b.policy AS kernel_policy, m.low - b.high AS change_low_share,
         m.estimate - b.estimate AS change_share, m.high - b.low AS change_high_share
  FROM v_fleet_metric m JOIN own o ON o.host = m.host
  JOIN v_fleet_metric b ON b.host = m.host AND b.policy = o.policy AND b.metric = m.metric
       AND b.cost IS m.cost
  WHERE m.metric = 'cost share' AND m.policy <> o.policy
  ORDER BY m.host, m.policy, m.cost;

-- What a fleet's list says of its hosts.
CREATE VIEW v_fleet_label AS
  SELECT h.host, l.label, l.value
  FROM fleet_labels l JOIN fleet_hosts h ON h.id = l.host
  ORDER BY h.host, l.label;

-- Policies' parameters, with what was assumed.
CREATE VIEW v_param AS
  SELECT t.trace, p.policy, a.name, a.value, a.unit, a.origin
  FROM policy_params a JOIN policies p ON p.id = a.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, a.name;

-- What a recording shows of swap. bytes: of writes.
CREATE VIEW v_swap AS
  SELECT t.trace, s.swap_ins, s.for_write, s.writable, s.dirty, s.unmapped, s.shared, s.not_private,
         s.writes, s.writes * t.page_bytes AS bytes, s.writes_unplaced, s.writes_missing, s.upgrades,
         s.silent, s.mkwrite, s.dbm
  FROM swap s JOIN traces t ON t.id = s.trace
  ORDER BY t.id;

-- What each kind of kernel would have written to swap, and avoided of what was recorded (negative: it
-- would have written more). unwritten: pages made dirty by a read fault and never written after it.
CREATE VIEW v_dirty AS
  SELECT t.trace, d.mkwrite, d.dbm, d.recorded, d.writes_low, d.writes, d.writes_high,
         d.writes * t.page_bytes AS bytes, s.writes - d.writes_high AS avoided_low,
         s.writes - d.writes AS avoided, s.writes - d.writes_low AS avoided_high,
         d.unwritten_low, d.unwritten, d.unwritten_high, d.extra_faults_low, d.extra_faults,
         d.extra_faults_high
  FROM dirty d JOIN traces t ON t.id = d.trace JOIN swap s ON s.trace = d.trace
  ORDER BY t.id, d.mkwrite DESC, d.dbm DESC;

-- What the extra faults would have flushed, under each policy.
CREATE VIEW v_dirty_flush AS
  SELECT t.trace, p.policy, f.mkwrite, f.dbm, f.scope, f.flushes_low, f.flushes, f.flushes_high
  FROM dirty_flush f JOIN policies p ON p.id = f.policy JOIN traces t ON t.id = p.trace
  ORDER BY t.id, p.id, f.mkwrite DESC, f.dbm DESC, f.scope;

-- Which processes have swapped-in pages that count as written, or would under mkwrite=dirty, and are not.
CREATE VIEW v_dirty_process AS
  SELECT t.trace, d.mm, m.comm, m.tid, d.swap_ins, d.writable, d.writes, d.unwritten_low, d.unwritten,
         d.unwritten_high
  FROM dirty_mm d JOIN traces t ON t.id = d.trace
  LEFT JOIN mms m ON m.trace = t.id AND m.mm = d.mm
  ORDER BY t.id, d.unwritten DESC, d.mm;

-- What one recording or policy has, in a database of many.
CREATE INDEX notes_trace ON notes(trace);
CREATE INDEX host_trace ON host(trace);
CREATE INDEX cpus_trace ON cpus(trace);
CREATE INDEX recorded_trace ON recorded(trace);
CREATE INDEX runs_trace ON runs(trace);
CREATE INDEX policy_params_policy ON policy_params(policy);
CREATE INDEX flush_policy ON flush(policy);
CREATE INDEX flush_mm_policy ON flush_mm(policy);
CREATE INDEX flush_cpu_policy ON flush_cpu(policy);
CREATE INDEX flush_time_policy ON flush_time(policy);
CREATE INDEX heat_grid_trace ON heat_grid(trace);
CREATE INDEX latencies_trace ON latencies(trace);
CREATE INDEX latency_left_out_trace ON latency_left_out(trace);
CREATE INDEX faults_policy ON faults(policy);
CREATE INDEX exposures_policy ON exposures(policy);
CREATE INDEX exposure_lengths_policy ON exposure_lengths(policy);
CREATE INDEX stale_mm_policy ON stale_mm(policy);
CREATE INDEX cost_items_trace ON cost_items(trace);
CREATE INDEX sweeps_policy ON sweeps(policy);
CREATE INDEX quantities_policy ON quantities(policy);
CREATE INDEX costs_policy ON costs(policy);
CREATE INDEX selfcheck_trace ON selfcheck(trace);
CREATE INDEX verdicts_policy ON verdicts(policy);
CREATE INDEX swap_trace ON swap(trace);
CREATE INDEX dirty_trace ON dirty(trace);
CREATE INDEX dirty_mm_trace ON dirty_mm(trace);
CREATE INDEX dirty_flush_policy ON dirty_flush(policy);
CREATE INDEX fleet_recordings_trace ON fleet_recordings(trace);
CREATE INDEX shards_trace ON shards(trace);
CREATE INDEX shard_counts_policy ON shard_counts(policy);
CREATE INDEX shard_exposures_policy ON shard_exposures(policy);
CREATE INDEX shard_witnesses_policy ON shard_witnesses(policy);
CREATE INDEX shard_points_trace ON shard_points(trace);
-- late: of the largest tables; a new database is filled without them (replay/results.c).
CREATE INDEX pages_trace ON pages(trace);
CREATE INDEX heat_trace ON heat(trace);
CREATE INDEX latency_buckets_trace ON latency_buckets(trace);
CREATE INDEX stale_pages_policy ON stale_pages(policy);
CREATE INDEX exposure_rows_policy ON exposure_rows(policy);
