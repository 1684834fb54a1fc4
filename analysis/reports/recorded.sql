-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the recording itself shows: its events, and what its invalidations were
-- about: Counts of what the file holds, before anything is made of it.
-- per trace
-- title: Recorded events
-- note: op and scope only where an event is an invalidation. Sent and handled interrupts are two sides of one thing: never add them up.
SELECT r.trace, r.event, r.op, r.scope, r.events
FROM v_recorded r JOIN traces t USING (trace)
ORDER BY t.id, r.events DESC, r.event, r.op, r.scope;
