#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Faults while tlbreplay runs: killed or interrupted at any moment, a full disk, a target that cannot
# be written, too little memory, allocations, reads and writes that fail, a recording that changes
# under it, two at one database, a database of another schema. Whatever happens: it ends with 0 and
# the database is whole, or it ends with 1 and one message, and what was there before is there still,
# byte for byte; it does not crash, and nothing is left lying beside it.
#
# Prints a table, which docs/robustness.md shows: fault, times tried, outcomes. With --all every
# allocation and every write fails in turn, not one in so many.
. tests/replay/lib/setup

SHIM=$PWD/$BUILD/tests/faults/shim.so
case $BUILD in /*) SHIM=$BUILD/tests/faults/shim.so ;; esac
[ -e "$SHIM" ] || { echo "$SHIM is not built"; exit 77; }
all=
[ "${1-}" != --all ] || all=yes
shimmed=yes
case $(basename "$BUILD") in *address* | *thread* | *memory*) shimmed= ;; esac # they have allocators of their own
ulimit -c 0

"$GEN" --events 120 --processes 1 --threads 2 --pages 16 --cpus 2 "$DIR/small.dat" >"$DIR/facts" || fail gentrace
"$GEN" --events 150k --processes 4 "$DIR/long.dat" >"$DIR/facts" || fail gentrace
mkdir "$DIR/place"
PLACE=$DIR/place
OLD=$DIR/old.db
expect_status 0 "$REPLAY" -p none -o "$OLD" "$DIR/small.dat"

whole() { # DB: its contents as text
	sqlite3 -batch "$1" "PRAGMA integrity_check" .dump
}
"$REPLAY" -p arm64-local -o "$DIR/want.db" "$DIR/small.dat" || fail "without a fault"
cp "$OLD" "$DIR/want+.db"
"$REPLAY" -p arm64-local --append -o "$DIR/want+.db" "$DIR/small.dat" || fail "--append without a fault"

declare -A outcomes
table=()

# begin: the folder holds the old database and nothing else.
begin() {
	rm -rf "$PLACE"/* "$PLACE"/.[!.]*
	cp "$OLD" "$PLACE/results.db"
}

# judge WHAT STATUS WANT.db [LEFTOVERS]: done and right, or refused with the old one in place.
judge() {
	local what=$1 status=$2 want=$3 left
	left=$(ls -A "$PLACE" | tr '\n' ' ')
	[ -n "${4-}" ] || [ "$left" = "results.db " ] || fail "$what: left behind: $left"
	case $status in
	0)
		if ! cmp -s "$PLACE/results.db" "$want"; then
			[ "$(whole "$PLACE/results.db")" = "$(whole "$want")" ] || fail "$what: ended with 0 and another database"
		fi
		outcome=done
		;;
	1)
		[ "$(grep -c '^tlbreplay: error: .' "$DIR/err")" = 1 ] || fail "$what: not one message: $(head -c 300 "$DIR/err")"
		# Where it could not even write the rollback, whoever opens the database next does that.
		if [ -n "${4-}" ] && [ "$left" != "results.db " ]; then
			[ "$(whole "$PLACE/results.db")" = "$(whole "$OLD")" ] ||
				fail "$what: not the old database, even when rolled back"
			[ "$(ls -A "$PLACE")" = results.db ] || fail "$what: left behind: $(ls -A "$PLACE")"
		else
			cmp -s "$PLACE/results.db" "$OLD" || fail "$what: the old database was changed"
		fi
		outcome=refused
		;;
	killed)
		# A transaction that was cut off is rolled back by whoever opens the database next.
		local now
		now=$(whole "$PLACE/results.db")
		[ "$now" = "$(whole "$OLD")" ] || [ "$now" = "$(whole "$want")" ] ||
			fail "$what: neither the old database nor a whole new one"
		outcome=killed
		;;
	*)
		fail "$what: status $status: $(head -c 300 "$DIR/err")"
		outcome=BAD
		;;
	esac
	outcomes[$outcome]=$((${outcomes[$outcome]-0} + 1))
}

# row FAULT: what came of it, and begins anew.
row() {
	local text= total=0 o
	for o in done refused killed same BAD; do
		[ -n "${outcomes[$o]-}" ] || continue
		text="$text${text:+, }${outcomes[$o]} $o"
		total=$((total + outcomes[$o]))
	done
	[ $total -gt 0 ] || fail "$1 was not tried"
	table+=("| $1 | $total | $text |")
	outcomes=()
}

try() { # COMMAND...: its status into $status, its words into $DIR/err
	"$@" >"$DIR/out" 2>"$DIR/err" </dev/null
	status=$?
}

# ---- signals ----

"$REPLAY" -o "$DIR/want-long.db" "$DIR/long.dat" || fail "the long one"
cp "$OLD" "$DIR/want-long+.db"
"$REPLAY" --append -o "$DIR/want-long+.db" "$DIR/long.dat" || fail "the long one, --append"
start=$(date +%s%N)
"$REPLAY" -o "$DIR/t.db" "$DIR/long.dat"
took_ms=$((($(date +%s%N) - start) / 1000000 + 1))
RANDOM=1
for signal in KILL TERM INT HUP; do
	for append in "" --append; do
		want=$DIR/want-long${append:++}.db
		tries=6
		[ $signal = KILL ] && tries=20
		[ -z "$all" ] || tries=100
		for ((i = 0; i < tries; i++)); do
			begin
			# Its own group of signals: a background job of a script ignores SIGINT else.
			# shellcheck disable=SC2086 # perhaps nothing
			python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$REPLAY" $append -o "$PLACE/results.db" "$DIR/long.dat" >"$DIR/out" 2>"$DIR/err" </dev/null &
			pid=$!
			# From before main() to behind the last write.
			ms=$((RANDOM % (took_ms * 12 / 10 + 40)))
			sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
			kill -s $signal $pid 2>/dev/null
			wait $pid 2>/dev/null
			status=$?
			if [ $status -gt 128 ]; then
				[ $signal = KILL ] || [ ! -s "$DIR/err" ] || fail "SIG$signal: $(cat "$DIR/err")"
				judge "SIG$signal $append after $ms ms" killed "$want" leftovers
			else
				judge "SIG$signal $append after $ms ms" $status "$want"
			fi
			# Whatever a kill left, the next run of the same target clears away.
			if [ "$(ls -A "$PLACE" | wc -l)" -gt 1 ]; then
				# shellcheck disable=SC2086
				try "$REPLAY" -p none $append -o "$PLACE/results.db" "$DIR/small.dat"
				[ $status = 0 ] || fail "after SIG$signal: $(cat "$DIR/err")"
				[ "$(ls -A "$PLACE")" = results.db ] || fail "after SIG$signal: left behind: $(ls -A "$PLACE")"
			fi
		done
		row "SIG$signal at any moment${append:+, adding}"
	done
done

# ---- where it writes ----

if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs tmpfs "$PLACE" 2>/dev/null; then
	for append in "" --append; do
		for kib in 100 300 400 500 600 800 1200 1600 2400; do
			rm -rf "$PLACE"/* "$PLACE"/.[!.]*
			# In a mount namespace of its own, and copied out again to be looked at.
			unshare -m sh -c '
				mount -t tmpfs -o size='$kib'k,mode=755 tmpfs "$1" && cp "$2" "$1/results.db" 2>/dev/null || exit 99
				"$3" '$append' -o "$1/results.db" "$4" >"$5/out" 2>"$5/err"; status=$?
				rm -rf "$5/copy"; cp -a "$1" "$5/copy"; exit $status
			' sh "$PLACE" "$OLD" "$REPLAY" "$DIR/long.dat" "$DIR"
			status=$?
			[ $status != 99 ] || continue # not even the old one fits
			cp -a "$DIR/copy/." "$PLACE/"
			judge "a disk of $kib KiB $append" $status "$DIR/want-long${append:++}.db"
			[ $status = 0 ] || grep -qiE 'full|space|memory' "$DIR/err" || fail "a full disk: $(cat "$DIR/err")"
		done
		row "a disk that is full${append:+, adding}"
		begin
		unshare -m sh -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
			"$2" '$append' -o "$1/results.db" "$3" >"$4/out" 2>"$4/err"' \
			sh "$PLACE" "$REPLAY" "$DIR/small.dat" "$DIR"
		judge "a read-only file system $append" $? "$DIR/want.db"
		grep -q "$PLACE/results.db: .*\(ead-only\|readonly\)" "$DIR/err" || fail "read-only: $(cat "$DIR/err")"
		row "a read-only file system${append:+, adding}"
	done
else
	missing="$missing no mount namespaces for disks that are full or read-only;"
fi

# ---- memory ----

if [ -n "$shimmed" ]; then
	for kib in 6000 7000 8000 9000 10000 10500 11000 12000 14000 18000 24000 40000; do
		begin
		try bash -c 'ulimit -v '$kib'; exec "$0" "$@"' "$REPLAY" -o "$PLACE/results.db" "$DIR/long.dat"
		# So little that the loader gives up: not our message.
		if [ $status = 127 ]; then
			cmp -s "$PLACE/results.db" "$OLD" || fail "$kib KiB: the old database was changed"
			outcomes[refused]=$((${outcomes[refused]-0} + 1))
			continue
		fi
		judge "$kib KiB of addresses" $status "$DIR/want-long.db"
	done
	row "RLIMIT_AS from 6 to 40 MB"
fi

# shim VARIABLE=VALUE COMMAND...
shim() {
	local setting=$1
	shift
	try env "$setting" LD_PRELOAD="$SHIM" "$@"
}

# counts KIND COMMAND...: how many of KIND it does
counts() {
	local kind=$1
	shift
	begin
	shim SHIM_COUNT="$DIR/count" "$@"
	sed -n "s/^$kind //p" "$DIR/count"
}

# fail_each VARIABLE KIND STEP WANT NAME OPTION...: each STEPth of KIND fails.
fail_each() {
	local variable=$1 kind=$2 step=$3 want=$4 what=$5 n
	shift 5
	n=$(counts "$kind" "$REPLAY" -p arm64-local "$@" -o "$PLACE/results.db" "$DIR/small.dat")
	[ "${n:-0}" -gt 0 ] || fail "no $kind"
	[ -z "$all" ] || step=1
	for ((i = 1; i <= n; i += step)); do
		begin
		shim "$variable=$i" "$REPLAY" -p arm64-local "$@" -o "$PLACE/results.db" "$DIR/small.dat"
		case $variable$* in
		SHIM_WRITE*--append*) judge "$variable=$i $*" $status "$want" leftovers ;;
		*) judge "$variable=$i $*" $status "$want" ;;
		esac
	done
	row "$what"
}

if [ -n "$shimmed" ]; then
	fail_each SHIM_ALLOC allocations 131 "$DIR/want.db" "the nth allocation fails"
	fail_each SHIM_ALLOC_FROM allocations 257 "$DIR/want.db" "the nth allocation and all after it fail"
	fail_each SHIM_ALLOC allocations 257 "$DIR/want+.db" "the nth allocation fails, adding" --append
	fail_each SHIM_WRITE writes 7 "$DIR/want.db" "the nth write and all after it fail"
	fail_each SHIM_WRITE writes 3 "$DIR/want+.db" "the nth write and all after it fail, adding" --append
	fail_each SHIM_READ_EIO reads 3 "$DIR/want.db" "the nth read and all after it fail"
	begin
	shim SHIM_SHORT=1 "$REPLAY" -p arm64-local -o "$PLACE/results.db" "$DIR/small.dat"
	judge "short reads" $status "$DIR/want.db"
	[ $status = 0 ] || fail "short reads: $(cat "$DIR/err")"
	row "short and interrupted reads"

	# ---- the recording changes under it ----

	for kind in TRUNCATE GROW; do
		n=$(counts reads "$REPLAY" -o "$PLACE/results.db" "$DIR/long.dat")
		for i in 1 2 3 5 8 13 21 $((n / 4)) $((n / 2)); do
			begin
			cp "$DIR/long.dat" "$DIR/changing.dat"
			shim SHIM_$kind=$i "$REPLAY" -o "$PLACE/results.db" "$DIR/changing.dat"
			# What was there when it began is read; of what came later nothing is, but the name differs.
			if [ $kind = GROW ]; then
				[ $status = 0 ] || fail "it grew at read $i: status $status: $(cat "$DIR/err")"
				[ "$(q "$PLACE/results.db" 'SELECT sum(events) FROM traces')" = "$(q "$DIR/want-long.db" 'SELECT sum(events) FROM traces')" ] ||
					fail "it grew at read $i: other events"
				outcomes[done]=$((${outcomes[done]-0} + 1))
			else
				judge "cut at read $i" $status "$DIR/want-long.db"
				[ $status = 1 ] && grep -q 'offset [0-9]*: .*\(became shorter\|truncated\)' "$DIR/err" ||
					fail "cut at read $i: status $status, $(cat "$DIR/err")"
			fi
		done
	done
	row "the recording shrinks or grows while it is read"
fi

# ---- two at one database ----

for append in "" --append; do
	for i in 1 2 3 4; do
		begin
		# shellcheck disable=SC2086
		"$REPLAY" $append -p arm64-local -o "$PLACE/results.db" "$DIR/small.dat" >"$DIR/out1" 2>"$DIR/err1" &
		one=$!
		# shellcheck disable=SC2086
		"$REPLAY" $append -p x86 -o "$PLACE/results.db" "$DIR/small.dat" >"$DIR/out2" 2>"$DIR/err2" &
		two=$!
		wait $one && wait $two || fail "two at once $append: $(cat "$DIR/err1" "$DIR/err2")"
		[ "$(q "$PLACE/results.db" 'PRAGMA integrity_check')" = ok ] || fail "two at once $append: damaged"
		n=$(q "$PLACE/results.db" 'SELECT count(*) FROM traces')
		wanted=1
		[ -z "$append" ] || wanted=3
		[ "$n" = $wanted ] || fail "two at once $append: $n recordings, not $wanted"
		[ "$(ls -A "$PLACE")" = results.db ] || fail "two at once $append: left behind: $(ls -A "$PLACE")"
		outcomes[done]=$((${outcomes[done]-0} + 1))
	done
	row "two replays write one database${append:+, adding}"
done

# ---- databases of other schemas ----

for version in 0 1 99; do
	begin
	sqlite3 "$PLACE/results.db" "PRAGMA user_version = $version"
	cp "$PLACE/results.db" "$DIR/other.db"
	try "$REPLAY" --append -o "$PLACE/results.db" "$DIR/small.dat"
	[ $status = 1 ] && grep -q 'schema version' "$DIR/err" || fail "schema $version: status $status, $(cat "$DIR/err")"
	cmp -s "$PLACE/results.db" "$DIR/other.db" || fail "schema $version: it was changed"
	outcomes[refused]=$((${outcomes[refused]-0} + 1))
	try "$REPLAY" -p arm64-local -o "$PLACE/results.db" "$DIR/small.dat"
	judge "over schema $version" $status "$DIR/want.db"
done
row "a database of another schema, added to and replaced"

# ---- links ----

begin
echo precious >"$DIR/precious"
ln -s "$DIR/precious" "$PLACE/.results.db.abcdef.tmp"
try "$REPLAY" -p arm64-local -o "$PLACE/results.db" "$DIR/small.dat"
[ $status = 0 ] && [ "$(cat "$DIR/precious")" = precious ] || fail "a link under a hidden name was followed"

echo "| fault | tried | outcome |"
echo "|---|---|---|"
printf '%s\n' "${table[@]}"
done_testing
