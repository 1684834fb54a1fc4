#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every event of every real recording at hand, against readers that are not ours: libtracecmd (time,
# CPU, pid, system and event, in order) and "trace-cmd report -t" (time, CPU, pid, event), and the
# counts that were established when the recordings were collected. Byte-swapped and converted twins
# must give what their originals give.
set -u

: "${BUILD:=build}" "${SHARED:=../shared}"
DUMP=$BUILD/tests/tools/trace-dump
ORACLE=$BUILD/tests/tools/tracecmd-dump
for tool in "$DUMP" "$ORACLE"; do
	[ -x "$tool" ] || { echo "$tool is not built"; exit 77; }
done
LC_ALL=C
export LC_ALL
DIR=$(mktemp -d "${TMPDIR:-/tmp}/trace-compare.XXXXXX") || exit 1
trap 'rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM HUP
failed=0
compared=0

fail() {
	echo "$file: $*"
	failed=1
}

# libtracecmd asks for sizes that a mutilated file states, and takes no for an answer; a sanitizer would not.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1
export ASAN_OPTIONS

# ask OUTPUT COMMAND...: runs another reader; a failure is tried again before it counts.
ask() {
	out=$1
	shift
	"$@" >"$out" 2>"$DIR/err" && return
	"$@" >"$out" 2>"$DIR/err" && return
	status=$?
	fail "$1 ended with $status: $(head -n 1 "$DIR/err")"
	return 1
}

# same WANTED GOT WHAT
same() {
	cmp -s "$1" "$2" && return
	fail "$3 differs: $(diff "$1" "$2" | sed -n '2p;/^>/{p;q;}' | tr '\n' ' ')"
}

# events FILE: our dump without the lines on losses.
dump() {
	"$DUMP" "$1" >"$DIR/all" 2>"$DIR/err"
	status=$?
	case $status in
	0 | 3) grep -v '^lost ' "$DIR/all" >"$2"; return 0 ;;
	esac
	fail "trace-dump ended with $status: $(cat "$DIR/err")"
	return 1
}

# A report of several buffers begins each line with the buffer's name; ours ends with it.
# Lines of "COMM-PID [CPU] SECONDS.NNNNNNNNN: EVENT: ..." to "TIME_NS CPU PID EVENT". A comm may hold
# blanks, colons and dashes; what events print may hold newlines.
parse_report() {
	sed -nE 's/^ *.*-([0-9]+) +\[([0-9]+)\] +([0-9]+)\.?([0-9]*): +([^ :]+):.*$/\3\4 \2 \1 \5/p' |
		sed -E 's/^0+([0-9])/\1/; s/ 0+([0-9])/ \1/'
}

compare() {
	file=$1
	dump "$file" "$DIR/ours" || return
	ask "$DIR/libtracecmd" "$ORACLE" "$file" && same "$DIR/libtracecmd" "$DIR/ours" libtracecmd
	if command -v trace-cmd >/dev/null; then
		if ask "$DIR/report.txt" trace-cmd report -N -t "$file"; then
			parse_report <"$DIR/report.txt" >"$DIR/report"
			sed -E 's/^([^:]*) [^ :]+:([^ ]+).*/\1 \2/' "$DIR/ours" >"$DIR/short"
			same "$DIR/report" "$DIR/short" "trace-cmd report"
		fi
	fi
	compared=$((compared + 1))
	events=$(wc -l <"$DIR/ours")
	[ "$events" -gt 0 ] || fail "no events"
}

for path in "$SHARED"/corpus/real/*.dat "$SHARED"/traces/*.dat examples/*.dat; do
	[ -f "$path" ] || continue
	compare "$path"
	case $path in
	*/corpus/*) ;;
	*) continue ;;
	esac
	wanted=$(awk -F '\t' -v f="real/${path##*/}" '$1 == f { print $8 }' "$SHARED/corpus/INDEX.tsv")
	[ "$wanted" = "$events" ] || fail "$events events, the index says $wanted"
done

twin() {
	file=$SHARED/corpus/derived/$1
	[ -f "$file" ] || return
	compare "$file"
	original=$(echo "$SHARED"/corpus/real/*"__$2.dat")
	dump "$original" "$DIR/original" && dump "$file" "$DIR/ours" &&
		same "$DIR/original" "$DIR/ours" "its original"
}
twin 86d634f3df-bigendian.dat 86d634f
twin 86d634f3df-v7-none.dat 86d634f
twin 86d634f3df-v7-zstd.dat 86d634f
twin a2b1d66136-bigendian.dat a2b1d66

# lost NAME LINE: flags that were set by hand; the events are the original's.
lost() {
	file=$SHARED/corpus/derived/$1
	[ -f "$file" ] || return
	"$DUMP" "$file" >"$DIR/all" 2>"$DIR/err"
	status=$?
	[ $status = 3 ] || fail "trace-dump ended with $status, not 3 (incomplete)"
	[ "$(grep '^lost ' "$DIR/all")" = "$2" ] ||
		fail "\"$(grep '^lost ' "$DIR/all")\", not \"$2\""
	grep -v '^lost ' "$DIR/all" >"$DIR/ours"
	dump "$SHARED"/corpus/real/*__86d634f.dat "$DIR/original" &&
		same "$DIR/original" "$DIR/ours" "its original"
}
lost lost-full-page1-missed.dat "lost 0 unknown"
lost lost-full-page2-missed-stored.dat "lost 0 1234567"

file=$SHARED/corpus/derived/interrupted-writer-v7-zstd.dat
if [ -f "$file" ]; then
	"$DUMP" "$file" >"$DIR/all" 2>"$DIR/err"
	status=$?
	[ $status = 1 ] || fail "ended with $status, not 1"
	[ ! -s "$DIR/all" ] || fail "it was refused and yet events came"
	grep -q "offset [0-9]*: .*the recording was not finished" "$DIR/err" ||
		fail "the reason is \"$(cat "$DIR/err")\""
fi

[ $failed = 0 ] || exit 1
if [ $compared = 0 ]; then
	echo "no recordings in $SHARED or examples/"
	exit 77
fi
echo "$compared recordings compared"
