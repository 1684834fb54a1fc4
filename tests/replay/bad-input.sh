#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Whatever cannot be done gives one message and status 1, or 2 where the command line is wrong; no
# database comes of it, one that was there stays as it was, and nothing is left beside it. The same
# when a long replay is interrupted.
. tests/replay/lib/setup

"$GEN" --events 3000 --pages 64 "$DIR/good.dat" >"$DIR/facts" || fail "gentrace"
mkdir "$DIR/place"
DB=$DIR/place/results.db
OLD=$DIR/old.db
expect_status 0 "$REPLAY" -p none -o "$OLD" "$DIR/good.dat"
refusals=0

# one_message WHAT: standard error is one error and at most the hint at --help.
one_message() {
	[ "$(grep -c '^tlbreplay: error: .' "$DIR/err")" = 1 ] || fail "$1: not one message: $(cat "$DIR/err")"
	[ "$(grep -cvE "^tlbreplay: error: |^Try 'tlbreplay --help'\.$" "$DIR/err")" = 0 ] &&
		[ "$(wc -l <"$DIR/err")" -le 2 ] || fail "$1: more than a message: $(cat "$DIR/err")"
	[ ! -s "$DIR/out.txt" ] || fail "$1: output in spite of an error"
}

# nothing_left WHAT [NAME...]: these and no other files are in the folder of the output.
nothing_left() {
	left=$(ls -A "$DIR/place")
	what=$1
	shift
	[ "$left" = "$*" ] || fail "$what: left behind: '$left', not '$*'"
}

