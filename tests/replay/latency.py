#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""latency.py TRACE DB: what v_latency says of TRACE against a slow reading of trace-cmd's report.

By kind of call: how many, shortest, longest and all together, to the nanosecond; and for each group with
its flush and number of others under way, found by comparing all calls with all others, what is in
each bucket and the percentiles.
"""
import collections
import re
import sqlite3
import subprocess
import sys

LINE = re.compile(r"^\s*(.+)-(\d+)\s+\[(\d+)\]\s+(\d+)\.(\d+):\s+(\S+):\s*(.*)$")
FIELD = re.compile(r"(\w+)=(\S+)")
TIMED = {"ptep_set_access_flags": "upgrade", "contpte_ptep_set_access_flags": "contpte",
         "ptep_clear_flush": "cow", "tlb_finish_mmu": "gather", "flush_tlb_mm_range": "range"}

trace, database = sys.argv[1:]
report = subprocess.run(["trace-cmd", "report", "-t", trace], capture_output=True, text=True,
                        errors="replace", check=True).stdout
busy_since = {}
TIMED = {name: kind for name, kind in TIMED.items() if re.search(rf"\b{name}_ret:", report)}
open_calls = collections.defaultdict(dict)  # tid -> name -> [ns, cpu, switched, flushes seen, events inside]
calls, outermost = [], []  # (kind, flush, begin, end, tid), and (begin, end, tid) of all that were under way
names = set()
for line in report.splitlines():
    match = LINE.match(line)
    if not match:
        continue
    _, tid, cpu, s, fraction, name, rest = match.groups()
    tid, ns = int(tid), int(s) * 10**9 + int(fraction)
    names.add(name)
    mine = open_calls[tid]
    if name == "sched_switch":
        for call in mine.values():
            call[2] = True
    elif name == "tlb_flush":
        seen = re.search(r"\((\d)\)", rest) or re.search(r"reason=(\w+)", rest)
        for call in mine.values():
            call[3].add({"4": "mask", "REMOTE_SEND_IPI": "mask", "3": "local", "2": "local",
                         "LOCAL_MM_SHOOTDOWN": "local", "LOCAL_SHOOTDOWN": "local"}.get(seen[1], ""))
    elif re.search(r"__[a-z0-9]+__\d+$", name):
        for call in mine.values():
            call[3].add("broadcast" if re.search(r"(is|os)__\d+$", name) else "local")
    elif name in TIMED:
        fields = dict(FIELD.findall(rest))
        if not mine:
            busy_since[tid] = ns
        mine[name] = [ns, cpu, False, set(), int(fields.get("dirty", "1"), 0)]
    elif name.endswith("_ret") and name[:-4] in TIMED and name[:-4] in mine:
        begin, where, switched, seen, dirty = mine.pop(name[:-4])
        fields = dict(FIELD.findall(rest))
        if not mine:
            outermost.append((busy_since[tid], ns, tid))
        if switched or where != cpu:
            continue
        kind = TIMED[name[:-4]]
        if kind == "upgrade" and not int(fields["ret"], 0):
            kind = "unchanged"
        elif kind == "upgrade" and not dirty:
            kind = "young"
        calls.append((kind, seen, begin, ns, tid))

outermost += [(busy_since[tid], float("inf"), tid) for tid, mine in open_calls.items() if mine]
assert calls, "nothing was timed"
sees = any(name == "tlb_flush" or re.search(r"__[a-z0-9]+__\d+$", name) for name in names)
groups = collections.defaultdict(list)
for kind, seen, begin, end, tid in calls:
    flush = ("broadcast" if "broadcast" in seen else "mask" if "mask" in seen else "local" if "local" in seen else "none") if sees else "not recorded"
    others = sum(1 for b, e, t in outermost if t != tid and b <= end and e >= begin)
    groups[kind, flush, 0 if not others else 1 << (others.bit_length() - 1)].append(end - begin)

db = sqlite3.connect(database)
failed = False


def same(what, got, want):
    global failed
    if got != want:
        print(f"FAIL: {what}: {got} instead of {want}")
        failed = True


for kind in {k for k, _, _ in groups}:
    times = sorted(t for (k, _, _), list_ in groups.items() if k == kind for t in list_)
    same(kind, db.execute("SELECT sum(calls), min(min_ns), max(max_ns), sum(sum_ns) FROM v_latency WHERE call = ?",
                          (kind,)).fetchone(), (len(times), times[0], times[-1], sum(times)))
rows = db.execute("SELECT call, flush, concurrent, sum(calls), sum(sum_ns) FROM v_latency GROUP BY 1, 2, 3").fetchall()
same("groups", {r[:3]: r[3:] for r in rows}, {k: (len(t), sum(t)) for k, t in groups.items()})
checked = 0
for (call, flush, concurrent), times in groups.items():
    times.sort()
    behind = 0
    for low, high, n in db.execute("SELECT from_ns, to_ns, sum(calls) FROM latency_buckets WHERE call = ? AND "
                                   "flush = ? AND concurrent = ? GROUP BY from_ns ORDER BY from_ns",
                                   (call, flush, concurrent)):
        inside = times[behind:behind + n]
        behind += n
        checked += 1
        if not (low <= inside[0] and inside[-1] <= high):
            print(f"FAIL: {call}, {flush}, {concurrent}: {low}..{high} holds {inside[0]}..{inside[-1]}")
            failed = True
for call, flush, concurrent, n, p50, p90, p99 in db.execute(
        "SELECT call, flush, concurrent, calls, p50_ns, p90_ns, p99_ns FROM v_latency v WHERE calls = "
        "(SELECT sum(calls) FROM v_latency w WHERE (w.call, w.flush, w.concurrent) = (v.call, v.flush, v.concurrent))"):
    times = groups[call, flush, concurrent]
    for percent, got in (50, p50), (90, p90), (99, p99):
        true = times[-(-len(times) * percent // 100) - 1]
        if not true <= got < true * 33 / 32:
            print(f"FAIL: {call}, {flush}, {concurrent}: p{percent} is {got}, really {true}")
            failed = True
same("buckets", checked > 0, True)
print(f"{trace}: {len(calls)} calls in {len(groups)} groups, {checked} buckets")
sys.exit(failed)
