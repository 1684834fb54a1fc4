#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# In an emulated arm64 machine with Debian's 6.12, tlbcapture records what the workload does: the
# workload's, the kernel's, trace-cmd's and tlbreplay's counts agree, and nothing is lost.
set -u
BUILD=${BUILD:-build}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

examples/lab/lab arm64-6.12 > "$log" 2>&1
status=$?
cat "$log"
[ $status = 0 ] || exit $status

# Nothing may have been left out of the comparison, whose own rows depend on the recording.
for row in 'write-protect reuse' 'with a TLBI for its page' 'CoW copies' 'forks' 'mprotect' \
	'minor faults' 'events lost'; do
	grep -qE "^ *$row  +" "$log" || { echo "FAIL: no line '$row'"; exit 1; }
done
reuse=$(awk '/^write-protect reuse / { print $3 }' "$log")
[ "$reuse" -ge 5000 ] || { echo "FAIL: $reuse reuses are too few to mean anything"; exit 1; }

# A comparison that cannot agree must not.
folder=$(mktemp -d)
trap 'rm -rf "$log" "$folder"' EXIT
cp "${LAB:-build/lab}/out/arm64-6.12"/* "$folder"/ || exit 1
sed -i 's/wp_reuse_expected=[0-9]*/wp_reuse_expected=1/' "$folder/counts"
if examples/lab/compare "$folder" "$folder/results.db" > "$log"; then
	echo "FAIL: a wrong count was not seen"
	exit 1
fi
grep -c DIFFERS "$log" | grep -qx 2 || { cat "$log"; echo "FAIL: other lines differ"; exit 1; }
exit 0
