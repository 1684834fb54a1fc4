#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How a recording is stored changes nothing: format, byte order, size of long, compression, real-time
# headers, absolute time stamps, events in several instances, and holes in the CPU numbers
# (there but for the numbers).
. tests/replay/lib/setup
POLICIES="-p arm64-broadcast -p arm64-local -p x86 -p none"

# Everything but what names the container.
answers() {
	for view in v_flush v_page v_fault v_exposure v_cost v_selfcheck v_verdict v_process v_time v_mm v_stale; do
		q "$1" "SELECT * FROM $view" | sed -e "s/^[^|]*|/$view|/"
	done
	q "$1" "SELECT policy, scope, issued, received FROM v_cpu ORDER BY policy, cpu, scope"
	q "$1" "SELECT events, events_used, first_ns, last_ns, tasks, tasks_unknown_mm, kernel_policy, arch FROM traces"
}

for workload in forkwp x86tp; do
	rm -f "$DIR/first"
	while read -r options; do
		case "$workload $options" in
		x86tp*--long*) continue ;; # shorter addresses are other addresses
		esac
		# shellcheck disable=SC2086 # a list of options
		"$GEN" --events 30000 --pages 256 --workload $workload $options "$DIR/t.dat" >"$DIR/facts" ||
			fail "gentrace $options"
		expect_status 0 "$REPLAY" $POLICIES -o "$DIR/t.db" "$DIR/t.dat"
		answers "$DIR/t.db" >"$DIR/answers"
		[ -e "$DIR/first" ] || cp "$DIR/answers" "$DIR/first"
		differs=$(diff "$DIR/first" "$DIR/answers")
		case $options in
		*--gaps*) differs=$(echo "$differs" | grep '^[<>]' | grep -vE '^[<>] v_(stale|verdict)') ;; # names CPUs
		esac
		[ -z "$differs" ] || fail "$workload $options: $(echo "$differs" | head -n 4)"
	done <<'END'
--version 6
--version 7
--version 7 --compression zstd
--version 6 --endian big
--version 7 --endian big --long 4
--version 7 --long 4
--version 6 --rt
--version 7 --absolute
--version 7 --buffers 2
--version 7 --gaps
END
	[ "$(wc -l <"$DIR/first")" -gt 500 ] || fail "$workload: too little to compare"
done
done_testing
