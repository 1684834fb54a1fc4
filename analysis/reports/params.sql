-- SPDX-License-Identifier: GPL-2.0-or-later
-- Parameters of the policies and of the run, and where each value comes from
-- about: assumed: neither given nor measured. Give the ones that matter with tlbreplay -p POLICY:NAME=VALUE.
-- per trace
-- title: Policies' parameters
-- empty: No policy took a parameter.
SELECT a.trace, a.policy, a.name, a.value, a.unit, a.origin
FROM v_param a JOIN traces t USING (trace) JOIN policies p ON p.trace = t.id AND p.policy = a.policy
ORDER BY t.id, p.id, a.name;

-- column: name: parameter, or what a limit is called
-- title: The run's parameters
-- empty: None.
SELECT t.trace, r.name, r.value, r.origin
FROM runs r JOIN traces t ON t.id = r.trace
ORDER BY t.id, r.name, r.value;

-- column: source: kernel, series or paper that the policy is taken from
-- title: The policies
SELECT t.trace, p.policy, p.summary, p.source, p.omits
FROM policies p JOIN traces t ON t.id = p.trace
ORDER BY t.id, p.id;