# refused STATUS WORDS ARGUMENT...: without a database and over an old one.
refused() {
	status=$1 words=$2
	shift 2
	refusals=$((refusals + 1))
	for old in "" results.db; do
		rm -rf "$DIR/place"/* "$DIR/place"/.[!.]*
		[ -z "$old" ] || cp "$OLD" "$DB"
		"$REPLAY" "$@" >"$DIR/out.txt" 2>"$DIR/err" </dev/null
		got=$?
		[ $got = "$status" ] || fail "status $got instead of $status: $*: $(head -c 300 "$DIR/err")"
		grep -q -- "$words" "$DIR/err" || fail "no \"$words\": $*: $(head -c 300 "$DIR/err")"
		one_message "$*"
		nothing_left "$*" $old
		[ -z "$old" ] || cmp -s "$OLD" "$DB" || fail "the old database was changed: $*"
	done
}

# ---- recordings ----

: >"$DIR/empty.dat"
echo "Lines of text that are long enough to be taken for the header of a recording" >"$DIR/text.dat"
head -c 100000 /dev/urandom >"$DIR/noise.dat"
refused 1 "No such file" -o "$DB" "$DIR/missing.dat"
refused 1 "$DIR/missing.dat" -o "$DB" "$DIR/missing.dat"
refused 1 "is a directory" -o "$DB" "$DIR"
refused 1 "not a regular file" -o "$DB" /dev/null
refused 1 "not a trace.dat" -o "$DB" "$DIR/empty.dat"
refused 1 "not a trace.dat" -o "$DB" "$DIR/text.dat"
refused 1 "not a trace.dat" -o "$DB" "$DIR/noise.dat"
refused 1 "No such file" -o "$DB" ""
refused 1 "not a trace.dat" --append -o "$DB" "$DIR/text.dat"
# One bad recording among good ones: nothing of the run is kept, whichever comes first.
refused 1 "not a trace.dat" -o "$DB" "$DIR/good.dat" "$DIR/text.dat"
refused 1 "not a trace.dat" -o "$DB" "$DIR/text.dat" "$DIR/good.dat"
refused 1 "not a trace.dat" --append -o "$DB" "$DIR/good.dat" "$DIR/text.dat"
if [ "$(id -u)" != 0 ]; then
	cp "$DIR/good.dat" "$DIR/closed.dat"
	chmod 0 "$DIR/closed.dat"
	refused 1 "Permission denied" -o "$DB" "$DIR/closed.dat"
fi

for options in "--version 6" "--version 7" "--version 7 --compression zstd" "--workload x86tp --long 4"; do
	# shellcheck disable=SC2086 # a list of options
	"$GEN" --events 20000 $options "$DIR/t.dat" >"$DIR/facts" || fail "gentrace $options"
	expect_status 0 "$REPLAY" -o "$DIR/whole.db" "$DIR/t.dat"
	size=$(wc -c <"$DIR/t.dat")
	for sixteenth in 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1; do
		truncate -s $((size * sixteenth / 16)) "$DIR/t.dat"
		refused 1 "t.dat: offset [0-9]*: ." -o "$DB" "$DIR/t.dat"
	done
done
if file=$(recording broadcast); then
	cp "$file" "$DIR/t.dat"
	size=$(wc -c <"$DIR/t.dat")
	for sixteenth in 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1; do
		truncate -s $((size * sixteenth / 16)) "$DIR/t.dat"
		refused 1 "t.dat: offset [0-9]*: ." -o "$DB" "$DIR/t.dat"
	done
fi

# ---- the output ----

refused 1 "nonesuch" -o "$DIR/nonesuch/results.db" "$DIR/good.dat"
refused 1 "not a regular file" -o "$DIR/place" "$DIR/good.dat"
refused 1 "not a regular file" -o /dev/null "$DIR/good.dat"
[ -c /dev/null ] || fail "/dev/null was replaced"
refused 1 "Not a directory" -o "$DIR/text.dat/results.db" "$DIR/good.dat"
if [ "$(id -u)" != 0 ]; then
	mkdir "$DIR/closed"
	chmod 555 "$DIR/closed"
	refused 1 "Permission denied" -o "$DIR/closed/results.db" "$DIR/good.dat"
fi
cp "$DIR/text.dat" "$DIR/text.before"
refused 1 "" --append -o "$DIR/text.dat" "$DIR/good.dat"
cmp -s "$DIR/text.dat" "$DIR/text.before" || fail "a text was changed by --append"

# ---- the command line ----

refused 2 "no recording given"
refused 2 "no recording given" -o "$DB"
refused 2 "no recording given" -p none
refused 2 "'nonesuch'" -p nonesuch -o "$DB" "$DIR/good.dat"
refused 2 "no policy ''" -p "" -o "$DB" "$DIR/good.dat"
refused 2 "no policy" -p ":share=1" -o "$DB" "$DIR/good.dat"
refused 2 "no policy 'ARM64-LOCAL'" -p ARM64-LOCAL -o "$DB" "$DIR/good.dat"
refused 2 "no policy 'arm64-loca'" -p arm64-loca -o "$DB" "$DIR/good.dat"
refused 2 "twice" -p none -p none -o "$DB" "$DIR/good.dat"
refused 2 "'x86'.*'nonesuch'" -p x86:nonesuch=1 -o "$DB" "$DIR/good.dat"
refused 2 "ceiling" -p x86:nonesuch=1 -o "$DB" "$DIR/good.dat" # those there are
refused 2 "ceiling" -p x86:ceiling -o "$DB" "$DIR/good.dat"
refused 2 "ceiling" -p x86:ceiling= -o "$DB" "$DIR/good.dat"
refused 2 "33x" -p x86:ceiling=33x -o "$DB" "$DIR/good.dat"
refused 2 "ceiling" -p x86:ceiling=-1 -o "$DB" "$DIR/good.dat"
refused 2 "between" -p x86:slots=0 -o "$DB" "$DIR/good.dat"
refused 2 "between" -p x86:slots=17 -o "$DB" "$DIR/good.dat"
refused 2 "pcid" -p x86:pcid=perhaps -o "$DB" "$DIR/good.dat"
refused 2 "between 0 and 1" -p arm64-local:share=1.5 -o "$DB" "$DIR/good.dat"
refused 2 "twice" -p arm64-local:share=0.5,share=0.5 -o "$DB" "$DIR/good.dat"
refused 2 "share" -p arm64-local:share=nan -o "$DB" "$DIR/good.dat"
refused 2 "key=value" -p arm64-local:share=0.5, -o "$DB" "$DIR/good.dat"
refused 2 "nothing behind" -p x86: -o "$DB" "$DIR/good.dat"
refused 2 "no cost preset 'nonesuch'" --cost nonesuch -o "$DB" "$DIR/good.dat"
refused 2 "takes one recording" --dump "$DIR/good.dat" "$DIR/good.dat"
refused 2 "takes one recording" --dump
refused 2 "'nonesuch'" --help-policy=nonesuch
# A wrong command line is told before the recording is looked for.
refused 2 "'nonesuch'" -p nonesuch -o "$DB" "$DIR/missing.dat"
for option in --frob -Z --append=yes -p -o; do
	rm -rf "$DIR/place"/*
	(cd "$DIR/place" && "$REPLAY" "$DIR/good.dat" $option >"$DIR/out.txt" 2>"$DIR/err")
	got=$?
	[ $got = 2 ] && [ ! -s "$DIR/out.txt" ] && [ "$(wc -l <"$DIR/err")" -le 2 ] ||
		fail "$option: status $got, $(cat "$DIR/err")"
	nothing_left "$option"
done

# ---- interrupted ----

"$GEN" --events 5M --processes 8 "$DIR/long.dat" >"$DIR/facts" || fail "gentrace --events 5M"

# interrupt SIGNAL OPTION...: once the replay is under way.
interrupt() {
	signal=$1
	shift
	cp "$OLD" "$DB"
	"$REPLAY" "$@" -o "$DB" "$DIR/long.dat" >"$DIR/out.txt" 2>"$DIR/err" </dev/null &
	pid=$!
	for _ in $(seq 100); do
		# Its own file is there, or the old one is open.
		[ "$(ls -A "$DIR/place")" != results.db ] && break
		readlink "/proc/$pid"/fd/* 2>/dev/null | grep -q results.db && break
		sleep 0.01
	done
	sleep 0.15
	kill -s "$signal" $pid 2>/dev/null || fail "SIG$signal: it had ended before"
	wait $pid
	got=$?
	[ $got = 1 ] || fail "SIG$signal $*: status $got: $(cat "$DIR/err")"
	one_message "SIG$signal $*"
	grep -q interrupted "$DIR/err" || fail "SIG$signal $*: $(cat "$DIR/err")"
	nothing_left "SIG$signal $*" results.db
	cmp -s "$OLD" "$DB" || fail "SIG$signal $*: the old database was changed"
}
interrupt INT
interrupt TERM
interrupt HUP
interrupt INT --append
rm "$DB"
"$REPLAY" -o "$DB" "$DIR/long.dat" >"$DIR/out.txt" 2>"$DIR/err" </dev/null &
pid=$!
sleep 0.3
kill -s TERM $pid 2>/dev/null || fail "it had ended before"
wait $pid
got=$?
[ $got = 1 ] || fail "SIGTERM without an old database: status $got"
nothing_left "SIGTERM without an old database"

[ $refusals -gt 100 ] || fail "only $refusals refusals were tried"
done_testing
