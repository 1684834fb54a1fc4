#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""coverage: which lines ran, by file and folder. `make coverage` builds, runs the tests and calls this.

usage: coverage.py [--uncovered] BUILD FOLDER...

BUILD holds what gcc --coverage wrote. A line counts as run if any program or test ran it; lines that no
program was built from do not count. --uncovered lists the lines of each file that never ran.
"""
import collections
import json
import os
import subprocess
import sys


def counts(build):
    """How often each line of each file ran: {file: {line: count}}."""
    lines = collections.defaultdict(dict)
    notes = [os.path.join(folder, name) for folder, _, names in os.walk(build)
             for name in names if name.endswith(".gcno")]
    for first in range(0, len(notes), 100):
        done = subprocess.run(["gcov", "--json-format", "--stdout"] + notes[first:first + 100],
                              capture_output=True, text=True, check=True)
        for text in done.stdout.splitlines():
            for file in json.loads(text)["files"]:
                seen = lines[os.path.normpath(file["file"])]
                for line in file["lines"]:
                    number = line["line_number"]
                    seen[number] = max(seen.get(number, 0), line["count"])
    return lines


def ranges(numbers):
    """1 2 3 7 as "1-3 7"."""
    out = []
    for number in sorted(numbers):
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def main():
    uncovered = sys.argv[1:2] == ["--uncovered"]
    build, folders = sys.argv[1 + uncovered], sys.argv[2 + uncovered:]
    lines = counts(build)
    for folder in folders:
        ran = total = 0
        for name in sorted(lines):
            if not name.startswith(folder + "/"):
                continue
            here = sum(1 for count in lines[name].values() if count)
            ran, total = ran + here, total + len(lines[name])
            print(f"{name:40} {here:5} of {len(lines[name]):5}  {100 * here / len(lines[name]):5.1f} %")
            if uncovered and here < len(lines[name]):
                print("    " + ranges(n for n, count in lines[name].items() if not count))
        print(f"{folder + '/':40} {ran:5} of {total:5}  {100 * ran / max(total, 1):5.1f} %\n")


main()
