#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The picture of the costs: a PNG and an SVG that others can read, characters for a terminal, linear
# and logarithmic; without gnuplot, a message.
. tests/report/lib/setup

# Without gnuplot: only the program itself is left to run.
mkdir "$DIR/bin"
expect_status 1 env PATH="$DIR/bin" "$REPORT" "$FIX" cost --plot "$DIR/none.png"
grep -q 'gnuplot.*not installed' "$DIR/err" || fail "no gnuplot: $(cat "$DIR/err")"
[ ! -e "$DIR/none.png" ] || fail 'a picture without gnuplot'
# With one that fails.
printf '#!/bin/sh\necho broken >&2\nexit 3\n' >"$DIR/bin/gnuplot"
chmod +x "$DIR/bin/gnuplot"
expect_status 1 env PATH="$DIR/bin" "$REPORT" "$FIX" cost --plot "$DIR/none.png"
grep -q 'gnuplot failed: broken' "$DIR/err" || fail "a broken gnuplot: $(cat "$DIR/err")"
[ ! -e "$DIR/none.png" ] || fail 'a picture from a broken gnuplot'

command -v gnuplot >/dev/null || { echo 'gnuplot is not installed'; exit 77; }

# Bounds over six decades: 5 us to 7 s. And nothing at all.
cp "$FIX" "$DIR/wide.db"
sqlite3 "$DIR/wide.db" "UPDATE costs SET low_ns = 5000 WHERE policy = 3;
	UPDATE costs SET high_ns = 7e9 WHERE policy = 4"
cp "$FIX" "$DIR/zero.db"
sqlite3 "$DIR/zero.db" "UPDATE costs SET low_ns = 0, estimate_ns = 0, high_ns = 0"

for db in fix wide zero; do
	expect_status 0 "$REPORT" "$DIR/$db.db" cost --plot "$DIR/$db.png"
	expect_status 0 "$REPORT" "$DIR/$db.db" --plot "$DIR/$db.svg"
	[ ! -s "$DIR/out" ] && [ ! -s "$DIR/err" ] || fail "$db: talks while drawing: $(cat "$DIR/err")"
	# Signature, then IHDR with width and height: 1000 wide, two panels of 3 + 2 rows.
	bytes=$(od -An -tx1 -N24 "$DIR/$db.png" | tr -d ' \n')
	case $bytes in
	89504e470d0a1a0a0000000d49484452000003e80000*) ;;
	*) fail "$db.png is no PNG of 1000 columns: $bytes" ;;
	esac
	[ "$(wc -c <"$DIR/$db.png")" -gt 4000 ] || fail "$db.png is too small to show anything"
	if have_python xml.dom.minidom; then
		python3 - "$DIR/$db.svg" <<-'END' || fail "$db.svg"
		import sys, xml.dom.minidom
		d = xml.dom.minidom.parse(sys.argv[1])
		assert d.documentElement.tagName == "svg"
		def words(n):
		    return "".join(c.data if c.nodeType == c.TEXT_NODE else words(c) for c in n.childNodes)
		text = words(d.documentElement)
		for want in ("base.dat", "twin.dat", "arm64-broadcast", "x86:pcid=off", "modelled CPU time"):
		    assert want in text, want
		END
	fi
done
grep -q 'uncalibrated' "$DIR/fix.svg" || fail 'fix.svg does not say what is uncalibrated'
grep -q '4.00 .. 10.0 .. 40.0 ms' "$DIR/fix.svg" || fail 'fix.svg: no bounds beside the bar'

expect_status 0 "$REPORT" "$FIX" cost --plot - --trace base.dat
grep -q 'arm64-local |' "$DIR/out" || fail 'plot -: no policy beside the axis'
grep -q 'modelled CPU time, ms' "$DIR/out" || fail 'plot -: no unit'
grep -q '1.00 .. 2.50 .. 5.00 ms ?' "$DIR/out" || fail 'plot -: not marked uncalibrated'
! grep -q 'twin.dat' "$DIR/out" || fail 'plot -: --trace does not narrow it'
awk 'length > 80 { exit 1 }' "$DIR/out" || fail 'plot -: wider than 80 columns'
# Logarithmic: decades with their own units.
expect_status 0 "$REPORT" "$DIR/wide.db" cost --plot - --trace base.dat
grep -q 'logarithmic' "$DIR/out" || fail 'plot -: five decades without a logarithm'
grep -q '1 us .* 1 ms' "$DIR/out" || fail 'plot -: no units at the decades'

# 10 ** 4 ns is where rounding once pushed the outermost tick and all labels off the axis.
sqlite3 "$DIR/wide.db" "UPDATE costs SET low_ns = 25600 WHERE policy = 3"
expect_status 0 "$REPORT" "$DIR/wide.db" cost --plot - --trace base.dat
grep -q '10 us .* 1 ms' "$DIR/out" || fail 'plot -: no tick at 10 us'
grep -q '25.6 us .. 3.00 ms .. 20.0 ms' "$DIR/out" || fail 'plot -: no label at 10 us'

