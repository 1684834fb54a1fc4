#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The raw events as an SQL table: the same events as trace-cmd and libtracecmd read, in every variant of
# the container; conditions change what is read and never what is found; a narrow window reads little,
# also by the kernel's own count.
. tests/sql/lib/setup

ORACLE=$BUILD/tests/tools/tracecmd-dump
[ -x "$ORACLE" ] || { echo "$ORACLE is not built"; exit 77; }
command -v trace-cmd >/dev/null || { echo "trace-cmd is not installed"; exit 77; }

# ---- against trace-cmd ----

for file in examples/*.dat; do
	trace-cmd report "$file" 2>/dev/null | sed -n 's/^.* \[[0-9]*\] *[0-9.]*: \([A-Za-z_0-9]*\): .*/\1/p' |
		sort | uniq -c | awk '{ print $2 "|" $1 }' >"$DIR/want"
	q "SELECT event, count(*) FROM tlbtrace('$file') GROUP BY 1 ORDER BY 1" | sort >"$DIR/got"
	sort "$DIR/want" | cmp -s - "$DIR/got" ||
		fail "$file: other counts than trace-cmd's: $(diff <(sort "$DIR/want") "$DIR/got" | head -n 4)"
	[ "$(wc -l <"$DIR/got")" -gt 5 ] || fail "$file: too few events to compare"

	# The columns that a fault has, from the text that trace-cmd makes of them.
	trace-cmd report -t "$file" 2>/dev/null |
		sed -n 's/^.*-\([0-9]*\) *\[0*\([0-9][0-9]*\)\] *0*\([0-9]*\)\.\([0-9]*\): hmf: .* mm=\(0x[0-9a-f]*\) addr=\(0x[0-9a-f]*\) flags=\(0x[0-9a-f]*\).*/\3\4|\2|\1|\5|\6|\7/p' >"$DIR/want"
	q "SELECT time_ns, cpu, tid, mm, printf('0x%x', address), printf('0x%x', flags) FROM tlbtrace('$file')
		WHERE event = 'hmf'" >"$DIR/got"
	cmp -s "$DIR/want" "$DIR/got" || fail "$file: other faults than trace-cmd's: $(diff "$DIR/want" "$DIR/got" | head -n 4)"
	trace-cmd report -t "$file" 2>/dev/null | sed -n 's/^.*: hmf_r: .* ret=\(0x[0-9a-f]*\).*/\1/p' >"$DIR/want"
	q "SELECT printf('0x%x', ret) FROM tlbtrace('$file') WHERE event = 'hmf_r'" >"$DIR/got"
	cmp -s "$DIR/want" "$DIR/got" || fail "$file: other results of faults than trace-cmd's"
	expect 0 "SELECT count(*) FROM tlbtrace('$file') WHERE NOT json_valid(fields)"
	expect 1 "SELECT count(DISTINCT rowid) = count(*) FROM tlbtrace('$file')"
	# Whose switch it is, the event itself says.
	expect 0 "SELECT count(*) FROM tlbtrace('$file') WHERE event = 'sched_switch' AND
		(comm <> fields->>'prev_comm' OR tid <> fields->>'prev_pid')"
	expect 1 "SELECT count(*) > 100 FROM tlbtrace('$file') WHERE event = 'sched_switch' AND comm IS NOT NULL"
done
# A TLBI by address: the address is in the operand. ARM ARM: bits 43:0 are it >> 12.
expect 0 "SELECT count(*) FROM tlbtrace('examples/arm64-broadcast.dat') WHERE event GLOB '*[^r]vale1is*'
	AND address <> (fields->>'op' & 0xfffffffffff) << 12"
expect 18 "SELECT count(*) FROM tlbtrace('examples/arm64-broadcast.dat') WHERE event = 'tlb_flush_aside1is_34'
	AND address IS NULL OR event = 'tlb_flush_rvae1is_39' AND address IS NOT NULL"

# ---- every variant of the container ----

