-- SPDX-License-Identifier: GPL-2.0-or-later
-- Two small recordings with numbers chosen so that every report can be worked out by hand. Run behind
-- schema/results.sql.
INSERT INTO traces VALUES
  (1, 'base.dat', '00000000000000aa', 1048576, 7, 'zstd', '6.12.117', 'arm64', 'stored', 'mono', 4096,
   4, 3, 1, 12345, 12000, 1000000000, 1954000000, 0, 0, 0, 0, 9, 1, 'arm64-broadcast'),
  (2, 'twin.dat', '00000000000000bb', 500, 6, 'none', '', '', 'unknown', '', 4096,
   2, 2, 1, 1, 1, 5000, 1005000, 7, 1, NULL, NULL, 2, 0, NULL);

INSERT INTO notes VALUES
  (1, 'unseen', 'reclaim', NULL, 'Nothing recorded shows reclaim.'),
  (1, 'unseen', 'age', NULL, 'Nothing recorded shows the access flag being cleared.'),
  (1, 'skipped', 'events', 345, 'Events that the catalogue does not know.');

INSERT INTO cpus VALUES
  (1, 0, '', 5000, 0, 0, 0, 0), (1, 1, '', 7000, 0, 0, 0, 0), (1, 2, '', 345, 0, 0, 0, 0),
  (1, 3, '', 0, 0, 0, 0, 0), (2, 0, '', 1, 7, 1, NULL, NULL), (2, 1, '', 0, 0, 0, NULL, NULL);

-- Names that a hostile or careless process can give itself: any 15 bytes but NUL.
INSERT INTO mms VALUES
  (1, 1, '0xffff000001', 100, 'plain', 'pointer', 1000000000, 1954000000, 11),
  (1, 2, NULL, 101, 'a "b", c', 'derived', 1000000000, 1954000000, 2),
  (1, 3, NULL, 102, CAST(x'6c310a6c32096c33' AS TEXT), 'snapshot', NULL, NULL, 1), -- newline, tab
  (1, 4, NULL, 103, CAST(x'fe61ff62c3' AS TEXT), 'derived', NULL, NULL, 1),        -- not UTF-8
  (1, 5, NULL, 104, CAST(x'1b5b33316d7265641b' AS TEXT), 'derived', NULL, NULL, 1), -- ESC [31m red
  (1, 6, NULL, 105, '日本 é', 'derived', NULL, NULL, 1),
  (1, 7, NULL, 106, CAST(x'e280ae6578652e' AS TEXT), 'derived', NULL, NULL, 1),    -- right to left
  (1, 8, NULL, 107, '=1+1\', 'placeholder', NULL, NULL, 1),
  (2, 1, NULL, 7, 'other', 'derived', NULL, NULL, 1);

INSERT INTO recorded VALUES
  (1, 'kprobes:wp_fault', NULL, NULL, 10338, 10338), (1, 'tlbi:vae1is', 'vae1is', 'broadcast', 1662, 1662),
  (1, 'sched:sched_switch', NULL, NULL, 345, 0), (2, 'tlbi:vae1', 'vae1', 'local', 1, 1);

INSERT INTO runs VALUES (1, 'seed', '1', 'default'), (1, 'exposure_rows', '1000', 'default');

INSERT INTO policies VALUES
  (1, 1, 'arm64-broadcast', 'arm64-broadcast', 'what the kernel does', 'Linux 6.12', ''),
  (2, 1, 'arm64-local', 'arm64-local', 'upgrades flush here only', 'a patch', 'guests'),
  (3, 1, 'x86:pcid=off', 'x86', 'as on x86', 'Linux 6.12', ''),
  (4, 2, 'none', 'none', 'never flushes', '', ''),
  (5, 2, 'arm64-local', 'arm64-local', 'upgrades flush here only', 'a patch', 'guests');
INSERT INTO policy_params VALUES
  (2, 'share', '0.25', '', 'assumed'), (3, 'share', '0.25', '', 'assumed'),
  (3, 'pcid', 'off', '', 'given');

INSERT INTO flush VALUES
  (1, 'wp_reuse', 'pte', 'broadcast', 10338, 10338, 10338, 10338, 10338),
  (1, 'cow', 'pte', 'broadcast', 76, 76, 76, 76, 76),
  (1, 'fork', 'mm', 'broadcast', 5, 5, 5, 5, 0),
  (2, 'wp_reuse', 'pte', 'local', 10338, 10338, 10338, 10338, 10338),
  (2, 'cow', 'pte', 'broadcast', 76, 76, 76, 76, 76),
  (2, 'fork', 'mm', 'broadcast', 5, 5, 5, 5, 0),
  (2, 'spurious', 'pte', 'local', 1251, 0, 1251, 3758, 1251),
  (3, 'wp_reuse', 'pte', 'none', 10338, 0, 0, 0, 0),
  (3, 'cow', 'pte', 'mask', 76, 70, 76, 80, 76),
  (3, 'fork', 'mm', 'mask', 5, 5, 5, 5, 0),
  (4, 'wp_reuse', 'pte', 'none', 3, 0, 0, 0, 0),
  (5, 'wp_reuse', 'pte', 'local', 3, 1, 2, 3, 3);
INSERT INTO flush_mm VALUES
  (1, 1, 'wp_reuse', 'broadcast', 10300, 10300, 10300), (1, 1, 'cow', 'broadcast', 70, 70, 70),
  (1, 2, 'wp_reuse', 'broadcast', 32, 32, 32), (1, 3, 'wp_reuse', 'broadcast', 2, 2, 2),
  (1, 4, 'wp_reuse', 'broadcast', 1, 1, 1), (1, 5, 'wp_reuse', 'broadcast', 1, 1, 1),
  (1, 6, 'wp_reuse', 'broadcast', 1, 1, 1), (1, 7, 'wp_reuse', 'broadcast', 1, 1, 1),
  (1, 8, 'cow', 'broadcast', 6, 6, 6), (2, 1, 'wp_reuse', 'local', 10300, 10300, 10300),
  (3, 1, 'cow', 'mask', 64, 70, 74), (5, 1, 'wp_reuse', 'local', 1, 2, 3);
INSERT INTO flush_cpu VALUES
  (1, 0, 'broadcast', 10000, 419), (1, 1, 'broadcast', 419, 10000), (2, 0, 'local', 10338, 0),
  (3, 0, 'mask', 81, 0), (3, 1, 'mask', 0, 81);
INSERT INTO flush_time VALUES
  (1, 1000000000, 500000000, 'broadcast', 10000, 10000, 10000),
  (1, 1500000000, 500000000, 'broadcast', 419, 419, 419),
  (2, 1000000000, 500000000, 'local', 10000, 10000, 10000),
  (2, 1500000000, 500000000, 'broadcast', 81, 81, 81);
-- Thirty single pages, so that a long table has more rows than it shows, and the rest in one row.
WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 30)
  INSERT INTO pages SELECT 1, 1, 0x10000 + 0x1000 * n, 'wp_reuse', 'pte', 400 - n FROM i;
INSERT INTO pages VALUES (1, 1, NULL, 'wp_reuse', 'pte', 5000);
-- Thirty cells of 4 KiB x 10 ms, one after the other in time; and one fork.
INSERT INTO heat_grid VALUES (1, 4096, 10000000);
WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 30)
  INSERT INTO heat SELECT 1, 1, 0x10000 + 0x1000 * n, 1000000000 + 20000000 * n, 'wp_reuse', 'pte', 400 - n FROM i;
