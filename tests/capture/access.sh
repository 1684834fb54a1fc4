#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --access: a program that tells its accesses, by a uprobe on a function and by a USDT probe. Each access
# is in the recording, with its address, once; the recording says what it is, and the replay takes it so.
. tests/capture/lib

toucher=$PWD/$BUILD/tests/tools/toucher
[ -x "$toucher" ] || fail "not built: $toucher"
command -v readelf > /dev/null || skip "readelf is missing"
tracefs=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
[ "$tracefs" ] || skip "tracefs is not mounted"
[ -e "$tracefs/uprobe_events" ] || skip "this kernel has no uprobe events"
[ "$(uname -m)" = x86_64 ] || skip "knows the registers of x86 only"
forget()
{
	for event in read write; do
		echo "-:tlbtest$$/$event" >> "$tracefs/uprobe_events"
	done
	rm -rf "$tmp"
}
trap 'forget 2> /dev/null' EXIT

# The place in the file of an address in the program.
offset()
{
	readelf -lW "$toucher" | awk -v at="$1" '
		function hex(text, i, n) {
			n = 0
			text = tolower(substr(text, 3))
			for (i = 1; i <= length(text); i++)
				n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return n
		}
		$1 == "LOAD" && hex(at) >= hex($3) && hex(at) < hex($3) + hex($5) {
			printf "0x%x", hex(at) - hex($3) + hex($2)
		}'
}

symbol=$(readelf -sW "$toucher" | awk '$8 == "touch_read" { print "0x" $2; exit }')
echo "p:tlbtest$$/read $toucher:$(offset "$symbol") addr=%di:x64" >> "$tracefs/uprobe_events" ||
	fail "no uprobe"
# "Location: 0x..., Base: ..." and "Arguments: 8@%rdi", or "8@-24(%rbp)" without optimisation.
readelf -nW "$toucher" > "$tmp/notes" 2> /dev/null
place=$(sed -n '/Name: write/,$ s/.*Location: \(0x[0-9a-f]*\).*/\1/p' "$tmp/notes" | head -n 1)
argument=$(sed -n '/Name: write/,$ s/.*Arguments: 8@\(.*\)/\1/p' "$tmp/notes" | head -n 1 | sed 's/%r\([a-ds]\)/%\1/')
if [ "$place" ]; then
	echo "p:tlbtest$$/write $toucher:$(offset "$place") addr=$argument:x64" >> "$tracefs/uprobe_events" ||
		fail "no USDT probe: $argument"
else
	skip "built without <sys/sdt.h>"
fi
host_state > "$tmp/state.before"

reads=300 writes=200
expect_status 0 "$tlbcapture" -o "$tmp/out/a.dat" --access "tlbtest$$:read:addr:r" --access "tlbtest$$:write:addr:w" \
	-- "$toucher" $reads $writes
line=$(grep '^toucher ' "$tmp/log")
expect_clean
report "$tmp/out/a.dat" > "$tmp/report"
check_snapshot "$tmp/report"
grep -q "^access tlbtest$$ read addr r$" "$tmp/report" || fail "the recording does not say that reads are reads"
grep -q "^access tlbtest$$ write addr w$" "$tmp/report" || fail "the recording does not say that writes are writes"

# Every page of the region once, in order: what the program did.
region=${line#*region=} region=${region%% *}
for kind in read write; do
	wanted=$reads
	[ $kind = read ] || wanted=$writes
	sed -n "s/.* $kind: .*addr=\(0x[0-9a-f]*\)\$/\1/p" "$tmp/report" > "$tmp/seen"
	at=0
	while [ $at -lt $wanted ]; do
		printf '0x%x\n' $((region + at * 4096))
		at=$((at + 1))
	done > "$tmp/wanted"
	cmp "$tmp/seen" "$tmp/wanted" || fail "${kind}s: other addresses"
	echo "$kind: $(wc -l < "$tmp/seen") addresses, as the program touched them"
done

# The replay takes them.
if [ -x "$tlbreplay" ]; then
	expect_status 0 "$tlbreplay" --tlb 1024/4 -o "$tmp/t.db" "$tmp/out/a.dat"
fi

# A field that it does not have.
expect_status 1 "$tlbcapture" -o "$tmp/out/n.dat" --access "tlbtest$$:read:address" -d 1
expect_text 'it has no field address'
expect_files a.dat
expect_clean
exit 0
