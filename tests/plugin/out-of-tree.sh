#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A policy from outside: tlbreplay is installed into a scratch folder, the template is built against the
# headers there and nothing else, and run on a shipped recording. Then everything that can be wrong with
# such a file.
. tests/replay/lib/setup
[ -f examples/arm64-broadcast.dat ] || { echo "examples/arm64-broadcast.dat is missing"; exit 77; }
: "${CC:=cc}"
command -v "$CC" >/dev/null || { echo "there is no compiler"; exit 77; }

# Only the part of "make install" that has to do with it: the rest may rebuild what other tests run.
cp examples/policy-template.c "$DIR/policy-template.c"
MAKEFLAGS='' make -s install-headers DESTDIR="$DIR/root" PREFIX=/usr >"$DIR/out" 2>&1 || fail "install: $(tail -3 "$DIR/out")"
include=$DIR/root/usr/include/tlbreplay
program=$(realpath "$REPLAY")
trace=$(realpath examples/arm64-broadcast.dat)
cd "$DIR" || exit 1

build() { # OUTPUT SOURCE [OPTION...]
	local out=$1 source=$2
	shift 2
	"$CC" -std=gnu11 -Wall -Wextra -shared -fPIC -I"$include" "$@" -o "$out" "$source" 2>cc.err ||
		fail "$CC $source: $(head -5 cc.err)"
	[ -s cc.err ] && fail "$CC $source warns: $(head -5 cc.err)"
	return 0
}

# Each header stands on its own.
for header in $(cd "$include" && find . -name '*.h' | sort); do
	echo "#include \"${header#./}\"" | "$CC" -std=gnu11 -Wall -Wextra -I"$include" -fsyntax-only -x c - 2>cc.err ||
		fail "$header alone: $(head -3 cc.err)"
done
build mine.so policy-template.c

# Write upgrades in that recording, by address space: 10309, 9, 8, 8, 2, 1 and 1, which is 10338 in all.
# Every 8th broadcasts: 1288 + 1 + 1 + 1 = 1291, and 9047 are local. With 64: 161 and 10177.
expect_status 0 "$program" -p ./mine.so:size=8 -p ./mine.so -p "$DIR/mine.so:size=1" -p arm64-broadcast \
	-o t.db "$trace"
upgrades="SELECT scope, sum(flushes) FROM v_flush WHERE point = 'wp_reuse' AND policy ="
expect t.db "broadcast|1291
local|9047" "$upgrades './mine.so:size=8' GROUP BY scope ORDER BY scope"
expect t.db "broadcast|161
local|10177" "$upgrades './mine.so' GROUP BY scope ORDER BY scope"
expect t.db "broadcast|10338" "$upgrades '$DIR/mine.so:size=1' GROUP BY scope"
# Everything else is as the recorded kernel did it.
for policy in ./mine.so arm64-broadcast; do
	expect t.db "cow|76
exit|12
fork|5
mremap|6
protect|6
tables_freed|6" "SELECT point, sum(flushes) FROM v_flush WHERE policy = '$policy' AND scope = 'broadcast'
		AND point <> 'wp_reuse' GROUP BY point ORDER BY point"
done
# The spec is the policy's name in the results, its own name stands beside.
expect t.db "./mine.so:size=8|template" "SELECT policy, name FROM policies WHERE policy LIKE '%=8'"
expect t.db "./mine.so|64|default
./mine.so:size=8|8|given
$DIR/mine.so:size=1|1|given" "SELECT policy, value, origin FROM v_param WHERE name = 'size' ORDER BY policy"

expect_status 0 "$program" --help-policy=./mine.so
for text in "^template: as arm64-local" "size=64 upgrades" "range_ops=on" "wp_reuse       pte      local page"; do
	grep -q -- "$text" out || fail "--help-policy does not say '$text'"
done

# A folder with a colon in its name; a symbolic link.
mkdir a:b
cp mine.so a:b/
ln -s mine.so link.so
expect_status 0 "$program" -p ./a:b/mine.so:size=8 -p ./link.so:size=8 -o t2.db "$trace"
expect t2.db "1291
1291" "SELECT sum(flushes) FROM v_flush WHERE point = 'wp_reuse' AND scope = 'broadcast' GROUP BY policy"

