#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What may go wrong on a host, one by one: the message, what is left of the recording, and that tracefs
# is afterwards what it was before, to the byte. Ends with its rows of the table in docs/recording.md, which
# must be there as they are; the others are those of tests/lab/faults.sh, which needs another kernel (probes
# refused, kptr_restrict, lockdown).
. tests/capture/lib

# Nothing of "somebody else" below may stay either.
tracefs=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
forget_somebody()
{
	[ "$tracefs" ] && [ -d "$tracefs/instances/somebody" ] || return 0
	echo 0 > "$tracefs/events/sched/sched_process_exec/enable"
	echo nop > "$tracefs/current_tracer"
	echo > "$tracefs/trace"
	rmdir "$tracefs/instances/somebody"
	echo "-:somebody/else" >> "$tracefs/uprobe_events" 2> /dev/null
	:
}
trap 'forget_somebody; rm -rf "$tmp"' EXIT

# settled NAME RECORDING: the state must be as before.
settled()
{
	expect_clean
	echo "| $1 | $status | $2 | identical |" >> "$tmp/table"
}

# check FILE: whole and with a whole snapshot.
check()
{
	report "$1" > "$tmp/report"
	# While others trace, trace-cmd may tear its list of names; its report then shows nothing.
	if [ ! -s "$tmp/report" ] && grep -q "error in size of file .*saved_cmdlines" "$tmp/log"; then
		said=$(sed -n 's/.* MB, \([0-9]*\) events and .*/\1/p' "$tmp/log")
		seen=$("$tlbreplay" --dump "$1" | wc -l)
		[ "$seen" = "$said" ] || fail "$seen events instead of $said"
		return
	fi
	check_snapshot "$tmp/report"
}

start()
{
	rm -rf "$tmp/out" "$tmp/go"
	mkdir "$tmp/out"
	"$tlbcapture" -o "$tmp/out/t.dat" "$@" -- sh -c "echo \$\$ > $tmp/go; exec sleep 3600" > "$tmp/log" 2>&1 &
	pid=$!
	wait_for_file $pid "$tmp/go"
	sleep 0.5
	command=$(cat "$tmp/go")
	recorder=$(pgrep -P $pid -x trace-cmd) || recorder=
}

# One row for the four, as long as they are alike.
for signal in INT TERM HUP QUIT; do
	start
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	[ $status = 0 ] || fail "SIG$signal: status $status"
	check "$tmp/out/t.dat"
	kill "$command" 2> /dev/null
	settled "SIG$signal" complete
done

# The second signal is final.
start
kill -STOP "$recorder"
kill -TERM $pid
sleep 0.5
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 1 ] || fail "second signal: status $status"
expect_text 'nothing is kept'
expect_files
kill "$command" 2> /dev/null
settled "a second signal" none

start
kill -KILL "$recorder"
status=0
wait $pid || status=$?
[ $status = 3 ] || fail "trace-cmd killed: status $status"
check "$tmp/out/t.dat"
kill "$command"
settled "SIGKILL of trace-cmd" "up to then"

# Killed: nobody is left to clean up but --restore.
start
kill -KILL $pid
status=0
wait $pid || status=$?
for _ in $(seq 100); do
	kill -0 "$recorder" 2> /dev/null || break
	sleep 0.1
done
expect_status 0 "$tlbcapture" --restore "$tmp/out"
expect_text 'recovered'
check "$tmp/out/t.dat"
expect_files t.dat
kill "$command"
status=137
settled "SIGKILL of tlbcapture, then --restore" complete

start
kill -KILL "$recorder"
kill -KILL $pid
status=0
wait $pid || status=$?
expect_status 0 "$tlbcapture" --restore "$tmp/out"
expect_text 'ended [0-9]* recorders'
check "$tmp/out/t.dat"
expect_files t.dat
kill "$command"
status=137
settled "SIGKILL of both, then --restore" "up to then"

# A running recording is none of --restore's business; it is not stopped.
start
expect_status 0 "$tlbcapture" --restore "$tmp/out"
kill -0 $pid || fail "--restore ended a recording"
kill -TERM $pid
wait $pid || fail "status $? of a recording beside --restore"
check "$tmp/out/t.dat"
status=0
settled "--restore beside a recording" complete

start --flight 4
kill -KILL $pid
wait $pid 2> /dev/null
expect_status 0 "$tlbcapture" --restore "$tmp/out"
expect_text 'recovered'
check "$tmp/out/t.dat"
expect_files t.dat
kill "$command"
status=137
settled "SIGKILL of a flight recorder, then --restore" complete

# A disk of 24 MB.
mkdir "$tmp/small"
if mount -t tmpfs -o size=24M none "$tmp/small" 2> /dev/null; then
	status=0
	"$tlbcapture" -o "$tmp/small/t.dat" -b 2048 --compression none -- "$forkwp" -r 20000 -p 256 \
		> "$tmp/log" 2>&1 || status=$?
	check_me=$status
	report "$tmp/small/t.dat" > "$tmp/report"
	size=$(stat -c %s "$tmp/small/t.dat")
	umount "$tmp/small"
	[ "$check_me" = 3 ] || fail "full disk: status $check_me"
	expect_text 'hardly room left on the disk'
	[ "$size" -gt 1000000 ] || fail "full disk: $size bytes kept"
	settled "disk full" "up to then"
