#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two recordings of one seeded program under swap, on kernels that differ in pte_mkwrite() alone: what is read
# from each is what trace-cmd and the kernel's own counters say, and what is predicted from each for the other is
# what the other one did. stays.py follows the pages once more, in the text of trace-cmd report.
. tests/replay/lib/setup

DB=$DIR/r.db
for kind in clean dirty; do
	[ -e examples/swap/$kind.dat ] || { echo "examples/swap/$kind.dat is missing"; exit 77; }
done
# count KIND NAME: what the program printed.
count() { sed -n "s/^$1 .*\b$2=\([0-9]*\).*/\1/p" examples/swap/counts; }

for kind in clean dirty; do
	other=$([ $kind = clean ] && echo dirty || echo clean)
	expect_status 0 "$REPLAY" -p arm64-broadcast -p arm64-local -p x86 -o "$DB" examples/swap/$kind.dat
	expect "$DB" "$kind|0|0" "SELECT mkwrite, writes_unplaced, writes_missing FROM v_swap"
	written=$(q "$DB" "SELECT writes FROM v_swap")
	expect "$DB" "$written.0|$written.0|$written.0" "SELECT writes_low, writes, writes_high FROM v_dirty
		WHERE mkwrite = '$kind' AND dbm = 'on'"
	expect "$DB" 1 "SELECT count(*) FROM v_dirty WHERE mkwrite = '$other' AND recorded = 0 AND dbm = 'on' AND
		writes_low <= writes AND writes <= writes_high"
	# pswpout counts after the program has filled its memory, so do these; the fill is the same under any kernel.
	fill=$((written - $(count $kind swap_outs)))
	real=$(count $other swap_outs)
	expect "$DB" 1 "SELECT abs(writes - $fill - $real) < 0.1 * $real FROM v_dirty WHERE mkwrite = '$other' AND dbm = 'on'"
	# A write shows as a fault, or as one of the accesses that the program told.
	expect "$DB" 1 "SELECT unwritten_low <= unwritten AND unwritten <= unwritten_high FROM v_dirty
		WHERE mkwrite = 'dirty' AND dbm = 'on'"
	expect "$DB" "broadcast|local|none" "SELECT group_concat(scope, '|') FROM v_dirty_flush"
	# --dirty-share moves estimates within bounds, and only where something is open.
	"$REPLAY" --dirty-share 1 -o "$DIR/one.db" examples/swap/$kind.dat || fail "--dirty-share 1: $?"
	expect "$DIR/one.db" 1 "SELECT count(*) FROM v_dirty WHERE mkwrite = 'clean' AND dbm = 'on' AND writes <= writes_high"
	if command -v gnuplot >/dev/null; then
		"$BUILD/tlbreport" "$DB" dirty --plot "$DIR/d.svg" || fail "the picture: $?"
		for words in "mkwrite=$kind (recorded)" "mkwrite=$other" "$kind.dat: pages written to swap"; do
			grep -qF "$words" "$DIR/d.svg" || fail "the picture has no \"$words\""
		done
		"$BUILD/tlbreport" "$DB" dirty --plot - >"$DIR/d.txt"
		grep -q "|$(echo "$written" | sed 's/...$/,&/')" "$DIR/d.txt" || fail "the picture has not $written"
		awk 'length > 80 { exit 1 }' "$DIR/d.txt" || fail "the picture in text is wider than 80 columns"
	fi
	if ! command -v trace-cmd >/dev/null || ! command -v python3 >/dev/null; then
		missing="$missing trace-cmd and python3"
		continue
	fi
	trace-cmd report examples/swap/$kind.dat 2>/dev/null >"$DIR/text"
	[ "$(grep -c ': swap_writepage:' "$DIR/text")" = "$written" ] || fail "$kind: trace-cmd counts other writes"
	expect "$DB" "$(python3 tests/replay/stays.py "$DIR/text")" "SELECT s.swap_ins, s.for_write, s.writable, s.dirty, s.unmapped,
		CAST(d.unwritten AS INT) FROM v_swap s, v_dirty d WHERE d.mkwrite = 'dirty' AND d.dbm = 'on'"
done
"$REPLAY" --dirty-share 1.5 -o "$DIR/one.db" examples/swap/clean.dat 2>"$DIR/err"
[ $? = 2 ] || fail "--dirty-share 1.5 is not refused"
[ ! -e "$DIR/half.db" ] || fail "a database is left behind"

done_testing