# Every other picture: three policies' flushes, the longest stale entries, the hottest regions.
for report in timeline exposures pages heat policies cpus; do
	for db in fix wide; do
		expect_status 0 "$REPORT" "$DIR/$db.db" $report --plot "$DIR/$report.png"
		expect_status 0 "$REPORT" "$DIR/$db.db" $report --plot "$DIR/$report.svg"
		[ ! -s "$DIR/out" ] && [ ! -s "$DIR/err" ] || fail "$report: talks: $(cat "$DIR/err")"
		[ "$(wc -c <"$DIR/$report.png")" -gt 4000 ] || fail "$report.png shows nothing"
	done
	expect_status 0 "$REPORT" "$FIX" $report --plot - --trace base.dat
	awk 'length > 80 { exit 1 }' "$DIR/out" || fail "$report --plot -: wider than 80 columns"
done
for words in 'time since the recording began, s' 'flushes a second, 1/s' 'arm64-broadcast' 'base.dat: broadcasts'; do
	grep -q "$words" "$DIR/timeline.svg" || fail "timeline.svg: no \"$words\""
done
# Two entries of 50 and 60 ms are stored of 3758.
for words in 'arm64-local, benign, 3758 in all' '50 ms' 'time that an entry stays stale'; do
	grep -q "$words" "$DIR/exposures.svg" || fail "exposures.svg: no \"$words\""
done
# 30 pages of 4 KiB.
for words in 'plain tid 100 0x11000, 120 KiB' 'decisions a page' 'position in the region, %'; do
	grep -q "$words" "$DIR/pages.svg" || fail "pages.svg: no \"$words\""
done

# The grid of the fixture: thirty cells of 4 KiB are one region. x86 broadcasts nothing, none has no panel.
for words in 'base.dat: broadcasts under arm64-broadcast' 'base.dat: broadcasts under arm64-local' \
	'plain tid 100, 0x11000, 120 KiB' 'plain tid 100, whole mm' 'broadcasts a second, 1/s'; do
	grep -q "$words" "$DIR/heat.svg" || fail "heat.svg: no \"$words\""
done
! grep -q 'under x86\|under none' "$DIR/heat.svg" || fail 'heat.svg: a panel of a policy that broadcasts nothing'
# What each policy makes of the 10,338 reuses and 76 copies.
for words in '10,338 B' '10,338 L' '76 I' '5 B' 'tables_freed\|wp_reuse' 'x86:pcid=off' 'B: broadcast'; do
	grep -q "$words" "$DIR/policies.svg" || fail "policies.svg: no \"$words\""
done
for words in 'base.dat: issued to other CPUs' 'base.dat: received from other CPUs' 'broadcasts, interrupts'; do
	grep -q "$words" "$DIR/cpus.svg" || fail "cpus.svg: no \"$words\""
done

# Seventy policies, entries that are stored singly only, a recording that has but one of them.
sqlite3 "$DIR/wide.db" "CREATE TEMP TABLE i AS WITH RECURSIVE i(n) AS
	(SELECT 10 UNION ALL SELECT n + 1 FROM i WHERE n < 79) SELECT n FROM i;
	INSERT INTO policies SELECT n, 1, 'p' || n, 'p', '', '', '' FROM i;
	INSERT INTO flush_time SELECT n, 1000000000, 500000000, 'broadcast', n, n, n FROM i;
	INSERT INTO exposure_rows SELECT n, 'unsafe', 1, 4096, 0, 0, n * 1000, 'end' FROM i;
	INSERT INTO exposure_rows VALUES (4, 'unsafe', 1, 4096, 0, 0, 7, 'end')"
for report in timeline exposures pages cost heat policies cpus; do
	expect_status 0 "$REPORT" "$DIR/wide.db" $report --plot "$DIR/$report.svg"
	expect_status 0 "$REPORT" "$DIR/wide.db" $report --plot -
done
grep -q 'the first 12 of 73 policies' "$DIR/timeline.svg" || fail 'timeline.svg: does not say what is left out'
grep -q '(10 of 71 lines)' "$DIR/exposures.svg" || fail 'exposures.svg: does not say what is left out'

# Drawing twice gives the same bytes; a folder that is not there gives a message.
expect_status 0 "$REPORT" "$FIX" cost --plot "$DIR/again.svg"
cmp -s "$DIR/fix.svg" "$DIR/again.svg" || fail 'the same picture twice, but not the same bytes'
expect_status 1 "$REPORT" "$FIX" cost --plot "$DIR/no/such.png"
make_db "$DIR/bare.db"
expect_status 1 "$REPORT" "$DIR/bare.db" cost --plot "$DIR/bare.png"
grep -q 'nothing to draw' "$DIR/err" || fail 'nothing to draw, and no message'
done_testing
