#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tlbexport: valid JSON; what is in it against the recording's own events, the replay's decisions and the
# rules of the format; windows; what becomes of the output when something fails.
. tests/sql/lib/setup
EXPORT=$BUILD/tlbexport
[ -x "$EXPORT" ] || { echo "$EXPORT is not built"; exit 77; }

expect_status() {
	want=$1
	shift
	"$@" >"$DIR/out" 2>"$DIR/err" </dev/null
	got=$?
	[ $got -eq "$want" ] || fail "status $got instead of $want: $*: $(head -c 400 "$DIR/err")"
}

cat >"$DIR/check.py" <<'END'
import collections, json, subprocess, sys
program, export, dump, db, low, high = sys.argv[1:]
low, high = int(low), int(high)
data = json.load(open(export, encoding="utf-8"))
events = data["traceEvents"]
bad = []

def ns(us):
    return round(us * 1000)

names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
groups = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
seen = collections.Counter()
slices = collections.defaultdict(list)
for e in events:
    if e["ph"] == "M":
        continue
    if e["pid"] not in groups or (e["ph"] != "C" and (e["pid"], e["tid"]) not in names):
        bad.append("a track without a name: %s" % e)
    if not low <= ns(e["ts"]) <= high or ns(e["ts"] + e.get("dur", 0)) > high:
        bad.append("outside the window: %s" % e)
    if e["ph"] == "X":
        slices[e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["name"]))
    elif e["ph"] == "i":
        seen[groups[e["pid"]]] += 1
        seen[e["name"]] += 1
    elif e["ph"] == "C":
        for key, n in e["args"].items():
            seen["counted " + key] += n
    else:
        bad.append("odd phase: %s" % e)
if len({t for p, t in names}) != len(names) or 0 in {t for p, t in names}:
    bad.append("tracks share a number")
for track, list_ in slices.items():
    list_.sort()
    for a, b in zip(list_, list_[1:]):
        if a[1] > b[0]:
            bad.append("two tasks at once on %s: %s, %s" % (track, a, b))

# The recording's own events.
want = collections.Counter()
for line in subprocess.run([program, "--dump", dump], capture_output=True, text=True).stdout.splitlines():
    word = line.split()
    if word[0] == "lost" or not low <= int(word[0]) <= high:
        continue
    system, event = word[3].split(":")
    want["all"] += 1
    if event in ("hmf", "handle_mm_fault"):
        want["Page faults"] += 1
    if system in ("tlbi", "tlbr_tlbi") or event == "tlb_flush":
        want["TLB flushes"] += 1
        want["counted broadcast"] += "is_" in event
    if event == "page_fault_user":
        want["hardware"] += 1
want["Page faults"] = want["Page faults"] or want["hardware"]
for key in "Page faults", "TLB flushes", "counted broadcast":
    if seen[key] != want[key]:
        bad.append("%s: %d instead of %d" % (key, seen[key], want[key]))
if not want["all"]:
    bad.append("nothing to compare")
# The replay's decisions; a policy that never flushes has the same ones.
if db:
    import sqlite3
    for point, n in sqlite3.connect(db).execute("SELECT point, sum(decisions) FROM v_flush WHERE point <> 'spurious' "
                                                "GROUP BY 1 HAVING sum(decisions) > 0"):
        if point in ("wp_reuse", "cow", "fork", "exit", "tables_freed", "mremap") and seen[point] != n:
            bad.append("%s: %d instead of %d" % (point, seen[point], n))
    if not seen["cow"]:
        bad.append("no decisions")
print("\n".join(bad[:10]))
print("%d slices, %d faults, %d flushes, %d decisions" % (sum(map(len, slices.values())), seen["Page faults"],
      seen["TLB flushes"], seen["Decision points"]))
sys.exit(bool(bad))
END

