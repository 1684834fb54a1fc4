#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The generators of examples/headline/, small, against what their parameters come to on paper, against what
# they counted themselves, and against trace-cmd's reading of what they wrote.
. tests/replay/lib/setup

USEMEM=$BUILD/examples/headline/usemem
SERVERS=$BUILD/examples/headline/servers
[ -x "$USEMEM" ] && [ -x "$SERVERS" ] || { echo "$USEMEM is not built"; exit 77; }
DB=$DIR/r.db

# fact NAME: what the generator printed last.
fact() { sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" "$DIR/facts"; }

# ---- usemem ----

# 16 MiB in pages of 4 KiB are 4096, 1024 for each of 4 threads; written after each of 3 forks: 12,288 write
# upgrades. A fork flushes once; the child's exec ends the copy, its exit the program's own mm: 2 ends a fork.
"$USEMEM" --memory 16M --threads 4 --cycles 3 --period 20ms --page-time 5us "$DIR/u.dat" >"$DIR/facts" || fail "usemem: $?"
expect_status 0 "$REPLAY" --cost arm64-generic -p arm64-broadcast -p arm64-local -p x86 -o "$DB" "$DIR/u.dat"
flush() { echo "SELECT coalesce(sum(flushes), 0) FROM v_flush WHERE policy = '$1' AND scope = '$2' AND point <> 'spurious'"; }
expect "$DB" 12297 "$(flush arm64-broadcast broadcast)"
expect "$DB" 9 "$(flush arm64-local broadcast)"
expect "$DB" 12288 "$(flush arm64-local local)"
expect "$DB" "arm64-broadcast" "SELECT kernel_policy FROM traces"
expect "$DB" "exit|mm|6|6|events
fork|mm|3|3|events
wp_reuse|pte|12288|12288|events" "SELECT point, level, recorded, replayed, source FROM v_selfcheck"
# The three other writers' CPUs run the same mm and may hold each of the 12,288; so may the CPU of the task that
# forks, which runs it again at the second and the third fork: 3 * 12,288 + 2 * 4096. None can be proven, for
# nobody else ever uses a page.
expect "$DB" "0.0|45056.0" "SELECT low, high FROM v_fault WHERE policy = 'arm64-local' AND kind = 'spurious'"
# What the preset charges: 12,288 broadcasts of a page, 9 of a whole mm, and more of each for each other CPU.
expect "$DB" 1 "SELECT count(*) FROM v_cost c JOIN traces t USING (trace)
	JOIN (SELECT * FROM cost_items WHERE item = 'flush_broadcast') b
	JOIN (SELECT * FROM cost_items WHERE item = 'broadcast_mm') m
	JOIN (SELECT * FROM cost_items WHERE item = 'broadcast_cpu') o
	WHERE c.policy = 'arm64-broadcast' AND c.part = 'initiator'
	AND abs(c.estimate_ns - 12288 * b.value - 9 * m.value - 12297 * (t.cpus - 1) * o.value) < 1
	AND abs(c.low_ns - 12288 * b.low - 9 * m.low - 12297 * (t.cpus - 1) * o.low) < 1
	AND abs(c.high_ns - 12288 * b.high - 9 * m.high - 12297 * (t.cpus - 1) * o.high) < 1"
expect "$DB" "4096" "SELECT max(pages) FROM v_mm WHERE comm = 'usemem'"
# Time: the last event is when the third period ends, one second behind the recording's zero.
expect "$DB" 1060000000 "SELECT last_ns FROM traces"
expect "$DB" "$(fact events)" "SELECT events FROM traces"
# The same options, the same bytes; another seed, other times and the same counts.
"$USEMEM" --memory 16M --threads 4 --cycles 3 --period 20ms --page-time 5us "$DIR/again.dat" >/dev/null
cmp -s "$DIR/u.dat" "$DIR/again.dat" || fail "usemem: the same options give other bytes"
"$USEMEM" --memory 16M --threads 4 --cycles 3 --period 20ms --page-time 5us --seed 2 "$DIR/again.dat" >"$DIR/facts2"
cmp -s "$DIR/facts" "$DIR/facts2" || fail "usemem: another seed, other counts"
cmp -s "$DIR/u.dat" "$DIR/again.dat" && fail "usemem: the seed changes nothing"
"$USEMEM" --memory 1G --period 10ms "$DIR/again.dat" >/dev/null 2>"$DIR/err" && fail "usemem: more pages than fit into a period"
grep -q 'within a period' "$DIR/err" || fail "usemem: $(cat "$DIR/err")"
"$USEMEM" --memory 7x "$DIR/again.dat" 2>/dev/null
[ $? = 2 ] || fail "usemem --memory 7x: not refused"
if command -v trace-cmd >/dev/null; then
	trace-cmd report "$DIR/u.dat" 2>/dev/null | sed 's/.*\] *[0-9.]*: *\([^:]*\): .*/\1/' | sort | uniq -c >"$DIR/kinds"
	for want in '12288 do_wp_page' '12288 handle_mm_fault' '12288 handle_mm_fault_ret' '12288 ptep_set_access_flags_ret' \
		'12288 __ptep_set_access_flags__vale1is__1' '12 copy_page_range' '3 copy_mm__aside1is__2' \
		'6 tlb_flush__aside1is__3' '3 sched_process_exec' '3 sched_process_exit'; do
		grep -qE "^ *$want$" "$DIR/kinds" || fail "trace-cmd does not count $want: $(grep " ${want#* }$" "$DIR/kinds")"
	done
else
	missing="$missing trace-cmd"
fi

# ---- servers ----

for mkwrite in dirty clean; do
	"$SERVERS" --servers 3 --memory 8M --swap-ins 8000 --sets 9 --mkwrite $mkwrite "$DIR/s.dat" >"$DIR/facts" ||
		fail "servers: $?"
	expect_status 0 "$REPLAY" -o "$DB" "$DIR/s.dat"
	expect "$DB" "24000|$(fact for_write)|$(fact stays)|$(fact unmapped)|$(fact writes_$mkwrite)|0|0|$mkwrite" \
		"SELECT swap_ins, for_write, writable, unmapped, writes, writes_unplaced, writes_missing, mkwrite FROM v_swap"
	expect "$DB" "3|24000" "SELECT count(*), sum(swap_ins) FROM v_dirty_process"
	# Both kernels' writes, and the pages that nobody wrote, as the generator counted them, are within the bounds.
	for other in dirty clean; do
		expect "$DB" 1 "SELECT writes_low <= $(fact writes_$other) AND $(fact writes_$other) <= writes_high
			FROM v_dirty WHERE mkwrite = '$other' AND dbm = 'on'"
	done
	expect "$DB" 1 "SELECT unwritten_low <= $(fact unwritten) AND $(fact unwritten) <= unwritten_high AND
		abs(unwritten - $(fact unwritten)) < 0.05 * $(fact unwritten) FROM v_dirty WHERE mkwrite = 'dirty' AND dbm = 'on'"
	# Within a tenth, although what was in memory when the recording began is not known.
	other=$([ $mkwrite = dirty ] && echo clean || echo dirty)
	expect "$DB" 1 "SELECT abs(writes - $(fact writes_$other)) < 0.1 * $(fact writes_$other)
		FROM v_dirty WHERE mkwrite = '$other' AND dbm = 'on'"
	if command -v trace-cmd >/dev/null; then
		trace-cmd report "$DIR/s.dat" 2>/dev/null >"$DIR/text"
		for want in "swap_writepage $(fact writes_$mkwrite)" "do_swap_page_ret 24000" "try_to_unmap_one_ret $(fact unmapped)"; do
			got=$(grep -c ": ${want% *}:" "$DIR/text")
			[ "$got" = "${want#* }" ] || fail "trace-cmd counts $got of $want"
		done
	fi
done

done_testing