# Names of its own that tlbreplay also has inside do not get in each other's way.
cat >names.c <<'END'
#include "replay/policy.h"
int engine_new(void);
int engine_new(void) { return 3; }
static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	(void)view, (void)params, (void)state;
	if (event->point == POINT_COW)
		cell->act[0].times = (uint8_t)engine_new();
}
const struct policy tlbreplay_policy = {
	.api = POLICY_API, .name = "names", .summary = "s", .source = "s", .omits = "o", .decide = decide,
	.table = {[POINT_COW] = {[LEVEL_PTE] = {{{.scope = SCOPE_BROADCAST}}}}},
};
END
build names.so names.c
expect_status 0 "$program" -p ./names.so -o t3.db "$trace"
expect t3.db "76|228" "SELECT decisions, flushes FROM v_flush WHERE point = 'cow'" # 3 times 76

# ---- what is refused ----

# bad STATUS TEXT SPEC: refused with a message that names the file and says TEXT; nothing is written.
bad() {
	rm -f bad.db
	expect_status "$1" "$program" -p "$3" -o bad.db "$trace"
	grep -q -- "$2" err || fail "$3: no '$2' in: $(cat err)"
	grep -qF -- "${3%%:*}" err || fail "$3: the file is not named in: $(cat err)"
	[ "$(wc -l <err)" -eq 1 ] || fail "$3: not one line: $(cat err)"
	[ ! -e bad.db ] || fail "$3: a database was written"
}

bad 1 "No such file" ./none.so
bad 1 "No such file" ./none.so:size=8
bad 1 "not a regular file" ./a:b/..
mkfifo fifo
bad 1 "not a regular file" ./fifo
printf 'not a library\n%0100d\n' 0 >text.so
bad 1 "not a shared object" ./text.so
: >empty.so
bad 1 "not a shared object" ./empty.so
head -c 3000 mine.so >cut.so
bad 1 "not a shared object" ./cut.so
bad 1 "not a shared object" "$program"
bad 2 "unknown parameter 'colour'" ./mine.so:colour=8
bad 2 "size" ./mine.so:size=0
bad 2 "size" ./mine.so:size=8x
bad 2 "nothing behind the colon" ./mine.so:
bad 2 "no policy" mine.so # without a '/' it is a name
bad 2 "no policy" mine.so:size=1/2

# variant NAME SED: the template with a change.
variant() {
	sed "$2" policy-template.c >"$1.c"
	cmp -s "$1.c" policy-template.c && fail "$1: nothing was changed"
	build "$1.so" "$1.c" -Wno-unused-const-variable
}
variant version 's/\.api = POLICY_API/.api = POLICY_API + 1/'
bad 1 "version 3 of the policy interface; this is version 2" ./version.so
variant symbol 's/tlbreplay_policy/another_policy/'
bad 1 "no symbol tlbreplay_policy" ./symbol.so
variant nameless 's/\.name = "template"/.name = ""/'
bad 1 "its name is missing" ./nameless.so
variant unnamed 's/\.name = "template",.*//'
bad 1 "its name is missing" ./unnamed.so
variant builtin 's/"template"/"arm64-local"/'
bad 1 "built-in" ./builtin.so
variant scope 's/\[LEVEL_PTE\] = {{L(PAGE, LEAF)}}/[LEVEL_PTE] = {{{.scope = 9}}}/'
bad 1 "wp_reuse, pte: scope out of range" ./scope.so
variant reach 's/\[LEVEL_PTE\] = {{L(PAGE, LEAF)}}/[LEVEL_PTE] = {{{.scope = 1, .reach = 77}}}/'
bad 1 "reach out of range" ./reach.so
variant endless 's/PARAM_END,.*//'
bad 1 "." ./endless.so
variant outside 's/\.params_size = sizeof(struct params)/.params_size = 8/'
bad 1 "params_size" ./outside.so
variant common 's/"size"/"share"/'
bad 2 "every policy has" ./common.so
variant undefined 's/arm64_forget(state, mm)/extern void nowhere(void); nowhere()/'
bad 1 "nowhere" ./undefined.so

# Other headers: a struct that is shorter than it should be, a symbol that is no policy at all.
cat >short.c <<'END'
#include "replay/policy.h"
const unsigned int tlbreplay_policy[4] = {POLICY_API};
END
build short.so short.c
bad 1 "has 16 bytes" ./short.so
cat >wild.c <<'END'
#include "replay/policy.h"
const struct policy tlbreplay_policy = {.api = POLICY_API, .name = "wild", .summary = (const char *)16,
					.source = "", .omits = ""};
END
build wild.so wild.c
bad 1 "outside of the file" ./wild.so

# --help-policy says the same.
for spec in ./none.so ./version.so ./text.so; do
	expect_status 1 "$program" --help-policy=$spec
	grep -qF -- "$spec" err || fail "--help-policy=$spec does not name the file"
done
expect_status 2 "$program" --help-policy=nonesuch
done_testing
