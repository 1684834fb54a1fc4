#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What docs/sql.md, docs/tutorial.md and docs/truth.md show is what the programs print, and the views are the schema's.
#   tests/docs/pages.sh --update [PAGE...]    writes what they print into the pages; read the difference
set -eu
BUILD=${BUILD:-build}
update=
[ "${1:-}" != --update ] || { update=--update; shift; }
[ $# -gt 0 ] || set -- docs/sql.md docs/tutorial.md docs/truth.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
root=$PWD
case $BUILD in /*) built=$BUILD ;; *) built=$root/$BUILD ;; esac
# A sanitized extension in a plain sqlite3 needs the sanitizer's library first.
case $BUILD in *address*) ASAN_OPTIONS=detect_leaks=0 preload=$(gcc -print-file-name=libasan.so); export ASAN_OPTIONS ;; esac

for page; do
	[ "$page" != docs/sql.md ] || tests/docs/views.py $update "$page"
	# In a copy of the folder, so that nothing that a page makes is left here.
	in=$tmp/in
	rm -rf "$in"
	mkdir "$in"
	cp -r README.md docs examples schema "$in"
	ln -s "$built" "$in/build"
	tests/docs/fold.py join "$page" >"$in/$page"
	(cd "$in" && BUILD=build LD_PRELOAD=${preload:-} python3 "$root/tests/docs/console.py" $update "$page")
	[ -z "$update" ] || tests/docs/fold.py restore "$page" "$in/$page"
	# Pictures that a page makes are those that lie beside it.
	[ "$page" = docs/tutorial.md ] || continue
	for picture in "$in"/*.svg; do
		[ -e "$picture" ] || continue
		if [ "$update" ]; then
			sed '1a <!-- SPDX-License-Identifier: GPL-2.0-or-later -->' "$picture" >"docs/pictures/${picture##*/}"
		else
			# Another gnuplot draws otherwise; the same one must draw what is shown.
			shown=docs/pictures/${picture##*/}
			[ -e "$shown" ] || { echo "FAIL: no $shown"; exit 1; }
			[ "$(grep '<desc>' "$shown")" != "$(grep '<desc>' "$picture")" ] || sed 2d "$shown" | cmp - "$picture"
		fi
	done
done
