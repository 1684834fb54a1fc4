#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
tests/bench.py: what reading and replaying recordings costs ("make bench", BENCH="options").

Beside each other, on the same recordings, run tlbreplay and its reader, the programs that one would
use otherwise (libtracecmd counting events, trace-cmd report), and the limit: adding up all bytes of
the file. The recordings are made by gentrace, in a folder under TMPDIR, one after the other.

All programs run in turn, round after round, so that whatever else the machine does hits them alike.
Shown is the median CPU time (user and system) per event, and the median of the ratios within a
round; where it says so, the time that passed. trace-cmd report is far slower than the rest, so it
reads a smaller recording of the same generator, and once. Nothing here passes or fails.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD", "build")
TOOLS = BUILD + "/tests/tools/"
REPLAY = BUILD + "/tlbreplay"
THREE = ["-p", "arm64-broadcast", "-p", "arm64-local", "-p", "x86"]


def say(text):
    print("bench: " + text, file=sys.stderr)


def count(text):
    """A number with k or M behind it."""
    units = {"k": 1000, "M": 1000000}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def short(n):
    return "%d M" % (n // 1000000) if n >= 1000000 else "%d k" % (n // 1000)


class Run:
    def __init__(self, words):
        self.cpu, self.rss, self.status, self.wall = [int(w) for w in words]
        self.rss /= 1024


class Bench:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.db = folder + "/results.db"
        self.before = ["chrt", "-f", "1"] if options.realtime else []
        self.events = {}

    def make(self, name, events, *options):
        say("making a recording of %s events %s" % (short(events), " ".join(options)))
        path = "%s/%s.dat" % (self.folder, name)
        facts = subprocess.run([TOOLS + "gentrace", "--events", str(events), *options, path],
                               check=True, stdout=subprocess.PIPE, text=True).stdout
        self.events[path] = int(re.search(r"\bevents=(\d+)", facts).group(1))
        return path

    def measure(self, command):
        out = subprocess.run([TOOLS + "measure", *self.before, *command], check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        run = Run(out.split())
        if run.status not in (0, 3):
            sys.exit("bench: %s ended with status %d" % (" ".join(command), run.status))
        return run

    def in_turn(self, commands, rounds=None):
        """{name: command} -> {name: [a Run per round]}"""
        runs = {name: [] for name in commands}
        for _ in range(rounds or self.options.rounds):
            for name, command in commands.items():
                runs[name].append(self.measure(command))
        return runs

    def replay(self, path, *options):
        return [REPLAY, *options, "-o", self.db, path]


def ratio(above, below, what="cpu"):
    return statistics.median(getattr(a, what) / getattr(b, what) for a, b in zip(above, below))


def per_event(runs, events, what="cpu"):
    return statistics.median(getattr(r, what) for r in runs) / events


def peak(runs):
    return max(r.rss for r in runs)


def table(head, rows):
    """In Markdown, which reads as text too."""
    widths = [max(len(str(r[i])) for r in [head] + rows) for i in range(len(head))]
    lines = []
    for row in [head] + rows:
        lines.append("| " + " | ".join(str(c).ljust(w) if not i else str(c).rjust(w)
                                       for i, (c, w) in enumerate(zip(row, widths))) + " |")
    lines.insert(1, "|" + "|".join("-" * (w + 2) if not i else "-" * (w + 1) + ":"
                                   for i, w in enumerate(widths)) + "|")
    return "\n".join(lines) + "\n"


def peers(b):
    """Ours, theirs and the limit."""
    o = b.options
    rows, drawn = [], []
    rounds_text = "%d rounds" % o.rounds
    facts = []
    for compression in ("none", "zstd"):
        path = b.make("peers", o.events, "--compression", compression)
        small = b.make("small", o.report_events, "--compression", compression)
        size = os.path.getsize(path)
        unpack = ["--unpack"] if compression == "zstd" else []
        commands = {
            "limit": [TOOLS + "bytesum", *unpack, path],
            "reader": [TOOLS + "trace-count", path],
            "fields": [TOOLS + "trace-fields", path],
            "replay": b.replay(path, "-j", "1", *THREE),
            "libtracecmd": [TOOLS + "tracecmd-count", path],
        }
        say("%s: %s" % (compression, rounds_text))
        runs = b.in_turn(commands)
        report = b.measure(["trace-cmd", "report", small]) if shutil.which("trace-cmd") else None
        events = b.events[path]
        facts.append("%s: %d events, %.0f MiB" % (compression, events, size / 2**20))
        titles = {
            "limit": "the limit: adding up all bytes",
            "reader": "our reader: merged, time, pid and kind",
            "fields": "our reader: merged, wanted fields decoded",
            "replay": "tlbreplay, three policies, one thread",
            "libtracecmd": "libtracecmd, counting events",
        }
        for name, title in titles.items():
            times = report and (report.cpu / b.events[small]) / per_event(runs[name], events)
            rows.append([title, compression, "%.1f" % per_event(runs[name], events),
                         "%.1f" % ratio(runs[name], runs["limit"]),
                         "%.1f" % ratio(runs["libtracecmd"], runs[name]),
                         "%.0f" % times if times else "-", "%.0f" % peak(runs[name])])
            drawn.append((compression, name, per_event(runs[name], events)))
        if report:
            each = report.cpu / b.events[small]
            rows.append(["trace-cmd report > /dev/null", compression, "%.0f" % each,
                         "%.0f" % (each / per_event(runs["limit"], events)), "-", "1",
                         "%.0f" % report.rss])
            drawn.append((compression, "report", each))
        os.unlink(small)
    text = "### Beside others\n\n"
    text += table(["program", "file", "ns/event", "x limit", "libtracecmd takes x",
                   "report takes x", "MiB"], rows)
    text += "\nThe recordings: %s, on 4 CPUs. " % "; ".join(facts)
    text += "Unpacking the zstd file and adding up what it holds is its limit.\n"
    return text, drawn


def growth(b):
    """Cost and memory by the length of the recording."""
    rows, drawn = [], []
    sizes = [count(s) for s in b.options.sizes.split(",")]
    if b.options.large:
        sizes.append(100000000)
    for size in sizes:
        path = b.make("growth", size)
        runs = b.in_turn({"reader": [TOOLS + "trace-count", path],
                          "replay": b.replay(path, "-j", "1", *THREE)},
                         max(1, min(b.options.rounds, 40000000 // size)))
        share = subprocess.run([*b.before, TOOLS + "sqlite-share", path, b.db], check=True,
                               stdout=subprocess.PIPE, text=True).stdout.split()
        os.unlink(path)
        reader, replay = [per_event(runs[k], size) for k in ("reader", "replay")]
        rows.append([short(size), "%.1f" % reader, "%.1f" % replay, "%.0f" % peak(runs["reader"]),
                     "%.0f" % peak(runs["replay"]),
                     "%.0f %%" % (100 * float(share[1]) / float(share[0]))])
        drawn.append((size, reader, replay))
    text = "### By length\n\n"
    text += table(["events", "reader ns/event", "replay ns/event", "reader MiB", "replay MiB",
                   "of it SQLite"], rows)
    text += ("\nThree policies, one thread, 4 CPUs. SQLite: the share of the replay's CPU time that "
             "passes inside of it, the\nclock's own cost included. What it stores is bounded, so its "
             "share falls.\n")
    return text, drawn


def by_cpus(b):
    rows, drawn = [], []
    for cpus in [int(c) for c in b.options.cpus.split(",")]:
        path = b.make("cpus", b.options.cpu_events, "--cpus", str(cpus))
        events = b.events[path]
        commands = {"reader": [TOOLS + "trace-count", path],
                    "replay": b.replay(path, "-j", "1", *THREE),
                    "libtracecmd": [TOOLS + "tracecmd-count", path]}
        runs = b.in_turn(commands, min(3, b.options.rounds))
        os.unlink(path)
        each = {k: per_event(r, events) for k, r in runs.items()}
        rows.append([cpus] + ["%.1f" % each[k] for k in commands] +
                    ["%.1f" % ratio(runs["libtracecmd"], runs["reader"]),
                     "%.0f" % peak(runs["replay"])])
        drawn.append((cpus, each["reader"], each["replay"], each["libtracecmd"]))
    text = "### By CPUs\n\n"
    text += table(["CPUs of the recording", "reader ns/event", "replay ns/event",
                   "libtracecmd ns/event", "libtracecmd / reader", "replay MiB"], rows)
    text += "\n%s events, three policies, one thread.\n" % short(b.options.cpu_events)
    return text, drawn


def by_policies(b):
    names = [line.split()[0] for line in subprocess.run(
        [REPLAY, "--list-policies"], check=True, stdout=subprocess.PIPE,
        text=True).stdout.splitlines()]
    path = b.make("policies", b.options.cpu_events)
    commands = {}
    for chosen in (names[:1], names[:3], names):
        options = [w for name in chosen for w in ("-p", name)]
        commands[len(chosen)] = b.replay(path, "-j", "1", *options)
    runs = b.in_turn(commands, min(3, b.options.rounds))
    rows = [[n, "%.1f" % per_event(r, b.events[path]), "%.2f" % ratio(r, runs[1]),
             "%.0f" % peak(r)] for n, r in runs.items()]
    text = "### By policies\n\n" + table(["policies", "ns/event", "x one", "MiB"], rows)
    text += "\n%s events, one thread.\n" % short(b.options.cpu_events)
    return text, path


def by_threads(b, path):
    rows = []
    zstd = b.make("threads", b.options.events, "--compression", "zstd")
    plain = b.make("plain", b.options.events)
    names = subprocess.run([REPLAY, "--list-policies"], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    every = [w for line in names for w in ("-p", line.split()[0])]
    threads = sorted({1, 2, len(os.sched_getaffinity(0))})
    for title, file, options in (("none", plain, THREE), ("zstd", zstd, THREE),
                                 ("none, all policies", path, every)):
        runs = b.in_turn({n: b.replay(file, "-j", str(n), *options) for n in threads})
        for n in threads:
            rows.append([title, n, "%.1f" % per_event(runs[n], b.events[file], "wall"),
                         "%.1f" % per_event(runs[n], b.events[file]),
                         "%.2f" % ratio(runs[1], runs[n], "wall"), "%.0f" % peak(runs[n])])
    os.unlink(zstd)
    os.unlink(plain)
    text = "### By threads\n\n"
    text += table(["file", "-j", "ns that pass/event", "CPU ns/event", "times as fast", "MiB"], rows)
    return text


def opening(b):
    rows = []
    files = sorted(b.options.open.split(",")) if b.options.open else sorted(
        "examples/" + f for f in os.listdir("examples") if f.endswith(".dat"))
    for path in files:
        ours, theirs = [int(subprocess.run([TOOLS + "open-time", who, path], check=True,
                                           stdout=subprocess.PIPE, text=True).stdout) / 1e6
                        for who in ("ours", "libtracecmd")]
        rows.append([os.path.basename(path), "%.2f" % ours, "%.1f" % theirs,
                     "%.0f" % (theirs / ours)])
    return "### Opening\n\n" + table(["recording", "ours, ms", "libtracecmd, ms", "times as fast"],
                                     rows)


def machine():
    model = os.uname().machine
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
    cpus = len(os.sched_getaffinity(0))
    return "%s, %d CPU%s, Linux %s" % (model, cpus, "s"[: cpus > 1],
                                       os.uname().release.split("-")[0])


def draw(path, lengths, cpus, against):
    """A picture: ns per event by length, by CPUs, and beside the others."""
    data = path + ".data"
    titles = {"limit": "limit", "reader": "reader", "fields": "with fields", "replay": "tlbreplay",
              "libtracecmd": "libtracecmd", "report": "trace-cmd report"}
    with open(data, "w") as f:
        for rows in (lengths, cpus):
            f.write("".join(" ".join(str(v) for v in row) + "\n" for row in rows) + "\n\n")
        for compression in ("none", "zstd"):
            for kind, name, each in against:
                if kind == compression:
                    f.write('"%s" %f\n' % (titles[name], each))
            f.write("\n\n")
    script = """
set terminal svg size 900,640 font 'sans-serif,12' background '#ffffff'
set output '%(path)s'
set multiplot
set grid ytics lc rgb '#dddddd'
set border 3
set tics nomirror
set style data linespoints
set origin 0,0.5; set size 0.5,0.5
set title 'CPU time by length of the recording'
set xlabel 'events'; set ylabel 'ns per event'; set yrange [0:]
set logscale x; set format x '%%.0s %%c'
set key center right
plot '%(data)s' index 0 using 1:3 title 'tlbreplay, 3 policies' lw 2 pt 7 lc rgb '#1b6ca8', \\
     '' index 0 using 1:2 title 'reader alone' lw 2 pt 7 lc rgb '#5aa469'
set origin 0.5,0.5; set key top left
set title 'CPU time by CPUs of the recording'
set xlabel 'CPUs'; set format x '%%g'; set logscale x 2
plot '%(data)s' index 1 using 1:4 title 'libtracecmd, counting' lw 2 pt 7 lc rgb '#b5651d', \\
     '' index 1 using 1:3 title 'tlbreplay, 3 policies' lw 2 pt 7 lc rgb '#1b6ca8', \\
     '' index 1 using 1:2 title 'reader alone' lw 2 pt 7 lc rgb '#5aa469'
unset logscale x
set origin 0,0; set size 1,0.5
set title 'CPU time beside other programs (logarithmic)'
set logscale y; set yrange [1:*]
set style data histograms; set style fill solid 0.9; set boxwidth 0.9
unset xlabel; set format x '%%s'
plot '%(data)s' index 2 using 2:xtic(1) title 'plain' lc rgb '#1b6ca8', \\
     '' index 3 using 2 title 'zstd' lc rgb '#9fc5e8'
unset multiplot
""" % {"path": path, "data": data}
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
    os.unlink(data)


def main():
    p = argparse.ArgumentParser(prog="make bench BENCH=", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--events", type=count, default=5000000, help="beside others [5M]")
    p.add_argument("--report-events", type=count, default=200000, help="for trace-cmd report [200k]")
    p.add_argument("--sizes", default="1M,10M", help="by length [1M,10M]")
    p.add_argument("--large", action="store_true", help="100M, too: 4.6 GB of disk")
    p.add_argument("--cpus", default="2,4,16,64,256")
    p.add_argument("--cpu-events", type=count, default=2000000, help="by CPUs and policies [2M]")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--open", help="recordings to open, by commas [examples/*.dat]")
    p.add_argument("--realtime", action="store_true",
                   help="run everything by chrt -f 1, in front of what else the machine does (root)")
    p.add_argument("--write", metavar="PAGE", help="put the figures into PAGE, and the picture "
                   "beside it in pictures/performance.svg")
    options = p.parse_args()
    folder = tempfile.mkdtemp(prefix="tlbreplay-bench.")
    try:
        b = Bench(folder, options)
        text = "%s. CPU time, medians of %d rounds in which all programs took turns.\n\n" % (
            machine(), options.rounds)
        parts, against = peers(b)
        text += parts + "\n"
        parts, lengths = growth(b)
        text += parts + "\n"
        parts, cpus = by_cpus(b)
        text += parts + "\n"
        parts, path = by_policies(b)
        text += parts + "\n" + by_threads(b, path) + "\n" + opening(b)
        print(text)
        if options.write:
            with open(options.write) as f:
                page = f.read()
            begin, end = "<!-- bench -->\n", "<!-- /bench -->"
            at, to = page.index(begin) + len(begin), page.index(end)
            with open(options.write, "w") as f:
                f.write(page[:at] + "\n" + text + "\n" + page[to:])
            draw(os.path.dirname(options.write) + "/pictures/performance.svg", lengths, cpus,
                 against)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
