#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Two recordings at the same time do not see or disturb each other.
. tests/capture/lib

"$tlbcapture" -o "$tmp/out/a.dat" --compression none -- "$forkwp" -r 3000 -p 64 \
	> "$tmp/a.counts" 2> "$tmp/a.log" &
first=$!
"$tlbcapture" -o "$tmp/out/b.dat" -- "$forkwp" -r 1000 -p 64 > "$tmp/b.counts" 2> "$tmp/b.log" &
second=$!
wait $first || { cat "$tmp/a.log"; fail "first: status $?"; }
wait $second || { cat "$tmp/b.log"; fail "second: status $?"; }
expect_files a.dat b.dat
expect_clean
for name in a b; do
	grep -q ', 0 events lost' "$tmp/$name.log" || fail "$name lost events"
	report "$tmp/out/$name.dat" > "$tmp/report"
	check_snapshot "$tmp/report"
	pid=$(sed -n 's/^total pid=\([0-9]*\) .*/\1/p' "$tmp/$name.counts")
	forks=$(grep -cE "^[^[]*-$pid +\[.* sched_process_fork: " "$tmp/report")
	threads=$(grep -c '^thread ' "$tmp/$name.counts")
	wanted=$(sed -n 's/^total .* forks=\([0-9]*\) .*/\1/p' "$tmp/$name.counts")
	wanted=$((wanted + threads + extra_threads))
	[ "$forks" = $wanted ] || fail "$name: $forks forks, expected $wanted"
done
exit 0
