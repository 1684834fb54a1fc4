#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tlbcapture --until on an emulated arm64 machine, by rates that only probes give: broadcasts, write-protect
# faults, hits of a probe. Each ends the recording while its program still runs; a rate that is not reached
# does not.
set -u
log=$(mktemp)
folder=$(mktemp -d)
trap 'rm -rf "$log" "$folder"' EXIT
failed=0

# shellcheck disable=SC2016 # for the guest's shell
examples/lab/run arm64-6.12 -o "$folder" -t 300 -- sh -c '
	for wish in broadcasts=50,0.4 wp-faults=50,0.4 tlbr:ptep_clear_flush=1,0.4 broadcasts=100M,0.4; do
		echo "== $wish"
		tlbcapture -o /tmp/t.dat --flight 2 --until "$wish" -- forkwp -t 2 -p 64 -r 150 2>&1
		echo "status $?"
	done' > "$log" 2>&1
status=$?
[ $status != 77 ] || { cat "$log"; exit 77; }
cat "$log"
[ $status = 0 ] || exit 1
for name in broadcasts wp-faults tlbr:ptep_clear_flush; do
	sed -n "/^== $name=[15]/,/^status/p" "$log" | grep -q "stopped by --until: $name came [0-9]* times a second" ||
		{ echo "until: $name did not stop it"; failed=1; }
done
sed -n '/^== broadcasts=100M/,/^status/p' "$log" | grep -q 'stopped by' && { echo "until: stopped without reason"; failed=1; }
[ "$(grep -c '^status 0$' "$log")" = 4 ] || { echo "until: another status than 0"; failed=1; }
exit $failed
