#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --anonymise=shift on recordings of all kinds: addresses are moved, by one distance for a program and its
# forked children, by another one for another program, and the replay comes to the very same results.
set -eu
BUILD=${BUILD:-build}
command -v trace-cmd > /dev/null || { echo "trace-cmd is missing"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for trace in examples/*.dat; do
	python3 tests/formats/anonymised.py "$trace" "$dir"
done

# Without =shift addresses stay, names go.
trace-cmd convert -i examples/debian-6.12.dat -o "$dir/n.dat" --file-version 6 > /dev/null 2>&1
trace-cmd report "$dir/n.dat" 2> /dev/null | grep -o 'addr=[0-9a-fx]*' > "$dir/before"
grep -aq workload "$dir/n.dat" || { echo "nothing to hide"; exit 1; }
"$BUILD/tests/tools/anonymise" "$dir/n.dat"
trace-cmd report "$dir/n.dat" 2> /dev/null | grep -o 'addr=[0-9a-fx]*' > "$dir/after"
cmp "$dir/before" "$dir/after"
! grep -aq workload "$dir/n.dat" || { echo "a name is left"; exit 1; }

# Files that are cut or damaged anywhere are refused or treated; nothing worse.
trace-cmd convert -i examples/debian-6.12.dat -o "$dir/c.dat" --file-version 6 > /dev/null 2>&1
size=$(stat -c %s "$dir/c.dat")
for part in 0 10 100 1000 20000 60000 $((size / 2)) $((size - 5000)) $((size - 1)); do
	head -c "$part" "$dir/c.dat" > "$dir/cut.dat"
	status=0
	"$BUILD/tests/tools/anonymise" "$dir/cut.dat" shift > /dev/null 2>&1 || status=$?
	[ $status -le 1 ] || { echo "cut at $part: status $status"; exit 1; }
done
exit 0
