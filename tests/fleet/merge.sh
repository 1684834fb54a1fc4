#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Merging: what every view answers is what one run over all recordings gives, whatever the order of the parts;
# a thousand parts take no more memory than ten; what does not fit is refused and leaves nothing behind. The
# list of a fleet: every fault is told by file and line.
. tests/replay/lib/setup
. tests/fleet/lib/compare
MEASURE=$BUILD/tests/tools/measure

for i in 1 2 3 4; do
	"$GEN" --events 3k --seed $i --pages 64 "$DIR/host$i.dat" >/dev/null
	"$REPLAY" -o "$DIR/host$i.db" "$DIR/host$i.dat"
done
mkdir "$DIR/other"
cp "$DIR/host4.dat" "$DIR/other/host1.dat" # a name twice
"$REPLAY" -o "$DIR/twin.db" "$DIR/other/host1.dat"
"$REPLAY" -o "$DIR/serial.db" "$DIR"/host[123].dat
expect_status 0 "$REPORT" merge "$DIR/all.db" "$DIR"/host[123].db
ask "$DIR/serial.db" "$DIR/serial.txt"
ask "$DIR/all.db" "$DIR/all.txt"
cmp "$DIR/serial.txt" "$DIR/all.txt" || fail "merged parts answer otherwise than one run over all"
[ "$(wc -l <"$DIR/all.txt")" -gt 1000 ] || fail "the views answer nearly nothing"
expect_status 0 "$REPORT" merge "$DIR/again.db" "$DIR"/host2.db "$DIR"/host3.db "$DIR"/host1.db
cmp "$DIR/all.db" "$DIR/again.db" || fail "the order of parts shows"
# In steps, and one name twice: named by content, not by arrival.
expect_status 0 "$REPORT" merge "$DIR/half.db" "$DIR/twin.db" "$DIR/host2.db" "$DIR/host1.db"
expect_status 0 "$REPORT" merge "$DIR/steps.db" "$DIR/half.db" "$DIR/host3.db"
expect_status 0 "$REPORT" merge "$DIR/once.db" "$DIR/host3.db" "$DIR/host1.db" "$DIR/host2.db" "$DIR/twin.db"
cmp "$DIR/steps.db" "$DIR/once.db" || fail "merged in steps, it is another database"
expect "$DIR/once.db" "host1.dat,host1.dat#2,host2.dat,host3.dat" "SELECT group_concat(trace) FROM traces"
expect "$DIR/once.db" ok "PRAGMA integrity_check"
expect "$DIR/once.db" "" "PRAGMA foreign_key_check"

# ---- refused, and nothing is left ----

refused() {
	local words=$1
	shift
	expect_status 1 "$REPORT" merge "$DIR/no.db" "$@"
	grep -q -e "$words" "$DIR/err" || fail "merge $*: $(cat "$DIR/err")"
	[ -z "$(ls -A "$DIR" | grep -F no.db)" ] || fail "merge $*: left $(ls -A "$DIR" | grep -F no.db)"
}
refused "host1.db: its recording host1.dat is in .*host1.db already: the same content" "$DIR/host1.db" "$DIR/host1.db"
refused "already as host4.dat: the same content" "$DIR/host4.db" "$DIR/host2.db" "$DIR/twin.db"
refused "nonesuch.db: No such file" "$DIR/host1.db" "$DIR/nonesuch.db"
head -c 30000 "$DIR/host2.db" >"$DIR/cut.db"
refused "cut.db: " "$DIR/host1.db" "$DIR/cut.db" "$DIR/host3.db"
cp "$DIR/host2.db" "$DIR/schema.db"
q "$DIR/schema.db" "PRAGMA user_version = 1"
refused "schema.db: results of schema version 1; this tlbreport reads" "$DIR/host1.db" "$DIR/schema.db"
cp "$DIR/host2.db" "$DIR/version.db"
q "$DIR/version.db" "UPDATE meta SET value = '0.0.9' WHERE key = 'tlbreplay'"
refused "version.db: written by tlbreplay 0.0.9, but .*host1.db by" "$DIR/host1.db" "$DIR/version.db"
head -c 8192 /dev/zero >"$DIR/zero.db"
refused "zero.db: not an SQLite database" "$DIR/zero.db"
cp "$DIR/all.db" "$DIR/target.db"
expect_status 1 "$REPORT" merge "$DIR/target.db" "$DIR/host1.db" "$DIR/target.db"
cmp -s "$DIR/all.db" "$DIR/target.db" || fail "a target that is a part, too, was written to"
expect_status 1 "$REPORT" merge "$DIR/target.db" "$DIR/host1.db" "$DIR/cut.db"
cmp -s "$DIR/all.db" "$DIR/target.db" || fail "a merge that failed changed its target"
for words in "merge" "merge $DIR/x.db" "manifest" "manifest a b" "merge --csv $DIR/x.db $DIR/host1.db"; do
	expect_status 2 "$REPORT" $words
