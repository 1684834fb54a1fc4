# SPDX-License-Identifier: GPL-2.0-or-later
"""What "trace-cmd report -t" prints, one event at a time. Shares nothing with the program under test."""
import collections
import re

LINE = re.compile(r"^ *(.*)-(\d+) +\[(\d+)\] +(\d+)\.(\d{9}): ([^\s:]+): *(.*)$")
FIELD = re.compile(r"(\w+)=(\S+)")

Event = collections.namedtuple("Event", "ns cpu pid name fields text")


def number(text):
    """A field's value: decimal, or hexadecimal with 0x."""
    return int(text, 16) if text.startswith("0x") else int(text)


def events(lines):
    """Yields the events; lines that are none (of a print with several lines) belong to the one before."""
    last = None
    for line in lines:
        match = LINE.match(line.rstrip("\n"))
        if not match:
            if last:
                last = last._replace(text=last.text + "\n" + line.rstrip("\n"))
            continue
        if last:
            yield last
        _, pid, cpu, seconds, ns, name, text = match.groups()
        last = Event(int(seconds + ns), int(cpu), int(pid), name, dict(FIELD.findall(text)), text)
    if last:
        yield last
