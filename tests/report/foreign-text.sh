#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Names that processes gave themselves (quotes, newline, tab, comma, escape sequence, invalid UTF-8,
# right-to-left override) arrive whole in CSV, legal in JSON and harmless in text and pictures.
. tests/report/lib/setup

# Text: no control byte but newline, valid UTF-8, columns still in line.
expect_status 0 "$REPORT" "$FIX" processes --trace base.dat
if LC_ALL=C grep -q "[$(printf '\001-\011\013-\037\177')]" "$DIR/out"; then
	fail 'text: a control byte'
fi
for shown in 'l1\\x0al2\\x09l3' '\\xfea\\xffb\\xc3' '\\x1b\[31mred\\x1b' '\\u{202e}exe\.' 'a "b", c' '=1+1\\ ' \
	'日本 é'; do
	grep -q "$shown" "$DIR/out" || fail "text: no $shown"
done
# The two wide characters take two columns each, 7 in all, in a column of 15.
grep -q '105  日本 é                    1' "$DIR/out" || fail 'text: wide characters shift a column'

have_python 'csv, json' || { echo 'python3 cannot parse CSV and JSON: only text checked'; done_testing; }

expect_status 0 "$REPORT" "$FIX" processes --csv --trace base.dat --policy arm64-broadcast
python3 - "$DIR/out" <<'END' || fail 'CSV'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8", errors="surrogateescape", newline="")))
got = {int(r["mm"]): r["comm"].encode("utf-8", "surrogateescape") for r in rows}
want = {1: b"plain", 2: b'a "b", c', 3: b"l1\nl2\tl3", 4: b"\xfea\xffb\xc3", 5: b"\x1b[31mred\x1b",
        6: "日本 é".encode(), 7: "\u202eexe.".encode(), 8: b"=1+1\\"}
assert got == want, got
assert all(None not in r and None not in r.values() for r in rows)
END

expect_status 0 "$REPORT" "$FIX" processes --json --trace base.dat --policy arm64-broadcast
python3 - "$DIR/out" <<'END' || fail 'JSON'
import json, sys
raw = open(sys.argv[1], "rb").read()
assert not any(b < 0x20 and b != 0x0a for b in raw)
got = {r["mm"]: r["comm"] for r in json.loads(raw.decode("utf-8"))}
want = {1: "plain", 2: 'a "b", c', 3: "l1\nl2\tl3", 4: "\ufffda\ufffdb\ufffd", 5: "\x1b[31mred\x1b",
        6: "日本 é", 7: "\u202eexe.", 8: "=1+1\\"}
assert got == want, got
END

# Names of recordings and policies reach gnuplot, which would run `commands` and expand @macros.
command -v gnuplot >/dev/null || { echo 'gnuplot is not installed: pictures not checked'; done_testing; }
sqlite3 "$FIX" "UPDATE traces SET trace = '\`touch $DIR/ran\` ''\" @x \\ \$data' || char(10) || 'EOD' || char(27)
WHERE id = 1; UPDATE policies SET policy = '\`touch $DIR/ran\`\"''\\@x' || char(10) || 'EOD' WHERE id = 2"
sqlite3 "$FIX" "UPDATE mms SET comm = '\`touch $DIR/ran\`\"''\@x' || char(10) || 'EOD' WHERE mm = 1"
for report in timeline exposures pages cost; do
	for file in "$DIR/a.svg" -; do
		expect_status 0 "$REPORT" "$FIX" $report --plot "$file"
	done
done
[ ! -e "$DIR/ran" ] || fail 'gnuplot ran a name'
if LC_ALL=C grep -q "[$(printf '\001-\010\013-\037\177')]" "$DIR/out"; then
	fail 'plot -: a control byte'
fi
# The same names as text, and in the commands that the overview proposes.
expect_status 0 "$REPORT" "$FIX"
if LC_ALL=C grep -q "[$(printf '\001-\011\013-\037\177')]" "$DIR/out"; then
	fail 'overview: a control byte'
fi
done_testing
