#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The questions of docs/sql.md on the results of a recording of 5 M events: each has an answer, in less than
# a second. (That the answers on the page are right is for tests/docs/pages.sh.)
. tests/sql/lib/setup
root=$PWD
case $BUILD in /*) built=$BUILD ;; *) built=$root/$BUILD ;; esac
events=5M
[ -z "$preload" ] || events=300k # sanitized: that it works, not how fast

tests/docs/fold.py join docs/sql.md | sed -n '/^## Twenty questions/,/^### How fast/p' >"$DIR/page"
mkdir "$DIR/examples"
"$GEN" --events $events "$DIR/examples/arm64-broadcast.dat" >/dev/null || exit 1
"$GEN" --events 200k --seed 2 "$DIR/examples/arm64-local.dat" >/dev/null || exit 1
cd "$DIR" || exit 1
n=0 slowest=0
while IFS= read -r line; do
	case $line in
	'### '*) question=${line#'### '} ;;
	'$ '*)
		# Its probes have the names that we give; its time is another.
		command=$(sed "s/^..//; s/'hmf'/'handle_mm_fault'/; s/'hmf_r'/'handle_mm_fault_ret'/
			s/\(^\| \)build\//\1${built//\//\\/}\//g" <<<"$line")
		if [ -z "${question:-}" ]; then
			eval "$command" || fail "$command"
			continue
		fi
		n=$((n + 1))
		best=999999
		for _ in 1 2 3; do
			began=$(date +%s%N)
			LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 bash -c "$command" >answer 2>&1 </dev/null ||
				fail "$question: $(head -n 3 answer)"
			took=$((($(date +%s%N) - began) / 1000000))
			[ $took -ge $best ] || best=$took
			[ $best -ge 900 ] || break
		done
		# Every one has at least a row here: a box with a line between its rules.
		[ "$(grep -c '│' answer)" -ge 2 ] || fail "$question: no answer: $(cat answer)"
		[ $best -lt 1000 ] || [ -n "$preload" ] || fail "$question: $best ms"
		[ $best -le $slowest ] || slowest=$best
		printf '%4d ms  %s\n' $best "$question"
		;;
	esac
done <page
[ $n -eq 20 ] || fail "$n questions instead of 20"
echo "20 questions on the results of $events events, $(stat -c %s results.db) bytes: the slowest $slowest ms"
done_testing
