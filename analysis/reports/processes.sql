-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which processes cause the broadcasts and interrupts
-- about: Processes are address spaces; comm is the name of the task that was seen first. Names are as the process gave them to itself.
-- per trace
-- title: Invalidations by process, most broadcasts and interrupts first (estimates)
-- note: mm: number of an address space, see the view v_mm.
-- long
SELECT f.trace, f.policy, f.mm, m.tid, m.comm,
       sum(CASE f.scope WHEN 'broadcast' THEN f.flushes ELSE 0 END) AS broadcasts,
       sum(CASE f.scope WHEN 'mask' THEN f.flushes ELSE 0 END) AS by_interrupt,
       sum(CASE f.scope WHEN 'local' THEN f.flushes ELSE 0 END) AS local
FROM v_process f JOIN traces t USING (trace)
     JOIN policies p ON p.trace = t.id AND p.policy = f.policy
     LEFT JOIN mms m ON m.trace = t.id AND m.mm = f.mm
GROUP BY t.id, p.id, f.mm
ORDER BY t.id, broadcasts + by_interrupt DESC, local DESC, p.id, f.mm;
