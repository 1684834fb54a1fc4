#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What narrows a recording, limits it or takes names out of it.
. tests/capture/lib

# Only COMMAND and its children; the user addresses of others are not there.
expect_status 0 "$tlbcapture" -o "$tmp/out/f.dat" --follow -- "$forkwp" -r 300
forks=$(grep '^total ' "$tmp/log" | sed 's/.* forks=\([0-9]*\) .*/\1/')
report "$tmp/out/f.dat" > "$tmp/report"
check_snapshot "$tmp/report"
seen=$(grep -c ' task_newtask: ' "$tmp/report")
[ "$seen" = $((forks + 4 + extra_threads)) ] || fail "--follow: $seen new tasks, $forks forks"
others=$(grep ' page_fault_user: ' "$tmp/report" | grep -vc -e '-[0-9]* ')
[ "$others" = 0 ] || fail "--follow: events of others"

# Another process: nothing of COMMAND.
sleep 60 &
other=$!
expect_status 0 "$tlbcapture" -o "$tmp/out/p.dat" --pid $other -- "$forkwp" -r 100
kill $other
report "$tmp/out/p.dat" > "$tmp/report"
[ "$(grep -c ' page_fault_user: ' "$tmp/report")" -lt 50 ] || fail "--pid does not filter"
expect_status 1 "$tlbcapture" -o "$tmp/out/p.dat" --pid 4194304 -d 1
expect_text 'pid 4194304'

# An address range, and write faults alone.
expect_status 0 "$tlbcapture" -o "$tmp/out/r.dat" --filter 0x1000-0x2000 -- "$forkwp" -r 100
report "$tmp/out/r.dat" > "$tmp/report"
[ "$(grep -c ' page_fault_user: ' "$tmp/report")" = 0 ] || fail "--filter does not filter"
expect_status 0 "$tlbcapture" -o "$tmp/out/m.dat" --profile minimal -- "$forkwp" -r 100
report "$tmp/out/m.dat" > "$tmp/report"
[ "$(grep -c ' sched_switch: ' "$tmp/report")" = 0 ] || fail "minimal has switches"
if grep -q ' page_fault_user: ' "$tmp/report"; then
	grep ' page_fault_user: ' "$tmp/report" | grep -vqE 'error_code=0x[0-9a-f]*[2367abef]$' &&
		fail "minimal has read faults"
fi

# A flight recorder keeps the end, and who is who.
expect_status 0 "$tlbcapture" -o "$tmp/out/l.dat" --flight 1 -- "$forkwp" -r 3000
report "$tmp/out/l.dat" > "$tmp/report"
check_snapshot "$tmp/report"
pid=$(grep '^total ' "$tmp/log" | sed 's/.* pid=\([0-9]*\) .*/\1/')
grep -q " sched_process_exit: .*pid=$pid " "$tmp/report" || fail "--flight has not kept the end"
grep -q " sched_process_exec: .*pid=$pid " "$tmp/report" || fail "--flight has lost the exec"

# A rate ends it: not one that is never reached, but the one that the workload reaches; what led up to
# that is kept, and why it ended.
# shellcheck disable=SC2016 # for the inner shell
expect_status 0 "$tlbcapture" -o "$tmp/out/e.dat" --flight 8 --until events=900M --until forks=1k,0.5 -- \
	sh -c 'sleep 1; touch "$1"; exec "$2" -t 2 -p 16 -r 30000' sh "$tmp/began" "$forkwp"
