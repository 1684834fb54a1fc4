#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two results beside each other: what is paired, what counts as a change, when --fail-if fails.
. tests/report/lib/setup

# The same results again, but with x86 dearer (x 20: 10 .. 60 .. 400 ms beside 0.5 .. 3 .. 20: the
# bounds overlap), arm64-local dearer without a doubt (x 6: 6 .. 15 .. 30 beside 1 .. 2.5 .. 5 ms),
# and 10 broadcasts less at cow for arm64-broadcast: 10419 - 10 = 10409.
cp "$FIX" "$DIR/new.db"
sqlite3 "$DIR/new.db" "UPDATE costs SET low_ns = low_ns * 20, estimate_ns = estimate_ns * 20,
	high_ns = high_ns * 20 WHERE policy = 3;
	UPDATE costs SET low_ns = low_ns * 6, estimate_ns = estimate_ns * 6, high_ns = high_ns * 6 WHERE policy = 2;
	UPDATE flush SET flushes_low = 66, flushes = 66, flushes_high = 66 WHERE policy = 1 AND point = 'cow';
	UPDATE verdicts SET verdict = 'safe' WHERE policy = 2"
same 'costs as CSV' "$REPORT" compare "$FIX" "$DIR/new.db" --trace base.dat --csv <<END
trace,policy,preset,a_low_ns,a_ns,a_high_ns,b_low_ns,b_ns,b_high_ns,uncalibrated,change_share,judged
base.dat,arm64-broadcast,arm64,4000000,10000000,40000000,4000000,10000000,40000000,0,0,same
base.dat,arm64-local,arm64,1000000,2500000,5000000,6000000,15000000,30000000,1,5,higher
base.dat,x86:pcid=off,arm64,500000,3000000,20000000,10000000,60000000,400000000,1,19,undecided
END
expect_status 0 "$REPORT" compare "$FIX" "$DIR/new.db" --csv --table 2
grep -q '^base.dat,arm64-broadcast,broadcasts,10419,10419,10419,10409,10409,10409,-0.000959[0-9]*,lower$' \
	"$DIR/out" || fail "counts: $(cat "$DIR/out")"
# 3758 stale on both sides; all of twin.dat's none are unsafe. What is zero on both sides is not there.
grep -q '^base.dat,arm64-local,stale,0,1250.5,3758,0,1250.5,3758,0,same$' "$DIR/out" || fail 'counts: stale'
grep -q '^twin.dat,none,unsafe,0,0,6,0,0,6,,same$' "$DIR/out" || fail 'counts: unsafe'
! grep -q 'ipis,0,0,0,0,0,0' "$DIR/out" || fail 'counts: zeros'
expect_status 0 "$REPORT" compare "$FIX" "$DIR/new.db" --csv --table 3
grep -q '^base.dat,arm64-local,not judged,safe,changed,$' "$DIR/out" || fail 'verdicts: no change'

# Two policies of one recording; two recordings of one database, by rates: 0.954 s and 1 ms.
expect_status 0 "$REPORT" compare "$FIX" --trace base.dat --policy arm64-broadcast --policy x86 --csv --table 2
grep -q '^base.dat,arm64-broadcast -> x86:pcid=off,broadcasts,10419,10419,10419,0,0,0,-1,lower$' "$DIR/out" ||
	fail "two policies: $(cat "$DIR/out")"
grep -q 'ipis,0,0,0,75,81,85,,higher$' "$DIR/out" || fail 'two policies: interrupts'
expect_status 0 "$REPORT" compare "$FIX" --trace base.dat --trace twin.dat --policy arm64-local --per-second \
	--csv --table 2
# 11589 / 0.954 = 12147.79...; 1 .. 2 .. 3 / 0.001 = 1000 .. 2000 .. 3000.
grep -q '^base.dat -> twin.dat,arm64-local,local,10836[.0-9]*,12147.79[0-9]*,14775.68[0-9]*,1000,2000,3000,-0.835[0-9]*,lower$' \
	"$DIR/out" || fail "rates: $(cat "$DIR/out")"
