#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Signals in the middle of a recording: the first one finishes the file, a second one gives it up.
# Either way the host is as it was.
. tests/capture/lib

# Starts a recording for an hour and waits until it runs.
start()
{
	rm -rf "$tmp/out" "$tmp/go"
	mkdir "$tmp/out"
	"$tlbcapture" -o "$tmp/out/t.dat" -- sh -c "echo \$\$ > $tmp/go; exec sleep 3600" > "$tmp/log" 2>&1 &
	pid=$!
	wait_for_file $pid "$tmp/go"
	sleep 0.3
	command=$(cat "$tmp/go")
}

for signal in TERM INT HUP QUIT; do
	start
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	[ $status = 0 ] || fail "SIG$signal: status $status"
	expect_text 'events lost'
	expect_files t.dat
	expect_clean
	report "$tmp/out/t.dat" > "$tmp/report"
	check_snapshot "$tmp/report"
	# A shell without job control has background commands ignore these two; COMMAND inherits that.
	case $signal in
	INT | QUIT)
		expect_text "sh (pid $command) is still running"
		kill "$command"
		;;
	*) expect_text "sh was ended by signal" ;;
	esac
	kill -0 "$command" 2> /dev/null && [ $signal = TERM ] && fail "COMMAND is left"
done

# Without COMMAND, for a time that never comes.
"$tlbcapture" -o "$tmp/out/d.dat" -d 3600 > "$tmp/log" 2>&1 &
pid=$!
sleep 2
kill -TERM $pid
wait $pid || fail "status $? of an interrupted -d"
expect_files d.dat t.dat
report "$tmp/out/d.dat" > "$tmp/report"
check_snapshot "$tmp/report"

# Two at once: trace-cmd cannot have finished in between, or it has and the file is whole.
start
kill -STOP "$(pgrep -P $pid -x trace-cmd)"
kill -TERM $pid
sleep 0.5
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 1 ] || fail "second signal: status $status"
expect_text 'nothing is kept'
kill "$command" 2> /dev/null
expect_files
expect_clean

# Before the recording runs.
"$tlbcapture" -o "$tmp/out/t.dat" -d 3600 > "$tmp/log" 2>&1 &
pid=$!
sleep 0.02
kill -TERM $pid
status=0
wait $pid || status=$?
# 143: it came before there was anything to clean up. 0: it began just in time.
case $status in
1 | 143) expect_files ;;
0) expect_files t.dat ;;
*) fail "early signal: status $status" ;;
esac
expect_clean

# trace-cmd is killed: its recorders outlive it, must not outlive us, and have read something.
start
kill -KILL "$(pgrep -P $pid -x trace-cmd)"
status=0
wait $pid || status=$?
[ $status = 3 ] || fail "killed trace-cmd: status $status"
expect_text 'trace-cmd stopped by itself'
expect_files t.dat
report "$tmp/out/t.dat" > "$tmp/report"
check_snapshot "$tmp/report"
kill "$command"
expect_clean

# So does all of it, down to the recorders: what they wrote is on disk.
start
kill -s KILL -- "-$(pgrep -P $pid -x trace-cmd)"
status=0
wait $pid || status=$?
case $status in
3)
	expect_files t.dat
	report "$tmp/out/t.dat" > "$tmp/report"
	;;
1) expect_files ;; # nothing had been written yet
*) fail "killed recorders: status $status" ;;
esac
kill "$command"
expect_clean
exit 0
