#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The real recordings have figures that were established when they were made (how often the workload
# wrote, what the kernel's own counters said), and count_points.py counts them again from the text of
# trace-cmd report. Both must be what the database holds.
. tests/replay/lib/setup

declare -A path=()
for name in broadcast local huge debian-6.12 debian-6.1 x86; do
	need $name && path[$name]=$file
done
[ ${#path[@]} -gt 0 ] || { echo "no recording in examples/ or $SHARED"; exit 77; }
DB=$DIR/all.db
expect_status 0 "$REPLAY" -p arm64-broadcast -p arm64-local -p x86 -p none -o "$DB" "${path[@]}"

# is NAME WANTED SQL: with @t for the trace's name.
is() {
	[ -n "${path[$1]:-}" ] || return
	expect "$DB" "$2" "${3//@t/\'${path[$1]##*/}\'}"
}

decisions() { echo "SELECT sum(decisions) FROM v_flush WHERE trace = @t AND policy = '$1' AND point = '$2' AND level = '$3'"; }

# ---- the figures that are known from elsewhere ----

for policy in arm64-broadcast arm64-local x86 none; do
	is broadcast 10338 "$(decisions $policy wp_reuse pte)"
	is broadcast 76 "$(decisions $policy cow pte)"
	is local 10332 "$(decisions $policy wp_reuse pte)"
	is debian-6.12 10329 "$(decisions $policy wp_reuse pte)"
	is debian-6.1 10329 "$(decisions $policy wp_reuse pte)"
	is debian-6.1 1 "$(decisions $policy wp_reuse pmd)"
	is x86 10326 "$(decisions $policy wp_reuse pte)"
	is x86 85 "$(decisions $policy cow pte)"
	is huge 12 "$(decisions $policy wp_reuse pmd)"
	is huge 54 "$(decisions $policy wp_reuse pte)"
done
is broadcast 0 "SELECT count(*) FROM v_flush WHERE trace = @t AND point = 'wp_reuse' AND level <> 'pte'"
is local 0 "SELECT count(*) FROM v_flush WHERE trace = @t AND point = 'wp_reuse' AND level <> 'pte'"

check="SELECT point, level, recorded, replayed, source FROM v_selfcheck WHERE trace = @t AND policy ="
is broadcast "cow|pte|76|76|events
exit|mm|12|12|events
fork|mm|5|5|events
mremap|pte|6|6|tlbi-only
protect|pte|6|6|events
tables_freed|pmd|6|6|events
wp_reuse|pte|10338|10338|events" "$check 'arm64-broadcast' ORDER BY point"
is local "cow|pte|82|82|events
exit|mm|12|12|events
fork|mm|5|5|events
mremap|pte|6|6|tlbi-only
protect|pte|6|6|events
spurious|pte|3758|3758|events
tables_freed|pmd|6|6|events
wp_reuse|pte|10332|10332|events" "$check 'arm64-local' ORDER BY point"
is huge "9|9" "SELECT recorded, replayed FROM v_selfcheck WHERE trace = @t AND policy = 'arm64-local'
	AND point = 'spurious' AND level = 'pmd'"
# Only for the policy that the recorded kernel had, and that one is told from its flushes.
for pair in broadcast:arm64-broadcast local:arm64-local huge:arm64-local debian-6.12:arm64-broadcast \
	debian-6.1:arm64-broadcast x86:x86; do
	is ${pair%%:*} ${pair##*:} "SELECT DISTINCT policy FROM v_selfcheck WHERE trace = @t"
	is ${pair%%:*} ${pair##*:} "SELECT kernel_policy FROM traces WHERE trace = @t"
done
# What a recording cannot show is NULL, not 0.
is debian-6.12 "exit||12|unseen" "SELECT point, recorded, replayed, source FROM v_selfcheck
	WHERE trace = @t AND point = 'exit'"
is debian-6.12 "10329|10329|events" "SELECT recorded, replayed, source FROM v_selfcheck
	WHERE trace = @t AND point = 'wp_reuse'"
is x86 "0|0" "SELECT recorded, replayed FROM v_selfcheck WHERE trace = @t AND point = 'wp_reuse'"
is x86 "85|85" "SELECT recorded, replayed FROM v_selfcheck WHERE trace = @t AND point = 'cow'"

fault="SELECT low, estimate, high FROM v_fault WHERE trace = @t AND policy ="
is local "3758.0|3758.0|3758.0" "$fault 'arm64-broadcast' AND kind = 'spurious_avoided'"
is local "0.0|0.0|0.0" "$fault 'arm64-broadcast' AND kind = 'spurious'"
is local "0.0|0.0|0.0" "$fault 'arm64-local' AND kind = 'spurious_avoided'"
is local "3758.0|3758.0" "SELECT low, estimate FROM v_fault WHERE trace = @t AND policy = 'arm64-local'
	AND kind = 'spurious'"
for policy in arm64-broadcast arm64-local x86 none; do
	is local "3758.0|3758.0|3758.0" "$fault '$policy' AND kind = 'spurious_recorded'"
	is broadcast "0.0|0.0|0.0" "$fault '$policy' AND kind = 'spurious_recorded'"
	is huge "9.0|9.0|9.0" "$fault '$policy' AND kind = 'spurious_recorded'"
done
is huge "9.0|9.0|9.0" "$fault 'arm64-broadcast' AND kind = 'spurious_avoided'"
# The first of the pair foretells what the second one saw.
is broadcast 1 "SELECT low <= 3758 AND 3758 <= high FROM v_fault WHERE trace = @t
	AND policy = 'arm64-local' AND kind = 'spurious'"

# Five forks make 2048 pages read-only that were written before each: without a flush at least one CPU
# may write on. What flushes leaves nothing that allows too much.
is broadcast 1 "SELECT total(entries) >= 10240 FROM v_exposure WHERE trace = @t AND policy = 'none'
	AND kind = 'unsafe' AND bound = 'high'"
for name in broadcast local huge debian-6.12 debian-6.1 x86; do
	is $name "" "SELECT policy, entries FROM v_exposure WHERE trace = @t AND policy <> 'none'
		AND kind <> 'benign' AND entries > 0"
done

is x86 "10326|0|0|0|none" "SELECT decisions, flushes_low, flushes, flushes_high, scope FROM v_flush
	WHERE trace = @t AND policy = 'x86' AND point = 'wp_reuse'"
is x86 "10326|10326|10326|10326|broadcast" "SELECT decisions, flushes_low, flushes, flushes_high, scope
	FROM v_flush WHERE trace = @t AND policy = 'arm64-broadcast' AND point = 'wp_reuse'"
is x86 "flush on task switch|local|61
local mm shootdown|local|116
remote ipi send|mask|14
remote shootdown|mask|10" "SELECT op, scope, events FROM v_recorded
	WHERE trace = @t AND event = 'tlb:tlb_flush' ORDER BY op"
is broadcast "vale1is|broadcast|10338" "SELECT op, scope, events FROM v_recorded
	WHERE trace = @t AND event LIKE 'tlbi:__ptep_set_access_flags%'"
is local "vale1|local|3758" "SELECT op, scope, events FROM v_recorded
	WHERE trace = @t AND event LIKE 'tlbi:__handle_mm_fault%'"

# ---- the same counts from the text ----

command -v python3 >/dev/null && command -v trace-cmd >/dev/null ||
	{ missing="$missing (and no python3 or trace-cmd to count again)"; done_testing; }
# The function and operation of a TLBI, and the point that the self-check counts it at.
declare -A sites=(
	["__ptep_set_access_flags vale1is"]=wp_reuse ["__ptep_set_access_flags vale1"]=wp_reuse
	["ptep_set_access_flags vale1is"]=wp_reuse ["ptep_clear_flush vale1is"]=cow
	["copy_mm aside1is"]=fork ["copy_process aside1is"]=fork ["tlb_flush aside1is"]=exit
	["tlb_flush rvale1is"]=protect ["tlb_flush rvae1is"]=tables_freed
	["__flush_tlb_range_nosync_con vae1is"]=mremap ["__handle_mm_fault vale1"]=spurious
	["huge_pmd_set_accessed vale1"]=spurious)
for name in "${!path[@]}"; do
	arch=arm64
	[ $name != x86 ] || arch=x86
	trace-cmd report -N -t "${path[$name]}" 2>"$DIR/err" >"$DIR/text" ||
		trace-cmd report -N -t "${path[$name]}" 2>"$DIR/err" >"$DIR/text" ||
		fail "trace-cmd report: $(head -n 1 "$DIR/err")"
	python3 tests/replay/count_points.py $arch <"$DIR/text" >"$DIR/counts" || fail "count_points.py"
	while read -r word a b count reuses; do
		case $word in
		region)
			[ $name = huge ] && continue
			[ "$reuses $(((count - b) / 4096 + 1))" = "10240 2048" ] ||
				fail "$name: the text shows another region: $word $a $b $count $reuses"
			is $name "10240|2048|5|5" "SELECT sum(decisions), count(*), min(decisions),
				max(decisions) FROM v_page JOIN v_mm USING(trace, mm) WHERE trace = @t
				AND pointer = '$a' AND point = 'wp_reuse' AND page BETWEEN $b AND $count"
			# The grid has them all, too; its cells are a page high in so short a recording.
			is $name "10240|4096" "SELECT sum(decisions), max(bytes) FROM v_heat JOIN v_mm
				USING(trace, mm) WHERE trace = @t AND pointer = '$a' AND point = 'wp_reuse'
				AND addr BETWEEN $b AND $count"
			;;
		tlbi)
			point=${sites["$a $b"]:-?}
			echo "$point $count" >>"$DIR/tlbi.$name"
			;;
		spurious) # what the recording has; a policy makes of it what it does
			is $name "$b" "SELECT CAST(low AS INTEGER) FROM v_fault WHERE trace = @t
				AND policy = 'arm64-local' AND kind = 'spurious_recorded'"
			;;
		*)
			for policy in arm64-broadcast arm64-local x86 none; do
				is $name "$b" "$(decisions $policy $word $a)"
			done
			is $name "$b" "SELECT sum(decisions) FROM v_page WHERE trace = @t
				AND point = '$word' AND level = '$a'"
			;;
		esac
	done <"$DIR/counts"
	# Nothing beside: no point that the text does not show.
	is $name "$(awk '$1 !~ /tlbi|region|spurious/ { print $1 "|" $2 }' "$DIR/counts" | sort)" \
		"SELECT DISTINCT point, level FROM v_flush WHERE trace = @t
		AND point IN ('wp_reuse', 'dirty_up', 'cow', 'hugetlb_reuse') ORDER BY point, level"
	[ -e "$DIR/tlbi.$name" ] || continue
	is $name "$(awk '{ n[$1] += $2 } END { for (p in n) print p "|" n[p] }' "$DIR/tlbi.$name" | sort)" \
		"SELECT point, sum(recorded) FROM v_selfcheck WHERE trace = @t AND recorded > 0
		GROUP BY point ORDER BY point"