"$GEN" --events 40k --lost "$DIR/gen-lost.dat" >/dev/null
"$GEN" --events 40k --endian big --long 4 "$DIR/gen-big.dat" >/dev/null
"$GEN" --events 40k --workload x86tp --cpus 9 --gaps "$DIR/gen-x86.dat" >/dev/null
"$GEN" --events 20k --workload sched "$DIR/gen-sched.dat" >/dev/null
for file in examples/*.dat "$DIR"/gen-*.dat; do
	name=$(basename "$file" .dat)
	lost=0
	[ "$name" != gen-lost ] || lost=3
	expect_status $lost "$EXPORT" "$file" -o "$DIR/$name.json"
	[ ! -s "$DIR/err" ] || fail "$file: messages: $(cat "$DIR/err")"
	db=
	case $file in
	examples/*)
		"$BUILD/tlbreplay" -p none -o "$DIR/r.db" "$file"
		db=$DIR/r.db
		;;
	esac
	python3 "$DIR/check.py" "$BUILD/tlbreplay" "$DIR/$name.json" "$file" "$db" 0 9999999999999999 >"$DIR/said" ||
		fail "$file: $(cat "$DIR/said")"
	tail -n 1 "$DIR/said" | sed "s/^/$name: /"
done

# A window: the same events as the whole has there, in every unit of time, and to standard output.
expect_status 0 "$EXPORT" --from 10600ms --to 10700000000 examples/arm64-broadcast.dat -o "$DIR/part.json"
python3 "$DIR/check.py" "$BUILD/tlbreplay" "$DIR/part.json" examples/arm64-broadcast.dat "" 10600000000 10700000000 \
	>"$DIR/said" || fail "a window: $(cat "$DIR/said")"
python3 - "$DIR" <<'END' || fail "a window has other instants than the whole"
import json, sys
load = lambda name: [json.dumps(e) for e in json.load(open("%s/%s.json" % (sys.argv[1], name)))["traceEvents"]
                     if e["ph"] == "i" and 10600000 <= e["ts"] <= 10700000]
sys.exit(load("part") != load("arm64-broadcast") or len(load("part")) < 1000)
END
"$EXPORT" --from 10.6s --to 10.7s examples/arm64-broadcast.dat -o - 2>"$DIR/err" | cmp -s - "$DIR/part.json" ||
	"$EXPORT" --from 10600000us --to 10700ms examples/arm64-broadcast.dat -o - 2>"$DIR/err" |
		cmp -s - "$DIR/part.json" || fail "standard output is other than a file"
# The same input, the same bytes.
(cd "$DIR" && TZ=Asia/Tokyo LC_ALL=C "$OLDPWD/$EXPORT" "$OLDPWD/examples/arm64-broadcast.dat" -o again.json)
cmp -s "$DIR/again.json" "$DIR/arm64-broadcast.json" || fail "elsewhere it is another timeline"

# ---- failures: a message, a status, and what was there stays ----

echo before >"$DIR/kept.json"
expect_status 1 "$EXPORT" "$DIR/nonesuch.dat" -o "$DIR/kept.json"
grep -q '^tlbexport: error: .*nonesuch.dat' "$DIR/err" || fail "the message: $(cat "$DIR/err")"
head -c 300000 examples/arm64-broadcast.dat >"$DIR/cut.dat"
expect_status 1 "$EXPORT" "$DIR/cut.dat" -o "$DIR/kept.json"
[ "$(cat "$DIR/kept.json")" = before ] || fail "a failure replaced the output"
[ ! -e "$DIR/kept.json.part" ] || fail "a failure left a part behind"
expect_status 1 "$EXPORT" examples/x86.dat -o "$DIR/no/such/folder.json"
expect_status 1 sh -c "'$EXPORT' examples/x86.dat -o - >/dev/full"
expect_status 2 "$EXPORT" examples/x86.dat
expect_status 2 "$EXPORT" -o "$DIR/x.json"
expect_status 2 "$EXPORT" examples/x86.dat examples/x86.dat -o "$DIR/x.json"
expect_status 2 "$EXPORT" examples/x86.dat -o "$DIR/x.json" --from soon
expect_status 2 "$EXPORT" examples/x86.dat -o "$DIR/x.json" --from 5s --to 4s
expect_status 2 "$EXPORT" examples/x86.dat -o "$DIR/x.json" --nonesuch
expect_status 0 "$EXPORT" --help
expect_status 0 "$EXPORT" --version
[ ! -e "$DIR/x.json" ] || fail "wrong usage wrote something"
done_testing
