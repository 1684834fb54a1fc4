-- SPDX-License-Identifier: GPL-2.0-or-later
-- Does replaying the recorded kernel's own policy give the flushes that were recorded?
-- about: The best argument for or against a replay: the policy that the kernel really had must give the flushes that were recorded.
-- column: source: what shows it: events, tlbi-only (the invalidation alone), unseen
-- per trace
-- title: The recorded kernel's policy, replayed, beside what the recording shows
-- note: source: events: seen apart from the invalidation; tlbi-only: the invalidation itself is all there is to see, so it proves nothing; unseen: nothing recorded shows it.
-- empty: The recording does not show which policy its kernel had: nothing to check.
SELECT s.trace, s.policy, s.point, s.level, s.recorded, s.replayed, s.replayed - s.recorded AS difference,
       s.source
FROM v_selfcheck s JOIN traces t USING (trace)
ORDER BY t.id, s.point, s.level, s.source;