done

# ---- what must hold of every recording ----

for table in "v_flush:flushes_low <= flushes AND flushes <= flushes_high" \
	"v_process:flushes_low <= flushes AND flushes <= flushes_high" \
	"v_time:flushes_low <= flushes AND flushes <= flushes_high" \
	"v_fault:0 <= low AND low <= estimate AND estimate <= high" \
	"v_cost:0 <= low_ns AND low_ns <= estimate_ns AND estimate_ns <= high_ns" \
	"v_cost_total:low_ns <= estimate_ns AND estimate_ns <= high_ns" \
	"cost_items:low <= value AND value <= high" \
	"(SELECT l.entries AS low, e.entries AS value, h.entries AS high, l.entry_ns AS a, e.entry_ns AS b,
		h.entry_ns AS c, l.max_ns AS x, e.max_ns AS y, h.max_ns AS z FROM v_exposure h
		LEFT JOIN v_exposure e ON (e.trace, e.policy, e.kind, e.bound)
		= (h.trace, h.policy, h.kind, 'estimate') LEFT JOIN v_exposure l ON
		(l.trace, l.policy, l.kind, l.bound) = (h.trace, h.policy, h.kind, 'low')
		WHERE h.bound = 'high'):low <= value AND value <= high AND a <= b AND b <= c
		AND x <= y AND y <= z"; do
	expect "$DB" 0 "SELECT count(*) FROM ${table%%:*} WHERE (${table#*:}) IS NOT TRUE"
	[ "$(q "$DB" "SELECT count(*) > 0 FROM ${table%%:*}")" = 1 ] || fail "nothing in ${table%%:*}"
done
expect "$DB" 0 "SELECT coalesce(sum(flushes_low + flushes + flushes_high), 0) FROM v_flush WHERE policy = 'none'"
expect "$DB" 0 "SELECT (SELECT count(*) FROM v_process WHERE policy = 'none') +
	(SELECT count(*) FROM v_cpu WHERE policy = 'none') + (SELECT count(*) FROM v_time WHERE policy = 'none')"
expect "$DB" 0 "SELECT count(*) FROM v_flush WHERE scope = 'none' AND flushes_high > 0"
done_testing
