#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mutants: what the tests of the reader notice. One number or comparison of a decoder is changed at a time;
the tests that matter run until one of them fails. What none of them notices is listed: another test is
wanted, or the change makes no difference (docs/robustness.md says which those are).

usage: mutants.py [--every N] [--list] [FILE...]

  --every N   only every Nth change (default 1: all, hours)
  --list      the changes, without trying them
  FILE        sources (default: those that take recordings apart)

Works in a copy of the project in build-mutants; needs what `make check` needs.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

FILES = ["schema/format.c", "replay/decode.c", "replay/decode.h", "replay/page.c", "replay/page.h", "replay/pages.c",
         "replay/formats.c", "replay/stream.c", "replay/source.c", "replay/container.c", "replay/trace.c"]
# The quickest first.
UNITS = ["format", "pages", "trace_pages", "snapshot"]
TESTS = ["replay/lost", "replay/odd-traces", "replay/swap", "replay/truth", "formats/trace-truncated",
         "formats/trace-generated", "replay/bad-input", "replay/figures", "formats/trace-compare",
         "formats/mutations"]
TOOLS = ["gentrace", "trace-dump", "trace-count", "trace-fields", "tracecmd-dump", "tracecmd-count", "mutate"]
PLACE = "build-mutants"
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|^[ \t]*#[^\n]*'
                   r'|\b(?:0x[0-9a-fA-F]+|\d+)(?:[uUlL]*)\b|<=|>=|==|!=|->|<<|>>|(?<=\s)[<>](?=\s)', re.S | re.M)
FLIPS = {"<=": "<", ">=": ">", "<": "<=", ">": ">=", "==": "!=", "!=": "==", "<<": ">>", ">>": "<<"}


def changes(path):
    """(offset, old, new) of each change of a source."""
    with open(path) as file:
        text = file.read()
    for match in TOKEN.finditer(text):
        old = match[0]
        if old in FLIPS:
            yield match.start(), old, FLIPS[old]
        elif old[0].isdigit():
            digits = old.rstrip("uUlL")
            new = int(digits, 0) + 1
            yield match.start(), old, (hex(new) if "x" in digits else str(new)) + old[len(digits):]


def runs(log, *command, seconds=300):
    done = subprocess.run(["timeout", "-k", "5", str(seconds), *command], cwd=PLACE, stdout=log, stderr=log,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def noticed_by(log):
    """Who notices what is in PLACE now; None: nobody."""
    if not runs(log, "make", "-s", "-j2", "CFLAGS=-O1", *[f"build/tests/unit/{unit}" for unit in UNITS]):
        return "the compiler"
    for unit in UNITS:
        if not runs(log, f"build/tests/unit/{unit}", seconds=30):
            return f"unit/{unit}"
    if not runs(log, "make", "-s", "-j2", "CFLAGS=-O1", "all", *[f"build/tests/tools/{tool}" for tool in TOOLS]):
        return "the compiler"
    for test in TESTS:
        if not runs(log, f"tests/{test}.sh"):
            return test
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("files", nargs="*", default=FILES)
    options = parser.parse_args()
    todo = [(path, *change) for path in options.files for change in changes(path)][options.first::options.every]
    if not options.list:
        shutil.rmtree(PLACE, ignore_errors=True)
        os.makedirs(PLACE)
        subprocess.run("git archive HEAD | tar -x -C " + PLACE, shell=True, check=True)
        for path in FILES:
            shutil.copy(path, f"{PLACE}/{path}")
        os.environ["SHARED"] = os.path.abspath("../shared")
    by_test, survivors = {}, []
    for number, (path, at, old, new) in enumerate(todo):
        with open(path) as file:
            text = file.read()
        line = text.count("\n", 0, at) + 1
        what = f"{path}:{line}: {old} -> {new}: {text.splitlines()[line - 1].strip()}"
        if options.list:
            print(what)
            continue
        with open(f"{PLACE}/{path}", "w") as file:
            file.write(text[:at] + new + text[at + len(old):])
        start = time.time()
        with open(f"{PLACE}.log", "w") as log:
            found = noticed_by(log)
        by_test[found] = by_test.get(found, 0) + 1
        if not found:
            survivors.append(what)
        print(f"{number + 1} of {len(todo)}: {found or 'NOBODY'} ({time.time() - start:.0f} s): {what}", flush=True)
        shutil.copy(path, f"{PLACE}/{path}")
    if options.list:
        return
    print(f"\n{len(todo)} changes, {len(todo) - len(survivors)} noticed")
    for test, n in sorted(by_test.items(), key=lambda item: -item[1]):
        print(f"{n:6} {test or 'nobody'}")
    print("\n".join(survivors))


main()
