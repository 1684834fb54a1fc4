#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Any number of threads gives the same database, byte for byte, and in front of a broken recording the
# same words. Memory: it does not grow with a recording's length, and --memory ends a replay that
# needs more, with what takes it and nothing written.
. tests/replay/lib/setup
MEASURE=$BUILD/tests/tools/measure
ALL=$("$REPLAY" --list-policies | sed 's/^\([^ ]*\).*/-p \1/')
[ "$(echo "$ALL" | wc -l)" -ge 12 ] || fail "--list-policies lists: $ALL"

# same WHAT OPTION...: one thread and others, on the same recording.
same() {
	what=$1
	shift
	"$REPLAY" -j 1 "$@" -o "$DIR/1.db" >"$DIR/1.out" 2>&1
	status=$?
	for j in 2 3 8; do
		"$REPLAY" -j $j "$@" -o "$DIR/$j.db" >"$DIR/$j.out" 2>&1
		got=$?
		[ $got = $status ] || fail "$what: status $got with $j threads, $status with one"
		cmp -s "$DIR/1.out" "$DIR/$j.out" ||
			fail "$what: $j threads say \"$(cat "$DIR/$j.out")\", one \"$(cat "$DIR/1.out")\""
		if [ -e "$DIR/1.db" ]; then
			cmp -s "$DIR/1.db" "$DIR/$j.db" || fail "$what: $j threads give another database"
		else
			[ ! -e "$DIR/$j.db" ] || fail "$what: $j threads leave a database"
		fi
		rm -f "$DIR/$j.db"
	done
	rm -f "$DIR/1.db"
	return $status
}

for name in broadcast local x86 huge debian-6.12; do
	need $name || continue
	# shellcheck disable=SC2086 # a list of options
	same "$name, all policies" $ALL "$file"
	same "$name, TLBs" --tlb 64/4+1024/8 "$file"
done
while read -r options; do
	# shellcheck disable=SC2086 # a list of options
	"$GEN" --events 60k $options "$DIR/t.dat" >"$DIR/facts" || fail "gentrace $options failed"
	same "gentrace $options" "$DIR/t.dat"
done <<END
--compression zstd --cpus 64
--compression zstd --page-size 65536 --cpus 100
--version 6 --endian big --long 4
--lost --buffers 2 --compression zstd
--workload x86tp --cpus 16 --discard
--workload sched --cpus 2
--events 1
END

# ---- what is broken ----

"$GEN" --events 60k --compression zstd "$DIR/t.dat" >"$DIR/facts"
for at in 30 50 70; do
	cp "$DIR/t.dat" "$DIR/broken.dat"
	size=$(wc -c <"$DIR/t.dat")
	printf '%64s' x | dd of="$DIR/broken.dat" bs=1 seek=$((size * at / 100)) conv=notrunc 2>/dev/null
	same "broken at $at %" "$DIR/broken.dat" && fail "a recording that is broken at $at % was taken"
done
"$GEN" --events 60k "$DIR/t.dat" >"$DIR/facts"
printf '%s\n' ' 1 [000]    10.000500000:  mem-loads:  ffff0000' 'no sample' >"$DIR/samples"
same "a broken sample" --tlb 64/4 --samples "$DIR/samples" "$DIR/t.dat" &&
	fail "a line that is no sample was taken"
grep -q 'samples: line 2: ' "$DIR/8.out" || fail "a broken sample: \"$(cat "$DIR/8.out")\""

for bad in 0 -1 2x '' 65 1000; do
	expect_status 2 "$REPLAY" -j "$bad" -o "$DIR/x.db" "$DIR/t.dat"
done
for bad in 0 0k x 1T 1MM -5 99999999999999999999 ''; do
	expect_status 2 "$REPLAY" --memory "$bad" -o "$DIR/x.db" "$DIR/t.dat"
done

# ---- memory ----

# peak EVENTS OPTION...: MiB, of a replay of so many events.
peak() {
	events=$1
	shift
	"$GEN" --events "$events" "$@" "$DIR/t.dat" >"$DIR/facts"
	"$MEASURE" "$REPLAY" -j 2 -o "$DIR/x.db" "$DIR/t.dat" | awk '{ print int($2 / 1024) }'
}

case $BUILD in
*-*) ;; # sanitizers keep what is freed
*)
	for c in none zstd; do
		small=$(peak 300k --compression $c)
		large=$(peak 3M --compression $c)
		[ "$large" -le $((small + 4)) ] ||
			fail "$c: $small MiB for 300k events, $large for ten times as many"
		[ "$large" -le 64 ] || fail "$c: $large MiB"
	done
	;;
esac

# 64 processes with 8192 pages each; a replay that has room for them, and one that has not.
"$GEN" --events 1M --processes 64 --pages 8192 "$DIR/t.dat" >"$DIR/facts"
rm -f "$DIR/x.db"
expect_status 0 "$REPLAY" --memory 4G -o "$DIR/x.db" "$DIR/t.dat"
mv "$DIR/x.db" "$DIR/before.db"
cp "$DIR/before.db" "$DIR/x.db"
for j in 1 2; do
	expect_status 1 "$REPLAY" -j $j --memory 12M -o "$DIR/x.db" "$DIR/t.dat"
	cmp -s "$DIR/before.db" "$DIR/x.db" || fail "--memory: the database has changed"
	grep -q "t.dat: [0-9]* MiB of memory are in use, --memory allows 12: after [0-9]* events [0-9]* address" \
		"$DIR/err" && grep -q 'To narrow it: ' "$DIR/err" ||
		fail "--memory says \"$(cat "$DIR/err")\""
done
[ "$(ls -A "$DIR" | grep -c tmp)" = 0 ] || fail "files are left: $(ls -A "$DIR")"

# What a page takes is stated, and a process's limit is met by an error, not a crash.
expect "$DIR/before.db" 1 "SELECT value + 0 BETWEEN 16 AND 1000 FROM runs WHERE name = 'bytes_per_live_page'"
if [ "$BUILD" = build ]; then
	(ulimit -v 30000; "$REPLAY" -j 1 -o "$DIR/x.db" "$DIR/t.dat") >"$DIR/out" 2>"$DIR/err"
	[ $? = 1 ] && grep -q 'out of memory' "$DIR/err" || fail "without memory: \"$(cat "$DIR/err")\""
fi
done_testing