expect_status 0 "$REPORT" compare "$FIX" --trace base.dat --trace twin.dat
tr '\n' ' ' <"$DIR/out" | grep -q 'not equally long' || fail 'no word on unequal lengths'
tr '\n' ' ' <"$DIR/out" | grep -q 'Only in A: policy arm64-broadcast, policy x86:pcid=off' || fail 'nothing on what is only in A'
tr '\n' ' ' <"$DIR/out" | grep -q 'INCOMPLETE' || fail 'nothing on lost events'
awk 'length > 80 { exit 1 }' "$DIR/out" || fail 'wider than 80 columns'

# rule STATUS RULE...: comparing FIX with new.db under these rules ends with STATUS.
rule() {
	want=$1
	shift
	set -- $(printf -- '--fail-if %s\n' "$@")
	expect_status "$want" "$REPORT" compare "$FIX" "$DIR/new.db" --trace base.dat "$@"
}
rule 1 'cost>+5%'               # + 500 % and + 1900 %
[ "$(grep -c '^tlbreport: error: cost>+5%: ' "$DIR/err")" = 2 ] || fail "two policies cost more: $(cat "$DIR/err")"
rule 0 'cost>+1900%'            # not more than that
rule 1 'cost>=+1900%'
rule 1 'cost.low>+1800%'
rule 1 'cost.high>+379ms'       # 400 - 20 = 380 ms
rule 0 'cost.high>+380ms'
rule 1 'cost>59ms'
rule 0 'cost>60ms'
rule 1 'cost.sure>+19%'         # 6 ms at least instead of 5 at most: + 20 %
rule 0 'cost.sure>+21%'
rule 1 'broadcasts<-0.09%'      # - 10 of 10419
rule 0 'broadcasts<-0.1%'
rule 1 'broadcasts<=-10'
rule 0 'broadcasts<-10'
rule 0 'ipis>+0%' 'local>+0' 'spurious>+0' 'stale>+0' 'unsafe>0'
rule 0 'broadcasts>+0%'
rule 1 'ipis>+0%' 'broadcasts>10408'
# From nothing to something is more than any share; from nothing to nothing is none.
sqlite3 "$DIR/new.db" "INSERT INTO exposures VALUES (1, 'unsafe', 'high', 'end', 3, 10, 10)"
rule 1 'unsafe.high>+1000%'
rule 0 'unsafe>+0%'
# What cannot be checked has not passed.
cp "$FIX" "$DIR/nocost.db"
sqlite3 "$DIR/nocost.db" 'DELETE FROM costs'
expect_status 1 "$REPORT" compare "$DIR/nocost.db" "$FIX" --fail-if 'cost>+5%'
grep -q 'nothing on both sides to check it on' "$DIR/err" || fail 'a rule without a metric passes in silence'

for words in 'cost' 'cost>' 'cost>x' 'cost>5%' 'cots>5' 'cost.max>5' 'cost>+5%%' 'broadcasts>5ms' 'cost>nan' 'cost>inf' \
	'cost>0x10' ''; do
	expect_status 2 "$REPORT" compare "$FIX" "$DIR/new.db" --fail-if "$words"
	[ ! -s "$DIR/out" ] || fail "output in spite of a bad rule: $words"
done
expect_status 2 "$REPORT" compare "$FIX"
expect_status 2 "$REPORT" compare
expect_status 2 "$REPORT" compare "$FIX" "$FIX" "$FIX"
expect_status 2 "$REPORT" "$FIX" cost --fail-if 'cost>5'
expect_status 2 "$REPORT" compare "$FIX" "$FIX" --trace zzz
expect_status 1 "$REPORT" compare "$FIX" "$DIR/missing.db"
make_db "$DIR/bare.db"
expect_status 2 "$REPORT" compare "$DIR/bare.db" "$FIX"
grep -q 'no recording has the same name' "$DIR/err" || fail 'an empty side'
cp "$FIX" "$DIR/other.db"
sqlite3 "$DIR/other.db" "UPDATE policies SET policy = 'other' || id"
expect_status 2 "$REPORT" compare "$DIR/other.db" "$FIX"
grep -q 'no policy has the same name' "$DIR/err" || fail 'no policies in common'

if have_python json; then
	expect_status 0 "$REPORT" compare "$FIX" "$DIR/new.db" --json
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["report"] == "compare" and [t["title"] for t in d["tables"] if t["title"]] == ["Cost", "Counts", "Verdicts"]' \
		"$DIR/out" || fail 'compare --json'
fi
done_testing
