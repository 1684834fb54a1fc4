#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Text, CSV and JSON of the fixture, against what its numbers add up to.
. tests/report/lib/setup

# Flushes of base.dat: arm64-broadcast 10338 + 76 + 5 = 10419 broadcasts; arm64-local 76 + 5 = 81 of
# them and 10338 + 1251 = 11589 local; x86 76 + 5 = 81 by interrupt. Stale at the high bound:
# 3000 + 758 = 3758.
# Cost, initiator + the rest, in ms: 3 + 1, 8 + 2, 30 + 10; 1 + 0, 1.5 + 1, 2 + 3; 0.5, 3, 20.
# CPU time: 3 CPUs with events x 954 ms = 2862 ms; 4 / 2862 = 0.14 %, 10 / 2862 = 0.35 %,
# 40 / 2862 = 1.40 %; 1, 2.5, 5 of 2862 = 0.03, 0.09, 0.17 %; 0.5, 3, 20 of 2862 = 0.02, 0.10, 0.70 %.
# arm64-local and arm64-broadcast differ nowhere but at wp_reuse and after spurious faults: "other
# flushes unchanged". x86 turns the other 81 broadcasts into interrupts. No high bound of a cost lies below every other low bound.
cat >"$DIR/overview" <<END
base.dat, whose kernel flushed like arm64-broadcast:
- arm64-local would have issued 0 of 10,338 broadcasts at wp_reuse (other
  flushes unchanged); between 0 and 3,758 spurious faults, estimate 1,250; cost
  between 1.00 ms and 5.00 ms (uncalibrated); not judged.
- x86:pcid=off would have issued 0 of 10,338 broadcasts at wp_reuse (elsewhere:
  0 broadcasts instead of 81; by interrupt 81 instead of 0); between 0 and 3,000
  spurious faults, estimate 900; cost between 500 us and 20.0 ms (uncalibrated);
  not judged.

Least cost: undecided, the bounds overlap (lowest estimate: arm64-local).

base.dat: 12,345 events of kernel 6.12.117 (arm64) on 4 CPUs (3 with events)
over 0.954 s; nothing lost.

Its kernel flushed like arm64-broadcast. Self-check of arm64-broadcast: 3 points
checked, 1 DIFFER (fork mm 6 recorded, 5 replayed); shown by the flush alone:
mremap; not seen: reclaim.

What each policy would have flushed
policy           broadcasts  IPIs   local      spurious faults  stale high
---------------  ----------  ----  ------  -------------------  ----------
arm64-broadcast      10,419     0       0                    0           0
arm64-local              81     0  11,589  0 .. 1,250 .. 3,758       3,758
x86:pcid=off              0    81       0    0 .. 900 .. 3,000           0
a .. b .. c: low bound, estimate, high bound. Flushes are estimates; IPIs:
flushes by interrupt; stale high: entries that are stale at some time, at the
high bound.

What that would have cost
policy                                     cost               cpu share
---------------  ------------------------------  ----------------------
arm64-broadcast       4.00 .. 10.0 .. 40.0 ms    0.14 .. 0.35 .. 1.40 %
arm64-local           1.00 .. 2.50 .. 5.00 ms ?  0.03 .. 0.09 .. 0.17 %
x86:pcid=off     500 us .. 3.00 ms .. 20.0 ms ?  0.02 .. 0.10 .. 0.70 %
cost preset: arm64. ?: uncalibrated, rests on something that nobody measured.
cpu share: cost as a share of the CPU time recorded.

What this rests on
- assumed: share = 0.25.
- uncalibrated in arm64, that is, measured by nobody: 1 of 2 costs.
- 1 task of 9 came from nowhere: each counts as a process of its own.
- skipped, recorded but of no use here: events (345).
- unseen, decision points that nothing recorded shows: age, reclaim.

Next
  tlbreport fix.db processes            who causes the flushes
  tlbreport fix.db cost --plot -        the costs, drawn
  tlbreport fix.db trust                every caveat in full
  tlbreport fix.db html -o report.html  all of it as one page
  tlbreport fix.db list                 what else it answers
  tlbreport fix.db --trace NAME         only one of the recordings
