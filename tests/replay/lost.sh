#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Recordings that have lost events: status 3, a warning, the losses in the results as the file has them
# (counted and uncounted apart), and bounds that are never narrower than those of the same events
# without the loss. What was lost here is only said to be lost, so the truth is known.
. tests/replay/lib/setup
POLICIES="-p arm64-broadcast -p arm64-local -p x86 -p none"

# Only that one warning.
warned() {
	[ "$(wc -l <"$DIR/err")" = 1 ] && grep -q '^tlbreplay: warning: .*lost events' "$DIR/err" ||
		fail "$1: the warning is \"$(cat "$DIR/err")\""
}

# not_narrower WHOLE.DB LOST.DB WHAT
not_narrower() {
	got=$(q "$1" "ATTACH '$2' AS lost;
		SELECT 'fault', f.policy, f.kind, f.low, f.high, g.low, g.high FROM v_fault f
		JOIN lost.v_fault g USING(policy, kind) WHERE g.low > f.low OR g.high < f.high;
		SELECT 'flush', policy, point, level, sum(low), sum(high), sum(lost_low), sum(lost_high) FROM
		(SELECT policy, point, level, flushes_low AS low, flushes_high AS high, 0 AS lost_low,
		 0 AS lost_high FROM v_flush UNION ALL
		 SELECT policy, point, level, 0, 0, flushes_low, flushes_high FROM lost.v_flush)
		GROUP BY policy, point, level HAVING sum(lost_low) > sum(low) OR sum(lost_high) < sum(high);
		SELECT 'stale', f.policy, f.kind, f.bound, f.entries, f.entry_ns, g.entries, g.entry_ns
		FROM v_exposure f LEFT JOIN lost.v_exposure g USING(policy, kind, bound)
		WHERE (f.bound = 'high' AND f.entries > 0 AND NOT (g.entries >= f.entries AND g.entry_ns >= f.entry_ns))
		OR (f.bound = 'low' AND (g.entries > f.entries))")
	[ -z "$got" ] || fail "$3: with losses it is narrower (whole low, high; lost low, high):
$got"
}

# ---- flags that were set by hand in a public recording ----

whole=$SHARED/corpus/real/carverdamien__small-full-trace__86d634f.dat
unknown=$SHARED/corpus/derived/lost-full-page1-missed.dat
counted=$SHARED/corpus/derived/lost-full-page2-missed-stored.dat
if [ -f "$whole" ] && [ -f "$unknown" ] && [ -f "$counted" ]; then
	expect_status 0 "$REPLAY" $POLICIES -o "$DIR/whole.db" "$whole"
	[ ! -s "$DIR/err" ] || fail "the whole one: $(cat "$DIR/err")"
	expect "$DIR/whole.db" "0|0" "SELECT lost_events, lost_unknown FROM traces"
	expect "$DIR/whole.db" 0 "SELECT count(*) FROM v_trust WHERE kind = 'lost'"

	expect_status 3 "$REPLAY" $POLICIES -o "$DIR/lost.db" "$unknown"
	warned "page 1"
	expect "$DIR/lost.db" "0|1" "SELECT lost_events, lost_unknown FROM traces"
	expect "$DIR/lost.db" "0|0|1
1|0|0" "SELECT cpu, lost_events, lost_unknown FROM cpus ORDER BY cpu"
	expect "$DIR/lost.db" "cpu 0|1" "SELECT subject, n FROM v_trust WHERE kind = 'lost'"
	not_narrower "$DIR/whole.db" "$DIR/lost.db" "page 1"

	expect_status 3 "$REPLAY" $POLICIES -o "$DIR/lost.db" "$counted"
	warned "page 2"
	expect "$DIR/lost.db" "1234567|0" "SELECT lost_events, lost_unknown FROM traces"
	expect "$DIR/lost.db" "0|1234567|0
1|0|0" "SELECT cpu, lost_events, lost_unknown FROM cpus ORDER BY cpu"
	expect "$DIR/lost.db" "cpu 0|1234567" "SELECT subject, n FROM v_trust WHERE kind = 'lost'"
	not_narrower "$DIR/whole.db" "$DIR/lost.db" "page 2"

	# Together with a whole one it is still 3, and each has its own.
	expect_status 3 "$REPLAY" -p none -o "$DIR/both.db" "$unknown" "$whole" "$counted"
	expect "$DIR/both.db" "0|1
0|0
1234567|0" "SELECT lost_events, lost_unknown FROM traces ORDER BY id"
else
	missing="$missing lost-*"
fi

# ---- generated: the same events, with and without flags ----

fact() {
	tr ' ' '\n' <"$DIR/facts" | sed -n "s/^$1=//p"
}
while read -r options; do
	# shellcheck disable=SC2086 # a list of options
	"$GEN" --events 60000 $options "$DIR/whole.dat" >"$DIR/facts" || fail "gentrace $options"
	expect_status 0 "$REPLAY" $POLICIES -o "$DIR/whole.db" "$DIR/whole.dat"
	# shellcheck disable=SC2086
	"$GEN" --events 60000 $options --lost "$DIR/lost.dat" >"$DIR/facts" || fail "gentrace $options"
	expect_status 3 "$REPLAY" $POLICIES -o "$DIR/lost.db" "$DIR/lost.dat"
	warned "$options"
	expect "$DIR/lost.db" "$(fact lost_events)|$(fact lost_unknown)" "SELECT lost_events, lost_unknown FROM traces"
	expect "$DIR/lost.db" "$(fact lost_events)|$(fact lost_unknown)" \
		"SELECT sum(lost_events), sum(lost_unknown) FROM cpus"
	# Every CPU's losses are told apart for the reader.
	expect "$DIR/lost.db" "" "SELECT cpu FROM cpus c WHERE
		(lost_events > 0 AND NOT EXISTS (SELECT 1 FROM v_trust WHERE kind = 'lost'
		 AND subject = 'cpu ' || c.cpu AND n = c.lost_events)) OR
		(lost_unknown > 0 AND NOT EXISTS (SELECT 1 FROM v_trust WHERE kind = 'lost'
		 AND subject = 'cpu ' || c.cpu AND n = c.lost_unknown))"
	[ "$(fact lost_unknown)" -gt 0 ] && [ "$(fact lost_events)" -gt 0 ] || fail "$options: nothing is lost"
	not_narrower "$DIR/whole.db" "$DIR/lost.db" "$options"
done <<'END'
--pages 256
--pages 256 --seed 2 --cpus 8 --processes 6
--pages 64 --seed 3 --compression zstd
--pages 100 --seed 4 --workload x86tp
END
done_testing
