#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Whatever cannot be read gives one message and the right status, and nothing is created or changed.
. tests/report/lib/setup

# refused STATUS WORDS COMMAND...
refused() {
	status=$1 words=$2
	shift 2
	expect_status "$status" "$@"
	[ ! -s "$DIR/out" ] || fail "output in spite of an error: $*"
	grep -q "$words" "$DIR/err" || fail "no \"$words\": $*: $(cat "$DIR/err")"
	[ "$(grep -c 'error:' "$DIR/err")" = 1 ] || fail "not one message: $*: $(cat "$DIR/err")"
}

refused 1 'No such file' "$REPORT" "$DIR/missing.db"
[ ! -e "$DIR/missing.db" ] || fail 'a missing database was created'
refused 1 'is a directory' "$REPORT" "$DIR"
refused 1 'not a regular file' "$REPORT" /dev/null
: >"$DIR/empty.db"
refused 1 'not one that tlbreplay wrote' "$REPORT" "$DIR/empty.db"
[ ! -s "$DIR/empty.db" ] || fail 'an empty file was written to'
echo 'This is no database, it only has enough bytes for a header. This is no database at all. Really, no.' \
	>"$DIR/text.db"
refused 1 'not an SQLite database' "$REPORT" "$DIR/text.db"
sqlite3 "$DIR/other.db" 'CREATE TABLE traces(a); CREATE TABLE t(a)'
refused 1 'not one that tlbreplay wrote' "$REPORT" "$DIR/other.db"
head -c 20000 "$FIX" >"$DIR/cut.db"
expect_status 1 "$REPORT" "$DIR/cut.db"
for version in 0 1 99; do
	cp "$FIX" "$DIR/version.db"
	sqlite3 "$DIR/version.db" "PRAGMA user_version = $version"
	refused 1 "schema version $version; this tlbreport reads version 3" "$REPORT" "$DIR/version.db"
done
if [ "$(id -u)" != 0 ]; then
	cp "$FIX" "$DIR/closed.db"
	chmod 0 "$DIR/closed.db"
	expect_status 1 "$REPORT" "$DIR/closed.db"
fi
# SQLite takes these for something else than names of files.
refused 1 'No such file' "$REPORT" :memory:
refused 1 'No such file' "$REPORT" 'file:x?mode=memory'

refused 2 'which database' "$REPORT"
refused 2 'did you mean overview' "$REPORT" "$FIX" overveiw
refused 2 'did you mean processes' "$REPORT" "$FIX" proc
refused 2 'there is no report "zzz"' "$REPORT" "$FIX" zzz
grep -q 'tlbreport list' "$DIR/err" || fail 'no way shown to the list of reports'
refused 2 'one report at a time' "$REPORT" "$FIX" cost flush
refused 2 'exclude each other' "$REPORT" "$FIX" --csv --json
refused 2 'unknown or ambiguous option' "$REPORT" "$FIX" --frob
refused 2 'needs a value' "$REPORT" "$FIX" --limit
refused 2 'takes a number of rows' "$REPORT" "$FIX" --limit x
refused 2 'takes a number of rows' "$REPORT" "$FIX" --limit -1
refused 2 'takes a number from 1' "$REPORT" "$FIX" --table 0
refused 2 'there is no table 9: it has 3' "$REPORT" "$FIX" cost --table 9
refused 2 'no trace "x" in it; there is: base.dat, twin.dat' "$REPORT" "$FIX" --trace x
refused 2 'no policy "y" in it; there is: arm64-broadcast' "$REPORT" "$FIX" --policy y
refused 2 'no picture of report "flush"' "$REPORT" "$FIX" flush --plot "$DIR/a.png"
refused 2 'ends in .png or .svg' "$REPORT" "$FIX" cost --plot "$DIR/a.pdf"
refused 2 'excludes' "$REPORT" "$FIX" cost --plot "$DIR/a.png" --csv
[ ! -e "$DIR/a.png" ] && [ ! -e "$DIR/a.pdf" ] || fail 'a picture in spite of an error'

# A user's SQL only reads.
cp "$FIX" "$DIR/before.db"
refused 1 'No such file' "$REPORT" "$FIX" "$DIR/missing.sql"
refused 1 'Is a directory' "$REPORT" "$FIX" "$DIR/"
while read -r sql; do
	echo "$sql" >"$DIR/bad.sql"
	refused 1 'bad.sql: statement [12]: ' "$REPORT" "$FIX" "$DIR/bad.sql"
done <<END
DELETE FROM traces
UPDATE traces SET cpus = 9
INSERT INTO meta VALUES('a', 'b')
DROP TABLE traces
CREATE TABLE x(a)
CREATE TEMP TABLE x(a)
CREATE TEMP VIEW x AS SELECT 1
SELECT 1; DELETE FROM traces
ATTACH '$DIR/attached.db' AS a
VACUUM INTO '$DIR/vacuumed.db'
PRAGMA user_version = 5
PRAGMA journal_mode = wal
UPDATE sqlite_master SET sql = ''
SELECT load_extension('x')
SELECT nonsense
SELECT
BEGIN
END
echo '-- only a comment' >"$DIR/bad.sql"
refused 1 'no query in it' "$REPORT" "$FIX" "$DIR/bad.sql"
cmp -s "$FIX" "$DIR/before.db" || fail 'the database was changed'
for made in "$DIR"/attached.db "$DIR"/vacuumed.db "$FIX"-*; do
	[ ! -e "$made" ] || fail "$made was created"
done

# Output that cannot be written is not success.
if [ -w /dev/full ]; then
	"$REPORT" "$FIX" >/dev/full 2>"$DIR/err" && fail 'status 0 with a full disk'
	grep -q 'cannot write' "$DIR/err" || fail 'no message with a full disk'
fi
done_testing
