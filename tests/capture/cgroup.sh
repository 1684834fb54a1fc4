#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --cgroup: all threads of a control group and of those below it, who is moved there later, and nobody
# else. In both versions of control groups, as far as this host has them.
. tests/capture/lib

groups=
forget()
{
	for group in $groups; do
		while read -r pid; do kill -KILL "$pid"; done < "$group/cgroup.procs" 2> /dev/null
		sleep 0.2
		rmdir "$group"
	done
	rm -rf "$tmp"
}
trap 'forget 2> /dev/null' EXIT

# Waits until $tmp/NAME.go is opened, then works; its counts go to $tmp/NAME.new.
member()
{
	mkfifo "$tmp/$1.go"
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'read -r _ < "$1/$3.go"; exec "$2" -t 3 -p 64 -r 200 > "$1/$3.new"' sh "$tmp" "$forkwp" "$1" &
	pid=$!
}

tried=0 first=
while read -r _ mount type _; do
	case $type in cgroup2 | cgroup) ;; *) continue ;; esac
	# Of version 1 one controller is enough; not one in which a new group cannot have members.
	case $mount in */cpuset | */net_*) continue ;; esac
	[ "$type" = cgroup2 ] || [ -z "$first" ] || continue
	[ "$type" = cgroup2 ] || first=$mount
	top=$mount/tlbcapture-test-$$
	mkdir "$top" "$top/below" 2> /dev/null || continue
	groups="$top/below $top $groups"
	tried=$((tried + 1))
	echo "$type at $mount"

	rm -f "$tmp"/*.go "$tmp"/*.new
	member inside
	inside=$pid
	member below
	below=$pid
	member later
	later=$pid
	member outside
	outside=$pid
	echo "$inside" > "$top/cgroup.procs" || fail "no member"
	echo "$below" > "$top/below/cgroup.procs" || fail "no member below"
	"$tlbcapture" -o "$tmp/out/c.dat" --cgroup "$top" -d 60 > "$tmp/log" 2>&1 &
	recorder=$!
	sleep 3
	echo "$later" > "$top/cgroup.procs"
	sleep 1
	for name in inside below later outside; do echo > "$tmp/$name.go"; done
	wait $inside $below $later $outside
	kill -TERM $recorder
	wait $recorder || fail "status $?"
	report "$tmp/out/c.dat" > "$tmp/report"
	check_snapshot "$tmp/report"
	for name in inside below later outside; do
		counts=$(grep '^total ' "$tmp/$name.new") || fail "$name has not worked"
		pid=${counts#*pid=} pid=${pid%% *}
		wanted=$(grep -c '^thread ' "$tmp/$name.new")
		wanted=$((wanted + extra_threads + 200))
		[ $name != outside ] || wanted=0
		seen=$(grep -cE "^[^[]*-$pid +\[.* task_newtask: " "$tmp/report")
		[ "$seen" = $wanted ] || fail "$name: $seen new tasks instead of $wanted"
		# Its threads as well, not the first one alone.
		for tid in $(sed -n 's/^thread tid=\([0-9]*\) .*/\1/p' "$tmp/$name.new"); do
			faults=$(grep -cE "^[^[]*-$tid +\[.* page_fault_user: " "$tmp/report")
			case $name:$faults in
			outside:0) ;;
			outside:* | *:0) fail "$name: thread $tid has $faults faults" ;;
			esac
		done
	done
	expect_clean

	# Nobody in it: nothing but the snapshot.
	expect_status 0 "$tlbcapture" -o "$tmp/out/c.dat" --cgroup "$top/below" -- "$forkwp" -r 100
	report "$tmp/out/c.dat" > "$tmp/report"
	check_snapshot "$tmp/report"
	[ "$(grep -c ' page_fault_user: ' "$tmp/report")" = 0 ] || fail "events of others"
	rmdir "$top/below" "$top"
	groups=
done < /proc/mounts

expect_status 1 "$tlbcapture" -o "$tmp/out/n.dat" --cgroup "no-such-group-$$" -d 1
expect_text 'not a control group'
expect_status 1 "$tlbcapture" -o "$tmp/out/n.dat" --cgroup "$tmp" -d 1
expect_text 'not a control group'
expect_clean
[ $tried -gt 0 ] || skip "no control groups here"
exit 0
