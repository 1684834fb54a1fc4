#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the commands of a page's ```console blocks and compares what they print with the page.

usage: console.py [--update] PAGE...

A line "$ COMMAND" begins a command; the lines up to the next one or the end of the block are its
output. Commands run in the project's root, one after the other, with BUILD in place of build/.
--update writes what they printed into the page; read the difference before you commit it.
"""
import os
import re
import subprocess
import sys

update = sys.argv[1:2] == ["--update"]
build = os.environ.get("BUILD", "build")
failed = ran = 0


def run(command):
    command = re.sub(r"(^|[ |])build/", r"\g<1>%s/" % build, command)
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, env={**os.environ, "COLUMNS": "80"})
    if done.returncode:
        sys.exit("status %d: %s\n%s" % (done.returncode, command, done.stderr))
    return [line.rstrip() for line in done.stdout.splitlines()]


for page in sys.argv[1 + update:]:
    out, command, shown, inside = [], None, [], False

    def finish():
        global failed, ran
        if command is None:
            return
        got = run(command)
        ran += 1
        if update:
            out.extend(got)
            return
        out.extend(shown)
        if [line.rstrip() for line in shown] != got:
            failed += 1
            print("%s: %s\n--- page\n%s\n--- printed\n%s" %
                  (page, command, "\n".join(shown), "\n".join(got)))

    for line in open(page, encoding="utf-8").read().splitlines():
        if inside and (line.startswith("$ ") or line == "```"):
            finish()
            command, shown = None, []
            inside = line != "```"
            out.append(line)
            if inside:
                command = line[2:]
        elif inside:
            shown.append(line)
        else:
            inside = line == "```console"
            out.append(line)
    if update:
        open(page, "w", encoding="utf-8").write("\n".join(out) + "\n")
print("%d commands ran, %d differ" % (ran, failed))
sys.exit(failed > 0 or ran == 0)