INSERT INTO heat VALUES (1, 1, NULL, 1500000000, 'fork', 'mm', 1);

INSERT INTO faults VALUES
  (1, 'spurious', 0, 0, 0), (1, 'spurious_recorded', 4, 4, 4), (1, 'spurious_avoided', 4, 4, 4),
  (2, 'spurious', 0, 1250.5, 3758), (3, 'spurious', 0, 900, 3000),
  (4, 'spurious', 1, 1, 1), (5, 'spurious', 0, 1, 2);
INSERT INTO exposures VALUES
  (2, 'benign', 'low', 'flush', 0, 0, 0), (2, 'benign', 'estimate', 'flush', 1000, 2e9, 30000000),
  (2, 'benign', 'estimate', 'end', 250.5, 5e8, 40000000),
  (2, 'benign', 'high', 'flush', 3000, 4e9, 50000000), (2, 'benign', 'high', 'end', 758, 1e9, 60000000),
  (4, 'unsafe', 'high', 'end', 6, 1500, 900);
INSERT INTO exposure_rows VALUES
  (2, 'benign', 1, 0x11000, 1, 1100000000, 1160000000, 'end'),
  (2, 'benign', 2, 0x12000, 2, 1200000000, 1250000000, 'flush');

INSERT INTO cost_items VALUES
  (1, 'arm64', 'tlbi_broadcast', 'ns', 100, 200, 900, 'measured', 'a paper', '-', '-', '-'),
  (1, 'arm64', 'spurious_fault', 'ns', 400, 500, 1000, 'uncalibrated', 'a guess', '-', '-', '-'),
  (2, 'arm64', 'tlbi_local', 'ns', 10, 20, 30, 'measured', 'a paper', '-', '-', '-');
-- Sums: 4 .. 10 .. 40 ms, 1 .. 2.5 .. 5 ms, 0.5 .. 3 .. 20 ms; and 0, 10 .. 20 .. 30 us.
INSERT INTO costs VALUES
  (1, 'arm64', 'initiator', 3e6, 8e6, 30e6, 0), (1, 'arm64', 'victims', 1e6, 2e6, 10e6, 0),
  (2, 'arm64', 'initiator', 1e6, 1.5e6, 2e6, 0), (2, 'arm64', 'spurious', 0, 1e6, 3e6, 1),
  (3, 'arm64', 'initiator', 5e5, 3e6, 20e6, 1),
  (4, 'arm64', 'initiator', 0, 0, 0, 1), (5, 'arm64', 'initiator', 10000, 20000, 30000, 0);

INSERT INTO selfcheck VALUES
  (1, 'arm64-broadcast', 'wp_reuse', 'pte', 10338, 10338, 'events'),
  (1, 'arm64-broadcast', 'cow', 'pte', 76, 76, 'events'),
  (1, 'arm64-broadcast', 'fork', 'mm', 6, 5, 'events'),
  (1, 'arm64-broadcast', 'mremap', 'pte', 6, 6, 'tlbi-only'),
  (1, 'arm64-broadcast', 'reclaim', 'pte', NULL, 0, 'unseen');
INSERT INTO verdicts VALUES (1, 'not judged', NULL, NULL), (2, 'not judged', NULL, NULL),
  (3, 'not judged', NULL, NULL), (4, 'unsafe', 'CPU 1 kept 0x1000', 2), (5, 'not judged', NULL, NULL);
