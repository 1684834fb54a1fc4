#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What gentrace writes is what it says: trace-cmd report and libtracecmd find as many events of each
# kind, the same losses and the same last time in every variant of the container. Tests that use the
# generator's numbers as the truth stand on this one.
set -u

for tool in gentrace tracecmd-count; do
	[ -x "${BUILD:=build}/tests/tools/$tool" ] || { echo "$tool is not built"; exit 77; }
done
command -v trace-cmd >/dev/null || { echo "trace-cmd is not installed"; exit 77; }

GEN=$BUILD/tests/tools/gentrace
COUNT=$BUILD/tests/tools/tracecmd-count
DIR=$(mktemp -d "${TMPDIR:-/tmp}/gentrace.XXXXXX") || exit 1
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM HUP
LC_ALL=C
export LC_ALL
EVENT='\([A-Za-z_0-9]*\)'
failed=0

fail() {
	echo "gentrace $variant: $*"
	failed=1
}

# fact NAME: from the line that gentrace printed.
fact() {
	tr ' ' '\n' <"$DIR/facts" | sed -n "s/^$1=//p"
}

# What trace-cmd makes of the file, as "NAME NUMBER" lines like the facts.
report_facts() {
	trace-cmd report -t "$DIR/t.dat" >"$DIR/report" 2>"$DIR/report.err"
	echo "status $?"
	# TASK-PID [CPU] TIME: EVENT: ...; a comm may hold blanks and colons, a buffer stands in front.
	sed -n "s/^.* \[[0-9]*\] *\([0-9]*\)\.\([0-9]*\): $EVENT: *\(.*\)\$/\1\2 \3 \4/p" \
		"$DIR/report" | awk '
		{ n[$2]++; all++; if ($1 > last) last = $1 }
		$2 == "ptep_set_access_flags_ret" { flags[$(NF - 1) " " $NF]++ }
		END {
			print "events", all + 0
			printf "last_ns %.0f\n", last
			print "wp_reuse", flags["dirty=1 ret=1"] + 0
			print "spurious", flags["dirty=1 ret=0"] + 0
			print "spurious_read", flags["dirty=0 ret=0"] + 0
			for (e in n)
				print "event:" e, n[e]
		}'
	# CPU:0 [12 EVENTS DROPPED], or without the number where nobody counted them
	sed -n 's/^.*CPU:[0-9]* \[\([0-9]*\) *EVENTS DROPPED\]$/\1/p' "$DIR/report" | awk '
		/./ { counted++; sum += $1 }
		END { print "lost_events", sum + 0; print "lost_counted", counted + 0
		      print "lost_unknown", NR - counted }'
}

# The same from gentrace.
own_facts() {
	echo "status 0"
	for f in events last_ns lost_events lost_counted lost_unknown; do
		echo "$f $(fact $f)"
	done
	for f in wp_reuse spurious spurious_read; do
		case $(fact tlbr:handle_mm_fault) in
		'') echo "$f 0" ;;
		*) echo "$f $(fact $f)" ;;
		esac
	done
	tr ' ' '\n' <"$DIR/facts" | sed -n 's/^[a-z_]*:\(.*\)=\([1-9][0-9]*\)$/event:\1 \2/p'
}

# An oracle that disagrees is asked again before that counts against the generator.
compare() {
	own_facts | sort >"$DIR/want"
	for try in 1 2; do
		report_facts | sort >"$DIR/got"
		cmp -s "$DIR/want" "$DIR/got" && break
	done
	if ! cmp -s "$DIR/want" "$DIR/got"; then
		fail "trace-cmd report disagrees (gentrace <, trace-cmd >):"
		diff "$DIR/want" "$DIR/got" | head -20
		head -3 "$DIR/report.err"
	fi
	for try in 1 2; do
		got=$("$COUNT" "$DIR/t.dat" 2>"$DIR/count.err")
		status=$?
		[ "$status $got" = "0 $(fact top_events)" ] && return
	done
	fail "libtracecmd counts '$got' (status $status), not $(fact top_events) [$try tries]"
	head -3 "$DIR/count.err"
}

nr=0
while read -r variant; do
	nr=$((nr + 1))
	# shellcheck disable=SC2086 # a list of options
	if ! "$GEN" --events 6000 $variant "$DIR/t.dat" >"$DIR/facts"; then
		fail "ended with $?"
		continue
	fi
	compare
