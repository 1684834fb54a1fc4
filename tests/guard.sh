#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/guard.sh [--update]: "make guard", "make guard UPDATE=1".
#
# Instructions per event, counted by valgrind, of the reader alone and of a replay with three
# policies, against what tests/guard.tsv says. Times are noise on a busy machine; instructions are
# not. Two recordings of one generator differ only in their length, so what opening, ending and
# SQLite's schema cost falls out; with few pages, so do most rows. Fails when a figure has grown by more than 10 percent: whoever
# means it to writes the file anew, with the change that it is for.
#
# Figures hold for one compiler, one set of flags and one SQLite, which the file names. With others
# there is nothing to compare with: status 77.
set -eu

: "${BUILD:=build}" "${CC:=gcc}" "${CFLAGS:=}"
FILE=tests/guard.tsv
T=$BUILD/tests/tools
SMALL=100000 LARGE=300000

skip() {
	echo "guard: skipped: $*"
	exit 77
}

command -v valgrind >/dev/null || skip "valgrind is not installed (make deps)"
for tool in "$T/gentrace" "$T/trace-count" "$BUILD/tlbreplay"; do
	[ -x "$tool" ] || skip "$tool is not built (make guard builds it)"
done
DIR=$(mktemp -d "${TMPDIR:-/tmp}/guard.XXXXXX")
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM HUP

built="$($CC --version | head -n 1), $(uname -m), $CFLAGS, SQLite $(sqlite3 --version | cut -d ' ' -f 1)"
for n in $SMALL $LARGE; do
	"$T/gentrace" --events $n --pages 512 "$DIR/$n.dat" >"$DIR/facts"
done

# instructions COMMAND...: of all threads.
instructions() {
	valgrind --tool=callgrind --callgrind-out-file="$DIR/out" "$@" >"$DIR/stdout" 2>"$DIR/stderr" ||
		{ cat "$DIR/stderr" >&2; exit 1; }
	sed -n 's/.*Collected : *\([0-9]*\).*/\1/p' "$DIR/stderr"
}

# per_event COMMAND...: with the recording as its last word.
per_event() {
	small=$(instructions "$@" "$DIR/$SMALL.dat")
	large=$(instructions "$@" "$DIR/$LARGE.dat")
	awk -v s="$small" -v l="$large" -v n=$((LARGE - SMALL)) 'BEGIN { printf "%.1f\n", (l - s) / n }'
}

reader=$(per_event "$T/trace-count")
replay=$(per_event "$BUILD/tlbreplay" -j 1 -p arm64-broadcast -p arm64-local -p x86 -o "$DIR/db")

if [ "${1:-}" = --update ]; then
	{
		echo "# Instructions per event; make guard compares with these, make guard UPDATE=1 writes them."
		printf 'built\t%s\nreader\t%s\nreplay\t%s\n' "$built" "$reader" "$replay"
	} >"$FILE"
	cat "$FILE"
	exit 0
fi
wanted() {
	awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$FILE"
}
if [ "$(wanted built)" != "$built" ]; then
	echo "guard: reader $reader, replay $replay instructions per event"
	skip "the figures in $FILE are of \"$(wanted built)\", this is \"$built\""
fi

failed=0
# compare NAME FIGURE
compare() {
	awk -v name="$1" -v now="$2" -v was="$(wanted "$1")" 'BEGIN {
		if (was <= 0) { print "guard: '"$FILE"' has no figure for " name; exit 1 }
		printf "guard: %s: %.1f instructions per event, %.1f in '"$FILE"' (%+.1f %%)\n", name, now, was,
		       100 * (now / was - 1)
		if (now > 1.1 * was) {
			print "guard: " name " has grown by more than 10 %; if it must: make guard UPDATE=1, and say why"
			exit 1
		}
		if (now < 0.9 * was)
			print "guard: " name " has shrunk: make guard UPDATE=1 keeps it so"
	}' || failed=1
}
compare reader "$reader"
compare replay "$replay"
exit $failed