done

# ---- memory ----

if [ -x "$MEASURE" ] && [[ $BUILD != *address* ]]; then
	parts=()
	for i in $(seq 1000); do
		sed "s/x/x/" "$DIR/host1.db" >"$DIR/p$i.db"
		parts+=("$DIR/p$i.db")
	done
	# One recording a thousand times over is refused: give each another content.
	for i in $(seq 1000); do
		echo ".open $DIR/p$i.db"
		echo "PRAGMA synchronous = OFF; UPDATE traces SET hash = printf('%016x', $i), trace = 'p$i.dat';"
	done | sqlite3
	/usr/bin/env python3 - "$REPORT" "$DIR/small.db" "${parts[@]:0:10}" >"$DIR/m10" <<'END'
import os, resource, subprocess, sys
subprocess.run([sys.argv[1], "merge"] + sys.argv[2:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
	/usr/bin/env python3 - "$REPORT" "$DIR/big.db" "${parts[@]}" >"$DIR/m1000" <<'END'
import os, resource, subprocess, sys
subprocess.run([sys.argv[1], "merge"] + sys.argv[2:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
	expect "$DIR/big.db" 1000 "SELECT count(*) FROM traces"
	small=$(cat "$DIR/m10") big=$(cat "$DIR/m1000")
	# The cache of pages fills up (16 MiB), and each recording is remembered by a few hundred bytes.
	[ "$big" -lt $((small + 24 * 1024)) ] || fail "1000 parts take $big KiB, 10 take $small KiB"
	echo "1000 parts: $big KiB, 10 parts: $small KiB"
	rm -f "$DIR"/p*.db "$DIR/big.db"
fi

# ---- the list of a fleet ----

good=$DIR/good.tsv
printf 'path\thost\tcpu\tweight\n# by hand\n\nhost1.dat\ta\tn1\t2\nhost2.dat\tb\tn1\t1\n%s/host3.dat\tc\tv2\t0.5\n' "$DIR" >"$good"
expect_status 0 "$REPORT" manifest "$good"
diff <(cut -f 2-3,4,6 "$DIR/out") - <<END || fail "manifest prints something else"
$(stat -c '%s	%.9Y' "$DIR/host1.dat")	a	$DIR/host1.dat
$(stat -c '%s	%.9Y' "$DIR/host2.dat")	b	$DIR/host2.dat
$(stat -c '%s	%.9Y' "$DIR/host3.dat")	c	$DIR/host3.dat
END
[ "$(cut -f 1 "$DIR/out" | grep -cxE '[0-9a-f]{16}')" = 3 ] || fail "ids: $(cut -f 1 "$DIR/out")"
ln -sf host1.dat "$DIR/link.dat"
: >"$DIR/empty.dat"
{
	printf 'path\thost\tcpu\n'
	printf 'host1.dat\ta\tn1\n'
	printf 'nonesuch.dat\tb\tn1\n'
	printf 'host1.dat\tc\tn1\n'
	printf 'link.dat\td\tn1\n'
	printf 'host2.dat\ta\tn1\n'
	printf 'host3.dat\te\n'
	printf '\tf\tn1\n'
	printf 'host3.dat\t\tn1\n'
	printf 'other\tg\tn1\n'
	printf 'empty.dat\th\tn1\n'
} >"$DIR/bad.tsv"
expect_status 1 "$REPORT" manifest "$DIR/bad.tsv"
sort -t : -k 2n "$DIR/err" | sed "s|$DIR|D|g" >"$DIR/faults"
diff "$DIR/faults" - <<'END' || fail "faults of a list"
D/bad.tsv:3: recording D/nonesuch.dat: No such file or directory
D/bad.tsv:4: recording D/host1.dat: the same file as in line 2
D/bad.tsv:5: recording D/link.dat: the same file as in line 4, there as D/host1.dat
D/bad.tsv:6: host "a" is in line 2 already: two hosts of one name, or a column "recording" must tell its recordings apart
D/bad.tsv:7: 2 fields, but the first line names 3 columns
D/bad.tsv:8: the path is empty
D/bad.tsv:9: the host is empty
D/bad.tsv:10: recording D/other: not a regular file
D/bad.tsv:11: recording D/empty.dat: the file is empty
END
# a_fault WORDS LINE...
a_fault() {
	local words=$1
	shift
	printf '%b\n' "$@" >"$DIR/one.tsv"
	expect_status 1 "$REPORT" manifest "$DIR/one.tsv"
	grep -q -e "$words" "$DIR/err" || fail "instead of '$words': $(cat "$DIR/err")"
}
a_fault ':1: there is no column "host"' 'path\tname' 'host1.dat\ta'
a_fault ':1: column "cpu" is there twice' 'path\thost\tcpu\tcpu' 'host1.dat\ta\t1\t1'
a_fault ':1: column 3 has no name' 'path\thost\t' 'host1.dat\ta\tx'
a_fault ':2: weight "-1" is not a number above 0' 'path\thost\tweight' 'host1.dat\ta\t-1'
a_fault ':2: weight "nan" is not' 'path\thost\tweight' 'host1.dat\ta\tnan'
a_fault 'it names no recording' 'path\thost'
a_fault 'it is empty' '# nothing'
a_fault 'has another "cpu" in line 2: two hosts of one name' 'path\thost\trecording\tcpu' 'host1.dat\ta\t1\tn1' 'host2.dat\ta\t2\tv2'
a_fault 'has a recording "1" in line 2 already' 'path\thost\trecording' 'host1.dat\ta\t1' 'host2.dat\ta\t1'
expect_status 1 "$REPORT" manifest "$DIR/nonesuch.tsv"
[ "$(id -u)" = 0 ] || { chmod 0 "$DIR/host1.dat" && a_fault 'Permission denied' 'path\thost' 'host1.dat\ta'; }

# A merge by list: hosts, labels, weights, and what is missing.
{
	printf 'path\thost\tcpu\tweight\tpart\treason\n'
	printf 'host1.dat\ta\tn1\t2\thost1.db\t\n'
	printf 'host2.dat\tb\tn1\t1\t\tkilled after 60 s\n'
	printf 'host3.dat\tc\tv2\t0.5\thost3.db\t\n'
} >"$DIR/fleet.tsv"
expect_status 3 "$REPORT" merge "$DIR/fleet.db" --manifest "$DIR/fleet.tsv"
grep -q "missing: $DIR/host2.dat (host b): killed after 60 s" "$DIR/err" || fail "$(cat "$DIR/err")"
expect "$DIR/fleet.db" "a|2.0||host1.dat|
b|1.0|||killed after 60 s
c|0.5||host3.dat|" "SELECT host, weight, recording, trace, missing FROM v_fleet"
expect "$DIR/fleet.db" "n1,n1,v2" "SELECT group_concat(value) FROM v_fleet_label"
refused "it was merged with a list of hosts" "$DIR/fleet.db" "$DIR/host2.db"
done_testing
