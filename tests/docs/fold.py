#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Long commands in pages: "$ COMMAND \\" goes on in the next line, as in a shell.

usage: fold.py join PAGE > JOINED           every command in one line, as console.py wants them
       fold.py restore PAGE JOINED          writes JOINED to PAGE, with PAGE's own lines for the commands
"""
import sys


def parts(lines):
    """Yields (command lines or None, line): a command with its continuation, or any other line."""
    inside, at = False, 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if inside and line.startswith("$ "):
            command = [line]
            while command[-1].endswith("\\") and at < len(lines):
                command.append(lines[at])
                at += 1
            yield command, None
            continue
        inside = line == "```console" if not inside else line != "```"
        yield None, line


def read(path):
    return open(path, encoding="utf-8").read().splitlines()


mode, page = sys.argv[1:3]
if mode == "join":
    for command, line in parts(read(page)):
        print("".join(l[:-1] for l in command[:-1]) + command[-1] if command else line)
elif mode == "restore":
    own = [command for command, _ in parts(read(page)) if command]
    out = []
    for command, line in parts(read(sys.argv[3])):
        out += own.pop(0) if command else [line]
    open(page, "w", encoding="utf-8").write("\n".join(out) + "\n")
