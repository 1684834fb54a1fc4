#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A recording replayed in shards and merged is, row for row, what one replay of it writes: every table, every
# policy, with and without TLBs, with lost events, on x86 and arm64. Whatever the order of the parts, the same
# bytes. Missing shards and shards that do not fit together are told.
. tests/replay/lib/setup
. tests/fleet/lib/compare

policies=()
for name in $("$REPLAY" --list-policies | cut -d ' ' -f 1); do policies+=(-p "$name"); done
policies+=(-p arm64-local:share=0.3,write_share=0.7 -p x86:pcid=off)

# compare N FILE OPTION...: N shards of it against the whole.
compare() {
	local n=$1 file=$2 i parts=()
	shift 2
	expect_status "$want_status" "$REPLAY" "$@" "${policies[@]}" -o "$DIR/whole.db" "$file"
	for ((i = 1; i <= n; i++)); do
		expect_status "$want_status" "$REPLAY" "$@" "${policies[@]}" --shard $i/$n -o "$DIR/$i.db" "$file"
		parts+=("$DIR/$i.db")
	done
	expect_status 0 "$REPORT" merge "$DIR/sum.db" "${parts[@]}"
	same_tables "$DIR/whole.db" "$DIR/sum.db" "$file $*, $n shards"
	expect_status 0 "$REPORT" merge "$DIR/sum2.db" $(printf '%s\n' "${parts[@]}" | sort -R --random-source="$file")
	cmp "$DIR/sum.db" "$DIR/sum2.db" || fail "$file: the order of parts shows"
	# Otherwise the comparison above would be of nothing.
	[ "$(q "$DIR/sum.db" "SELECT count(*) FROM exposures")" -gt 0 ] || fail "$file: no stale entries"
}

want_status=0
for name in broadcast local huge x86 debian-6.12 debian-6.1; do
	need $name && compare 8 "$file"
done
for file in "$SHARED"/traces/swap_*.dat; do
	[ -f "$file" ] && compare 8 "$file"
done
if need local; then
	compare 3 "$file" --tlb 48/48+1024/4
	compare 2 "$file" --tlb 64/4,untagged
fi

"$GEN" --events 60k --processes 7 --pages 256 "$DIR/many.dat" >/dev/null
compare 5 "$DIR/many.dat"
compare 5 "$DIR/many.dat" --tlb 64/4
"$GEN" --events 40k --processes 4 --workload x86tp "$DIR/x86tp.dat" >/dev/null
compare 4 "$DIR/x86tp.dat"
want_status=3
"$GEN" --events 60k --processes 6 --pages 200 --lost --gaps "$DIR/lost.dat" >/dev/null
compare 4 "$DIR/lost.dat"
compare 4 "$DIR/lost.dat" --tlb 64/4
# More shards than there are address spaces: some have nothing.
want_status=0
"$GEN" --events 5k --processes 1 "$DIR/one.dat" >/dev/null
compare 16 "$DIR/one.dat"

# ---- limits on rows: the same ones are kept ----

"$GEN" --events 1100k --processes 4 --pages 50000 "$DIR/wide.dat" >/dev/null
policies=(-p arm64-broadcast -p arm64-local -p none)
compare 3 "$DIR/wide.dat"
expect "$DIR/sum.db" 1 "SELECT count(*) > 0 FROM notes WHERE kind = 'left out' AND subject = 'pages'"
expect "$DIR/sum.db" 100000 "SELECT count(*) FROM pages WHERE page IS NOT NULL"
expect "$DIR/sum.db" 1000 "SELECT count(*) FROM v_stale WHERE policy = 'arm64-local'"

# ---- what does not fit together ----

for i in 1 2 3; do
	"$REPLAY" -p arm64-local --shard $i/3 -o "$DIR/m$i.db" "$DIR/many.dat"
	"$REPLAY" -p arm64-local --shard $i/3 -o "$DIR/o$i.db" "$DIR/one.dat"
done
expect_status 3 "$REPORT" merge "$DIR/two.db" "$DIR"/m[13].db "$DIR"/o?.db
grep -q 'missing: many.dat: left out, for these of its 3 shards are missing: 2$' "$DIR/err" || fail "$(cat "$DIR/err")"
expect "$DIR/two.db" one.dat "SELECT group_concat(trace) FROM traces"
expect_status 1 "$REPORT" merge "$DIR/twice.db" "$DIR"/m?.db "$DIR/m2.db"
grep -q 'is in .*m2.db already' "$DIR/err" || fail "$(cat "$DIR/err")"
[ ! -e "$DIR/twice.db" ] || fail "a merge that failed left a database"
# One of another replay: a different policy, a different number of shards.
"$REPLAY" -p x86 --shard 2/3 -o "$DIR/m2.db" "$DIR/many.dat"
expect_status 3 "$REPORT" merge "$DIR/other.db" "$DIR"/m?.db
"$REPLAY" -p arm64-local --shard 2/4 -o "$DIR/m2.db" "$DIR/many.dat"
expect_status 3 "$REPORT" merge "$DIR/other.db" "$DIR"/m?.db
expect "$DIR/other.db" 0 "SELECT count(*) FROM traces"
# A shard says of itself that it is one.
expect "$DIR/m1.db" 1 "SELECT count(*) FROM v_trust WHERE kind = 'left out' AND text LIKE 'this is shard 1 of 3%'"

for wrong in 0/3 4/3 3 1/ /3 a/b 1/2x -1/2 1/5000 ' 1/2'; do
	expect_status 2 "$REPLAY" --shard "$wrong" -o "$DIR/wrong.db" "$DIR/one.dat"
	[ ! -e "$DIR/wrong.db" ] || fail "--shard '$wrong' left a database"
done

done_testing
