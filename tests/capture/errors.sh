#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What cannot be done is said, and leaves nothing behind.
. tests/capture/lib

# Wrong usage.
for arguments in "" "-o" "-o x -d" "-o x -d 0" "-o x -d -1" "-o x -d 1x" "-o x -d inf" "-o x -b 0" \
		 "-o x -b 10k" "-o x -b" "-o x -Z" "-o x --nonsense" "-o x -d 1 -- true" "-d 1" \
		 "--list -o x" "-o x --compression" "-o x --until" "-o x --until faults" \
		 "-o x --until faults=0" "-o x --until faults=-1" "-o x --until nonsense=5" \
		 "-o x --until faults=5,0" "-o x --until faults=5,1s" "-o x --until faults=inf"; do
	# shellcheck disable=SC2086 # split on purpose
	expect_status 2 "$tlbcapture" $arguments
	expect_text '^tlbcapture: error: .*--help'
done
expect_status 2 "$tlbcapture" -o "" -d 1

expect_status 0 "$tlbcapture" --version
expect_text '^tlbcapture [0-9]'
expect_status 0 "$tlbcapture" --list
expect_text '^recorded sched:sched_switch$'
expect_text '^recorded ftrace:print$'
expect_text '^missing  tlbr:handle_mm_fault  which faults'
expect_status 0 "$tlbcapture" --help
for option in --list --check "--check --json"; do
	# shellcheck disable=SC2016,SC2086 # for the inner shell; split on purpose
	expect_status 1 sh -c '"$@" > /dev/full' sh "$tlbcapture" $option
	expect_text 'standard output: No space left on device'
done

# Every option that --help shows is in the manual, and the other way round.
for option in $("$tlbcapture" --help | grep -oE -e '(^|[ [])--?[a-z]+' | tr -d ' [' | sort -u); do
	grep -q -e "$(printf '%s' "$option" | sed 's/-/\\\\-/g')" docs/tlbcapture.1 ||
		fail "$option is not in the manual"
done

# A rate that is not counted here.
if [ "$(uname -m)" = x86_64 ]; then
	expect_status 1 "$tlbcapture" -o "$tmp/out/t.dat" -d 1 --until broadcasts=1
	expect_text 'does not count broadcasts'
fi
expect_status 1 "$tlbcapture" -o "$tmp/out/t.dat" -d 1 --until no:such=1
expect_text 'does not count no:such'
expect_files
expect_clean

# COMMAND that cannot run.
expect_status 1 "$tlbcapture" -o "$tmp/out/t.dat" -- "$tmp/no-such-command"
expect_text 'no-such-command: No such file or directory'
expect_files
expect_clean
expect_status 1 "$tlbcapture" -o "$tmp/out/t.dat" -- "$tmp"
expect_text 'Permission denied'
expect_files

# COMMAND that fails is none of our errors.
expect_status 0 "$tlbcapture" -o "$tmp/out/t.dat" -- sh -c 'exit 7'
expect_text 'sh ended with status 7'
expect_status 0 "$tlbcapture" -o "$tmp/out/t.dat" -- sh -c 'kill -9 $$'
expect_text 'sh was ended by signal 9'
expect_files t.dat

# Output that cannot be written, or must not be replaced.
expect_status 1 "$tlbcapture" -o "$tmp/no/such/t.dat" -d 1
expect_text 'cannot write there'
expect_status 1 "$tlbcapture" -o "$tmp/out" -d 1
expect_text 'not a regular file'
expect_status 1 "$tlbcapture" -o "$tmp/out/" -d 1
expect_status 1 "$tlbcapture" -o /dev/null -d 1
expect_text 'not a regular file'
[ -c /dev/null ] || fail "/dev/null is no device any more"
expect_status 1 "$tlbcapture" -o /proc/t.dat -d 1
expect_clean

