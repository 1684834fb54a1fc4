#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every number of a recording, one at a time, set to 0, 1, its largest value, one more, one less, and
# with its highest bit turned (tests/tools/mutate.c says what may come of it): never a crash, a hang,
# much memory, or other events without a word. In both byte orders, with both sizes of long, plain and
# zstd. Prints the table that docs/robustness.md shows; with --all as many changes as that was made of.
set -u

: "${BUILD:=build}"
GEN=$BUILD/tests/tools/gentrace
MUTATE=$BUILD/tests/tools/mutate
for tool in "$GEN" "$MUTATE" "$BUILD/tests/tools/tracecmd-dump"; do
	[ -x "$tool" ] || { echo "$tool is not built"; exit 77; }
done
DIR=$(mktemp -d "${TMPDIR:-/tmp}/mutations.XXXXXX") || exit 1
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM HUP
export TMPDIR=$DIR
case $BUILD in *-*) export ASAN_OPTIONS=${ASAN_OPTIONS-detect_leaks=0} ;; esac # no limits then
failed=0

# change OPTIONS GENTRACE-OPTION...
change() {
	local options=$1
	shift
	[ "${all-}" ] && options="--records 40"
	"$GEN" --events 250 --processes 2 --threads 2 --pages 16 --cpus 2 "$@" "$DIR/t.dat" >/dev/null || exit 1
	# shellcheck disable=SC2086 # a list of options
	if ! "$MUTATE" $options "$DIR/t.dat" >"$DIR/out"; then
		echo "$*:"
		grep ^BAD "$DIR/out" | head -n 20
		failed=1
	fi
	grep -v ^BAD "$DIR/out" >>"$DIR/table"
}

all=
[ "${1-}" != --all ] || all=yes
change "--records 6" --version 6 --endian big --long 4 --lost
change "--records 6 --no-formats" --version 6
change "--records 6 --no-formats" --version 7 --buffers 1
change "--records 4" --version 7 --compression zstd
change "--records 6 --no-formats" --version 7 --compression zstd --endian big --page-size 16384
change "--records 6 --no-formats" --arch x86 --discard --absolute

awk '{
	kind = substr($0, 1, 34); sub(/ +$/, "", kind); n = split(substr($0, 35), v)
	if (!(kind in seen)) { seen[kind] = 1; order[++kinds] = kind }
	for (i = 1; i <= n; i++) { sum[kind, i] += v[i]; total[i] += v[i]; tries += v[i] }
} END {
	print "| changed | same | other | lost | named | explained | bad |"
	print "|---|---|---|---|---|---|---|"
	for (k = 1; k <= kinds; k++) {
		line = "| " order[k]
		for (i = 1; i <= 6; i++) line = line " | " sum[order[k], i] + 0
		print line " |"
	}
	line = "| all"
	for (i = 1; i <= 6; i++) line = line " | " total[i] + 0
	print line " |"
	print tries + 0 " changes"
}' "$DIR/table"
[ $failed = 0 ] || exit 1
