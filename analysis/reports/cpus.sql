-- SPDX-License-Identifier: GPL-2.0-or-later
-- Invalidations by CPU: issued there, received from others; events and losses
-- about: Under a broadcast every CPU of the recording receives each invalidation of another one; by interrupt only those in the mask.
-- per trace
-- title: Invalidations by policy and CPU
-- note: received: interrupts or broadcasts of other CPUs that reach this one.
SELECT c.trace, c.policy, c.cpu, c.scope, c.issued, c.received
FROM v_cpu c JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = c.policy
ORDER BY t.id, p.id, c.cpu, c.scope;

-- title: What was recorded on each CPU
-- note: lost: counted in the recording. lost unknown: places where events are missing that nobody counted.
SELECT t.trace, c.cpu, c.buffer, c.events, c.lost_events AS lost, c.lost_unknown, c.overrun, c.dropped
FROM cpus c JOIN traces t ON t.id = c.trace
ORDER BY t.id, c.buffer, c.cpu;