variant() {
	file=$DIR/$1.dat
	shift
	"$GEN" "$@" "$file" >/dev/null || fail "gentrace $*"
	# Two events at one time are in no order that both readers promise.
	"$ORACLE" "$file" 2>/dev/null | grep -v '^lost' | sort >"$DIR/want"
	[ -s "$DIR/want" ] || fail "$*: nothing to compare"
	q ".separator ' '
SELECT time_ns, cpu, tid, system || ':' || event, CASE buffer WHEN '' THEN CASE WHEN (SELECT count(DISTINCT buffer)
	FROM tlbtrace('$file')) > 1 THEN '-' ELSE '' END ELSE buffer END FROM tlbtrace('$file')" |
		sed 's/ $//' >"$DIR/ordered"
	"$BUILD/tlbreplay" --dump "$file" | grep -v '^lost' | cmp -s - "$DIR/ordered" || fail "$*: not what --dump gives"
	sort "$DIR/ordered" >"$DIR/got"
	cmp -s "$DIR/want" "$DIR/got" || fail "$*: other events: $(diff "$DIR/want" "$DIR/got" | head -n 4)"
}
variant plain --events 40k
variant zstd --events 40k --compression zstd
variant big --events 20k --endian big --long 4
variant v6 --events 20k --version 6 --cpus 7 --gaps
variant buffers --events 20k --buffers 2
variant big-pages --events 40k --page-size 65536 --compression zstd
variant lost --events 30k --lost --rt
variant odd --events 30k --absolute --workload x86tp
lost=$("$GEN" --events 30k --lost --rt "$DIR/lost.dat" | tr ' ' '\n' | sed -n 's/^lost_events=//p')
expect "$lost" "SELECT sum(lost) FROM tlbtrace('$DIR/lost.dat') WHERE lost > 0"
expect 1 "SELECT count(*) > 0 FROM tlbtrace('$DIR/lost.dat') WHERE lost = -1"

# ---- conditions: the same rows with and without their use ("+" keeps SQLite from handing them on) ----

python3 - "$DIR" >"$DIR/random.sql" <<'END'
import random, sys
random.seed(7)
for name in "plain", "zstd", "big", "v6", "big-pages", "lost":
    file = "tlbtrace('%s/%s.dat')" % (sys.argv[1], name)
    for i in range(25):
        terms, at = [], "(SELECT min(time_ns) + (max(time_ns) - min(time_ns)) * %d / 1000 FROM all_%s)"
        def time(n):
            return at % (n, name.replace("-", "_"))
        if random.random() < .8:
            low = random.randint(-20, 1010)
            terms.append(("time_ns", random.choice([">=", ">"]), time(low)))
            if random.random() < .8:
                terms.append(("time_ns", random.choice(["<=", "<"]), time(low + random.choice([0, 1, 5, 300]))))
        elif random.random() < .5:
            terms.append(("time_ns", "=", "(SELECT time_ns FROM all_%s LIMIT 1 OFFSET %d)" %
                          (name.replace("-", "_"), random.randint(0, 15000))))
        if random.random() < .4:
            terms.append(("cpu", "=", random.choice(["0", "1", "3", "99", "'1'", "1.0", "1.5", "-1"])))
        if random.random() < .3:
            terms.append(("tid", "=", random.choice(["901", "903", "0", "'x'", "5000000000", "NULL"])))
        if random.random() < .5:
            terms.append(("event", *random.choice([("=", "'sched_switch'"), ("=", "'handle_mm_fault'"),
                ("IN", "('do_wp_page', 'sched_switch', 'nonesuch')"), ("=", "'nonesuch'"), ("=", "7"),
                ("LIKE", "'tlb%'"), ("=", "'SCHED_SWITCH' COLLATE NOCASE")])))
        if random.random() < .2:
            terms.append(("system", "=", random.choice(["'sched'", "'tlbr'", "'nonesuch'", "'unknown'"])))
        if i == 0:
            print("CREATE TEMP TABLE all_%s AS SELECT time_ns FROM %s;" % (name.replace("-", "_"), file))
        where = lambda plus: " AND ".join("%s%s %s %s" % (plus, *t) for t in terms) or "1"
        text = where("").replace("'", "''")
        select = "(SELECT group_concat(rowid || ' ' || time_ns || cpu || tid || event) FROM (SELECT rowid, * FROM %s WHERE %s ORDER BY time_ns, cpu, rowid))"
        print("SELECT CASE WHEN %s IS %s THEN 'ok' ELSE 'DIFFER %s: %s' END;" %
              (select % (file, where("")), select % (file, where("+")), name, text))
