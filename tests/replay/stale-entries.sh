#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The upper bound of arm64-local against a slow twin that works it out from text (stale_entries.py):
# the number of stale entries, their lifetimes to the nanosecond, how many could have cost a fault and
# how many did. Generated recordings of many shapes, and the two real arm64 ones.
. tests/replay/lib/setup
command -v python3 >/dev/null && command -v trace-cmd >/dev/null ||
	{ echo "python3 and trace-cmd are needed for the twin"; exit 77; }
compared=0

# same TRACE WHAT
same() {
	trace-cmd report -N -t "$1" >"$DIR/text" 2>"$DIR/err" ||
		trace-cmd report -N -t "$1" >"$DIR/text" 2>"$DIR/err" || fail "$2: trace-cmd: $(cat "$DIR/err")"
	python3 tests/replay/stale_entries.py <"$DIR/text" >"$DIR/twin" || fail "$2: the twin failed"
	expect_status 0 "$REPLAY" -p arm64-local -o "$DIR/t.db" "$1"
	q "$DIR/t.db" "SELECT printf('entries %d
entry_ns %d
max_ns %d', total(entries), total(entry_ns), total(max_ns)) FROM v_exposure WHERE bound = 'high' AND kind = 'benign';
		SELECT printf('spurious %d', high) FROM v_fault WHERE kind = 'spurious';
		SELECT printf('explained %d', total(entries)) FROM v_exposure WHERE bound = 'low' AND kind = 'benign'" >"$DIR/ours"
	cmp -s "$DIR/twin" "$DIR/ours" || fail "$2: $(paste -d ' ' "$DIR/twin" "$DIR/ours" | tr '\n' ',') (twin, ours)"
	# Everything but an upgrade broadcasts: nothing unsafe can stay behind.
	expect "$DIR/t.db" "" "SELECT DISTINCT kind FROM v_exposure WHERE kind <> 'benign' AND entries > 0"
	compared=$((compared + $(awk '$1 == "entries" { print $2 }' "$DIR/twin")))
}

while read -r options; do
	# shellcheck disable=SC2086 # a list of options
	"$GEN" --events 6000 $options "$DIR/t.dat" >"$DIR/facts" || fail "gentrace $options"
	same "$DIR/t.dat" "$options"
done <<'END'
--pages 64
--pages 16 --seed 2 --processes 4
--pages 16 --seed 3 --processes 4 --cpus 8
--pages 40 --seed 4 --processes 1 --cpus 3
--pages 100 --seed 5 --cpus 3
--pages 16 --seed 6 --processes 1 --cpus 2 --threads 2
--pages 200 --seed 7 --threads 8
--pages 32 --seed 8 --cpus 12 --processes 20 --threads 2
--pages 48 --seed 9 --cpus 70 --processes 3 --threads 60
--pages 64 --seed 10 --rt --gaps --compression zstd
END
for name in broadcast local; do
	need $name && same "$file" $name
done
[ $failed = 0 ] && echo "$compared stale entries are the same"
done_testing
