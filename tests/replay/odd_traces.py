#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that are odd, and true, written byte by byte; what must come of each.

odd_traces.py TLBREPLAY TLBREPORT FOLDER. Every number that is expected follows from the events that are
written: so many write faults that made a page writable again, so many of them in the middle of a
loss. Nothing of it was ever read off our own output.
"""
import csv
import io
import json
import os
import sqlite3
import struct
import subprocess
import sys

REPLAY, REPORT, FOLDER = sys.argv[1:4]
failures = 0


def check(name, got, wanted):
    global failures
    if got != wanted:
        print(f'{name}: {got!r}, not {wanted!r}')
        failures += 1


# ---- writing ----

WORD = {'u64': ('Q', 8), 'u32': ('I', 4), 's32': ('i', 4), 'u8': ('B', 1), 'int': ('i', 4), 'pid_t': ('i', 4),
        'unsigned long': ('Q', 8), 'long': ('q', 8), 'short': ('h', 2)}
PROBE = [('unsigned long', '__probe_ip')]
RETURN = [('unsigned long', '__probe_func'), ('unsigned long', '__probe_ret_ip')]
EVENTS = {
    'handle_mm_fault': ('tlbr', PROBE + [('u64', 'mm'), ('u64', 'addr'), ('u32', 'flags'), ('u64', 'upc')]),
    'handle_mm_fault_ret': ('tlbr', RETURN + [('u64', 'addr'), ('u32', 'ret')]),
    'do_wp_page': ('tlbr', PROBE + [('u64', 'mm'), ('u64', 'addr'), ('u64', 'raddr'), ('u32', 'flags'), ('u64', 'opte')]),
    'ptep_set_access_flags_ret': ('tlbr', RETURN + [('u64', 'mm'), ('u64', 'addr'), ('u64', 'pte'), ('u64', 'entry'),
                                                    ('u8', 'dirty'), ('s32', 'ret')]),
    '__ptep_set_access_flags__vale1is__1': ('tlbr_tlbi', PROBE + [('u64', 'op')]),
    'sched_switch': ('sched', [('comm', 'prev_comm'), ('pid_t', 'prev_pid'), ('int', 'prev_prio'), ('long', 'prev_state'),
                               ('comm', 'next_comm'), ('pid_t', 'next_pid'), ('int', 'next_prio')]),
    'task_newtask': ('task', [('pid_t', 'pid'), ('comm', 'comm'), ('unsigned long', 'clone_flags'), ('short', 'oom_score_adj')]),
    'sched_process_exit': ('sched', [('comm', 'comm'), ('pid_t', 'pid'), ('int', 'prio')]),
}
IDS = {name: 100 + i for i, name in enumerate(EVENTS)}
CLONE_VM, CLONE_THREAD = 0x100, 0x10000


def format_text(name):
    lines = ['name: ' + name, 'ID: %d' % IDS[name], 'format:']

    def line(decl, offset, size, signed):
        lines.append(f'\tfield:{decl};\toffset:{offset};\tsize:{size};\tsigned:{signed};')
    line('unsigned short common_type', 0, 2, 0)
    line('unsigned char common_flags', 2, 1, 0)
    line('unsigned char common_preempt_count', 3, 1, 0)
    line('int common_pid', 4, 4, 1)
    lines.append('')
    at = 8
    for kind, field in EVENTS[name][1]:
        size = 16 if kind == 'comm' else WORD[kind][1]
        line(f'char {field}[16]' if kind == 'comm' else f'{kind} {field}', at, size, int(kind in ('s32', 'int', 'pid_t')))
        at += size
    return '\n'.join(lines + ['', 'print fmt: ""', '']).encode()


def record(pid, name, values):
    data = struct.pack('<HBBi', IDS[name], 0, 0, pid)
    for (kind, _), value in zip(EVENTS[name][1], values, strict=True):
        data += value[:16].ljust(16, b'\0') if kind == 'comm' else struct.pack('<' + WORD[kind][0], value)
    return data + bytes(-len(data) % 4)


class Trace:
    """Events by CPU, in the order in which they were added. One page ends where a loss begins."""

    def __init__(self, machine='aarch64', page_size=4096):
        self.machine, self.page_size, self.cpus = machine, page_size, {}

    def add(self, cpu, time, pid, name, *values):
        self.cpus.setdefault(cpu, []).append((time, record(pid, name, values)))

    def lose(self, cpu, count=None):
        self.cpus.setdefault(cpu, []).append(('lost', count))

    def pages(self, events):
        room, pages, at, end, last, missed = self.page_size - 16, [], b'', None, 0, (0, b'')

        def close():
            nonlocal at, end, missed
            if end is not None:
                flags, tail = missed
                data = (at + tail).ljust(room, b'\0')
                pages.append(struct.pack('<QQ', end, len(at) | flags) + data)
            at, end, missed = b'', None, (0, b'')
        for time, data in events:
            if time == 'lost':
                close()
                missed = (1 << 31, b'') if data is None else (3 << 30, struct.pack('<Q', data))
                continue
            # A clock that runs backwards starts a page, as it does in a ring buffer after a reset.
            if end is not None and (time < last or len(at) + len(data) + 20 > room - 8):
                keep = (0, b'')
                close()
                missed = keep
            if end is None:
                end = last = time
            delta = time - last
            if delta >= 1 << 27:
                at += struct.pack('<II', 30 | (delta & 0x7ffffff) << 5, delta >> 27)
                delta = 0
            last = time
            assert len(data) <= 112
            at += struct.pack('<I', len(data) // 4 | delta << 5) + data
        close()
        return b''.join(pages)

    def save(self, name, nr_cpus=None):
        """Version 7, where CPUs have numbers of their own."""
        path = os.path.join(FOLDER, name + '.dat')
        out = bytearray(b'\x17\x08\x44tracing7\0' + bytes([0, 8]) + struct.pack('<I', self.page_size) + b'none\0' + b'1.0\0')
        first = len(out)
        out += bytes(8)

        def section(kind, data):
            at = len(out)
            out.extend(struct.pack('<HHIQ', kind, 0, 0, len(data)) + data)
            return at
        page = ('\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n'
                '\tfield: char data;\toffset:16;\tsize:%d;\tsigned:1;\n' % (self.page_size - 16)).encode()
        at = [section(16, b'header_page\0' + struct.pack('<Q', len(page)) + page + b'header_event\0' + struct.pack('<Q', 2) + b'#\n'),
              section(17, struct.pack('<I', 0))]
        formats = struct.pack('<I', len(EVENTS))
        for event, (system, _) in EVENTS.items():
            text = format_text(event)
            formats += system.encode() + b'\0' + struct.pack('<IQ', 1, len(text)) + text
        at.append(section(18, formats))
        buffer, table = len(out), b''
        out += bytes(16)
        for cpu, events in sorted(self.cpus.items()):
            data = self.pages(events)
            out += bytes(-len(out) % self.page_size)
            table += struct.pack('<IQQ', cpu, len(out), len(data))
            out += data
        out[buffer:buffer + 16] = struct.pack('<HHIQ', 3, 0, 0, len(out) - buffer - 16)
        option = struct.pack('<Q', buffer) + b'\0' + b'mono\0' + struct.pack('<II', self.page_size, len(self.cpus)) + table
        uname = b'Linux host 6.12.0 ' + self.machine.encode() + b'\0'
        options = b''.join(struct.pack('<HI', i, len(d)) + d for i, d in
                           [(16 + i, struct.pack('<Q', a)) for i, a in enumerate(at)] +
                           [(8, struct.pack('<I', nr_cpus or max(self.cpus) + 1)), (5, uname), (3, option), (0, bytes(8))])
        out[first:first + 8] = struct.pack('<Q', len(out))
        section(0, options)
        with open(path, 'wb') as f:
            f.write(out)
        return path


MM, PAGE, PROT_NEW, CODE = 0xffff000012340000, 0x7f0000000000, 0x0008000000000fc3, 0x400000
WRITABLE = 1 << 51


def newtask(t, cpu, time, parent, pid, comm=b'task', flags=CLONE_VM | CLONE_THREAD):
    t.add(cpu, time, parent, 'task_newtask', pid, comm, flags, 0)


def switch(t, cpu, time, prev, next_pid, comm=b'task'):
    t.add(cpu, time, prev, 'sched_switch', b'task', prev, 120, 0, comm, next_pid, 120)


def reuse(t, cpu, time, pid, addr, mm=MM, parts='fwtsr'):
    """One write fault that makes a page writable again: 5 events in 4 us, or only some PARTS of them."""
    old, new = 0x0060000000000fc3, 0x0060000000000f43 | WRITABLE
    op = 1 << 48 | addr >> 12 & (1 << 44) - 1
    if 'f' in parts:
        t.add(cpu, time, pid, 'handle_mm_fault', 0xffff800080010000, mm, addr | 8, 0x255, CODE)
    if 'w' in parts:
        t.add(cpu, time + 1000, pid, 'do_wp_page', 0xffff800080020000, mm, addr, addr | 8, 0xa55, old)
    if 't' in parts:
        t.add(cpu, time + 2000, pid, '__ptep_set_access_flags__vale1is__1', 0xffff800080030090, op)
    if 's' in parts:
        t.add(cpu, time + 3000, pid, 'ptep_set_access_flags_ret', 0xffff800080030000, 0xffff800080020840, mm, addr, new, new, 1, 1)
    if 'r' in parts:
        t.add(cpu, time + 4000, pid, 'handle_mm_fault_ret', 0xffff800080010000, 0xffff800080020840, addr | 8, 0)


# ---- asking ----

def replay(path, status=0, policies=('arm64-broadcast', 'arm64-local', 'x86')):
    db = path[:-4] + '.db'
    words = [REPLAY, '-o', db]
    for policy in policies:
        words += ['-p', policy]
    done = subprocess.run(words + [path], capture_output=True, timeout=60)
    check(os.path.basename(path) + ' status', done.returncode, status)
    if done.returncode != status:
        print(done.stderr.decode(errors='replace'))
    return sqlite3.connect(db)


def one(db, sql):
    row = db.execute(sql).fetchone()
    return row if row is None or len(row) > 1 else row[0]


def reuses(db, policy='arm64-broadcast'):
    """(decisions, low, estimate, high) of wp_reuse, levels and scopes added up."""
    return tuple(one(db, f"SELECT ifnull(sum(decisions), 0), ifnull(sum(flushes_low), 0), ifnull(sum(flushes), 0), "
                         f"ifnull(sum(flushes_high), 0) FROM v_flush WHERE policy = '{policy}' AND point = 'wp_reuse'"))


def exactly(n):
    return (n, n, n, n)


# ---- the recordings ----

def plain():
    t = Trace()
    newtask(t, 0, 900, 1, 10)
    for i in range(20):
        reuse(t, i % 2, 10000 * (i + 1), 10, PAGE + 4096 * i)
    db = replay(t.save('plain'))
    check('plain', reuses(db), exactly(20))
    check('plain, recorded', one(db, "SELECT sum(events) FROM v_recorded WHERE op = 'vale1is'"), 20)


def backwards():
    """A clock that is set back on one CPU: all events are there, and none is counted twice."""
    t = Trace()
    newtask(t, 0, 900, 1, 10)
    for i in range(10):
        reuse(t, 0, 1000000 + 10000 * i, 10, PAGE + 4096 * i)
    for i in range(10, 20):
        reuse(t, 0, 500000 + 10000 * (i - 10), 10, PAGE + 4096 * i)
    db = replay(t.save('backwards'))
    check('backwards', reuses(db), exactly(20))
    check('backwards, events', one(db, 'SELECT events FROM traces'), 101)


def seconds_apart():
    """CPUs that start seconds apart: the stretch is that of all of them."""
    t = Trace()
    newtask(t, 0, 1000000000, 1, 10)
    for cpu in range(4):
        for i in range(5):
            reuse(t, cpu, 1000000000 + cpu * 3000000000 + 10000 * (i + 1), 10, PAGE + 4096 * (cpu * 5 + i))
    db = replay(t.save('apart'))
    check('seconds apart', reuses(db), exactly(20))
    check('seconds apart, first and last', one(db, 'SELECT first_ns, last_ns FROM traces'),
          (1000000000, 1000000000 + 9000000000 + 50000 + 4000))


def many_cpus():
    t = Trace()
    newtask(t, 0, 900, 1, 10)
    for cpu in range(4096):
        if cpu % 64:
            switch(t, cpu, 5000, 0, 10)
        else:
            reuse(t, cpu, 10000 * (cpu + 1), 10, PAGE + 4096 * cpu)
    db = replay(t.save('cpus4096'), policies=('arm64-broadcast', 'arm64-local'))
    check('4096 CPUs', reuses(db), exactly(64))
    check('4096 CPUs, CPUs', one(db, "SELECT count(*) FROM v_cpu WHERE policy = 'arm64-broadcast'"), 4096)


def gaps():
    t = Trace()
    newtask(t, 3, 900, 1, 10)
    for i, cpu in enumerate((3, 17, 64, 200, 1023)):
        reuse(t, cpu, 10000 * (i + 1), 10, PAGE + 4096 * i)
    db = replay(t.save('gaps'))
    check('gaps', reuses(db), exactly(5))
    check('gaps, CPUs', [r[0] for r in db.execute("SELECT DISTINCT cpu FROM v_cpu ORDER BY cpu")], [3, 17, 64, 200, 1023])


def one_cpu():
    t = Trace()
    newtask(t, 0, 900, 1, 10)
    for i in range(7):
        reuse(t, 0, 10000 * (i + 1), 10, PAGE + 4096 * i)
    db = replay(t.save('one'))
    check('one CPU', reuses(db), exactly(7))
    # There is nobody else who could hold a stale entry.
    check('one CPU, spurious', one(db, "SELECT ifnull(sum(high), 0) FROM v_fault WHERE policy = 'arm64-local'"), 0)


def lost_in_fault():
    """Events are lost between do_wp_page and the return of one fault in three: the bounds widen, and it says so."""
    for count in (None, 12):
        t = Trace()
        newtask(t, 0, 900, 1, 10)
        reuse(t, 0, 10000, 10, PAGE)
        reuse(t, 0, 20000, 10, PAGE + 4096, parts='fw')
        t.lose(0, count)
        reuse(t, 0, 30000, 10, PAGE + 8192)
        db = replay(t.save('lost-%s' % count), status=3)
        decisions, low, estimate, high = reuses(db)
        # Two are certain; of the third the middle is missing, so it may have been one.
        check('lost in a fault, low', low, 2)
        check('lost in a fault, high', high in (2, 3) and decisions >= 2, True)
        lost = one(db, 'SELECT lost_events, lost_unknown FROM traces')
        check('lost in a fault, counted', lost, (12, 0) if count else (0, 1))


def fork_chain():
    """Each child forks the next: every one is an address space of its own."""
    t = Trace()
    newtask(t, 0, 900, 1, 10, flags=0)
    for i in range(50):
        newtask(t, 0, 10000 * (i + 1), 10 + i, 11 + i, flags=0)
        reuse(t, 0, 10000 * (i + 1) + 2000, 11 + i, PAGE, mm=MM + 0x1000 * (i + 1))
    db = replay(t.save('forks'))
    check('fork chain', reuses(db), exactly(50))
    pointers = {r[0] for r in db.execute('SELECT pointer FROM mms WHERE pointer IS NOT NULL')}
    check('fork chain, mms', len(pointers & {hex(MM + 0x1000 * (i + 1)) for i in range(50)}), 50)


def reused_pid():
    """A pid that ends and is given out again within a millisecond: two tasks, two address spaces."""
    t = Trace()
    newtask(t, 0, 900, 1, 10, b'first', flags=0)
    reuse(t, 0, 10000, 10, PAGE, mm=MM)
    t.add(0, 20000, 10, 'sched_process_exit', b'first', 10, 120)
    newtask(t, 0, 400000, 1, 10, b'second', flags=0)
    reuse(t, 0, 500000, 10, PAGE, mm=MM + 0x1000)
    db = replay(t.save('pids'))
    check('pid reuse', reuses(db), exactly(2))
    check('pid reuse, comms', [r[0] for r in db.execute("SELECT DISTINCT comm FROM mms WHERE tid = 10 ORDER BY 1")],
          ['first', 'second'])


def comms():
    """Names with whatever bytes: SQL, CSV, JSON and HTML hold them and nothing breaks out."""
    names = [b"a'b\"c;--", b'x\ny\tz', b'\xff\xfe\x80', b'<b>&"\'', b',"",', b'%s%n%x', b'\x1b[31mred', b'', b'=cmd()', 'ümlaut'.encode()]
    t = Trace()
    for i, name in enumerate(names):
        newtask(t, 0, 1000 * (i + 1), 1, 100 + i, name, flags=0)
        reuse(t, 0, 1000000 + 10000 * i, 100 + i, PAGE, mm=MM + 0x1000 * i)
    path = t.save('comms')
    db = replay(path)
    check('comms', reuses(db), exactly(len(names)))
    got = dict(db.execute('SELECT tid, comm FROM mms WHERE tid >= 100'))
    for i, name in enumerate(names):
        wanted = ''.join(chr(c) if 32 <= c < 127 else '?' for c in name)
        check(f'comm {name!r}', got.get(100 + i), wanted)
    base = path[:-4] + '.db'
    for words in (['--csv'], ['--json'], []):
        done = subprocess.run([REPORT, base, 'processes'] + words, capture_output=True, timeout=60)
        check(f'processes {words}', done.returncode, 0)
        text = done.stdout.decode()
        check(f'control characters {words}', any(ord(c) < 32 and c != '\n' and c != '\r' for c in text), False)
        if words == ['--csv']:
            rows = list(csv.reader(io.StringIO(text)))
            check('CSV is rectangular', len({len(r) for r in rows}), 1)
        if words == ['--json']:
            json.loads(text)
    html = path[:-4] + '.html'
    done = subprocess.run([REPORT, base, 'html', '-o', html], capture_output=True, timeout=60)
    check('html', done.returncode, 0)
    import xml.dom.minidom
    with open(html, 'rb') as f:
        xml.dom.minidom.parseString(f.read())


def never_switches():
    """No sched_switch at all: which CPU runs what is known from the events themselves."""
    t = Trace()
    for i in range(9):
        reuse(t, i % 3, 10000 * (i + 1), 10, PAGE + 4096 * i)
    db = replay(t.save('noswitch'))
    check('never switches', reuses(db), exactly(9))


def wrapped():
    """A ring buffer that wrapped: the beginning is lost on every CPU, in the middle of faults."""
    t = Trace()
    for cpu in range(2):
        t.lose(cpu)
        reuse(t, cpu, 10000 + cpu, 10 + cpu, PAGE + 4096 * cpu, parts='tsr')
        for i in range(5):
            reuse(t, cpu, 20000 * (i + 1) + cpu, 10 + cpu, PAGE + 4096 * (10 + 2 * i + cpu))
    db = replay(t.save('wrapped'), status=3)
    _, low, _, high = reuses(db)
    check('wrapped, low', 10 <= low <= 12, True)
    check('wrapped, high', 10 <= high <= 12, True)
    check('wrapped, unknown losses', one(db, 'SELECT lost_unknown FROM traces'), 2)


def page_sizes():
    for size in (16384, 65536):
        t = Trace(page_size=size)
        newtask(t, 0, 900, 1, 10)
        for i in range(8):
            # Two addresses a page: the second write of a page finds it writable in truth, but the kernel
            # that was recorded did make it so, and that is what counts.
            reuse(t, 0, 10000 * (i + 1), 10, PAGE + size * i)
        db = replay(t.save('page%d' % size))
        check(f'pages of {size}', reuses(db), exactly(8))
        check(f'pages of {size}, size', one(db, 'SELECT page_bytes FROM traces'), size)
        check(f'pages of {size}, distinct', one(db, "SELECT count(DISTINCT page) FROM pages WHERE point = 'wp_reuse'"), 8)


def high_addresses():
    """52-bit user addresses, and faults of the kernel's own half, which belong to nobody's pages."""
    t = Trace(page_size=65536)
    newtask(t, 0, 900, 1, 10)
    pages = [(1 << 52) - 65536 * (i + 1) for i in range(6)]
    for i, page in enumerate(pages):
        reuse(t, 0, 10000 * (i + 1), 10, page)
    db = replay(t.save('high'))
    check('52-bit addresses', reuses(db), exactly(6))
    check('52-bit addresses, kept', sorted(r[0] for r in db.execute("SELECT page FROM pages WHERE point = 'wp_reuse'")), sorted(pages))
    t = Trace()
    newtask(t, 0, 900, 1, 10)
    reuse(t, 0, 10000, 10, PAGE)
    t.add(0, 20000, 10, '__ptep_set_access_flags__vale1is__1', 0xffff800080030090, 0xffff800080010000 >> 12 & (1 << 44) - 1)
    db = replay(t.save('kernel'))
    check('kernel addresses', reuses(db)[0] >= 1 and reuses(db)[1] == 1, True)


for scenario in (plain, backwards, seconds_apart, many_cpus, gaps, one_cpu, lost_in_fault, fork_chain, reused_pid, comms,
                 never_switches, wrapped, page_sizes, high_addresses):
    try:
        scenario()
    except (sqlite3.Error, subprocess.SubprocessError, ValueError, OSError) as error:
        print(f'{scenario.__name__}: {type(error).__name__}: {error}')
        failures += 1
sys.exit(failures > 0)
