#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tlbfleet without Slurm: what it makes is what one run over all recordings makes; a second time nothing is
# replayed; what failed is named with its reason and is the only thing that is tried again; shards; a results
# folder that is full.
. tests/replay/lib/setup
. tests/fleet/lib/compare
FLEET=$(dirname "$REPLAY")/tlbfleet
[ -x "$FLEET" ] || { echo "$FLEET is not built"; exit 77; }

# The views that one run fills as well.
answers() {
	ask "$1" "$2"
	sed -i '/^== v_fleet/,/^== v_h/{/^== v_h/!d}' "$2"
}
parts() { (cd "$1/parts" && stat -c '%n %i %Y' ./*.db | sort); }

list=$DIR/list.tsv
printf 'path\thost\tcpu\tweight\n' >"$list"
for i in $(seq 8); do
	"$GEN" --events 3k --seed $i --pages 64 "$DIR/h$i.dat" >/dev/null
	printf 'h%d.dat\thost%d\tn%d\t1\n' $i $i $((i % 2)) >>"$list"
done
"$REPLAY" -p arm64-local -p x86 -o "$DIR/serial.db" "$DIR"/h?.dat
answers "$DIR/serial.db" "$DIR/serial.txt"

expect_status 0 "$FLEET" submit "$list" -r "$DIR/a" --local -j 2 -- -p arm64-local -p x86
answers "$DIR/a/fleet.db" "$DIR/a.txt"
cmp "$DIR/serial.txt" "$DIR/a.txt" || fail "another answer than that of one run"
expect "$DIR/a/fleet.db" 8 "SELECT count(*) FROM v_fleet WHERE trace IS NOT NULL"
expect_status 0 "$FLEET" status -r "$DIR/a"
grep -qx '8 of 8 done' "$DIR/out" || fail "status: $(cat "$DIR/out")"
# Through xargs, where GNU parallel is not there: the same bytes.
mkdir "$DIR/bin"
printf '#!/bin/sh\nexit 1\n' >"$DIR/bin/parallel"
chmod +x "$DIR/bin/parallel"
PATH=$DIR/bin:$PATH expect_status 0 "$FLEET" submit "$list" -r "$DIR/b" --local -j 3 -- -p arm64-local -p x86
cmp "$DIR/a/fleet.db" "$DIR/b/fleet.db" || fail "xargs and parallel make different databases"

# ---- again: nothing is done twice ----

before=$(parts "$DIR/a")
expect_status 0 "$FLEET" submit "$list" -r "$DIR/a" --local -- -p arm64-local -p x86
[ "$(parts "$DIR/a")" = "$before" ] || fail "a part was made again"
touch "$DIR/h1.dat" # the same content: looked at again, not replayed again
expect_status 0 "$FLEET" submit "$list" -r "$DIR/a" --local -- -p arm64-local -p x86
[ "$(parts "$DIR/a")" = "$before" ] || fail "a part was made again for a new time of change"
"$GEN" --events 3k --seed 99 --pages 64 "$DIR/h1.dat" >/dev/null
expect_status 0 "$FLEET" submit "$list" -r "$DIR/a" --local -- -p arm64-local -p x86
[ "$(parts "$DIR/a" | wc -l)" = 9 ] || fail "another content is another part"
"$REPLAY" -p arm64-local -p x86 -o "$DIR/serial.db" "$DIR"/h?.dat
answers "$DIR/serial.db" "$DIR/serial.txt"
answers "$DIR/a/fleet.db" "$DIR/a.txt"
cmp "$DIR/serial.txt" "$DIR/a.txt" || fail "after a change, another answer than that of one run"
# Other options: other parts, and the old ones stay for when they are wanted again.
expect_status 0 "$FLEET" submit "$list" -r "$DIR/a" --local -- -p none
[ "$(parts "$DIR/a" | wc -l)" = 17 ] || fail "other options are other parts"
expect "$DIR/a/fleet.db" none "SELECT group_concat(DISTINCT policy) FROM policies"

# ---- failures by recording ----

cp "$DIR/h2.dat" "$DIR/good2.dat"
head -c 700 "$DIR/h3.dat" >"$DIR/cut3.dat"
mv "$DIR/cut3.dat" "$DIR/h3.dat"
cp "$DIR/h4.dat" "$DIR/h5.dat" # one content, two hosts
expect_status 3 "$FLEET" submit "$list" -r "$DIR/c" --local -j 2 -- -p arm64-local
expect_status 3 "$FLEET" status -r "$DIR/c"
grep -q '^7 of 8 done, 1 failed$' "$DIR/out" || fail "status: $(cat "$DIR/out")"
grep -qE "^$DIR/h3.dat \(host host3\): .*h3.dat" "$DIR/out" || fail "no reason: $(cat "$DIR/out")"
expect "$DIR/c/fleet.db" "host3||1
host5|the same content as $DIR/h4.dat|0" "SELECT host, CASE host WHEN 'host3' THEN '' ELSE missing END, missing LIKE '%h3.dat: %' FROM v_fleet WHERE trace IS NULL"
expect "$DIR/c/fleet.db" 6 "SELECT count(*) FROM traces"
before=$(parts "$DIR/c")
"$GEN" --events 3k --seed 3 --pages 64 "$DIR/h3.dat" >/dev/null
"$GEN" --events 3k --seed 5 --pages 64 "$DIR/h5.dat" >/dev/null
# The list was read when it was submitted: retry tells a change, submit takes it in.
expect_status 3 "$FLEET" retry -r "$DIR/c" --local
expect_status 3 "$FLEET" status -r "$DIR/c"
grep -q 'h3.dat (host host3): the recording has changed since it was submitted' "$DIR/out" || fail "$(cat "$DIR/out")"
expect_status 0 "$FLEET" submit "$list" -r "$DIR/c" --local -- -p arm64-local
[ "$(comm -12 <(parts "$DIR/c") <(echo "$before") | wc -l)" = 6 ] || fail "parts that were there were made again"
expect "$DIR/c/fleet.db" 8 "SELECT count(*) FROM traces"
# A part is of a content; the name is the list's, whichever file was replayed.
expect "$DIR/c/fleet.db" "" "SELECT path, trace FROM v_fleet WHERE path NOT LIKE '%/' || trace"
mv "$DIR/h8.dat" "$DIR/moved.dat"
sed 's/^h8.dat/moved.dat/' "$list" >"$DIR/moved.tsv"
expect_status 0 "$FLEET" submit "$DIR/moved.tsv" -r "$DIR/c" --local -- -p arm64-local
[ "$(parts "$DIR/c" | wc -l)" = 8 ] || fail "a file that was moved was replayed again"
expect "$DIR/c/fleet.db" moved.dat "SELECT trace FROM v_fleet WHERE host = 'host8'"
mv "$DIR/moved.dat" "$DIR/h8.dat"
expect_status 0 "$FLEET" submit "$list" -r "$DIR/c" --local -- -p arm64-local
# A task that dies: named, and tried again.
unit=$(cut -f 1 "$DIR/c/list" | head -n 1)
rm "$DIR/c/parts/$(cut -f 4 "$DIR/c/inputs/$unit" | cut -c 1-32)"*
printf '%s\tprocess 1 on here\n' "$unit" >"$DIR/c/running/$unit"
expect_status 3 "$FLEET" status -r "$DIR/c"
grep -q "h1.dat (host host1): its task died: process 1 on here" "$DIR/out" || fail "$(cat "$DIR/out")"
expect_status 0 "$FLEET" retry -r "$DIR/c" --local

# ---- shards of what is large ----

"$GEN" --events 40k --processes 5 --pages 200 "$DIR/big.dat" >/dev/null
printf 'path\thost\nbig.dat\ta\nh1.dat\tb\n' >"$DIR/two.tsv"
expect_status 0 "$FLEET" submit "$DIR/two.tsv" -r "$DIR/d" --local --shard 300K -- -p arm64-local -p x86
[ "$(ls "$DIR/d/parts" | grep -c '\.[0-9]*-[0-9]*\.db$')" -ge 4 ] || fail "no shards: $(ls "$DIR/d/parts")"
expect_status 0 "$FLEET" submit "$DIR/two.tsv" -r "$DIR/e" --local -- -p arm64-local -p x86
same_tables "$DIR/d/fleet.db" "$DIR/e/fleet.db" "a fleet with shards"

# ---- a folder that is full ----

if [ "$(id -u)" = 0 ] && mkdir "$DIR/full" && mount -t tmpfs -o size=1200k none "$DIR/full" 2>/dev/null; then
	trap 'umount "$DIR/full"; rm -rf "$DIR"' EXIT
	expect_status 1 "$FLEET" submit "$list" -r "$DIR/full/r" --local -j 2 -- -p arm64-local
	expect_status 3 "$FLEET" status -r "$DIR/full/r"
	done_then=$(sed -n 's/ of 8 done.*//p' "$DIR/out")
	[ "$done_then" -gt 0 ] && [ "$done_then" -lt 8 ] || fail "of a full folder: $(cat "$DIR/out")"
	grep -qE "cannot write the results: .*full" "$DIR/out" || fail "no word of the full disk: $(cat "$DIR/out")"
	before=$(parts "$DIR/full/r")
	mount -o remount,size=64m "$DIR/full"
	expect_status 0 "$FLEET" retry -r "$DIR/full/r" --local
	[ "$(comm -12 <(parts "$DIR/full/r") <(echo "$before") | wc -l)" = "$done_then" ] || fail "what was done was done again"
	cmp "$DIR/full/r/fleet.db" "$DIR/c/fleet.db" || {
		fail "after a full disk, another database"
		same_tables "$DIR/full/r/fleet.db" "$DIR/c/fleet.db" "after a full disk"
	}
fi

# ---- usage ----

for words in "" "nonesuch" "submit" "submit $list" "status" "submit $list -r $DIR/x --group 3x" "submit a b -r $DIR/x" \
	"retry -r $DIR/c -- -p x86" "submit $list -r $DIR/x -j 0" "submit $list -r $DIR/x --local -- -p nonesuch"; do
	expect_status 2 "$FLEET" $words
done
expect_status 1 "$FLEET" status -r "$DIR/nonesuch"
printf 'path\thost\nnonesuch.dat\ta\n' >"$DIR/no.tsv"
expect_status 1 "$FLEET" submit "$DIR/no.tsv" -r "$DIR/x" --local
grep -q 'no.tsv:2: recording .*nonesuch.dat: No such file' "$DIR/err" || fail "$(cat "$DIR/err")"
done_testing