END
q "$(cat "$DIR/random.sql")" >"$DIR/random" || fail "a random query failed"
grep -v '^ok$' "$DIR/random" && fail "conditions change the rows"
[ "$(grep -c '^ok$' "$DIR/random")" = 150 ] || fail "$(wc -l <"$DIR/random") of 150 random queries came back"
# By time, forwards without sorting and backwards with it.
expect 0 "SELECT count(*) FROM (SELECT time_ns < lag(time_ns) OVER (ROWS 1 PRECEDING) AS wrong FROM
	(SELECT time_ns FROM tlbtrace('$DIR/plain.dat') ORDER BY time_ns)) WHERE wrong"
case $(q "EXPLAIN QUERY PLAN SELECT time_ns FROM tlbtrace('$DIR/plain.dat') ORDER BY time_ns") in
*"TEMP B-TREE"*) fail "events are sorted though they come by time" ;;
esac
expect 1 "SELECT (SELECT time_ns FROM tlbtrace('$DIR/plain.dat') ORDER BY time_ns DESC LIMIT 1) =
	(SELECT max(time_ns) FROM tlbtrace('$DIR/plain.dat'))"
# Joined with a table of windows, and with a table of files.
expect 1 "CREATE TABLE w(a, b); INSERT INTO w SELECT min(time_ns), min(time_ns) + 100000 FROM tlbtrace('$DIR/plain.dat');
	SELECT count(*) = (SELECT count(*) FROM tlbtrace('$DIR/plain.dat') WHERE time_ns BETWEEN (SELECT a FROM w)
	AND (SELECT b FROM w)) AND count(*) > 5 FROM w JOIN tlbtrace('$DIR/plain.dat') ON time_ns BETWEEN a AND b"
expect "plain|40000
zstd|40000" "CREATE TABLE f(n); INSERT INTO f VALUES('plain'), ('zstd');
	SELECT n, count(*) FROM f JOIN tlbtrace('$DIR/' || n || '.dat') GROUP BY 1"

# ---- how much is read ----