done <<'VARIANTS'
--version 6
--version 6 --cpus 1
--version 6 --cpus 64
--version 6 --endian big
--version 6 --long 4
--version 6 --endian big --long 4 --lost
--version 6 --lost
--version 6 --rt
--version 6 --gaps
--version 6 --page-size 65536
--version 7
--version 7 --cpus 1
--version 7 --cpus 64
--version 7 --cpus 64 --gaps --lost
--version 7 --endian big
--version 7 --long 4
--version 7 --endian big --long 4
--version 7 --rt --long 4 --endian big
--version 7 --lost --long 4
--version 7 --absolute
--version 7 --discard
--version 7 --buffers 1
--version 7 --buffers 2 --lost
--version 7 --buffers 5 --gaps
--version 7 --compression zstd
--version 7 --compression zstd --cpus 1
--version 7 --compression zstd --cpus 64
--version 7 --compression zstd --endian big --long 4
--version 7 --compression zstd --lost --rt
--version 7 --compression zstd --buffers 4
--version 7 --compression zstd --page-size 16384 --discard --absolute
--workload x86tp
--workload x86tp --cpus 16 --threads 16 --long 4
--workload sched --lost
--workload sched --arch x86 --compression zstd
--processes 40 --threads 3 --pages 16
--processes 1 --threads 1 --cpus 8
--events 1
--events 2
--events 77
VARIANTS

# Same options, same bytes; another seed, others.
variant=determinism
for c in none zstd; do
	"$GEN" --events 20k --compression $c "$DIR/a" >"$DIR/a.facts"
	"$GEN" --events 20k --compression $c "$DIR/b" >"$DIR/b.facts"
	cmp -s "$DIR/a" "$DIR/b" || fail "$c: two runs write different bytes"
	cmp -s "$DIR/a.facts" "$DIR/b.facts" || fail "$c: two runs print different facts"
done
"$GEN" --events 20k --compression zstd --seed 2 "$DIR/b" >"$DIR/b.facts"
cmp -s "$DIR/a" "$DIR/b" && fail "the seed does not matter"

# The container holds the events and does not change them.
variant=containers
for v in "--version 6" "--version 7 --compression zstd" "--version 7 --endian big" \
	"--version 7 --gaps"; do
	# shellcheck disable=SC2086 # a list of options
	"$GEN" --events 6000 $v "$DIR/t.dat" >"$DIR/facts"
	trace-cmd report -t "$DIR/t.dat" 2>&1 |
		sed -e '/^cpus=/d' -e 's/ \[[0-9]*\] / /' >"$DIR/report"
	[ -e "$DIR/first" ] || cp "$DIR/report" "$DIR/first"
	cmp -s "$DIR/first" "$DIR/report" || fail "$v: other events than version 6"
done

# The machine: no task runs on two CPUs, no fault in an mm that is not loaded, none that a page's
# state would not have given. since[] is the number of forks (and ends) of the mm, counted from 1,
# after which a page became writable.
variant=machine
for v in "--cpus 4" "--cpus 16 --pages 256" "--cpus 9 --processes 1 --pages 64" \
	"--cpus 3 --processes 20 --pages 16 --seed 5"; do
	# shellcheck disable=SC2086 # a list of options
	"$GEN" --events 60k $v "$DIR/t.dat" >"$DIR/facts"
	trace-cmd report -t "$DIR/t.dat" 2>"$DIR/report.err" |
		sed -n "s/^.*-\([0-9]*\) *\[\([0-9]*\)\] *[0-9.]*: $EVENT: *\(.*\)\$/\1 \2 \3 \4/p" |
		awk '
		function arg(name,   i) {
			for (i = 4; i <= NF; i++)
				if (index($i, name "=") == 1)
					return substr($i, length(name) + 2)
		}
		function wrong(what) {
			if (!seen[what]++)
				print what ": " $0
		}
		{ lines++; pid = $1; cpu = $2; event = $3 }
		event != "check_and_switch_context" && cpu in runs && runs[cpu] != pid {
			wrong("not current")
		}
		event == "sched_switch" {
			next_pid = $(NF - 1)
			sub(/.*:/, "", next_pid)
			if (next_pid != "0" && next_pid in on && on[next_pid] != cpu)
				wrong("on two CPUs")
			delete on[pid]
			on[next_pid] = cpu
			runs[cpu] = next_pid
		}
		event == "check_and_switch_context" { loaded[cpu] = arg("mm") }
		event == "handle_mm_fault" {
			if (loaded[cpu] != arg("mm"))
				wrong("fault in an mm that is not loaded")
			a = arg("addr")
			open[pid] = arg("mm") " " substr(a, 1, length(a) - 3) "000"
		}
		event == "handle_mm_fault_ret" {
			if (!(pid in open))
				wrong("return without fault")
			split(open[pid], part, " ")
			since[open[pid]] = forks[part[1]] + 1
			delete open[pid]
		}
		{ writable = since[arg("mm") " " arg("addr")] == forks[arg("mm")] + 1 }
		event == "do_wp_page" && writable { wrong("page was writable") }
		event == "ptep_set_access_flags_ret" && arg("ret") == 0 && !writable {
			wrong("page was not writable")
		}
		event == "copy_page_range" && /start=0xffff8/ { forks[arg("smm")]++ }
		event == "exit_mmap" { forks[arg("mm")] += 1 }
		END { if (lines != 60000) print lines " lines" }' >"$DIR/wrong"
	[ ! -s "$DIR/wrong" ] || { fail "$v:"; cat "$DIR/wrong"; }
done

[ $nr -eq 40 ] || { echo "$nr variants were tried, not 40"; failed=1; }
exit $failed
