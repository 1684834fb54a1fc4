#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# x86 with its tracepoints alone. A write fault on a present page was a reuse, a copy or spurious, and
# nothing tells which: it counts in the bounds of all three, and the estimate goes by the flush that
# follows. Who uses which address space comes from the task snapshot, clone flags and execs; a task that
# nothing introduces gets an address space of its own, and is counted.
. tests/replay/lib/setup
POLICIES="arm64-broadcast arm64-local x86 none"

fact() {
	tr ' ' '\n' <"$DIR/facts" | sed -n "s/^$1=//p"
}

# bounds DB POLICY POINT: decisions, and low, estimate, high of its flushes.
bounds() {
	q "$1" "SELECT sum(decisions), sum(flushes_low), sum(flushes), sum(flushes_high) FROM v_flush
		WHERE policy = '$2' AND point = '$3'"
}

# is WHAT GOT WANTED
is() {
	[ "$2" = "$3" ] || fail "$options: $1: $2, not $3"
}

# ---- generated ----

while read -r options; do
	DB=$DIR/t.db
	# shellcheck disable=SC2086 # a list of options
	"$GEN" --workload x86tp $options "$DIR/t.dat" >"$DIR/facts" || fail "gentrace $options"
	expect_status 0 "$REPLAY" -p arm64-broadcast -p arm64-local -p x86 -p none -o "$DB" "$DIR/t.dat"
	reuse=$(fact wp_reuse) cow=$(fact cow) spurious=$(fact spurious)
	all=$((reuse + cow + spurious))
	[ "$all" -gt 100 ] || fail "$options: too few faults"
	# A spurious fault is followed by no flush either.
	likely=$((reuse + spurious))

	for policy in arm64-broadcast arm64-local; do
		is "$policy wp_reuse" "$(bounds "$DB" $policy wp_reuse)" "$likely|0|$likely|$all"
	done
	for policy in x86 none; do
		is "$policy wp_reuse" "$(bounds "$DB" $policy wp_reuse)" "$likely|0|0|0"
	done
	for policy in arm64-broadcast arm64-local x86; do
		is "$policy cow" "$(bounds "$DB" $policy cow)" "$cow|0|$cow|$all"
	done
	is "none cow" "$(bounds "$DB" none cow)" "$cow|0|0|0"
	for policy in $POLICIES; do
		expect "$DB" "0.0|0.0|$all.0" "SELECT low, estimate, high FROM v_fault WHERE policy = '$policy'
			AND kind = 'spurious_recorded'"
		expect "$DB" "0.0|1" "SELECT low, high >= $all FROM v_fault WHERE policy = '$policy'
			AND kind = 'spurious'"
		expect "$DB" 0.0 "SELECT low FROM v_fault WHERE policy = '$policy' AND kind = 'spurious_avoided'"
		expect "$DB" "$(fact forks)" "SELECT sum(decisions) FROM v_flush WHERE policy = '$policy' AND point = 'fork'"
		expect "$DB" "$(fact exits)" "SELECT sum(decisions) FROM v_flush WHERE policy = '$policy' AND point = 'exit'"
	done
	expect "$DB" "$all" "SELECT n FROM v_trust WHERE kind = 'unplaced' AND subject = 'write faults'"
	# By page: what the estimate takes it for.
	expect "$DB" "cow|$cow
wp_reuse|$likely" "SELECT point, sum(decisions) FROM v_page GROUP BY point ORDER BY point"
	# The flush that follows a spurious fault under arm64-local has the bounds of the faults.
	expect "$DB" 1 "SELECT (SELECT sum(flushes_high) FROM v_flush WHERE policy = 'arm64-local' AND point = 'spurious')
		= (SELECT high FROM v_fault WHERE policy = 'arm64-local' AND kind = 'spurious')"
	# A change and the flush that belongs to it happened both or neither: what broadcasts everything
	# leaves nothing behind, what flushes upgrades locally nothing unsafe.
	expect "$DB" "" "SELECT policy, kind, bound, entries FROM v_exposure WHERE entries > 0
		AND policy = 'arm64-broadcast'"
	expect "$DB" "" "SELECT policy, kind, bound, entries FROM v_exposure WHERE entries > 0
		AND policy IN ('arm64-local', 'x86') AND kind = 'unsafe'"
	expect "$DB" "0.0" "SELECT estimate FROM v_fault WHERE policy = 'arm64-broadcast' AND kind = 'spurious'"

	# The snapshot and the clone flags introduce everybody: init and sh, a process for each fork, and
	# a new address space for each exec.
	expect "$DB" 0 "SELECT tasks_unknown_mm FROM traces"
	expect "$DB" "1|init
901|sh" "SELECT tid, comm FROM v_mm WHERE origin = 'snapshot' ORDER BY tid"
	expect "$DB" 0 "SELECT count(*) FROM v_mm WHERE origin = 'placeholder'"
	expect "$DB" 0 "SELECT count(*) FROM v_trust WHERE kind = 'unknown' AND subject IN ('mms', 'snapshot')"
	# Nothing is recorded of init.
	expect "$DB" 0 "SELECT pages FROM v_mm WHERE tid = 1"
	# Who forks runs, and has its address space loaded: the flush reaches itself at least.
	expect "$DB" 0 "SELECT coalesce(sum(decisions), 0) FROM v_flush WHERE policy = 'x86' AND point = 'fork'
		AND scope = 'none'"
	expect "$DB" "$(fact tlb:tlb_flush)" "SELECT sum(events) FROM v_recorded WHERE event = 'tlb:tlb_flush'"
	expect "$DB" "$(fact shootdowns)" "SELECT sum(events) FROM v_recorded WHERE op = 'remote shootdown'"
done <<'END'
--events 30k
--events 30k --seed 2 --cpus 16 --threads 8 --pages 128
--events 30k --seed 3 --long 4 --processes 6 --pages 64
END

# ---- real, without a snapshot ----

options=86d634f
file=$(echo "$SHARED"/corpus/real/*__86d634f.dat)
if [ -f "$file" ]; then
	DB=$DIR/real.db
	expect_status 0 "$REPLAY" -p arm64-broadcast -p arm64-local -p x86 -p none -o "$DB" "$file"
	# Its index says: 24 tlb_flush, 10 of them on task switch, 14 local.
	expect "$DB" "flush on task switch|10
local mm shootdown|14" "SELECT op, sum(events) FROM v_recorded WHERE event = 'tlb:tlb_flush' GROUP BY op ORDER BY op"
	expect "$DB" "exceptions:page_fault_kernel|3
exceptions:page_fault_user|69" "SELECT event, events FROM v_recorded WHERE event LIKE 'exceptions:%' ORDER BY event"
	# trace-cmd report shows 7 user faults with error code 7 (present, write, user), all of one task,
	# and that task is older than the recording.
	is "wp_reuse high" "$(bounds "$DB" arm64-broadcast wp_reuse | cut -d '|' -f 2,4)" "0|7"
	is "cow high" "$(bounds "$DB" arm64-broadcast cow | cut -d '|' -f 2,4)" "0|7"
	expect "$DB" 1 "SELECT tasks_unknown_mm FROM traces"
	expect "$DB" 1 "SELECT count(*) FROM v_mm WHERE origin = 'placeholder'"
	expect "$DB" 1 "SELECT n FROM v_trust WHERE kind = 'unknown' AND subject = 'mms'"
	expect "$DB" 0 "SELECT count(*) FROM v_mm WHERE origin = 'snapshot'"
else
	missing="$missing small-full-trace"
fi
done_testing
