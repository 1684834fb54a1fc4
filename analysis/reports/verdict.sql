-- SPDX-License-Identifier: GPL-2.0-or-later
-- Safe, unsafe or not judged, with the first witness; which policy costs least
-- about: safe: no stale entry that allows more than the page table could be used, under any bound. unsafe: one could, and the witness says where. stuck: a fault would repeat for ever. unknown: the recording hides too much. not judged: nobody asked.
-- per trace
-- title: Verdicts
-- empty: No verdicts are stored.
-- note: unseen: decisions that the recording cannot show.
SELECT v.trace, v.policy, v.verdict, v.witness, v.unseen
FROM v_verdict v JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = v.policy
ORDER BY t.id, p.id;

-- title: Which policy costs least
-- note: "undecided": the bounds overlap.
SELECT l.trace, l.cost, l.least, l.least_by_estimate
FROM v_least l JOIN traces t USING (trace)
ORDER BY t.id, l.cost;
