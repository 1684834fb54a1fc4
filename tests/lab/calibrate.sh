#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tlbcalibrate on arm64, in an emulated machine: it measures, says that all of it is the emulator's, and
# what it writes is a preset that tlbreplay knows and refuses. One CPU, as the emulator runs one at a time.
set -u
BUILD=${BUILD:-build}
log=$(mktemp)
folder=$(mktemp -d)
trap 'rm -rf "$log" "$folder"' EXIT
failed=0

fail()
{
	echo "calibrate: $*"
	failed=1
}

examples/lab/run arm64-6.12 -n 1 -o "$folder" -t 300 -- tlbcalibrate -o /lab/guest.cost --rounds 10 > "$log" 2>&1
status=$?
[ $status != 77 ] || { cat "$log"; exit 77; }
cat "$log"
[ $status = 0 ] || exit 1
grep -q '^NOT FOR USE: QEMU emulates' "$log" || fail "it does not say that it is emulated"
for row in 'mprotect, 1 page, 1 CPU' 'madvise, 512 pages, 1 CPU' 'munmap, 33 pages, 1 CPU' 'minor fault' \
	'write-protect fault, page reused' 'TLB refill'; do
	grep -qE "^$row.* [0-9.]+ \.\. +[0-9.]+ \.\. +[0-9.]+ +[1-9]" "$log" || fail "not measured: $row"
done
# On arm64 a flush that a program can cause is a broadcast.
sed -n '/^\[flush_broadcast\]/,/^$/p' "$folder/guest.cost" | grep -q '^source = tlbcalibrate' ||
	fail "flush_broadcast is not from tlbcalibrate"
grep -q '^arch = arm64' "$folder/guest.cost" || fail "of another architecture"
"$BUILD/tlbreplay" --help-cost="$folder/guest.cost" > "$log" 2>&1 || { cat "$log"; fail "tlbreplay does not know it"; }
"$BUILD/tlbreplay" --cost "$folder/guest.cost" -o "$folder/r.db" examples/arm64-local.dat > "$log" 2>&1 &&
	fail "an emulator's prices are taken"
grep -q 'not for use' "$log" || { cat "$log"; fail "it does not say why"; }
exit $failed
