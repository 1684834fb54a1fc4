#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The upper bound for stale entries under arm64-local, worked out the slow way from the text of
"trace-cmd report -N -t" of an arm64 recording with function and TLBI probes (from gentrace, or one of
the examples, whose probes have shorter names), with nothing shared but the rule:

  A CPU may hold a page read-only if it had the mm loaded since the last broadcast that covered the mm
  or the page. An upgrade flushes on its own CPU only; on every other such CPU the entry is stale until
  a broadcast covers it, the CPU faults on it, the mm ends, or the recording does. It can cost a
  spurious fault if the CPU runs the mm in that time. An mm that no fork or exec of the recording made
  is older: each CPU may hold its pages until a broadcast covers them, and may have it loaded until it
  first loads something.

The events are first turned into a list of (time, what, ...); then each upgrade looks at the whole list,
backwards for who may hold the page and forwards for how that ends. Prints
"entries N", "entry_ns N", "max_ns N", "spurious N" (those that could cost a fault, and those that did).
"""
import collections
import re
import sys

from report_text import events, number

PAGE = 4096
FULL_NAMES = {
    "cctx": "check_and_switch_context", "hmf": "handle_mm_fault", "hmf_r": "handle_mm_fault_ret",
    "wp": "do_wp_page", "pcf": "ptep_clear_flush", "psaf_r": "ptep_set_access_flags_ret",
    "tfm": "tlb_finish_mmu", "chp": "change_protection", "cpr": "copy_page_range", "xmm": "exit_mmap",
}
TLBI = re.compile(r"^(.*?)_+((?:r?vaa?l?e1|vmalle1|aside1)(?:is|os)?)_+\d+$")
REMOTE = 0x80  # FAULT_FLAG_REMOTE


def history(lines):
    """The list of what matters, in order. Entries: (ns, kind, cpu, mm, first page, last page)."""
    mm_of = {}      # tid: the mm that it uses, once that is known
    kernel = set()  # tids without an mm of their own
    running = {}    # cpu: tid
    awaited = {}    # cpu: a switch happened, and the next mm switch belongs to the new task
    forking = {}    # tid: (dmm, smm) of the fork under way
    protecting = set()  # tids between change_protection and tlb_finish_mmu
    fault = {}      # tid: [mm, is inside do_wp_page]
    out = []
    born, seen = set(), set()  # mms made in the recording; all that were met
    last_ns = 0

    def put(event, kind, mm=None, first=0, last=0, cpu=None):
        out.append((event.ns, kind, event.cpu if cpu is None else cpu, mm, first, last))

    def runs(event, tid):
        running[event.cpu] = tid
        if tid in mm_of:
            put(event, "load", mm_of[tid])
        else:
            put(event, "lazy")

    def uses(event, tid, mm):
        known = mm_of.get(tid) == mm
        if tid in mm_of and not known and mm not in seen:
            born.add(mm)
        seen.add(mm)
        mm_of[tid] = mm
        if not known and running.get(event.cpu) == tid:
            put(event, "load", mm)

    for event in events(lines):
        last_ns = event.ns
        name, tid, cpu, f = FULL_NAMES.get(event.name, event.name), event.pid, event.cpu, event.fields
        tlbi = TLBI.match(name)
        if name == "check_and_switch_context":
            if awaited.pop(cpu, False):
                tid = running[cpu]
            uses(event, tid, f["mm"])
            continue
        if not tlbi:
            # Whoever writes an event runs, except right after a switch.
            if running.get(cpu) != tid:
                runs(event, tid)
            awaited.pop(cpu, None)
        if name == "print" and "tlbr.tasks 1" in event.text:
            for line in event.text.split("\n")[1:]:
                task, _, mm, kind, _ = line.split()
                if kind == "k":
                    kernel.add(int(task))
                elif int(task) not in mm_of:
                    mm_of[int(task)] = "snapshot-" + mm
                    for where, current in running.items():
                        if current == int(task):
                            put(event, "load", mm_of[current], cpu=where)
        elif name == "sched_switch":
            following = int(f["next_pid"])
            runs(event, following)
            awaited[cpu] = True
        elif name == "copy_page_range":
            old = mm_of.get(tid)
            if old != f["smm"]:
                # A task that the snapshot introduced shows the pointer of its mm.
                if old and old.startswith("snapshot-"):
                    for other in mm_of:
                        if mm_of[other] == old:
                            mm_of[other] = f["smm"]
                    out[:] = [e[:3] + (f["smm"],) + e[4:] if e[3] == old else e for e in out]
                else:
                    uses(event, tid, f["smm"])
            forking[tid] = f["dmm"]
        elif tlbi and tlbi.group(1) == "copy_mm":
            put(event, "broadcast-mm", mm_of[tid])
        elif name == "task_newtask":
            child = int(f["pid"])
            if tid not in mm_of:
                pass  # a kernel thread makes another one
            elif number("0x" + f["clone_flags"]) & 0x100:  # CLONE_VM
                mm_of[child] = mm_of[tid]
            else:
                mm_of[child] = forking.pop(tid)
                born.add(mm_of[child])
                seen.add(mm_of[child])
        elif name == "sched_process_exit":
            mm_of.pop(tid, None)
            kernel.add(tid)
            put(event, "lazy")
        elif name == "handle_mm_fault":
            if not number(f["flags"]) & REMOTE:
                uses(event, tid, f["mm"])
            fault[tid] = [f["mm"], False]
        elif name == "do_wp_page":
            fault[tid][1] = True
        elif name == "ptep_clear_flush":
            page = number(f["addr"]) // PAGE
            if fault[tid][1] and number(f["pte"]) & 1:
                put(event, "broadcast-pages", f["mm"], page, page)
        elif name == "ptep_set_access_flags_ret":
            page = number(f["addr"]) // PAGE
            if f["dirty"] == "1" and f["ret"] == "1":
                put(event, "upgrade", f["mm"], page, page)
            elif f["dirty"] == "1" and not fault[tid][1]:
                put(event, "spurious", f["mm"], page, page)
        elif name == "tlb_finish_mmu":
            bits = number(f["bits"])
            first, last = number(f["start"]) // PAGE, (number(f["end"]) - 1) // PAGE
            if bits & 1:
                put(event, "end", f["mm"])
            elif last >= first and bits & 0xfc:
                put(event, "broadcast-pages", f["mm"], first, last)
        elif name == "change_protection":
            # Flushed only if a PTE of it was present; resolved in stale().
            put(event, "protect", f["mm"], number(f["start"]) // PAGE, (number(f["end"]) - 1) // PAGE)
            protecting.add(tid)
        elif tlbi and tlbi.group(1) == "tlb_flush" and tid not in protecting:
            # The leaves of an unmap: only the instruction shows them.
            op, operation = number(f["op"]), tlbi.group(2)
            if operation == "rvale1is":
                first = op & (1 << 37) - 1
                put(event, "broadcast-pages", mm_of[tid], first,
                    first + ((op >> 39 & 31) + 1 << 5 * (op >> 44 & 3) + 1) - 1)
            elif operation == "vale1is":
                put(event, "broadcast-pages", mm_of[tid], op & (1 << 44) - 1, op & (1 << 44) - 1)
        if name in ("tlb_finish_mmu", "handle_mm_fault"):
            protecting.discard(tid)
        if name == "handle_mm_fault_ret":
            put(event, "mapped", fault[tid][0], number(f["addr"]) // PAGE, number(f["addr"]) // PAGE)
    return out, last_ns, born


def covers(entry, mm, page):
    """Whether a flush or an end takes (mm, page) from every CPU."""
    _, kind, _, of, first, last = entry
    if of != mm:
        return False
    if kind in ("broadcast-mm", "end"):
        return True
    return kind in ("broadcast-pages", "protect-flushed") and first <= page <= last


def resolve_protects(out):
    """mprotect flushes where a page of the range is there; an unmap takes it away, a fault brings it."""
    there = set()
    for i, (ns, kind, cpu, mm, first, last) in enumerate(out):
        if kind == "mapped" or kind == "upgrade":
            there.add((mm, first))
        elif kind == "broadcast-pages" and last > first or kind == "unmap":
            there -= {(m, p) for m, p in there if m == mm and first <= p <= last}
        elif kind == "end":
            there -= {(m, p) for m, p in there if m == mm}
        elif kind == "protect":
            if any(m == mm and first <= p <= last for m, p in there):
                out[i] = (ns, "protect-flushed", cpu, mm, first, last)


def hidden(out, at):
    """CPUs that have loaded nothing before entry AT."""
    return {entry[2] for entry in out} - {entry[2] for entry in out[:at] if entry[1] == "load"}


def holders(out, at, mm, page, older):
    """CPUs that had MM loaded since the last flush of PAGE before entry AT, or still have it."""
    since = 0
    for i in range(at - 1, -1, -1):
        if covers(out[i], mm, page):
            since = i + 1
            break
    loaded = {}
    for i in range(since):
        _, kind, cpu, of, _, _ = out[i]
        if kind == "load":
            loaded[cpu] = of
        elif kind == "end":
            loaded = {c: m for c, m in loaded.items() if m != of}
    found = {cpu for cpu, of in loaded.items() if of == mm}
    if older:
        found |= hidden(out, since)
    for i in range(since, at):
        if out[i][1] == "load" and out[i][3] == mm:
            found.add(out[i][2])
    return found


def stale(out, end_ns, born):
    # What concerns one page: loads and ends, what covers ranges, and its own events.
    general, own = [], collections.defaultdict(list)
    for i, (_, kind, _, mm, first, last) in enumerate(out):
        if kind in ("upgrade", "spurious") or kind == "broadcast-pages" and first == last:
            own[mm, first].append(i)
        elif kind not in ("mapped", "protect"):
            general.append(i)
    entries = entry_ns = max_ns = could = explained = 0
    for mm, page in own:
        view = [out[i] for i in sorted(general + own[mm, page])]
        for at, (ns, kind, cpu, _, _, _) in enumerate(view):
            if kind != "upgrade":
                continue
            for other in holders(view, at, mm, page, mm not in born) - {cpu}:
                over, ran, refault = how_it_ends(view, at, other, mm, page, end_ns, mm not in born)
                entries += 1
                entry_ns += over - ns
                max_ns = max(max_ns, over - ns)
                could += ran and not refault
                explained += refault
    did = sum(1 for entry in out if entry[1] == "spurious")
    return entries, entry_ns, max_ns, could + did, explained


def how_it_ends(view, at, cpu, mm, page, end_ns, older):
    """When the stale entry of CPU ends, whether the CPU ran the mm by then, whether it faulted."""
    ran = older and cpu in hidden(view, at)
    for entry in view[:at]:
        if entry[2] == cpu and entry[1] in ("load", "lazy"):
            ran = entry[1] == "load" and entry[3] == mm
        elif entry[1] == "end" and entry[3] == mm:
            ran = False
    for entry in view[at + 1:]:
        ns, what, where, of, first, _ = entry
        if covers(entry, mm, page):
            return ns, ran, False
        if where == cpu and what == "load" and of == mm:
            ran = True
        if where == cpu and what in ("spurious", "upgrade") and (of, first) == (mm, page):
            return ns, ran, what == "spurious"
    return end_ns, ran, False


def main():
    out, end_ns, born = history(sys.stdin)
    resolve_protects(out)
    entries, entry_ns, max_ns, spurious, explained = stale(out, end_ns, born)
    print("entries", entries)
    print("entry_ns", entry_ns)
    print("max_ns", max_ns)
    print("spurious", spurious)
    print("explained", explained)


if __name__ == "__main__":
    main()
