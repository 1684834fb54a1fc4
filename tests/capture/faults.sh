#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What may go wrong on a host, one by one: the message, what is left of the recording, and that tracefs
# is afterwards what it was before, to the byte. Ends with the table that docs/recording.md shows.
# What needs another kernel (probes refused, kptr_restrict, lockdown) is tried in the lab.
. tests/capture/lib

# Nothing of "somebody else" below may stay either.
tracefs=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
forget_somebody()
{
	[ "$tracefs" ] && [ -d "$tracefs/instances/somebody" ] || return 0
	echo 0 > "$tracefs/events/sched/sched_process_exec/enable"
	echo > "$tracefs/trace"
	rmdir "$tracefs/instances/somebody"
	echo "-:somebody/else" >> "$tracefs/uprobe_events" 2> /dev/null
	:
}
trap 'forget_somebody; rm -rf "$tmp"' EXIT

row()
{
	printf '%-44s %-7s %-26s %s\n' "$1" "$2" "$3" "$4" >> "$tmp/table"
}
row "what happens" status "recording" "tracefs before = after"

# settled NAME RECORDING: the state must be as before.
settled()
{
	expect_clean
	row "$1" "$status" "$2" identical
}

# check FILE: whole and with a whole snapshot.
check()
{
	report "$1" > "$tmp/report"
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
settled "SIGKILL of a flight recorder, --restore" complete

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

# Somebody else traces: at the top, in an instance, with a probe of theirs.
if [ "$tracefs" ]; then
	cp "$tmp/state.before" "$tmp/state.quiet"
	mkdir "$tracefs/instances/somebody"
	echo 1 > "$tracefs/instances/somebody/events/sched/sched_switch/enable"
	echo 1 > "$tracefs/events/sched/sched_process_exec/enable"
	echo "p:somebody/else $(readlink -f /bin/sh):0x1000" >> "$tracefs/uprobe_events" 2> /dev/null
	host_state > "$tmp/state.before"
	expect_status 0 "$tlbcapture" -o "$tmp/out/t.dat" -d 0.5
	check "$tmp/out/t.dat"
	seen=$(grep -c sched_switch "$tracefs/instances/somebody/trace")
	[ "$seen" -gt 0 ] || fail "the other one's trace is empty"
	settled "another one traces" complete
	forget_somebody
	mv "$tmp/state.quiet" "$tmp/state.before"
	expect_clean
fi

expect_status 1 "$tlbcapture" -o "$tmp/out/n.dat" -- "$tmp/nothing"
expect_text 'No such file or directory'
settled "COMMAND not found" none

cat "$tmp/table"
exit 0
