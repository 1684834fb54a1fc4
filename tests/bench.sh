#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/bench.sh [--events N] [--rounds N] [--report-events N] [--workload NAME] [--markdown]
#
# What reading and replaying a recording costs, beside the programs one would use otherwise and
# beside the limit, adding up all bytes. "make bench" builds what it needs and runs it; options go
# through BENCH="--events 1M". The recordings are made by gentrace in a folder under TMPDIR and
# removed afterwards.
#
# All programs run in turn, round after round, so that whatever else the machine does hits them
# alike. Shown is the median CPU time (user + system) per event and the median of the ratios within
# a round. trace-cmd report is far slower than the rest, so it reads a smaller recording of the same
# generator, and once. Nothing here passes or fails.
set -eu

EVENTS=5M ROUNDS=5 REPORT_EVENTS=500k WORKLOAD=forkwp STYLE=text
while [ $# -gt 0 ]; do
	case $1 in
	--events) EVENTS=$2; shift ;;
	--rounds) ROUNDS=$2; shift ;;
	--report-events) REPORT_EVENTS=$2; shift ;;
	--workload) WORKLOAD=$2; shift ;;
	--markdown) STYLE=markdown ;;
	*) sed -n '4,15s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
	shift
done

B=${BUILD:-build}
T=$B/tests/tools
DIR=$(mktemp -d "${TMPDIR:-/tmp}/tlbreplay-bench.XXXXXX")
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM HUP

say() { echo "bench: $*" >&2; }

for tool in gentrace measure bytesum; do
	[ -x "$T/$tool" ] || { say "$T/$tool is missing; run 'make bench'"; exit 1; }
done

# measured FILE CONTENDER ROUND COMMAND...: one line for the table.
measured() {
	file=$1 contender=$2 round=$3
	shift 3
	echo "$file $contender $round $("$T/measure" "$@" 2>"$DIR/stderr")" >>"$DIR/results"
}

have() {
	command -v "$1" >/dev/null 2>&1
}

absent=
for p in "$B/tlbreplay" "$T/trace-count" "$T/trace-fields" "$T/tracecmd-count" trace-cmd; do
	have "$p" || absent="$absent $p"
done
[ -z "$absent" ] || say "not measured, because missing:$absent"

for c in none zstd; do
	say "making the $c recording of $EVENTS events"
	"$T/gentrace" --workload "$WORKLOAD" --events "$EVENTS" --compression $c "$DIR/$c" >"$DIR/$c.facts"
	"$T/gentrace" --workload "$WORKLOAD" --events "$REPORT_EVENTS" --compression $c "$DIR/$c.small" \
		>"$DIR/$c.small.facts"
done

unpack=
round=1
while [ "$round" -le "$ROUNDS" ]; do
	say "round $round of $ROUNDS"
	for c in none zstd; do
		f=$DIR/$c
		[ $c = zstd ] && unpack=--unpack || unpack=
		# shellcheck disable=SC2086 # an absent option must vanish
		measured $c limit "$round" "$T/bytesum" $unpack "$f"
		have "$T/trace-count" && measured $c count "$round" "$T/trace-count" "$f"
		have "$T/trace-fields" && measured $c fields "$round" "$T/trace-fields" "$f"
		if have "$B/tlbreplay"; then
			rm -f "$DIR"/db*
			measured $c replay "$round" "$B/tlbreplay" -p arm64-broadcast -p arm64-local \
				-p x86 -o "$DIR/db" "$f"
		fi
		have "$T/tracecmd-count" && measured $c libtracecmd "$round" "$T/tracecmd-count" "$f"
	done
	round=$((round + 1))
done
if have trace-cmd; then
	say "trace-cmd report, once, $REPORT_EVENTS events"
	for c in none zstd; do
		measured $c report 1 trace-cmd report "$DIR/$c.small"
	done
fi

python3 - "$DIR" "$STYLE" "$WORKLOAD" "$ROUNDS" <<'PYTHON'
import collections, os, statistics, sys

folder, style, workload, rounds = sys.argv[1:]
titles = [
    ("limit", "adding up all bytes"),
    ("count", "reader: time, cpu, pid, id"),
    ("fields", "reader: all fields"),
    ("replay", "tlbreplay, 3 policies"),
    ("libtracecmd", "libtracecmd, counting only"),
    ("report", "trace-cmd report"),
]


def facts(name):
    with open(os.path.join(folder, name + ".facts")) as f:
        return {k: int(v) for k, v in (w.split("=") for w in f.read().split())}


runs = collections.defaultdict(dict)  # (file, contender) -> round -> (ns per event, KiB)
failed = []
with open(os.path.join(folder, "results")) as f:
    for line in f:
        words = line.split()
        file, contender, turn, cpu, rss, status = words
        small = ".small" if contender == "report" else ""
        # 3: done, but the recording lost events.
        if status not in ("0", "3"):
            failed.append((file, contender, status))
            continue
        runs[file, contender][int(turn)] = (int(cpu) / facts(file + small)["events"], int(rss))


def cell(value, form="%.1f"):
    return "-" if value is None else form % value


def ratio(file, above, below):
    """Median of the ratios within a round; without common rounds, the ratio of the medians."""
    a, b = runs.get((file, above)), runs.get((file, below))
    if not a or not b:
        return None
    both = sorted(set(a) & set(b))
    if "report" in (above, below):
        return statistics.median(v[0] for v in a.values()) / statistics.median(
            v[0] for v in b.values())
    if not both:
        return None
    return statistics.median(a[r][0] / b[r][0] for r in both)


rows = []
for file in ("none", "zstd"):
    for key, title in titles:
        if (file, key) not in runs:
            continue
        mine = runs[file, key]
        rows.append([
            file, title,
            cell(statistics.median(v[0] for v in mine.values())),
            cell(ratio(file, key, "limit"), "%.2f"),
            cell(ratio(file, "libtracecmd", key), "%.2f"),
            cell(ratio(file, "report", key), "%.1f"),
            cell(max(v[1] for v in mine.values()) / 1024),
        ])
head = ["file", "program", "ns/event", "x limit", "libtracecmd takes x", "report takes x", "MiB"]


def value(path, key):
    try:
        with open(path) as f:
            for line in f:
                if line.startswith(key):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


model = value("/proc/cpuinfo", "model name") or os.uname().machine
machine = "%s, %d CPUs, Linux %s" % (model, os.cpu_count(), os.uname().release)
if style == "markdown":
    print("| " + " | ".join(head) + " |")
    print("|---|---|" + "---:|" * (len(head) - 2))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()
else:
    widths = [max(len(r[i]) for r in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        print("  ".join(c.ljust(w) if i < 2 else c.rjust(w)
                        for i, (c, w) in enumerate(zip(row, widths))).rstrip())
    print()
plain, packed, small = facts("none"), facts("zstd"), facts("none.small")
print("Machine: %s." % machine)
print("Recording: %s, %d events, %d CPUs, %.0f MiB plain, %.0f MiB zstd; trace-cmd report: %d events, "
      "one run." % (workload, plain["events"], plain["cpus"], plain["bytes"] / 2**20,
                    packed["bytes"] / 2**20, small["events"]))
print("CPU time, median of %s rounds; ratios are medians within a round. Peak memory is the highest "
      "seen." % rounds)
if style != "markdown":
    print("The limit of the zstd file unpacks it and adds up what it holds.")
for file, contender, status in failed:
    print("bench: %s on the %s file ended with status %s" % (contender, file, status), file=sys.stderr)
PYTHON
