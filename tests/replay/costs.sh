#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Other prices without a replay (the same as with one), sweeps, and the break-even price (the same by both
# ways, and by hand).
. tests/replay/lib/setup
REPORT=${REPLAY%/*}/tlbreport
trace=examples/arm64-broadcast.dat

# ---- repricing ----

expect_status 0 "$REPLAY" -p arm64-broadcast -p arm64-local -p x86 -p none -o "$DIR/a.db" $trace
for spec in arm64-seed x86-generic arm64-generic:flush_local=20,notify=1000..2000..4000; do
	expect_status 0 "$REPLAY" -p arm64-broadcast -p arm64-local -p x86 -p none --cost "$spec" -o "$DIR/b.db" $trace
	expect_status 0 "$REPORT" "$DIR/a.db" cost --cost "$spec" --table 2 --csv --limit 0
	tail -n +2 "$DIR/out" | sort >"$DIR/repriced"
	expect_status 0 "$REPORT" "$DIR/b.db" cost --table 2 --csv --limit 0
	tail -n +2 "$DIR/out" | sort | cmp -s - "$DIR/repriced" ||
		fail "$spec: repriced is not replayed: $(tail -n +2 "$DIR/out" | sort | diff - "$DIR/repriced" | head -n 6)"
done
before=$(sha256sum <"$DIR/a.db")
expect_status 0 "$REPORT" "$DIR/a.db" --cost arm64-generic-32
[ "$before" = "$(sha256sum <"$DIR/a.db")" ] || fail 'repricing changed the database'
expect_status 0 "$REPORT" "$DIR/a.db" trust --csv --cost arm64-generic-32
grep -q 'needs a replay' "$DIR/out" || fail 'the queue was priced without a replay, or nothing said'
expect_status 2 "$REPORT" "$DIR/a.db" --cost arm64-generic-32:refil=1
expect_status 2 "$REPORT" compare "$DIR/a.db" "$DIR/a.db" --cost arm64-generic-32
# 10,338 + 111 broadcasts on 4 CPUs, priced by hand: 1 us each, 100 ns for each of 3 victims, no other price.
zero=$(sed -n 's/^\[\(.*\)\]$/\1=0/p' schema/costs/arm64-generic.cost | grep -v "^flush_broadcast\|^broadcast_mm\|^victim_broadcast" | paste -sd ,)
expect_status 0 "$REPORT" "$DIR/a.db" cost --csv --cost "arm64-generic:$zero,flush_broadcast=1000,broadcast_mm=1000,victim_broadcast=100"
grep -q "^arm64-broadcast.dat,arm64-broadcast,.*,$((10449 * 1300))\(\.0\)\?,$((10455 * 1300))" "$DIR/out" ||
	fail "by hand $((10449 * 1300)): $(head -n 2 "$DIR/out")"

# ---- sweep and break-even ----

# Victims cost nothing, so that only one price is varied: both ways must find the same one.
expect_status 0 "$REPLAY" --cost "arm64-generic:victim_broadcast=0,broadcast_cpu=0,broadcast_page=0,broadcast_mm=0" --sweep flush_broadcast=1ns:1000ns:1000 \
	-o "$DIR/s.db" $trace
expect "$DIR/s.db" 1 "SELECT abs(e.broadcast_ns - (SELECT min(a.value1) FROM v_sweep a
	JOIN v_sweep b ON b.trace = a.trace AND b.value1 = a.value1 AND b.policy = 'arm64-local'
	WHERE a.policy = 'arm64-broadcast' AND a.estimate_ns > b.estimate_ns)) <= 1
	FROM v_break_even e WHERE e.policy = 'arm64-local' AND e.other = 'arm64-broadcast'"
expect "$DIR/s.db" 0 "SELECT count(*) FROM v_break_even WHERE NOT (broadcast_low_ns <= broadcast_ns
	AND broadcast_ns <= broadcast_high_ns)"
# A share that is swept is a share that is given.
expect_status 0 "$REPLAY" --sweep share=0:1:5 --sweep write_share=0:1:3 -o "$DIR/s.db" $trace
for share in 0 0.25 1; do
	expect_status 0 "$REPLAY" -p arm64-local:share=$share,write_share=0.5 -o "$DIR/b.db" $trace
	expect "$DIR/s.db" "$(q "$DIR/b.db" "SELECT printf('%.3f', estimate_ns) FROM v_cost_total")" \
		"SELECT printf('%.3f', estimate_ns) FROM v_sweep WHERE policy = 'arm64-local' AND value1 = $share
		AND value2 = 0.5"
done
expect_status 2 "$REPLAY" --sweep tlb=1:2:3 -o "$DIR/none.db" $trace
expect_status 2 "$REPLAY" --sweep share=0:1:5 --shard 1/2 -o "$DIR/none.db" $trace
[ ! -e "$DIR/none.db" ] || fail 'a database by a wrong sweep'
if command -v gnuplot >/dev/null; then
	expect_status 0 "$REPORT" "$DIR/s.db" sweep --plot "$DIR/s.svg"
	grep -q 'least cost over share and write_share' "$DIR/s.svg" || fail 'no map of two things'
	expect_status 0 "$REPORT" "$DIR/a.db" break-even --plot "$DIR/e.svg"
	grep -q 'price of a broadcast' "$DIR/e.svg" || fail 'no curves'
fi
done_testing
