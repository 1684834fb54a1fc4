#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tlbcalibrate: its preset is one that tlbreplay takes, a second CPU in the address space makes a flush dearer,
# and it leaves nothing behind when it fails.
set -u
BUILD=${BUILD:-build}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
fail() {
	echo "calibrate: $*"
	failed=1
}

"$BUILD/tlbcalibrate" -o "$dir/host.cost" --name here --rounds 20 >"$dir/table" 2>"$dir/err"
status=$?
case $status in 0 | 3) ;; *) fail "status $status: $(cat "$dir/err")" ;; esac
[ "$(ls "$dir")" = "$(printf 'err\nhost.cost\ntable')" ] || fail "left behind: $(ls "$dir")"
"$BUILD/tlbreplay" --help-cost="$dir/host.cost" >"$dir/again" || fail "the preset is refused"
grep -q '^name = here$' "$dir/again" || fail "the name: $(head -n 3 "$dir/again")"
grep -q "^kernel = $(uname -r)\$" "$dir/again" || fail "the kernel is not in it"

# median KEY: of the row that begins so.
median() {
	sed -n "s/^$1  *[0-9.]* \.\. *\([0-9.]*\) \.\. .*/\1/p" "$dir/table"
}
dearer() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && b + 0 > a + 0) }'
}
dearer "$(median 'mprotect, 1 page, 1 CPU')" "$(median 'mprotect, 512 pages, 1 CPU')" || fail "512 pages are not dearer than 1"
if [ "$(nproc)" -gt 1 ] && ! grep -q 'NOT FOR USE' "$dir/table" && [ -n "$(median 'mprotect, 1 page, 2 CPUs')" ]; then
	case $(uname -m) in
	x86_64)
		for op in mprotect madvise munmap; do
			dearer "$(median "$op, 1 page, 1 CPU")" "$(median "$op, 1 page, 2 CPUs")" ||
				fail "$op with two CPUs is not dearer than with one: $(grep "^$op, 1 page" "$dir/table")"
		done
		;;
	esac
fi
"$BUILD/tlbreplay" --cost "$dir/host.cost" -o "$dir/r.db" examples/x86.dat
[ "$(sqlite3 "$dir/r.db" "SELECT DISTINCT cost FROM costs")" = here ] || fail "a replay does not use it"

# Marked as not for use: shown, and not used.
sed 's/^arch = /not_for_use = a test\n&/' "$dir/host.cost" >"$dir/not.cost"
"$BUILD/tlbreplay" --help-cost="$dir/not.cost" >/dev/null || fail "a preset not for use cannot be shown"
"$BUILD/tlbreplay" --cost "$dir/not.cost" -o "$dir/n.db" examples/x86.dat 2>"$dir/err"
[ $? -eq 1 ] && [ ! -e "$dir/n.db" ] && grep -q 'not for use: a test' "$dir/err" || fail "a preset not for use is used"

for wrong in '' '-o' '-n x' "-n -o $dir/w.cost" '--rounds 9 -n' '--rounds many -n'; do
	"$BUILD/tlbcalibrate" $wrong >/dev/null 2>&1
	[ $? -eq 2 ] || fail "'$wrong' is no wrong usage"
done
"$BUILD/tlbcalibrate" --rounds 10 -o "$dir/none/x.cost" >/dev/null 2>"$dir/err"
[ $? -eq 1 ] && grep -q 'x.cost: No such file' "$dir/err" || fail "an output that cannot be: $(cat "$dir/err")"
[ "$failed" -eq 0 ]
