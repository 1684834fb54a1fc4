#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Processes of one thread that loop over mprotect, generated, replayed with broadcasts that take their turn:
# how much longer they take than with local flushes.
#
# On paper. A round was recorded in L = 633 ns, its local flush of l = 50 ns included; a broadcast is served in
# S = 350 ns, one at a time. N processes then take max(L + S, N x S) for a round, less l, which is no more:
#   N = 1, 2   (633 + 350 - 50) / 633  = 1.474
#   N = 8      (8 x 350 - 50) / 633    = 4.344
#   N = 32     (32 x 350 - 50) / 633   = 17.61      linux-arm-kernel 20200203201745.29986-1 has 17.7
. tests/replay/lib/setup
LOOPERS=$BUILD/examples/headline/loopers
[ -x "$LOOPERS" ] || { echo "$LOOPERS is not built"; exit 77; }
DB=$DIR/r.db

while read -r processes ratio; do
	"$LOOPERS" --processes $processes --rounds 5000 "$DIR/l.dat" >"$DIR/facts" || fail "loopers: $?"
	expect_status 0 "$REPLAY" --cost arm64-generic-32 -p arm64-broadcast -p single-thread-local -o "$DB" "$DIR/l.dat"
	rounds=$((processes * 5000))
	expect "$DB" "arm64-broadcast|broadcast|$rounds
single-thread-local|local|$rounds" "SELECT policy, scope, sum(flushes) FROM v_flush WHERE flushes > 0 GROUP BY policy, scope"
	cost="SELECT sum(estimate_ns) FROM v_cost WHERE part IN ('initiator', 'queue') AND policy"
	got=$(q "$DB" "SELECT (633.0 * $rounds + ($cost = 'arm64-broadcast') - ($cost = 'single-thread-local'))
		/ (633.0 * $rounds)")
	awk -v got="$got" -v want=$ratio 'BEGIN { exit !(got > 0.995 * want && got < 1.005 * want) }' ||
		fail "$processes processes: $got times instead of $ratio"
	echo "$processes processes: $got times"
	if command -v trace-cmd >/dev/null && [ $processes = 2 ]; then
		[ "$(trace-cmd report "$DIR/l.dat" 2>/dev/null | grep -c ' change_protection: ')" = $rounds ] ||
			fail "trace-cmd counts otherwise"
	fi
done <<END
1 1.474
2 1.474
8 4.344
32 17.61
END

# A range in which nothing is known to be mapped may need no flush: the low bound has none in the queue either.
"$LOOPERS" --processes 8 --rounds 500 --untouched "$DIR/l.dat" >"$DIR/facts" || fail "loopers: $?"
expect_status 0 "$REPLAY" --cost arm64-generic-32:broadcast_service=100..350..400 -p arm64-broadcast -o "$DB" "$DIR/l.dat"
expect "$DB" "0.0|1|1" "SELECT low_ns, estimate_ns > 0, high_ns > estimate_ns FROM v_cost WHERE part = 'queue'"
done_testing
