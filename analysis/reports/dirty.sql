-- SPDX-License-Identifier: GPL-2.0-or-later
-- Pages that swap writes, by how a kernel makes pages dirty
-- about: A page that comes back from swap for a read gets a writable entry. Under mkwrite=dirty (arm64 for years) it counts as written at once, and swap writes it again although nobody changed it; under mkwrite=clean it does not. Without hardware dirty management (dbm=off) a later write then takes one more fault and flush. The recorded kernel is recognised, the others are predicted for the same faults and the same reclaim. Needs a recording of profile swap.
-- picture: pages written to swap under each mkwrite: bars at the estimate, whiskers from the low to the high bound
-- per trace
-- fold: mkwrite
-- title: Pages written to swap under each kernel
-- note: avoided: less than recorded. unwritten: dirty from a read fault on and never written. extra faults: a write to a clean writable page, where the hardware does not mark it dirty. low bound, estimate, high bound differ where nothing shows whether a page was written: see trust.
-- empty: The recording has nothing of swap (tlbcapture --profile swap).
SELECT d.trace, d.mkwrite, d.dbm, d.recorded AS is_recorded, d.writes_low, d.writes, d.writes_high,
       d.bytes AS swap_bytes, d.avoided_low, d.avoided, d.avoided_high, d.unwritten_low, d.unwritten,
       d.unwritten_high, d.extra_faults_low, d.extra_faults, d.extra_faults_high
FROM v_dirty d JOIN traces t USING (trace)
ORDER BY t.id, d.mkwrite DESC, d.dbm DESC;

-- title: What was recorded of swap
-- column: writes: pages written to swap, as recorded
-- column: swap_bytes: written to swap, as recorded
SELECT s.trace, s.mkwrite, s.dbm, s.swap_ins, s.for_write, s.writable, s.dirty, s.unmapped, s.shared,
       s.not_private, s.writes, s.bytes AS swap_bytes, s.writes_unplaced, s.writes_missing, s.upgrades,
       s.silent
FROM v_swap s JOIN traces t USING (trace)
ORDER BY t.id;

-- title: Which processes have such pages
-- column: writes: its pages that were written to swap, as recorded
-- long
SELECT d.trace, d.comm, d.tid, d.mm, d.swap_ins, d.writable, d.writes, d.unwritten_low, d.unwritten,
       d.unwritten_high
FROM v_dirty_process d JOIN traces t USING (trace)
ORDER BY t.id, d.unwritten DESC, d.mm;

-- title: What the extra faults would flush under mkwrite=clean, dbm=off, by policy
SELECT f.trace, f.policy, f.scope, f.flushes_low, f.flushes, f.flushes_high
FROM v_dirty_flush f JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = f.policy
ORDER BY t.id, p.id, f.scope;

-- plot
SELECT d.trace || ': pages written to swap' AS panel, 'mkwrite=' || d.mkwrite ||
       CASE s.mkwrite WHEN d.mkwrite THEN ' (recorded)' ELSE '' END AS kernel,
       d.writes_low, d.writes, d.writes_high, s.mkwrite IS d.mkwrite AS is_recorded,
       CASE WHEN d.writes_low = d.writes_high THEN printf('%,d', round(d.writes))
            ELSE printf('%,d .. %,d .. %,d', round(d.writes_low), round(d.writes), round(d.writes_high)) END
       AS label
FROM v_dirty d JOIN traces t USING (trace) JOIN v_swap s USING (trace)
WHERE d.dbm = 'on'
ORDER BY t.id, d.mkwrite DESC;
