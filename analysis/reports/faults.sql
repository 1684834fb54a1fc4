-- SPDX-License-Identifier: GPL-2.0-or-later
-- Spurious faults: under each policy, recorded, and avoided
-- about: Nothing shows which CPU had cached what, so the spurious faults under another policy have bounds. The estimate rests on two assumed shares: see params.
-- column: kind: spurious, spurious_recorded or spurious_avoided
-- per trace
-- title: Spurious faults
-- note: spurious: under this policy. spurious_recorded: the recording shows them. spurious_avoided: recorded ones that this policy would not have had.
SELECT f.trace, f.policy, f.kind, f.low, f.estimate, f.high
FROM v_fault f JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = f.policy
ORDER BY t.id, p.id, f.kind;
