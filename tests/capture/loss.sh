#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Recorders that cannot keep up lose events: the file is kept, the status is 3, the counts are said,
# and the file has gaps. The gaps' own counts may be short of it: not every gap has one.
. tests/capture/lib

# shellcheck disable=SC2016 # for the inner shell
"$tlbcapture" -o "$tmp/out/t.dat" -b 64 -- sh -c '
	echo > "$1/go"
	while [ ! -e "$1/next" ]; do sleep 0.05; done
	"$2" -r 500 > "$1/counts.new"
	mv "$1/counts.new" "$1/counts"' sh "$tmp" "$forkwp" > "$tmp/log" 2>&1 &
pid=$!
wait_for_file $pid "$tmp/go"
# trace-cmd and its recorders are a process group.
group=$(pgrep -P $pid -x trace-cmd)
kill -s STOP -- "-$group"
echo > "$tmp/next"
wait_for_file $pid "$tmp/counts"
kill -s CONT -- "-$group"
status=0
wait $pid || status=$?
[ $status = 3 ] || fail "status $status"
expect_text 'cpu [0-9]* lost [1-9][0-9]* events'
expect_files t.dat
expect_clean

lost=$(sed -n 's/.*, \([0-9]*\) events lost$/\1/p' "$tmp/log")
report "$tmp/out/t.dat" > "$tmp/report"
stated=$(sed -n 's/.*\[\([0-9]*\) EVENTS DROPPED\].*/\1/p' "$tmp/report" | awk '{ n += $1 } END { print n + 0 }')
echo "lost $lost, gaps of the file add up to $stated"
grep -q 'EVENTS DROPPED' "$tmp/report" || fail "no gap in the file"
[ "$lost" -ge "$stated" ] || fail "more gaps than loss"
exit 0
