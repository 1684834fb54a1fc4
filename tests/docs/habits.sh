#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What is promised of every program: --help and --version, an exit status for each end that the manual has, no
# colour without being asked; manuals that format without warnings and name every option, every part of the
# policy API and every table; completion of every option.
set -u
BUILD=${BUILD:-build}
DIR=$(mktemp -d "${TMPDIR:-/tmp}/habits.XXXXXX") || exit 1
trap 'rm -rf "$DIR"' EXIT
LC_ALL=C.UTF-8
export LC_ALL
failed=0
fail() {
	echo "habits: $*"
	failed=1
}
version=$(sed -n 's/^VERSION := //p' Makefile)
programs="tlbreplay tlbreport tlbcapture tlbexport tlbfleet tlbcalibrate"

options() {
	"$BUILD/$1" --help | grep -oE -e '(^|[][ |,(])--?[a-zA-Z][a-zA-Z-]*' | tr -d '][ |,(' | sort -u
}

# What cannot be written is an error, with a reason.
full() {
	"$BUILD/$1" "${@:2}" >/dev/full 2>"$DIR/err" </dev/null
	[ $? -eq 1 ] || fail "$*: into a full device, and the status is not 1"
	grep -q '^tlb[a-z]*: error: .*No space left on device' "$DIR/err" || fail "$*: no reason: $(cat "$DIR/err")"
}

for program in $programs; do
	page=docs/$program.1
	for option in --help -h; do
		"$BUILD/$program" $option >"$DIR/help" 2>"$DIR/err" </dev/null || fail "$program $option: status $?"
		[ ! -s "$DIR/err" ] && grep -qi '^usage: ' "$DIR/help" || fail "$program $option: $(head -n 3 "$DIR/help")"
		grep -q '^Exit status: ' "$DIR/help" || fail "$program $option does not say its exit statuses"
	done
	for option in --version -V; do
		[ "$("$BUILD/$program" $option)" = "$program $version" ] || fail "$program $option"
	done
	for option in --help -h --version -V; do
		full $program $option
	done
	for wrong in --nonesuch "--version=1 --nonesuch"; do
		"$BUILD/$program" $wrong >"$DIR/out" 2>"$DIR/err" </dev/null
		[ $? -eq 2 ] || fail "$program $wrong: not status 2"
		[ -s "$DIR/err" ] && [ ! -s "$DIR/out" ] || fail "$program $wrong: says nothing on standard error"
	done
	"$BUILD/$program" >"$DIR/out" 2>"$DIR/err" </dev/null
	[ $? -eq 2 ] || fail "$program without arguments: not status 2"

	for option in $(options $program); do
		grep -qF -e "$(printf '%s' "$option" | sed 's/-/\\-/g')" $page || fail "$program $option is not in $page"
	done
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
		grep -q "^.SH \"*$section\"*\$" $page || fail "$page has no $section"
	done
	# Every status of --help is in the manual and the other way round.
	for status in $(sed -n '/^Exit status: /,$p' "$DIR/help" | grep -oE '\b[0-3]\b'); do
		sed -n '/^.SH "*EXIT STATUS/,/^.SH [^E]/p' $page | grep -qxE "(\.B )?$status" || fail "$page does not explain status $status"
	done
	stated=$(sed -n 's/^\.TH .*tlbreplay \([0-9][0-9.]*\).*/\1/p' $page)
	[ "${stated:-$version}" = "$version" ] || fail "$page is of version $stated"
done

for page in docs/*.[1-8]; do
	if command -v man >/dev/null; then
		warnings=$(man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
		[ -z "$warnings" ] || fail "$page: $warnings"
	fi
	# Pages that it sends a reader to.
	for name in $(grep -oE '^\.BR (tlb[a-z\\-]+) \(([0-9])\)' "$page" | sed 's/^.BR \([^ ]*\) (\([0-9]\))/\1.\2/; s/\\//g'); do
		[ -e "docs/$name" ] || fail "$page names $name, which is not there"
	done
done

for words in 'tlbreplay --list-policies' 'tlbreplay --list-costs' 'tlbreplay --help-policy=x86' 'tlbreplay --help-cost=x86-generic' \
	'tlbreplay --dump examples/debian-6.12.dat' 'tlbreport list' 'tlbreport help cost' \
	'tlbexport examples/debian-6.12.dat -o -' 'tlbcapture --until=help'; do
	full $words
done

# No escape sequences where nobody asked for colour: into a pipe, or with NO_COLOR on a terminal.
"$BUILD/tlbreplay" -p arm64-local -o "$DIR/r.db" examples/arm64-broadcast.dat || fail "no database"
for command in "tlbreport $DIR/r.db" "tlbreport $DIR/r.db cost" "tlbreport list" "tlbreplay --list-policies" \
	"tlbreplay --help-policy=x86" "tlbexport --help"; do
	$BUILD/$command 2>&1 | grep -q $'\033' && fail "$command | cat: escape sequences"
	if command -v script >/dev/null; then
		NO_COLOR=1 script -qec "$BUILD/$command" /dev/null </dev/null | grep -q $'\033\[[0-9;]*m' &&
			fail "NO_COLOR=1 $command: colours"
	fi
done

# ---- the policy API ----

page=docs/tlbreplay-policy.3
plain=$(sed 's/\\-/-/g; s/\\f[A-Z]//g' $page)
for word in $(sed -n '/^#define POLICY_API/,$p' replay/policy.h | sed 's|/\*.*\*/||; /\/\*/,/\*\//d' |
	grep -oE '\b(REACH|WAIT|ACT|POLICY)_[A-Z_]+|\b[a-z_]+(;|\[|\)\()|\(\*[a-z_]+\)' | tr -d '();*[' | sort -u); do
	case $word in err | err_size | params | state | view | name) continue ;; esac
	grep -qw -e "$word" <<<"$plain" || fail "$page does not name $word"
