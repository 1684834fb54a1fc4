#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Faults that need a kernel with kprobes or other settings, in an emulated arm64 machine: what is said, what
# is recorded, and that tracefs is afterwards as before. Its rows are in the table of docs/recording.md.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp tests/lab/faults.job "$folder/job"
log=$folder/log
examples/lab/run arm64-6.12 -o "$folder" -t 600 -- sh ./job > "$log" 2>&1
status=$?
grep -E '^(ROW|SAID|[<>])' "$log"
[ $status = 0 ] || { cat "$log"; exit $status; }

fail()
{
	echo "FAIL: $*"
	exit 1
}

# row NAME STATUS TLBIS(some, 0, none) SAID: as the guest said, and as the page says.
row()
{
	line=$(grep "^ROW $1|" "$log") || fail "no $1"
	[ "$(echo "$line" | cut -d '|' -f 2-3)" = "$2|same" ] || fail "$line"
	tlbi=$(echo "$line" | cut -d '|' -f 4)
	[ "$3" != some ] || { [ "$tlbi" -gt 100 ] && tlbi=some; }
	[ "$tlbi" = "$3" ] || fail "$1: TLBIs: $tlbi"
	sed -n "/^ROW $1|/,/^ROW /p" "$log" | grep -qE "^SAID tlbcapture: .*$4" || fail "$1: not said: $4"
	grep -qE "^\| $1 \(lab, arm64\) \| $2 \| [^|]* \| identical \|\$" docs/recording.md ||
		fail "docs/recording.md has no such row: $1"
}
row "probes refused" 0 some 'recording [0-9]+ of [0-9]+ TLBI instructions'
row "kptr_restrict=2" 0 0 'TLBI instructions are not recorded: kernel addresses are hidden'
row "lockdown=integrity" 0 some 'recording [0-9]+ of [0-9]+ TLBI instructions'
row "lockdown=confidentiality" 1 none 'locked down \(confidentiality\)'

# Some of the probes were refused, and the others were not given up.
sites=$(sed -n 's/^SAID .*recording \([0-9]*\) of \([0-9]*\) TLBI.*/\1 \2/p' "$log" | head -n 1)
[ "${sites% *}" -lt "${sites#* }" ] || fail "nothing was refused: $sites"
exit 0