# An old file stays until there is a new one, and a link to it stays a link.
rm "$tmp/out/t.dat"
echo old > "$tmp/out/old.dat"
ln -s old.dat "$tmp/out/link.dat"
expect_status 1 "$tlbcapture" -o "$tmp/out/link.dat" -- "$tmp/no-such-command"
[ "$(cat "$tmp/out/old.dat")" = old ] || fail "the old file is gone"
expect_status 0 "$tlbcapture" -o "$tmp/out/link.dat" -d 0.2
[ -L "$tmp/out/link.dat" ] || fail "the link is gone"
report "$tmp/out/old.dat" > /dev/null
expect_files link.dat old.dat

# A trace-cmd that is not there, fails, or never begins.
mkdir "$tmp/bin"
expect_status 1 env PATH="$tmp/bin" "$tlbcapture" -o "$tmp/out/t.dat" -d 1
expect_text 'trace-cmd cannot be started: No such file'
printf '#!/bin/sh\necho the moon is full >&2\nexit 5\n' > "$tmp/bin/trace-cmd"
chmod +x "$tmp/bin/trace-cmd"
expect_status 1 env PATH="$tmp/bin:$PATH" "$tlbcapture" -o "$tmp/out/t.dat" -d 1
expect_text 'trace-cmd failed (status 5): the moon is full'
printf '#!/bin/sh\nexit 0\n' > "$tmp/bin/trace-cmd"
expect_status 1 env PATH="$tmp/bin:$PATH" "$tlbcapture" -o "$tmp/out/t.dat" -- touch "$tmp/ran"
[ ! -e "$tmp/ran" ] || fail "COMMAND ran without a recording"
expect_status 1 "$tlbcapture" -o "$tmp/out/t.dat" --compression nonsense -d 1
expect_text 'trace-cmd failed'
expect_files link.dat old.dat
expect_clean

# A trace-cmd that others could have put there is not run, and our environment does not reach one.
mkdir "$tmp/theirs"
printf '#!/bin/sh\ntouch %s\n' "$tmp/was-run" > "$tmp/theirs/trace-cmd"
chmod +x "$tmp/theirs/trace-cmd"
chmod 777 "$tmp/theirs"
expect_status 1 env PATH="$tmp/theirs" "$tlbcapture" -o "$tmp/out/t.dat" -d 0.2
expect_text 'trace-cmd cannot be started: Operation not permitted'
expect_status 0 env PATH="$tmp/theirs:$PATH" "$tlbcapture" -o "$tmp/out/t.dat" -d 0.2
[ ! -e "$tmp/was-run" ] || fail "a trace-cmd in a folder that everybody can write was run"
[ "$(stat -c %a "$tmp/out/t.dat")" = 600 ] || fail "a recording that others can read"
rm "$tmp/out/t.dat"
printf '#!/bin/sh\nenv >&2; umask >&2; exit 5\n' > "$tmp/bin/trace-cmd"
expect_status 1 env PATH="$tmp/bin:$PATH" HOME=/theirs TRACEEVENT_PLUGIN_DIR=/theirs \
	"$tlbcapture" -o "$tmp/out/t.dat" -d 0.2
expect_text 'PATH=/usr/local/sbin:'
expect_text '0077'
! grep -q theirs "$tmp/log" || fail "trace-cmd sees our environment: $(cat "$tmp/log")"

# Set-user-ID: refused before anything else.
chmod 755 "$tmp"
cp "$tlbcapture" "$tmp/setuid"
chmod 4755 "$tmp/setuid"
if setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/setuid" --version > "$tmp/said" 2>&1; then
	grep -q nosuid /proc/mounts || fail "it runs set-user-ID"
else
	grep -q 'must not be set-user-ID' "$tmp/said" || fail "set-user-ID: $(cat "$tmp/said")"
fi

# No permission.
chmod 777 "$tmp" "$tmp/out"
if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$tlbcapture" 2> /dev/null; then
	expect_status 1 setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$tlbcapture" -o "$tmp/out/t.dat" -d 1
	expect_text 'needs root'
	expect_files link.dat old.dat
fi

expect_clean
exit 0
