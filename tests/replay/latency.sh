#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How long calls took: against a slow reading of trace-cmd's report, on recordings of profile latency and
# of others; the same on several threads; the preset that comes out, which a replay reads.
. tests/replay/lib/setup
command -v trace-cmd >/dev/null || { echo "trace-cmd is not installed"; exit 77; }

for recording in timed-x86 timed-arm64 debian-6.12 debian-6.1-x86; do
	expect_status 0 "$REPLAY" -p arm64-local -o "$DIR/$recording.db" examples/$recording.dat
	python3 tests/replay/latency.py examples/$recording.dat "$DIR/$recording.db" || fail "$recording"
	expect_status 0 "$REPLAY" -j 2 -p arm64-local -o "$DIR/two.db" examples/$recording.dat
	[ "$(q "$DIR/two.db" "SELECT * FROM v_latency")" = "$(q "$DIR/$recording.db" "SELECT * FROM v_latency")" ] ||
		fail "$recording: otherwise on two threads"
done

# Nothing to time: no rows, and a preset is refused.
expect_status 0 "$REPLAY" -p arm64-local -o "$DIR/none.db" examples/arm64-local.dat
expect "$DIR/none.db" "0|0" "SELECT (SELECT count(*) FROM v_latency), (SELECT count(*) FROM v_latency_left_out)"
REPORT=$BUILD/tlbreport
expect_status 1 "$REPORT" "$DIR/none.db" preset
grep -q 'no recording has .*--profile latency' "$DIR/err" || fail "the message is \"$(cat "$DIR/err")\""

# An emulated machine's: marked so, its figures by hand from the buckets, and read by a replay.
expect_status 0 "$REPORT" "$DIR/timed-x86.db" preset -o "$DIR/mine.cost"
grep -q '^not_for_use = QEMU emulates' "$DIR/mine.cost" || fail "not marked as emulated"
item() { sed -n "/^\[$1\]/,/^$/s/^$2 = //p" "$DIR/mine.cost"; }
calls=$(q "$DIR/timed-x86.db" "SELECT sum(calls) FROM latency_buckets WHERE call = 'range' AND flush = 'local'
	AND cpus = 1 AND concurrent = 0")
[ "$calls" -ge 30 ] || fail "$calls calls are too few for the test"
# The bucket in which call number n/2, from below, lies: its middle; and 19/20: its end.
expect "$DIR/timed-x86.db" "$(item flush_local value)|$(item flush_local high)" "
	WITH c AS (SELECT from_ns, to_ns, sum(calls) OVER (ORDER BY from_ns) AS behind FROM latency_buckets
		WHERE call = 'range' AND flush = 'local' AND cpus = 1 AND concurrent = 0)
	SELECT (SELECT (from_ns + to_ns) / 2.0 FROM c WHERE behind >= $calls / 2.0 ORDER BY 1 LIMIT 1),
		(SELECT to_ns FROM c WHERE behind >= $calls * 0.95 ORDER BY 1 LIMIT 1)"
[ "$(item flush_local low)" = 0 ] || fail "what the probes cost is not known, and low is not 0"
grep -A 20 '^\[flush_local\]' "$DIR/mine.cost" | grep -q '^trust = derived' || fail "not derived"
expect_status 1 "$REPLAY" -p x86 --cost "$DIR/mine.cost" -o "$DIR/cost.db" examples/timed-x86.dat
grep -q 'not for use: QEMU' "$DIR/err" || fail "the message is \"$(cat "$DIR/err")\""
sed '/^not_for_use/d' "$DIR/mine.cost" >"$DIR/used.cost"
expect_status 0 "$REPLAY" -p x86 --cost "$DIR/used.cost" -o "$DIR/cost.db" examples/timed-x86.dat
expect "$DIR/cost.db" "$(item flush_local value)" "SELECT value FROM cost_items WHERE item = 'flush_local'"

# Of several recordings one must be named.
expect_status 0 "$REPLAY" -p x86 -o "$DIR/both.db" examples/timed-x86.dat examples/timed-arm64.dat
expect_status 1 "$REPORT" "$DIR/both.db" preset
expect_status 0 "$REPORT" "$DIR/both.db" preset --trace timed-x86.dat
cmp -s "$DIR/out" "$DIR/mine.cost" || fail "another preset beside another recording"
expect_status 2 "$REPORT" "$DIR/both.db" preset --csv
done_testing
