#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The list names exactly the files there are; every report runs in every format on a full and on an
# empty database, twice with the same bytes; the manual names every report and option.
. tests/report/lib/setup

make_db "$DIR/bare.db"
ls analysis/reports/*.sql | sed 's|.*/||; s|\.sql$||' | sort >"$DIR/files"
expect_status 0 "$REPORT" list
awk '{ print $1 }' "$DIR/out" | sort | cmp -s - "$DIR/files" || fail 'list does not name the files'
awk 'NF < 3 { exit 1 }' "$DIR/out" || fail 'list: a report without a description'
cp "$DIR/out" "$DIR/list"
expect_status 0 "$REPORT" "$FIX" list
cmp -s "$DIR/out" "$DIR/list" || fail 'DB list is not list'

while read -r report; do
	for db in fix bare; do
		for format in '' --csv --json '--policy arm64-local' '--trace twin.dat'; do
			case $db,$format in
			bare,--policy*|bare,--trace*) continue ;;
			esac
			# shellcheck disable=SC2086
			expect_status 0 "$REPORT" "$DIR/$db.db" "$report" $format
			[ ! -s "$DIR/err" ] || fail "$db $report $format: $(cat "$DIR/err")"
			[ -s "$DIR/out" ] || fail "$db $report $format: no output"
			cp "$DIR/out" "$DIR/first"
			# shellcheck disable=SC2086
			expect_status 0 "$REPORT" "$DIR/$db.db" "$report" $format
			cmp -s "$DIR/out" "$DIR/first" || fail "$db $report $format: differs on the second run"
			if [ "$format" = --json ] && have_python json; then
				python3 -m json.tool "$DIR/out" >/dev/null || fail "$db $report: not JSON"
			fi
		done
	done
	# A picture's script needs data from the report.
	if [ -e "analysis/reports/$report.gp" ]; then
		grep -q '^-- plot$' "analysis/reports/$report.sql" || fail "$report: no -- plot for its .gp"
	fi
	expect_status 0 "$REPORT" help "$report"
	grep -q "^$report: " "$DIR/out" || fail "help $report: no summary"
	grep -q 'not explained' "$DIR/out" && fail "help $report: $(grep 'not explained' "$DIR/out")"
	awk 'length > 80 { exit 1 }' "$DIR/out" || fail "help $report: wider than 80 columns"
	cp "$DIR/out" "$DIR/first"
	expect_status 0 "$REPORT" "$DIR/nowhere.db" "$report" --help
	cmp -s "$DIR/out" "$DIR/first" || fail "DB $report --help is not help $report"
	grep -q "^\.B $report\$" docs/tlbreport.1 || fail "the manual does not name report $report"
done <"$DIR/files"

# The page that documents the columns is what the program prints.
expect_status 0 "$REPORT" help --markdown
cmp -s "$DIR/out" docs/reports.md || fail 'docs/reports.md is not "tlbreport help --markdown"'
expect_status 2 "$REPORT" help overveiw
grep -q 'did you mean overview' "$DIR/err" || fail 'help of an unknown report'
expect_status 0 "$REPORT" help
cp "$DIR/out" "$DIR/first"
expect_status 0 "$REPORT" --help
cmp -s "$DIR/out" "$DIR/first" || fail 'help is not --help'
grep -o -- '--[a-z]*' "$DIR/out" | sort -u >"$DIR/options"
while read -r option; do
	sed 's/\\//g' docs/tlbreport.1 | grep -q -- "$option" || fail "the manual lacks $option"
done <"$DIR/options"
expect_status 0 "$REPORT" --version
grep -q '^tlbreport [0-9]' "$DIR/out" || fail 'no version'
done_testing
