#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stays.py TEXT: follows swapped pages through the text of trace-cmd report, one dictionary and no table.

Prints, as a line of numbers with "|" between: pages that do_swap_page mapped; of these in a write fault; in a
read fault with a writable entry; of those with one that counts as written; pages unmapped by reclaim; and of the
writable ones, those that nobody wrote before they were unmapped or the recording ended. A write is a fault that
leaves the page mapped, or an access that the program told (truth:write), which comes before its own fault. A page
that came in clean, with a copy in swap, and is written there again when it leaves, was written as well.
"""
import re
import sys

LINE = re.compile(r"-(\d+)\s+\[\d+\]\s+\d+\.\d+:\s+(\w+):\s*(.*)$")
FIELD = re.compile(r"(\w+)=(\S+)")
WRITE, FAILED, RETRY = 1, 0x73, 0x400
DBM, READ_ONLY, SW_DIRTY = 1 << 51, 1 << 7, 1 << 55

here = {}       # (mm, page) -> [writable for a read, written, clean at first]: pages that a swap-in brought
fault = {}      # tid -> [mm, page, write]
out = set()     # (mm, page) that reclaim unmapped
coming = set()  # ...and a write is told while it is out
last_mm = {}    # tid -> mm
added = {}      # tid -> whether the next page had no copy in swap
doubtful = {}   # tid -> whether the last page that it unmapped counts as unwritten, having been clean
counts = dict.fromkeys(("ins", "writes", "writable", "dirty", "unmapped", "unwritten"), 0)


def leave(key):
    writable, written, clean = here.pop(key, (False, False, False))
    counts["unwritten"] += writable and not written
    return writable and not written and clean


def write(key):
    if key in here:
        here[key][1] = True


for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    match = LINE.search(line)
    if not match:
        continue
    tid, name, rest = match.groups()
    values = {key: value for key, value in FIELD.findall(rest)}

    def of(field):
        return int(values[field], 0)

    if name == "handle_mm_fault":
        fault[tid] = [values["mm"], of("addr") >> 12, of("flags") & WRITE]
        last_mm[tid] = values["mm"]
    elif name == "handle_mm_fault_ret" and tid in fault:
        mm, page, writes = fault.pop(tid)
        if writes and not of("ret") & (FAILED | RETRY):
            write((mm, page))
    elif name == "do_swap_page_ret" and not of("ret") & (FAILED | RETRY) and of("opte") & 1:
        key = (values["mm"], of("addr") >> 12)
        leave(key)
        counts["ins"] += 1
        writes = tid in fault and fault[tid][2]
        counts["writes"] += bool(writes)
        writable = bool(of("opte") & DBM and not writes)
        counts["writable"] += writable
        dirty = bool(writable and (of("opte") & SW_DIRTY or not of("opte") & READ_ONLY))
        counts["dirty"] += dirty
        here[key] = [writable, key in coming, not dirty]
        coming.discard(key)
        out.discard(key)
    elif name == "try_to_unmap_one_ret" and of("ret") & 1:
        key = (values["mm"], of("addr") >> 12)
        counts["unmapped"] += 1
        out.add(key)
        doubtful[tid] = leave(key) and not added.pop(tid, False)
    elif name == "add_to_swap":
        added[tid] = True
    elif name == "swap_writepage":
        counts["unwritten"] -= doubtful.pop(tid, False)
    elif name == "write" and tid in last_mm:
        key = (last_mm[tid], of("addr") >> 12)
        if key in out:
            coming.add(key)
        else:
            write(key)
for key in list(here):
    leave(key)
print("|".join(str(counts[key]) for key in ("ins", "writes", "writable", "dirty", "unmapped", "unwritten")))
