#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A recording that was cut anywhere, and things that are no recording, are refused: status 1 and one
# line with the file and the reason. Never a crash, never a shorter recording.
set -u

: "${BUILD:=build}" "${SHARED:=../shared}"
DUMP=$BUILD/tests/tools/trace-dump
[ -x "$DUMP" ] || { echo "$DUMP is not built"; exit 77; }
DIR=$(mktemp -d "${TMPDIR:-/tmp}/trace-truncated.XXXXXX") || exit 1
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM HUP
failed=0

# refused PATH PATTERN WHAT
refused() {
	"$DUMP" "$1" >/dev/null 2>"$DIR/err"
	status=$?
	if [ $status != 1 ]; then
		echo "$3: status $status, not 1: $(head -n 3 "$DIR/err")"
		failed=1
	elif [ "$(wc -l <"$DIR/err")" != 1 ] || ! grep -q "error: $1: .*$2" "$DIR/err"; then
		echo "$3: the reason is \"$(cat "$DIR/err")\""
		failed=1
	fi
}

: >"$DIR/empty"
echo "Lines of text that are long enough to be taken for a header" >"$DIR/text"
mkfifo "$DIR/fifo"
refused "$DIR/empty" "offset 0: not a trace.dat" "an empty file"
refused "$DIR/text" "offset 0: not a trace.dat" "a text"
refused "$DIR/fifo" "not a regular file" "a FIFO"
refused "$DIR" "is a directory" "a directory"
refused /dev/null "not a regular file" "a device"
refused "$DIR/nonesuch" "No such file" "a missing file"

cut=0
for path in "$SHARED"/corpus/real/*__86d634f.dat "$SHARED"/corpus/derived/*-v7-none.dat \
	"$SHARED"/corpus/derived/86*-v7-zstd.dat "$SHARED"/corpus/derived/86*-bigendian.dat \
	examples/*.dat; do
	[ -f "$path" ] || continue
	cut=$((cut + 1))
	size=$(wc -c <"$path")
	cp "$path" "$DIR/cut"
	# From the end, so that one copy serves for all.
	for at in $((size - 1)) $(seq $((size / 16 * 15)) -$((size / 16)) $((size / 16))) 40 20 11 10 9; do
		truncate -s "$at" "$DIR/cut"
		refused "$DIR/cut" "offset [0-9]*: ." "${path##*/} cut at $at"
	done
done

[ $failed = 0 ] || exit 1
[ $cut -gt 0 ] || { echo "no recordings in $SHARED or examples/; the rest passed"; exit 77; }
echo "$cut recordings cut at 21 places each"
