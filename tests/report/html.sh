#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The page: well-formed, whole without a network or a script, below 2 MB however long the recording,
# with every name escaped; in a browser, where there is one.
. tests/report/lib/setup

# Odd databases: nothing in it, no costs, one policy, seventy of them.
make_db "$DIR/bare.db"
cp "$FIX" "$DIR/nocost.db"
sqlite3 "$DIR/nocost.db" 'DELETE FROM costs; DELETE FROM cost_items'
cp "$FIX" "$DIR/one.db"
sqlite3 "$DIR/one.db" "DELETE FROM traces WHERE id = 2; DELETE FROM policies WHERE id <> 2"
cp "$FIX" "$DIR/many.db"
sqlite3 "$DIR/many.db" "WITH RECURSIVE i(n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM i WHERE n < 79)
	INSERT INTO policies SELECT n, 1, 'p' || n, 'p', '', '', '' FROM i"
# Names that would end an element, an attribute, the script, the page.
cp "$FIX" "$DIR/evil.db"
sqlite3 "$DIR/evil.db" "UPDATE mms SET comm = '</td><script>x' WHERE mm = 1;
	UPDATE mms SET comm = '\"''\`\${x} onload=\"' WHERE mm = 2;
	UPDATE policies SET policy = 'a\"><img src=x onerror=alert(1)>' WHERE id = 1;
	UPDATE traces SET trace = '</title><script>alert(1)</script>&amp;' WHERE id = 1;
	UPDATE verdicts SET witness = ']]>--><b>&lt;'; UPDATE traces SET kernel = '<!--'"
# A day: 3000 processes, 100,000 pages, 20,000 spans for three policies, 3000 stale entries.
cp "$FIX" "$DIR/day.db"
sqlite3 "$DIR/day.db" "UPDATE traces SET last_ns = first_ns + 86400000000000 WHERE id = 1;
	WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 100000)
	INSERT INTO pages SELECT 1, 10 + n % 3000, 0x400000 + 0x3000 * n, 'cow', 'pte', 1 + n % 77 FROM i;
	WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 3000)
	INSERT INTO mms SELECT 1, 10 + n, NULL, n, 'process ' || n, 'derived', 0, 0, 33 FROM i;
	WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 3000)
	INSERT INTO flush_mm SELECT 1 + n % 3, 10 + n, 'cow', 'broadcast', n, n, n FROM i;
	WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 20000)
	INSERT INTO flush_time SELECT 1 + n % 3, 1000000000 + 4320000000 * n, 4320000000, 'broadcast', n, n, n
	FROM i;
	WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 3000)
	INSERT INTO exposure_rows SELECT 1 + n % 3, 'benign', 10 + n, 4096 * n, n % 4, 0, n * 1000000, 'end' FROM i"
# Forty recordings.
cp "$FIX" "$DIR/traces.db"
sqlite3 "$DIR/traces.db" "CREATE TEMP TABLE i AS WITH RECURSIVE i(n) AS
	(SELECT 3 UNION ALL SELECT n + 1 FROM i WHERE n < 42) SELECT n FROM i;
	INSERT INTO traces SELECT n, 'copy' || n, hash, bytes, format, compression, kernel, arch, arch_source,
	clock, page_bytes, cpus, cpus_with_events, buffers, events, events_used, first_ns, last_ns, lost_events,
	lost_unknown, overrun, dropped, tasks, tasks_unknown_mm, kernel_policy FROM traces, i WHERE id = 1;
	INSERT INTO policies SELECT n * 100 + id, n, policy, name, summary, source, omits FROM policies, i
	WHERE trace = 1; INSERT INTO flush SELECT n * 100 + policy, point, level, scope, decisions, flushes_low,
	flushes, flushes_high, pages FROM flush, i WHERE policy <= 3"

for db in fix bare nocost one many evil day traces; do
	expect_status 0 "$REPORT" "$DIR/$db.db" html -o "$DIR/$db.html"
	[ ! -s "$DIR/out" ] && [ ! -s "$DIR/err" ] || fail "$db: talks: $(cat "$DIR/err")"
	[ "$(wc -c <"$DIR/$db.html")" -le 2000000 ] || fail "$db.html: more than 2 MB"
	expect_status 0 "$REPORT" "$DIR/$db.db" html
	cmp -s "$DIR/out" "$DIR/$db.html" || fail "$db: standard output is another page"
done
grep -q 'more rows left out; all: <code>tlbreport day.db processes --limit 0' "$DIR/day.html" ||
	fail 'day: does not say which rows are left out'