[ -e "$tmp/began" ] || fail "--until ended it before the workload began"
expect_text 'stopped by --until: forks came [0-9]* times a second over 0\.[5-9] s'
expect_text 'is still running'
rate=$(sed -n 's/.*forks came \([0-9]*\) times.*/\1/p' "$tmp/log")
[ "$rate" -gt 1000 ] || fail "--until: $rate forks a second are no reason"
kill "$(sed -n 's/.*sh (pid \([0-9]*\)) is still running.*/\1/p' "$tmp/log")"
report "$tmp/out/e.dat" > "$tmp/report"
check_snapshot "$tmp/report"
grep -q "^ended forks came $rate times a second" "$tmp/report" || fail "the recording does not say why it ended"
# The same rate by the recording's own events of the last half second, a quarter more or less.
seen=$(awk '/ sched_process_fork: / { time = $0; sub(/: sched_process_fork.*/, "", time); sub(/.* /, "", time); at[n++] = time }
	END { for (i = 0; i < n; i++) k += at[i] > at[n - 1] - 0.5; print k * 2 }' "$tmp/report")
echo "forks: $rate a second by the kernel's count, $seen by the recording"
[ "$seen" -gt $((rate * 3 / 4)) ] && [ "$seen" -lt $((rate * 5 / 4)) ] || fail "the recording has $seen forks a second, not $rate"

# Limits.
expect_status 0 "$tlbcapture" -o "$tmp/out/s.dat" -b 1024 --max-size 2M -- "$forkwp" -r 20000
expect_text 'stopped at --max-size'

# No names.
expect_status 0 "$tlbcapture" -o "$tmp/out/a.dat" --anonymise -- "$forkwp" -r 100
report "$tmp/out/a.dat" > "$tmp/report"
check_snapshot "$tmp/report"
grep -q 'comm=t[0-9a-f]* ' "$tmp/report" || fail "no tokens"
! grep -q forkwp "$tmp/report" || fail "a name in the report"
! grep -aq forkwp "$tmp/out/a.dat" || fail "a name in the file"
! trace-cmd dump --options "$tmp/out/a.dat" | grep -q "Linux $(uname -n) " || fail "the host's name"
expect_status 0 "$tlbcapture" -o "$tmp/out/a.dat" --anonymise=shift --compression none -- "$forkwp" -r 100
report "$tmp/out/a.dat" > /dev/null
! grep -aq forkwp "$tmp/out/a.dat" || fail "a name in the uncompressed file"
# A flight recorder, whose file trace-cmd makes in another way.
expect_status 0 "$tlbcapture" -o "$tmp/out/b.dat" --flight 4 --anonymise=shift -- "$forkwp" -r 500
report "$tmp/out/b.dat" > "$tmp/report"
check_snapshot "$tmp/report"
! grep -q forkwp "$tmp/report" || fail "a name in a flight recording"
expect_status 0 "$tlbcapture" -o "$tmp/out/b.dat" --flight 4 --anonymise --compression none -- "$forkwp" -r 500
report "$tmp/out/b.dat" > "$tmp/report"
! grep -aq forkwp "$tmp/out/b.dat" || fail "a name in the uncompressed file of a flight recording"
if command -v python3 > /dev/null; then
	mkdir "$tmp/moved"
	for name in f m; do
		python3 tests/formats/anonymised.py "$tmp/out/$name.dat" "$tmp/moved" ||
			fail "addresses moved in $name.dat"
	done
fi

# An event that is not there; what can be had, for programs.
expect_status 1 "$tlbcapture" -o "$tmp/out/u.dat" --access no:such:field:w -d 1
expect_text 'there is no such event'
expect_status 0 "$tlbcapture" --check --json
if command -v python3 > /dev/null; then
	python3 -m json.tool "$tmp/log" > /dev/null || fail "--check --json is no JSON"
fi
expect_status 0 "$tlbcapture" --check --profile swap
expect_text 'cannot be recorded'

if [ -x "$tlbreplay" ]; then
	for name in f m a; do
		expect_status 0 "$tlbreplay" -o "$tmp/t.db" "$tmp/out/$name.dat"
	done
	# Its first page follows a gap, which is how it is meant to be.
	status=0
	"$tlbreplay" -o "$tmp/t.db" "$tmp/out/l.dat" > "$tmp/log" 2>&1 || status=$?
	case $status in 0 | 3) ;; *) fail "replay of a flight recording: status $status" ;; esac
fi
expect_clean
exit 0
