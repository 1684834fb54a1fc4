#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every harness runs over what fuzzing starts from and what it has ever found, without a fuzzer: no
# crash, no hang, none of the harnesses' own checks fails. Under
# sanitizers (make SAN=address,undefined check) nothing of theirs either.
set -u

: "${BUILD:=build}"
DIR=$(mktemp -d "${TMPDIR:-/tmp}/fuzz-regressions.XXXXXX") || exit 1
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM HUP
tests/fuzz/seeds "$DIR/seeds" >"$DIR/log" 2>&1 || { cat "$DIR/log"; exit 1; }
failed=0 harnesses=0 inputs=0
limit=20
case $BUILD in *-*) limit=300 ;; esac # sanitizers and other instruments

for source in tests/fuzz/*.c; do
	name=$(basename "$source" .c)
	[ "$name" != main ] || continue
	[ -x "$BUILD/tests/fuzz/$name" ] || { echo "$name is not built"; failed=1; continue; }
	kept=tests/fuzz/regressions/$name
	[ -d "$kept" ] || kept=
	# shellcheck disable=SC2086 # perhaps nothing
	if ! timeout $limit "$BUILD/tests/fuzz/$name" "$DIR/seeds/$name" $kept >"$DIR/out" 2>"$DIR/err"; then
		echo "$name: $(tail -n 30 "$DIR/err")"
		failed=1
	fi
	n=$(sed -n 's/ inputs$//p' "$DIR/out")
	[ "${n:-0}" -gt 0 ] || { echo "$name has no inputs"; failed=1; }
	inputs=$((inputs + ${n:-0})) harnesses=$((harnesses + 1))
done
[ $failed = 0 ] || exit 1
echo "$harnesses harnesses, $inputs inputs"