fi

# Already full: trace-cmd cannot even begin.
if mount -t tmpfs -o size=64k none "$tmp/small" 2> /dev/null; then
	dd if=/dev/zero of="$tmp/small/fill" bs=4k count=14 2> /dev/null
	status=0
	"$tlbcapture" -o "$tmp/small/t.dat" -b 2048 -d 0.5 > "$tmp/log" 2>&1 || status=$?
	ls -A "$tmp/small" > "$tmp/small.files"
	umount "$tmp/small"
	case $status in 1 | 3) ;; *) fail "full from the start: status $status" ;; esac
	# Pieces stay only where that is said.
	if grep -qvxE 'fill|t\.dat' "$tmp/small.files"; then
		expect_text 'is kept: tlbcapture --restore'
	fi
	status="1 or 3"
	settled "disk full from the start" "none or little"
fi

# No tracefs anywhere.
rm -rf "$tmp/out" && mkdir "$tmp/out"
status=0
unshare -m --propagation private sh -c '
	while umount -t tracefs -a 2> /dev/null && grep -q " tracefs " /proc/mounts; do :; done
	! grep -q "^[^ ]* [^ ]* tracefs " /proc/mounts || exit 77
	"$1" -o "$2/out/t.dat" -d 0.3 > "$2/log" 2>&1' sh "$tlbcapture" "$tmp" || status=$?
if [ $status != 77 ]; then
	[ $status = 0 ] || fail "tracefs not mounted: status $status"
	check "$tmp/out/t.dat"
	settled "tracefs not mounted" complete
fi

# Somebody else traces: at the top, with another tracer, in an instance, with a probe of theirs, with a
# trace-cmd of theirs. They lose nothing, and it stays as it is.
if [ "$tracefs" ]; then
	cp "$tmp/state.before" "$tmp/state.quiet"
	mkdir "$tracefs/instances/somebody"
	echo 1 > "$tracefs/instances/somebody/events/sched/sched_switch/enable"
	echo 1 > "$tracefs/events/sched/sched_process_exec/enable"
	for tracer in blk function; do
		echo $tracer > "$tracefs/current_tracer" && break
	done 2> /dev/null
	echo "tracer beside it: $(cat "$tracefs/current_tracer")"
	echo "p:somebody/else $(readlink -f /bin/sh):0x1000" >> "$tracefs/uprobe_events" 2> /dev/null
	host_state > "$tmp/state.before"
	expect_status 0 "$tlbcapture" -o "$tmp/out/t.dat" -d 0.5
	check "$tmp/out/t.dat"
	seen=$(grep -c sched_switch "$tracefs/instances/somebody/trace")
	[ "$seen" -gt 0 ] || fail "the other one's trace is empty"
	settled "another one traces: tracer, events, instance, probe" complete
	forget_somebody
	mv "$tmp/state.quiet" "$tmp/state.before"
	expect_clean

	trace-cmd record -q -B somebody -d -k -o "$tmp/other.dat" -e sched:sched_process_exec sleep 3 > /dev/null 2>&1 &
	other=$!
	sleep 1
	expect_status 0 "$tlbcapture" -o "$tmp/out/t.dat" -- /bin/true
	check "$tmp/out/t.dat"
	wait $other || fail "the other recording failed: $?"
	trace-cmd report "$tmp/other.dat" 2> /dev/null | grep -q 'sched_process_exec: .*filename=/bin/true' ||
		fail "the other recording has missed what tlbcapture started"
	forget_somebody # trace-cmd leaves its instance
	status=0
	settled "another trace-cmd records" complete
fi

expect_status 1 "$tlbcapture" -o "$tmp/out/n.dat" -- "$tmp/nothing"
expect_text 'No such file or directory'
settled "COMMAND not found" none

# Not root. A probe of --access that is not there, when the instance has been made already.
chmod 777 "$tmp" "$tmp/out"
if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$tlbcapture" 2> /dev/null; then
	expect_status 1 setpriv --reuid=65534 --regid=65534 --clear-groups "$tlbcapture" -o "$tmp/out/n.dat" -d 1
	expect_text 'needs root'
	settled "not root" none
fi
expect_status 1 "$tlbcapture" -o "$tmp/out/n.dat" -d 1 --access no:such:field
expect_text 'there is no such event'
settled "an event of --access that is not there" none

# The four signals make one row.
sed -i '/^| SIG[A-Z]* | 0 | complete | identical |$/d' "$tmp/table"
sed -i '1i | SIGINT, SIGTERM, SIGHUP, SIGQUIT | 0 | complete | identical |' "$tmp/table"
cat "$tmp/table"
while read -r line; do
	grep -qxF "$line" docs/recording.md || fail "docs/recording.md has no such row: $line"
done < "$tmp/table"
exit 0
