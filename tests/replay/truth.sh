#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What tlbreplay predicts for a kernel that flushes locally, from recordings of one that broadcasts,
# against what such a kernel really did with the same workload (examples/truth/counted.tsv: counted by
# trace-cmd's reading of its own recording, examples/lab/truth). With the recorded accesses: within 2%, or
# 10 faults. Without: between low and high. And the broadcasts of upgrades, one by one; and the pages that
# the other kind of mkwrite wrote to swap after the fill (counted-swap.tsv), within 10%.
. tests/replay/lib/setup
cells=0

# spurious OPTION...: low, estimate and high of the replay, rounded
spurious() {
	expect_status 0 "$REPLAY" "$@" -o "$DIR/t.db" "$file"
	q "$DIR/t.db" "SELECT round(low), round(estimate), round(high) FROM v_fault WHERE kind = 'spurious'" |
		tr '|' ' ' | sed 's/\.0//g'
}

while IFS=$'\t' read -r name entries real real_all broadcasts; do
	[ "$name" != recording ] || continue
	file=examples/truth/$name
	[ -e "$file" ] || { fail "$file is missing"; continue; }
	read -r _ predicted _ < <(spurious -p arm64-local:share=0,write_share=0 --tlb "$entries/1,untagged")
	off=$((predicted > real ? predicted - real : real - predicted))
	[ $off -le 10 ] || [ $((off * 50)) -le "$real" ] ||
		fail "$name, $entries entries: $predicted spurious faults predicted, $real counted"
	read -r low _ high < <(spurious -p arm64-local)
	[ "$low" -le "$real_all" ] && [ "$real_all" -le "$high" ] ||
		fail "$name, $entries entries: $real_all spurious faults are not within $low to $high"
	expect_status 0 "$REPLAY" -p arm64-broadcast -o "$DIR/t.db" "$file"
	expect "$DIR/t.db" "$broadcasts.0|$broadcasts.0" "SELECT total(flushes_low), total(flushes_high)
		FROM v_flush WHERE point IN ('wp_reuse', 'dirty_up', 'young') AND scope = 'broadcast'"
	cells=$((cells + 1))
done <examples/truth/counted.tsv
while IFS=$'\t' read -r name mkwrite dbm fill writes; do
	[ "$name" != recording ] || continue
	file=examples/truth/$name
	expect_status 0 "$REPLAY" -p arm64-broadcast --tlb 1024/1,untagged -o "$DIR/t.db" "$file"
	predicted=$(q "$DIR/t.db" "SELECT CAST(round(writes) AS INTEGER) - $fill FROM v_dirty
		WHERE mkwrite = '$mkwrite' AND dbm = '$dbm'")
	off=$((predicted > writes ? predicted - writes : writes - predicted))
	[ $((off * 10)) -le "$writes" ] ||
		fail "$name: $predicted pages written predicted for mkwrite=$mkwrite, $writes counted"
	cells=$((cells + 1))
done <examples/truth/counted-swap.tsv
# The page shows the tables as they were made.
for table in spurious broadcasts swap; do
	while read -r row; do
		grep -qxF "| ${row//$'\t'/ | } |" docs/truth.md || fail "docs/truth.md does not show $table.tsv: $row"
	done <examples/truth/$table.tsv
done
[ $cells -ge 7 ] || fail "only $cells cells were compared"
done_testing
