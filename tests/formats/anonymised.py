#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""anonymised.py TRACE FOLDER: what --anonymise=shift does to a recording, and what it must not do.

Converts TRACE to version 6, moves the addresses of a copy, and compares the two by sources that know
nothing of the moving: trace-cmd's reading of every event, and what tlbreplay makes of both.
"""
import collections
import os
import re
import sqlite3
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
ADDRESS = re.compile(r"\b(addr|address|start|end|ip|upc|raddr)=(0x)?([0-9a-f]+)(?![\w.+])")
MM = re.compile(r"\b(mm|dmm|tmm)=(0x)?([0-9a-f]+)")
SPACE = 1 << 48
GIB = 1 << 30
# Columns that hold an address or a name, or say both in words.
HIDDEN = re.compile(r"page(?!s)|addr|comm|hash|witness|^first$|^last$|^start$|^end$|pc$")
POLICIES = ["arm64-broadcast", "arm64-local", "x86", "sharers", "none"]


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors="replace").stdout


def report(path):
    return run("trace-cmd", "report", path).splitlines()


def compare_events(before, after):
    """Every address is moved, all of one mm by the same distance. Returns the distances by mm."""
    distances = collections.defaultdict(set)
    moved = kept = 0
    if len(before) != len(after):
        sys.exit(f"{len(before)} lines became {len(after)}")
    for old, new in zip(before, after):
        mm = MM.search(old)
        after_of = {m[1]: m[3] for m in ADDRESS.finditer(new)}
        for a in ADDRESS.finditer(old):  # not those of the kernel that have a name
            x, y = int(a[3], 16), int(after_of.get(a[1], "0"), 16)
            if not x or x >> 55:
                kept += x == y
                if x != y:
                    sys.exit(f"an address of the kernel was moved: {old}")
                continue
            moved += 1
            if x == y or (y - x) % GIB:
                sys.exit(f"not moved by whole GiB: {old} -> {new}")
            if mm:
                distances[mm[3]].add((y - x) % SPACE)
        # Times, tasks and events stay: what is before the event's own fields.
        head = r"\s(\[\d+\].*?: \w+:)"
        a, b = re.search(head, old), re.search(head, new)
        if a and b and a[1] != b[1]:
            sys.exit(f"changed: {old} -> {new}")
    print(f"  {moved} addresses moved, {kept} of nobody or the kernel kept")
    return distances, moved


def compare_replays(folder):
    """All that tlbreplay says but names and addresses is the same."""
    databases = []
    for name in ("plain", "moved"):
        os.makedirs(f"{folder}/{name}.d", exist_ok=True)
        os.replace(f"{folder}/{name}.dat", f"{folder}/{name}.d/t.dat")
        words = [f"{BUILD}/tlbreplay", "-o", f"{folder}/{name}.db"]
        for policy in POLICIES:
            words += ["-p", policy]
        run(*words, f"{folder}/{name}.d/t.dat")
        databases.append(sqlite3.connect(f"{folder}/{name}.db"))
    plain, moved = databases
    rows = 0
    for (view,) in plain.execute("SELECT name FROM sqlite_master WHERE type IN ('view', 'table') "
                                 "AND name NOT LIKE 'sqlite%'").fetchall():
        columns = [f'"{r[1]}"' for r in plain.execute(f"PRAGMA table_info({view})")
                   if not HIDDEN.search(r[1])]
        select = f"SELECT {', '.join(columns)} FROM {view}" if columns else None
        a, b = (collections.Counter(d.execute(select)) if select else None for d in databases)
        if a != b:
            sys.exit(f"{view}: {list((a - b).items())[:3]} became {list((b - a).items())[:3]}")
        rows += sum(a.values()) if a else 0
    print(f"  {rows} rows of the replay the same")


def main(trace, folder):
    print(os.path.basename(trace))
    run("trace-cmd", "convert", "-i", trace, "-o", f"{folder}/plain.dat", "--file-version", "6")
    with open(f"{folder}/plain.dat", "rb") as a, open(f"{folder}/moved.dat", "wb") as b:
        b.write(a.read())
    print("  " + run(f"{BUILD}/tests/tools/anonymise", f"{folder}/moved.dat", "shift").strip())
    before = report(f"{folder}/plain.dat")
    distances, moved = compare_events(before, report(f"{folder}/moved.dat"))
    if moved < 100:
        sys.exit("too few addresses to mean anything")
    # An mm's place may be taken by another mm in time; most have one distance.
    several = sum(len(d) > 1 for d in distances.values())
    all_distances = {d for of_mm in distances.values() for d in of_mm}
    if distances:
        print(f"  {len(distances)} mms, {len(all_distances)} distances, {several} mms with several")
        if len(all_distances) < 2:
            sys.exit("all address spaces were moved by the same distance")
    # fork: the child's distance is its parent's.
    for line in before:
        copy = re.search(r"dmm=(?:0x)?([0-9a-f]+) smm=(?:0x)?([0-9a-f]+)", line)
        if copy and distances.get(copy[1]) and distances.get(copy[2]) and \
                not distances[copy[1]] & distances[copy[2]]:
            sys.exit(f"a fork's child was moved by another distance: {line}")
    compare_replays(folder)


main(sys.argv[1], sys.argv[2])
