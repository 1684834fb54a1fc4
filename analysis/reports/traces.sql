-- SPDX-License-Identifier: GPL-2.0-or-later
-- The recordings in the database
-- about: One row for each recording and run in the database, with everything stored about it.
-- title: Recordings
SELECT trace, kernel, arch, cpus, events, last_ns - first_ns AS span_ns, lost_events AS lost,
       lost_unknown, kernel_policy, tasks, tasks_unknown_mm, bytes, hash, format, compression, clock,
       page_bytes, buffers, cpus_with_events, events_used, overrun, dropped, arch_source
FROM traces ORDER BY id;

-- column: key: what it says: see tlbreplay-formats(5)
-- column: value: as recorded
-- title: The hosts, as their recorder described them
-- empty: Nothing: another tool recorded, or the events of trace_marker are not in the recording.
-- long
SELECT h.trace, h.key, h.value FROM v_host h JOIN traces t USING (trace)
WHERE h.key <> 'missing';