END
program=$(realpath "$REPORT")
in_dir() {
	(cd "$DIR" && PATH=$(dirname "$program"):$PATH tlbreport "$@")
}
same 'overview of base.dat' in_dir fix.db --trace base.dat <"$DIR/overview"
same 'overview by name' in_dir fix.db overview --trace base.dat <"$DIR/overview"

# A recording that lost events, of a kernel that cannot be told; none costs 0 at most, arm64-local at
# least 10 us.
expect_status 0 "$REPORT" "$FIX" --trace twin.dat
for words in 'INCOMPLETE: 7 events lost, an unknown number lost at 1 place' \
	'does not show which policy its kernel had' 'Least cost: none, even at its high bound' \
	'unsafe: CPU 1 kept 0x1000'; do
	tr '\n' ' ' <"$DIR/out" | tr -s ' ' | grep -q "$words" || fail "twin.dat: no \"$words\""
done

# Both recordings, one behind the other.
expect_status 0 "$REPORT" "$FIX"
[ "$(grep -c '^== ' "$DIR/out")" = 2 ] || fail 'two recordings without two headings'

# The difference is replayed - recorded; where nothing was recorded there is none.
same 'selfcheck as CSV' "$REPORT" "$FIX" selfcheck --csv <<END
trace,policy,point,level,recorded,replayed,difference,source
base.dat,arm64-broadcast,cow,pte,76,76,0,events
base.dat,arm64-broadcast,fork,mm,6,5,-1,events
base.dat,arm64-broadcast,mremap,pte,6,6,0,tlbi-only
base.dat,arm64-broadcast,reclaim,pte,,0,,unseen
base.dat,arm64-broadcast,wp_reuse,pte,10338,10338,0,events
END

same 'faults as JSON, one table' "$REPORT" "$FIX" faults --json --policy arm64-local <<END
[
  {"trace": "base.dat", "policy": "arm64-local", "kind": "spurious", "low": 0, "estimate": 1250.5, "high": 3758},
  {"trace": "twin.dat", "policy": "arm64-local", "kind": "spurious", "low": 0, "estimate": 1, "high": 2}
]
END

# A policy's bare name means it with any parameters. 70 .. 76 .. 80 interrupts at cow.
same 'flush as text' "$REPORT" "$FIX" flush --policy x86 --trace base.dat <<END
Invalidations by policy, decision point, level and scope
policy        point     level  scope  decisions         flushes  pages
------------  --------  -----  -----  ---------  --------------  -----
x86:pcid=off  cow       pte    mask          76  70 .. 76 .. 80     76
x86:pcid=off  fork      mm     mask           5               5      0
x86:pcid=off  wp_reuse  pte    none      10,338               0      0
decisions: times the point was reached. a .. b .. c: low bound, estimate, high
bound.
END

# Of 31 rows, text shows 20, as many as --limit says, or all; CSV all unless told otherwise.
expect_status 0 "$REPORT" "$FIX" pages --trace base.dat
grep -q '^0x24000 .* 380$' "$DIR/out" && ! grep -q '^0x25000' "$DIR/out" || fail 'pages: not 20 rows'
grep -q '^\.\.\. and 11 more' "$DIR/out" || fail 'pages: 31 - 20 is not 11'
expect_status 0 "$REPORT" "$FIX" pages --trace base.dat --limit 0
grep -q '^(others) .* 5,000$' "$DIR/out" || fail 'pages --limit 0: no rest'
expect_status 0 "$REPORT" "$FIX" pages --csv
[ "$(wc -l <"$DIR/out")" = 32 ] || fail 'pages --csv: not 1 + 31 lines'
expect_status 0 "$REPORT" "$FIX" pages --csv --limit 3
[ "$(wc -l <"$DIR/out")" = 4 ] || fail 'pages --csv --limit 3: not 1 + 3 lines'

