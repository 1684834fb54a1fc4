#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
A slow and obvious count of what a recording holds, from the text of "trace-cmd report -t" on standard
input: upgrades, spurious faults and copies by level, TLBI instructions by the function that they are
in, and the region of memory that the workload wrote to in every round.

  count_points.py ARCH     arm64 or x86

Prints lines "point LEVEL COUNT", "tlbi FUNCTION OP COUNT" and "region MM FIRST LAST REUSES".
"""
import collections
import re
import sys

from report_text import events, number

FAULT = {"hmf", "handle_mm_fault"}
WP = {"wp", "do_wp_page", "hwp", "do_huge_pmd_wp_page"}
SET_FLAGS = {"psaf", "psaf_r", "psafe", "ptep_set_access_flags", "ptep_set_access_flags_ret"}
CLEAR_FLUSH = {"pcf", "ptep_clear_flush"}
TLBI = re.compile(r"^(.*?)_+((?:r?vaa?l?e1|vmalle1|aside1)(?:is|os)?)_+\d+$")


def main():
    arm64 = sys.argv[1] == "arm64"
    points = collections.Counter()
    tlbi = collections.Counter()
    pages = collections.Counter()
    inside_wp = {}  # pid: do_wp_page was entered in the fault that is under way
    entered = {}    # pid: fields of the entry probe of ptep_set_access_flags
    for event in events(sys.stdin):
        instruction = TLBI.match(event.name)
        if instruction:
            tlbi[instruction.groups()] += 1
        elif event.name in FAULT:
            inside_wp[event.pid] = False
        elif event.name in WP:
            inside_wp[event.pid] = True
        elif event.name in SET_FLAGS:
            if "ret" not in event.fields:
                entered[event.pid] = event.fields
                continue
            before = entered.pop(event.pid, {})
            fields = dict(before, **event.fields)
            if fields["dirty"] != "1":
                continue
            # An arm64 descriptor ends in 11 for a page and in 01 for a block.
            block = arm64 and number(fields["entry"]) & 3 == 1
            level = "pmd" if block else "pte"
            reuse = inside_wp.get(event.pid, False)
            if arm64 and "pte" in before:
                reuse = not number(before["pte"]) >> 51 & 1  # PTE_WRITE of the entry that was there
            if fields["ret"] == "1":
                points["wp_reuse" if reuse else "dirty_up", level] += 1
                if reuse and not block:
                    pages[fields["mm"], number(fields["addr"]) >> 12] += 1
            elif not reuse:
                points["spurious", level] += 1
        elif event.name in CLEAR_FLUSH:
            # Where the old entry was recorded: one that was not valid is in no TLB.
            if inside_wp.get(event.pid) and number(event.fields.get("pte", "0x1")) & 1:
                points["cow", "pte"] += 1
    for key in sorted(points):
        print(*key, points[key])
    for key in sorted(tlbi):
        print("tlbi", *key, tlbi[key])

    # The workload writes each page of its region once a round, after one fork a round: the longest run
    # of neighbours that were all reused equally often is that region.
    best = []
    run = []
    for mm, page in sorted(pages):
        same = run and run[-1] == (mm, page - 1) and pages[run[-1]] == pages[mm, page]
        run = run + [(mm, page)] if same else [(mm, page)]
        if len(run) > len(best):
            best = run
    if best:
        print("region", best[0][0], best[0][1] << 12, best[-1][1] << 12, sum(pages[p] for p in best))


main()