grep -q 'more processes left out' "$DIR/day.html" || fail 'day: does not say that processes are left out'
grep -q 'holds no recording' "$DIR/bare.html" || fail 'bare: does not say that nothing is in it'
! grep -q "$DIR" "$DIR/fix.html" || fail 'the page names a folder of this machine'
expect_status 0 "$REPORT" "$FIX" html --trace twin.dat -o "$DIR/twin.html"
! grep -q 'base\.dat' "$DIR/twin.html" || fail 'html --trace does not narrow it'
expect_status 2 "$REPORT" "$FIX" html --csv
expect_status 2 "$REPORT" "$FIX" cost -o "$DIR/cost.html"
expect_status 1 "$REPORT" "$FIX" html -o "$DIR/no/such.html"

have_python xml.etree.ElementTree || { echo 'python3 is not installed: structure not checked'; done_testing; }
cat >"$DIR/check.py" <<'END'
import re, sys
import xml.etree.ElementTree as tree

name, path = sys.argv[1:]
raw = open(path, encoding="utf-8").read()
page = tree.fromstring(raw.replace("<!DOCTYPE html>", "", 1))
tag = lambda e: e.tag.replace("{http://www.w3.org/1999/xhtml}", "")
all_ = list(page.iter())
# Nothing that a browser would fetch.
for e in all_:
    for key, text in e.attrib.items():
        assert not key.lower().startswith("on"), (tag(e), key)
        if key in ("src", "href", "action", "data", "poster", "srcset"):
            assert text.startswith("#") or text == "data:,", (tag(e), key, text)
assert not {"img", "iframe", "object", "embed", "base", "form", "b"} & \
    {tag(e) for e in all_ if not (tag(e) == "b" and "bar" not in e.attrib and e.text in ("Bounds", "Policy"))}
style = "".join(e.text for e in all_ if tag(e) == "style")
assert "@import" not in style and "url(" not in style
assert sum(tag(e) == "script" for e in all_) == 1
# Ids are unique and what is linked is there; labels have their inputs.
ids = [e.get("id") for e in all_ if e.get("id")]
assert len(ids) == len(set(ids))
for e in all_:
    if tag(e) == "a":
        assert e.get("href")[1:] in ids, e.get("href")
    if tag(e) == "label":
        assert e.get("for") in ids
inputs = [e for e in all_ if tag(e) == "input"]
assert {e.get("for") for e in all_ if tag(e) == "label"} == {e.get("id") for e in inputs}
assert sum(e.get("checked") == "checked" for e in inputs) == len({e.get("name") for e in inputs})
# Every row of a table has as many cells as its heading.
for t in (e for e in all_ if tag(e) == "table"):
    rows = [e for e in t.iter() if tag(e) == "tr"]
    assert len({len(list(r)) for r in rows}) == 1, [len(list(r)) for r in rows]
# Every picture says what it is, and all numbers in it are finite.
for s in (e for e in all_ if tag(e) == "svg"):
    assert s.get("role") == "img" and s.get("aria-label")
    for e in s.iter():
        for key in ("d", "x", "y", "width", "height"):
            assert not re.search("nan|inf", e.get(key, "")), (tag(e), e.attrib)
text = lambda e: "".join(e.itertext())
cells = {text(e) for e in all_ if tag(e) == "td"}
if name == "fix":
    # 300 + 99 pages are not all there, those of plain are; the process leads to them.
    links = {e.get("href"): text(e) for e in all_ if tag(e) == "a" and e.get("href").startswith("#t1-mm")}
    assert links == {"#t1-mm1": "1"}, links
    assert {"10,419", "11,589", "4.00 ms .. 10.0 ms .. 40.0 ms", "1.00 ms .. 2.50 ms .. 5.00 ms ?"} <= cells
    assert "l1\\x0al2\\x09l3" in cells and "日本 é" in cells
    assert len([e for e in all_ if tag(e) == "svg"]) >= 6
if name == "evil":
    assert "</td><script>x" in cells and "\"'`${x} onload=\"" in cells
    assert 'a"><img src=x onerror=alert(1)>' in cells
    assert "]]>--><b>&lt;" in cells
    assert "</title><script>alert(1)</script>&amp;" in text(next(e for e in all_ if tag(e) == "title"))
if name == "one":
    assert not [e for e in inputs if e.get("name") == "p"]
END
for page in fix bare nocost one many evil day traces twin; do
	python3 "$DIR/check.py" $page "$DIR/$page.html" 2>"$DIR/err" || fail "$page.html: $(tail -n 2 "$DIR/err")"
done

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	{ echo 'chromium is not installed: not looked at in a browser (skipped)'; done_testing; }
for page in fix evil; do
	timeout 200 python3 tests/report/lib/browser.py "$browser" "$DIR/$page.html" >"$DIR/out" 2>&1 ||
		fail "$page.html in a browser: $(tail -n 5 "$DIR/out")"
done
done_testing
