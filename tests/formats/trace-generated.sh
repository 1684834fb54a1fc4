#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every variant of the container that gentrace can write, against libtracecmd: byte orders, sizes of
# long and page, instances, gaps in the CPU numbers, hundreds and thousands of CPUs, large zstd chunks
# of many CPUs (which are read in parts). The sum of the losses must be what was put in, the places
# without a count as well.
set -u

: "${BUILD:=build}"
DUMP=$BUILD/tests/tools/trace-dump
ORACLE=$BUILD/tests/tools/tracecmd-dump
GEN=$BUILD/tests/tools/gentrace
for tool in "$DUMP" "$ORACLE" "$GEN"; do
	[ -x "$tool" ] || { echo "$tool is not built"; exit 77; }
done
LC_ALL=C
export LC_ALL
DIR=$(mktemp -d "${TMPDIR:-/tmp}/trace-generated.XXXXXX") || exit 1
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM HUP
failed=0
variants=0

fail() {
	echo "gentrace $options: $*"
	failed=1
}

fact() {
	tr ' ' '\n' <"$DIR/facts" | sed -n "s/^$1=//p"
}

while read -r options; do
	variants=$((variants + 1))
	# shellcheck disable=SC2086
	if ! "$GEN" --events 40000 $options "$DIR/t.dat" >"$DIR/facts"; then
		fail "it failed"
		continue
	fi
	"$DUMP" "$DIR/t.dat" >"$DIR/all" 2>"$DIR/err"
	status=$?
	wanted=0
	[ "$(fact lost_events)" = 0 ] || wanted=3
	[ $status = $wanted ] || fail "trace-dump ended with $status: $(cat "$DIR/err")"
	grep -v '^lost ' "$DIR/all" >"$DIR/ours"
	"$ORACLE" "$DIR/t.dat" >"$DIR/theirs" 2>"$DIR/err" ||
		"$ORACLE" "$DIR/t.dat" >"$DIR/theirs" 2>"$DIR/err" || fail "the oracle failed"
	[ "$(wc -l <"$DIR/theirs")" = "$(fact events)" ] || fail "the oracle counts differently"
	case $options in
	*--buffers*) # it has another order of ties between buffers
		sort -o "$DIR/ours" "$DIR/ours"
		sort -o "$DIR/theirs" "$DIR/theirs"
		;;
	esac
	cmp -s "$DIR/ours" "$DIR/theirs" ||
		fail "differs: $(diff "$DIR/theirs" "$DIR/ours" | sed -n '2p;/^>/{p;q;}' | tr '\n' ' ')"
	sum=$(awk '$1 == "lost" && $3 != "unknown" { n += $3 } END { print n + 0 }' "$DIR/all")
	[ "$sum" = "$(fact lost_events)" ] || fail "$sum lost, $(fact lost_events) written"
	if [ "$(fact lost_unknown)" = 0 ]; then
		! grep -q '^lost .*unknown' "$DIR/all" || fail "an unknown loss that was not written"
	else
		grep -q '^lost .*unknown' "$DIR/all" || fail "the unknown losses are missing"
	fi
done <<END
--version 6
--version 6 --endian big --long 4
--version 7
--version 7 --compression zstd
--version 7 --endian big
--long 4 --compression zstd
--page-size 65536
--page-size 65536 --compression zstd --cpus 300
--page-size 16384 --compression zstd --endian big
--rt --absolute
--gaps
--lost
--lost --version 6 --long 4 --endian big --rt
--lost --compression zstd --buffers 1
--buffers 3 --compression zstd --gaps
--cpus 600
--cpus 4000 --compression zstd
--arch x86
--discard
--discard --endian big --absolute
END

[ $failed = 0 ] || exit 1
echo "$variants variants compared"
