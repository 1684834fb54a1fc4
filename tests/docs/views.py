#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the views of schema/results.sql with their columns, types and units into docs/sql.md.

usage: views.py [--update] PAGE

Without --update it says what is not as the schema has it. The names and types come from the schema, what
stands above each view too; units and meanings from the list below, where a new column needs a line: NAME, or
VIEW.NAME where one view means something else. Types are given for columns that are calculated.
"""
import re
import sqlite3
import sys

BEGIN, END = "<!-- views: made by tests/docs/views.py, do not edit -->", "<!-- end of views -->"

# unit | meaning | type where the schema cannot tell
MEANING = {
    "trace": "|the recording: its file's name, `#2` behind it if it was replayed twice",
    "policy": "|the policy as it was given to tlbreplay",
    "v_selfcheck.policy": "|the recorded kernel's own policy",
    "point": "|decision point: wp_reuse, cow, fork, ...",
    "level": "|pte, contpte, pmd, hugetlb, mm or all",
    "scope": "|where the flush acts: none, local, mask (by interrupt), broadcast",
    "v_recorded.scope": "|local, mask or broadcast; NULL: the event is no invalidation",
    "decisions": "decisions|how often the point was reached, estimate",
    "v_heat.decisions": "decisions|how many fell into this cell, estimate",
    "addr": "byte address|first byte of the cell; NULL: decisions about the whole mm",
    "bytes": "bytes|height of the cell, the same for all of the recording",
    "v_swap.bytes": "bytes|written to swap|INTEGER",
    "v_dirty.bytes": "bytes|written to swap, estimate|REAL",
    "mkwrite": "|a writable entry made for a read fault counts as written (dirty) or not (clean)",
    "v_swap.mkwrite": "|of the recorded kernel: dirty or clean; NULL: it does not show",
    "dbm": "|the hardware marks a page dirty when it is written: on or off",
    "v_swap.dbm": "|of the recorded kernel: on or off; NULL: it does not show",
    "v_dirty.recorded": "|1: the recorded kernel; 0: another; NULL: it does not show",
    "writes_low": "pages|written to swap, at least",
    "writes": "pages|written to swap, estimate",
    "v_swap.writes": "pages|written to swap",
    "v_dirty_process.writes": "pages|of this process, written to swap, as recorded",
    "writes_high": "pages|written to swap, at most",
    "avoided_low": "pages|recorded writes less these, at least|REAL",
    "avoided": "pages|recorded writes less these, estimate; negative: more are written|REAL",
    "avoided_high": "pages|recorded writes less these, at most|REAL",
    "unwritten_low": "pages|dirty from a read fault on and never written, at least",
    "unwritten": "pages|dirty from a read fault on and never written, estimate",
    "unwritten_high": "pages|dirty from a read fault on and never written, at most",
    "extra_faults_low": "faults|write faults that only make an entry dirty, at least",
    "extra_faults": "faults|write faults that only make an entry dirty, estimate",
    "extra_faults_high": "faults|write faults that only make an entry dirty, at most",
    "swap_ins": "pages|mapped again by a fault",
    "for_write": "pages|of swap_ins, in a write fault",
    "writable": "pages|of swap_ins, in a read fault, with a writable entry",
    "dirty": "pages|of writable, those that counted as written at once",
    "unmapped": "pages|private ones that reclaim unmapped",
    "shared": "mappings|further ones of these pages",
    "not_private": "pages|of files and shared memory that reclaim unmapped",
    "writes_unplaced": "pages|of writes, not told which page; the same under every kernel",
    "writes_missing": "pages|had to be written, and were not seen to be",
    "upgrades": "pages|of writable, made dirty by a write fault: dbm is off",
    "silent": "pages|of writable, found dirty by reclaim without one: dbm is on",
    "v_page.decisions": "decisions|how often the point was reached on this page",
    "flushes_low": "flushes|invalidations issued, at least",
    "flushes": "flushes|invalidations issued, estimate",
    "flushes_high": "flushes|invalidations issued, at most",
    "pages": "pages|base pages that these decisions changed",
    "v_mm.pages": "pages|distinct pages that the events touched",
    "mm": "|number of the address space within the recording, see v_mm",
    "page": "byte address|first byte of the page; NULL: all pages behind the limit in `runs`",
    "v_stale.page": "byte address|first byte of the page, in hex|TEXT",
    "event": "|system:name, as recorded",
    "op": "|TLBI operation, or the reason of a tlb_flush; NULL: the event is no invalidation",
    "events": "events|how many were recorded",
    "v_fault.kind": "|spurious: what the policy would have had; spurious_recorded: those of the recording; "
                    "spurious_avoided: recorded ones that it would not have had",
    "v_exposure.kind": "|benign (allows less), hint (only the access flag), unsafe (allows more), window "
                       "(unsafe until a flush that is under way)",
    "v_stale.kind": "|benign, hint, unsafe or window, see v_exposure",
    "v_length.kind": "|benign, hint, unsafe or window, see v_exposure",
    "v_length.entries": "entries|stale TLB entries of that length, at the high bound",
    "v_stale_process.pages": "pages|distinct pages with stale entries",
    "below_ns": "ns|shorter than this, and not shorter than half of it",
    "share_below": "fraction|of all entries, those shorter than below_ns|REAL",
    "item": "|what is paid for, see `cost_items`",
    "v_cost_count.low": "times|how often it is paid, at least",
    "v_cost_count.estimate": "times|how often it is paid, estimate",
    "v_cost_count.high": "times|how often it is paid, at most",
    "axis1": "|what is varied: a cost item, cpus, share or write_share",
    "value1": "ns, CPUs or a fraction|its value",
    "axis2": "|what else is varied; empty: nothing",
    "value2": "ns, CPUs or a fraction|its value; NULL: nothing else is varied",
    "other": "|the policy that broadcasts more",
    "v_break_even.policy": "|the policy that broadcasts less",
    "fewer_broadcasts": "broadcasts|that it issues less, estimate|REAL",
    "broadcast_low_ns": "ns|it costs less while a broadcast costs more than this, low bound|REAL",
    "broadcast_ns": "ns|the same, estimate; 0: always|REAL",
    "broadcast_high_ns": "ns|the same, high bound|REAL",
    "upgrades": "upgrades|wp_reuse, dirty_up and hugetlb_reuse, estimate|INTEGER",
    "spurious": "faults|spurious faults under the policy, estimate|REAL",
    "spurious_most": "faults|it costs less while it takes fewer than this|REAL",
    "sharer_most": "fraction|the same, of the upgrades|REAL",
    "key": "|what the line says, see schema/hostfacts.h",
    "v_host.value": "|as recorded",
    "v_trust.kind": "|lost, missing (the recorder says that it could not get it), unseen, unplaced, unknown, skipped, assumed, left out",
    "low": "faults|at least",
    "estimate": "faults|estimate",
    "high": "faults|at most",
    "bound": "|low, estimate or high",
    "entries": "entries|stale TLB entries, counted per CPU|REAL",
    "entry_ns": "entry ns|how long they were stale, added up|REAL",
    "max_ns": "ns|the longest single one|INTEGER",
    "cost": "|cost preset, see `cost_items`",
    "part": "|what the time goes to",
    "low_ns": "ns|CPU time, at least|REAL",
    "estimate_ns": "ns|CPU time, estimate|REAL",
    "high_ns": "ns|CPU time, at most|REAL",
    "uncalibrated": "|1: rests on a cost that nobody measured|INTEGER",
    "cpu_ns": "ns|CPU time recorded: CPUs with events times the length|INTEGER",
    "recorded": "flushes|as recorded; NULL: the recording could not show them",
    "replayed": "flushes|as the replay of that policy has them",
    "source": "|events; tlbi-only: the flush is the only evidence of its point; unseen",
    "verdict": "|whether the policy was found safe",
    "witness": "|what shows that it is not",
    "unseen": "points|decision points of the policy that nothing in the recording shows",
    "least": "|a policy whose high bound is below all others' low bounds, else `undecided`|TEXT",
    "least_by_estimate": "|the policy with the lowest estimate|TEXT",
    "comm": "|a name that the address space's tasks had",
    "tid": "|a task that used it; -1 or NULL: none was seen",
    "cpu": "|number of the CPU",
    "issued": "flushes|by this CPU, estimate",
    "received": "flushes|interrupts or broadcasts of other CPUs that reach it",
    "start_ns": "ns|the recording's clock",
    "width_ns": "ns|length of the bucket",
    "pointer": "|mm_struct, in hex; NULL: never seen",
    "origin": "|given, default or assumed",
    "v_mm.origin": "|pointer (a probe gave it), derived (clone, exec), snapshot, placeholder (nothing "
                   "introduced its task)",
    "first_ns": "ns|first event, by the recording's clock",
    "last_ns": "ns|last event, by the recording's clock",
    "ns": "ns|how long it was stale|INTEGER",
    "ended": "|flush, refault, gone (its address space ended), evicted, end (the recording ended first)",
    "subject": "|what it concerns",
    "n": "|how many; NULL: nothing is counted",
    "text": "|the whole sentence",
    "name": "|the parameter",
    "value": "|its value",
    "unit": "|unit of the value",
    "host": "|its name in the fleet's list",
    "weight": "hosts|how many hosts it stands for",
    "recording": "|tells several recordings of one host apart; empty if there is one",
    "path": "|the recording's file, as the list has it",
    "missing": "|why there is no trace; NULL: it is there",
    "v_fleet.trace": "|the recording in the other views; NULL: it is missing",
    "label": "|a column of the list",
    "v_fleet_metric.metric": "|what is counted or added up, see above|TEXT",
    "v_fleet_metric.cost": "|cost preset, see `cost_items`; NULL: none is used|TEXT",
    "v_fleet_change.cost": "|cost preset, see `cost_items`|TEXT",
    "v_fleet_metric.low": "share, or 1/s|low bound|REAL",
    "v_fleet_metric.estimate": "share, or 1/s|estimate|REAL",
    "v_fleet_metric.high": "share, or 1/s|high bound|REAL",
    "kernel_policy": "|the policy that the host's kernel has",
    "change_low_share": "share of CPU time|what it would take more, at the most favourable bounds|REAL",
    "change_share": "share of CPU time|the same, by the estimate|REAL",
    "change_high_share": "share of CPU time|the same, at the least favourable bounds|REAL",
    "call": "|upgrade, young, unchanged (ptep_set_access_flags for a write, for a read, without a change), contpte (the same of a block), cow (ptep_clear_flush), gather (tlb_finish_mmu), range (flush_tlb_mm_range)",
    "flush": "|seen inside it: none, local, mask, broadcast; `not recorded`: none could be seen",
    "v_latency.cpus": "CPUs|that the address space had run on, at least; 0: it is not known which one it was",
    "cpus_to": "CPUs|the same, at most",
    "concurrent": "calls|others under way at any moment of it, at least",
    "concurrent_to": "calls|the same, at most",
    "calls": "calls|how many",
    "probes_inside": "events|recorded inside it by its task, on average; each of them is in its duration|REAL",
    "min_ns": "ns|the shortest|INTEGER",
    "v_latency.max_ns": "ns|the longest|INTEGER",
    "p50_ns": "ns|half of the calls took no longer|INTEGER",
    "p90_ns": "ns|nine tenths|INTEGER",
    "p99_ns": "ns|99 of 100|INTEGER",
    "sum_ns": "ns|all of them together",
    "base_ns": "ns|median of the recording's calls that change nothing; NULL: it has none|INTEGER",
    "reason": "|no entry, no return (only one end was recorded), switched (its task did not run all the time, or moved), lost (events were, meanwhile)",
    "v_fleet_label.value": "|what it says of the host",
}


def views(path):
    sql = open(path, encoding="utf-8").read()
    db = sqlite3.connect(":memory:")
    db.executescript(sql)
    lines, missing = [], []
    for view in re.findall(r"^CREATE VIEW (\w+)", sql, re.M):
        above = re.search(r"((?:^--.*\n)+)CREATE VIEW %s\b" % view, sql, re.M)
        about = " ".join(re.sub(r"^-- ?", "", line) for line in (above.group(1) if above else "").splitlines())
        lines += ["", "### %s" % view, ""]
        if about and "-----" not in about:
            lines += [about, ""]
        lines += ["| column | type | unit | what |", "|---|---|---|---|"]
        for _, name, declared, *_ in db.execute("PRAGMA table_info(%s)" % view):
            meaning = MEANING.get("%s.%s" % (view, name)) or MEANING.get(name)
            if not meaning:
                missing.append("%s.%s" % (view, name))
                continue
            unit, what, *kind = meaning.split("|")
            lines.append("| %s | %s | %s | %s |" % (name, declared or (kind or ["?"])[0], unit, what))
            if not declared and not kind:
                missing.append("%s.%s (its type)" % (view, name))
    return "\n".join(lines + [""]), missing


update = sys.argv[1] == "--update"
page = sys.argv[-1]
made, missing = views("schema/results.sql")
text = open(page, encoding="utf-8").read()
head, rest = text.split(BEGIN + "\n")
old, tail = rest.split("\n" + END)
if update:
    open(page, "w", encoding="utf-8").write(head + BEGIN + "\n" + made + "\n" + END + tail)
elif old != made:
    sys.exit("%s: the views are not as the schema has them; tests/docs/views.py --update %s" % (page, page))
if missing:
    sys.exit("tests/docs/views.py: no meaning for %s" % ", ".join(missing))