# One event in 1 ms of a recording of 1 M events: by our count, and by what the kernel says of this process.
"$GEN" --events 1M "$DIR/large.dat" >/dev/null
"$GEN" --events 1M --compression zstd "$DIR/large-zstd.dat" >/dev/null
middle=$(q "SELECT time_ns FROM tlbtrace('$DIR/large.dat') LIMIT 1 OFFSET 500000")
# The kernel's count has sqlite3's own input in it.
for case in large:300000 large-zstd:400000; do
	name=${case%:*} limit=${case#*:}
	window="event = 'do_wp_page' AND time_ns BETWEEN $middle AND $middle + 1000000"
	q "CREATE TEMP TABLE found(n);
CREATE VIRTUAL TABLE temp.t USING tlbtrace('$DIR/$name.dat');
SELECT tlbtrace_stats() IS NULL;
.system sed -n 's/^rchar: //p' /proc/\$PPID/io
INSERT INTO found SELECT count(*) FROM t WHERE $window;
.system sed -n 's/^rchar: //p' /proc/\$PPID/io
CREATE TEMP TABLE s AS SELECT tlbtrace_stats() AS s;
SELECT (SELECT n FROM found), s->>'data_bytes', s->>'index_bytes',
	(SELECT count(*) FROM t WHERE +event = 'do_wp_page' AND +time_ns BETWEEN $middle AND $middle + 1000000) FROM s;
" >"$DIR/read" || fail "$name: $(cat "$DIR/read")"
	IFS='|' read -r found data index again <<<"$(tail -n 1 "$DIR/read")"
	kernel=$(sed -n 2,3p "$DIR/read" | awk 'NR == 1 { first = $1 } NR == 2 { printf "%d", $1 - first }')
	size=$(stat -c %s "$DIR/$name.dat")
	echo "$name: $size bytes; window of 1 ms: $found rows of $again, $data + $index bytes, by the kernel's count $kernel"
	[ "$found" = "$again" ] && [ "$found" -gt 20 ] || fail "$name: $found rows in the window, $again without its use"
	[ "$data" -gt 0 ] && [ $((data + index)) -lt "$limit" ] || fail "$name: $data + $index bytes read"
	# A sanitizer reads on its own.
	[ "$kernel" -ge $((data + index)) ] && { [ "$preload" ] || [ "$kernel" -lt $((data + index + 32768)) ]; } ||
		fail "$name: $data + $index bytes read, the kernel says $kernel"
done

# ---- what is refused ----

refuse "No such file" "SELECT * FROM tlbtrace('$DIR/nonesuch.dat')"
refuse "No such file" "CREATE VIRTUAL TABLE temp.t USING tlbtrace('$DIR/nonesuch.dat')"
refuse "not a trace.dat" "SELECT * FROM tlbtrace('Makefile')"
refuse "is a directory" "CREATE VIRTUAL TABLE temp.t USING tlbtrace(\"examples\")"
refuse "which recording" "SELECT * FROM tlbtrace"
refuse "one argument" "CREATE VIRTUAL TABLE temp.t USING tlbtrace('examples/x86.dat', 'more')"
refuse "one argument" "CREATE VIRTUAL TABLE temp.t USING tlbtrace"
refuse "text" "SELECT * FROM tlbtrace(7)"
head -c 300000 "$DIR/plain.dat" >"$DIR/cut.dat"
refuse "truncated" "SELECT count(*) FROM tlbtrace('$DIR/cut.dat')"
# A page that holds nonsense: the rows before it come, then the reason.
cp "$DIR/plain.dat" "$DIR/bad.dat"
size=$(stat -c %s "$DIR/bad.dat")
printf '\377%.0s' $(seq 64) | dd of="$DIR/bad.dat" bs=1 seek=$((size - 40960 + 16)) conv=notrunc 2>/dev/null
refuse "malformed" "SELECT count(*) FROM tlbtrace('$DIR/bad.dat')"
# Cut and spoilt anywhere, compressed or not: an answer or a reason, never a crash.
python3 - "$DIR" <<'END'
import random, sys
random.seed(3)
for name in "plain", "zstd":
    data = open("%s/%s.dat" % (sys.argv[1], name), "rb").read()
    for i in range(20):
        bad = bytearray(data)
        for _ in range(random.choice([1, 5, 50])):
            bad[random.randrange(len(bad) // 2, len(bad))] = random.randrange(256)
        open("%s/spoilt-%s-%d.dat" % (sys.argv[1], name, i), "wb").write(bad)
END
for file in "$DIR"/spoilt-*.dat; do
	q "SELECT count(*), sum(length(fields)), count(comm) FROM tlbtrace('$file') WHERE time_ns > $middle / 2;
	SELECT count(*) FROM tlbtrace('$file') WHERE time_ns BETWEEN 10000000000 AND 10000500000;" >"$DIR/got" 2>&1
	status=$?
	[ $status -le 1 ] || fail "$file: status $status: $(tail -n 3 "$DIR/got")"
done
# A view in a database that somebody sent must not read files.
sqlite3 "$DIR/sent.db" "CREATE VIEW v AS SELECT * FROM tlbtrace('examples/x86.dat')"
if printf '.load %s\nSELECT count(*) FROM v;\n' "$EXT" |
	LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 sqlite3 -batch -bail "$DIR/sent.db" >"$DIR/got" 2>&1; then
	fail "a view in a database reads a file: $(cat "$DIR/got")"
fi
# A recording that was replaced is opened anew; the table that knew the old one keeps it.
cp "$DIR/plain.dat" "$DIR/now.dat"
expect "40000
20000" "SELECT count(*) FROM tlbtrace('$DIR/now.dat');
.system cp $DIR/big.dat $DIR/now2.dat && mv $DIR/now2.dat $DIR/now.dat
SELECT count(*) FROM tlbtrace('$DIR/now.dat');"
done_testing
