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

# Is ITEM of the preset what was measured there?
measured()
{
	sed -n "/^\[$1\]/,/^$/p" "$folder/guest.cost" | grep -q '^source = tlbcalibrate'
}

# What other programs take from the emulator can make an mprotect that flushes seem no longer than one that
# does not, and a difference below 0 is no price: then it is measured again.
for try in 1 2 3; do
	examples/lab/run arm64-6.12 -n 1 -o "$folder" -t 300 -- tlbcalibrate -o /lab/guest.cost --rounds 50 > "$log" 2>&1
	status=$?
	[ $status != 77 ] || { cat "$log"; exit 77; }
	cat "$log"
	[ $status = 0 ] || exit 1
	measured flush_broadcast && break
	echo "calibrate: try $try of 3: the emulator was disturbed"
done
grep -q '^NOT FOR USE: QEMU emulates' "$log" || fail "it does not say that it is emulated"
for row in 'mprotect, 1 page, 1 CPU' 'madvise, 512 pages, 1 CPU' 'munmap, 33 pages, 1 CPU' 'minor fault' \
	'write-protect fault, page reused' 'TLB refill'; do
	grep -qE "^$row.* [0-9.]+ \.\. +[0-9.]+ \.\. +[0-9.]+ +[1-9]" "$log" || fail "not measured: $row"
done
# On arm64 a flush that a program can cause is a broadcast.
measured flush_broadcast || fail "flush_broadcast is not from tlbcalibrate"
grep -q '^arch = arm64' "$folder/guest.cost" || fail "of another architecture"
"$BUILD/tlbreplay" --help-cost="$folder/guest.cost" > "$log" 2>&1 || { cat "$log"; fail "tlbreplay does not know it"; }
"$BUILD/tlbreplay" --cost "$folder/guest.cost" -o "$folder/r.db" examples/arm64-local.dat > "$log" 2>&1 &&
	fail "an emulator's prices are taken"
grep -q 'not for use' "$log" || { cat "$log"; fail "it does not say why"; }
exit $failed