# Thirty pages side by side are one region: 0x11000 up to 0x2f000, 30 x 4096 bytes, and
# 399 + 398 + ... + 370 = 11535 decisions, all of those that have a page. Two more pages 16 further on
# (15 untouched ones between) join it; one 17 further on does not.
same 'regions as CSV' "$REPORT" "$FIX" regions --csv <<END
trace,start,size_bytes,mm,comm,pages,decisions,wp_reuse,cow,share
base.dat,0x11000,122880,1,plain,30,11535,11535,0,1
END
cp "$FIX" "$DIR/gaps.db"
sqlite3 "$DIR/gaps.db" "INSERT INTO pages VALUES (1, 1, 0x2e000 + 0x10000, 'cow', 'pte', 5),
	(1, 1, 0x3e000 + 0x11000, 'cow', 'pte', 60), (1, 2, 0x4f000, 'cow', 'pte', 7)"
same 'regions and gaps' "$REPORT" "$DIR/gaps.db" regions --csv --trace base.dat <<END
trace,start,size_bytes,mm,comm,pages,decisions,wp_reuse,cow,share
base.dat,0x11000,188416,1,plain,31,11540,11535,5,0.9948275862068966
base.dat,0x4f000,4096,1,plain,1,60,0,60,0.005172413793103448
base.dat,0x4f000,4096,2,"a ""b"", c",1,7,0,7,1
END

# Every policy reached wp_reuse 10338 times; the fixture's pages are all in one process.
same 'points as CSV' "$REPORT" "$FIX" points --csv --trace base.dat <<END
trace,point,level,decisions,pages,processes
base.dat,wp_reuse,pte,10338,30,1
base.dat,cow,pte,76,,
base.dat,fork,mm,5,,
END

# Table 2 of the costs is the one by part.
same 'cost --table 2' "$REPORT" "$FIX" cost --csv --table 2 --policy x86 <<END
trace,policy,cost,part,low_ns,estimate_ns,high_ns,uncalibrated
base.dat,x86:pcid=off,arm64,initiator,500000,3000000,20000000,1
END

if have_python json; then
	for report in overview cost trust; do
		expect_status 0 "$REPORT" "$FIX" $report --json
		python3 - "$DIR/out" $report <<-'END' || fail "$report --json"
		import json, sys
		d = json.load(open(sys.argv[1]))
		assert d["report"] == sys.argv[2] and len(d["tables"]) > 1
		for t in d["tables"]:
		    assert set(t) == {"title", "columns", "rows"}
		    assert all(len(r) == len(t["columns"]) for r in t["rows"])
		END
	done
fi

# A report of one's own: its directives, its functions, and main. to look past --policy.
cat >"$DIR/mine.sql" <<'END'
-- title: Mine
-- note: noted
SELECT (SELECT count(*) FROM v_flush) AS narrowed, (SELECT count(*) FROM main.v_flush) AS all_rows,
       human_ns(1234567) AS t, human_count(1, 2, 3456) AS r, count_of(2, 'place') AS p,
       shell_word('it''s') AS w, 5000000 AS wait_ns, NULL AS no;
END
same 'a report of one'"'"'s own' "$REPORT" "$FIX" "$DIR/mine.sql" --policy x86 <<'END'
Mine
narrowed  all rows  t        r                p         w             wait  no
--------  --------  -------  ---------------  --------  ---------  -------  --
       3        12  1.23 ms  1 .. 2 .. 3,456  2 places  'it'\''s'  5.00 ms   -
noted
END

# As wide as the terminal: nothing is broken at 200 columns, no line is longer than 60 or 40.
for columns in 200 60 40; do
	COLUMNS=$columns
	export COLUMNS
	for report in overview flush cost traces trust; do
		expect_status 0 "$REPORT" "$FIX" $report
		longest=$(grep -v '^  tlbreport' "$DIR/out" | awk '{ if (length > n) n = length } END { print n }')
		[ "$longest" -le $columns ] || fail "$report: $longest columns instead of $columns"
	done
done
unset COLUMNS

done_testing