done
# Its example compiles and does what it says.
sed -n '/^#include "replay/,/^\.fi/p' $page | sed '/^\.fi/,$d' >"$DIR/example.c"
if gcc -shared -fPIC -Wall -Wextra -Werror -I. -o "$DIR/example.so" "$DIR/example.c" 2>"$DIR/err"; then
	case $BUILD in
	*address*) ;;
	*)
		"$BUILD/tlbreplay" -p "$DIR/example.so" -o "$DIR/e.db" examples/arm64-broadcast.dat || fail "the example of $page"
		got=$(sqlite3 "$DIR/e.db" "SELECT group_concat(point || ' ' || flushes) FROM v_flush WHERE flushes > 0")
		[ "$got" = "cow 76" ] || fail "the example of $page flushes '$got'"
		;;
	esac
else
	fail "the example of $page does not compile: $(cat "$DIR/err")"
fi

# ---- formats ----

page=docs/tlbreplay-formats.5
for table in $(sqlite3 "$DIR/r.db" "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"); do
	grep -qw "$table" $page || fail "$page does not name the table $table"
done
for text in $(sed -n 's/^#define SNAPSHOT_[A-Z_]* *"\([a-z.]*\).*/\1/p; s/^#define SNAPSHOT_MARKER_MAX \([0-9]*\)/\1/p' \
	schema/snapshot.h); do
	grep -qF "$text" $page || fail "$page does not have '$text' of schema/snapshot.h"
done
grep -q "^$(sqlite3 "$DIR/r.db" 'PRAGMA user_version'). It holds" $page || fail "$page: another user_version"

# Every item and key of a cost preset is in its manual.
page=docs/tlbreplay-costs.5
for word in $("$BUILD/tlbreplay" --help-cost=x86-generic | sed -n 's/^\[\(.*\)\]$/\1/p; s/^\([a-z_]*\) =.*/\1/p' | sort -u) not_for_use; do
	grep -qw -e "$word" $page || fail "$page does not name $word"
done

# ---- completion ----

# complete_line WORD...: what bash offers for the last word.
complete_line() {
	PATH=$BUILD:$PATH bash -c '
		source docs/completion.bash
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		spec=$(complete -p "$1") || exit 1
		function=${spec#*-F } function=${function%% *}
		compopt() { :; }
		"$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' complete "$@"
}
offers() {
	local wanted=$1
	shift
	complete_line "$@" | grep -qxF -e "$wanted" || fail "completion of '$*' does not offer $wanted: $(complete_line "$@" | tr '\n' ' ')"
}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
[ "$(bash -c 'source docs/completion.bash; complete -p' | wc -l)" -eq 6 ] || fail "completion is not for six programs"
for program in $programs; do
	for option in $(options $program); do
		complete_line $program "$option" | grep -qE -e "^$option=?\$" || fail "completion of $program does not know $option"
	done
done
for name in $("$BUILD/tlbreplay" --list-policies | cut -d ' ' -f 1); do
	offers "$name" tlbreplay -p "${name%?}"
	offers "$name" tlbreplay --help-policy = "${name%?}"
done
offers arm64-local tlbreplay --help-policy =
offers x86-generic tlbreplay --cost ''
offers arm64-seed tlbreplay --help-cost =
offers examples/x86.dat tlbreplay -p x86 examples/x
offers examples/x86.dat tlbexport examples/
offers examples tlbreplay exa
for name in $("$BUILD/tlbreport" list | cut -d ' ' -f 1); do
	offers "$name" tlbreport "$DIR/r.db" ''
done
offers "$DIR/r.db" tlbreport "$DIR/"
offers list tlbreport ''
offers arm64-broadcast.dat tlbreport "$DIR/r.db" --trace ''
offers -- tlbcapture -o x.dat -
offers true tlbcapture -o x.dat -- tru
complete_line tlbreplay "$DIR/" | grep -q 'r.db' && fail "completion offers a database as a recording"

[ $failed -eq 0 ]
