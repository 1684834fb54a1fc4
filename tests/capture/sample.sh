#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Recordings by a timer: the units are what systemd takes; a recording ends in time, and cleanly when it is told
# to; the folder keeps to its budget, the oldest go first and nothing else does; a full disk and wrong budgets.
set -u
BUILD=${BUILD:-build}
DIR=$(mktemp -d "${TMPDIR:-/tmp}/sample.XXXXXX") || exit 1
trap 'rm -rf "$DIR"' EXIT
failed=0
fail() {
	echo "sample: $*"
	failed=1
}
sample=$PWD/capture/systemd/tlbcapture-sample
mkdir "$DIR/kept"

# ---- the units ----

make -s install-units DESTDIR="$DIR/root" PREFIX=/usr || fail "install-units"
[ -x "$DIR/root/usr/libexec/tlbreplay/tlbcapture-sample" ] || fail "the script is not installed"
! grep -r '@' "$DIR/root/usr/lib/systemd" | grep -v '^[^:]*:#' || fail "a place holder was left"
if command -v systemd-analyze >/dev/null; then
	# It looks whether the programs are there.
	sed -i -e "s|=/usr/libexec/tlbreplay|=$DIR/root/usr/libexec/tlbreplay|" -e "s|=/usr/bin/tlbcapture|=$(realpath "$BUILD")/tlbcapture|" \
		"$DIR"/root/usr/lib/systemd/system/*.service
	said=$(systemd-analyze verify --man=no "$DIR"/root/usr/lib/systemd/system/tlbcapture-sample.{service,timer} 2>&1 |
		grep -F tlbcapture-sample)
	[ -z "$said" ] || fail "systemd-analyze verify: $said"
	systemd-analyze calendar '*-*-* 00/6:00:00' >/dev/null || fail "the timer's time"
fi

# ---- budgets, with a program in the place of tlbcapture that writes what it is told ----

cat >"$DIR/recorder" <<'END'
#!/bin/sh
echo "$*" >>"$LOG"
while [ $# -gt 1 ]; do [ "$1" != -o ] || file=$2; shift; done
trap 'echo stopped >>"$LOG"; echo whole >"$file"; exit 3' TERM
[ -z "${WAITS:-}" ] || { sleep 30 & wait $!; }
head -c 3M /dev/zero >"$file"
END
chmod +x "$DIR/recorder"
export TLBCAPTURE=$DIR/recorder LOG=$DIR/log SAMPLE_DIR=$DIR/kept SAMPLE_FREE_MIB=1
for hour in 01 02 03 04; do
	head -c 3M /dev/zero >"$DIR/kept/sample-host-20260101T${hour}0000Z.dat"
done
head -c 9M /dev/zero >"$DIR/kept/mine.dat"
SAMPLE_KEEP_MIB=10 SAMPLE_FILE_MIB=3 "$sample" 2>"$DIR/err" || fail "status $?: $(cat "$DIR/err")"
[ "$(ls "$DIR/kept" | grep -c '^sample-host-')" = 2 ] && [ -e "$DIR/kept/sample-host-20260101T040000Z.dat" ] ||
	fail "kept: $(ls "$DIR/kept")"
[ "$(ls "$DIR/kept" | grep -c "^sample-$(uname -n)-")" = 1 ] && [ -e "$DIR/kept/mine.dat" ] || fail "kept: $(ls "$DIR/kept")"
grep -q -- '--profile minimal -d 30 --max-size 3M --until faults=200000 --anonymise -o sample-' "$LOG" || fail "called as $(cat "$LOG")"
# No room on the disk: nothing is recorded, and that is no failure.
: >"$LOG"
SAMPLE_FREE_MIB=999999999 "$sample" 2>"$DIR/err" || fail "a full disk is a failure"
[ ! -s "$LOG" ] && grep -q 'nothing recorded: the disk has' "$DIR/err" || fail "a full disk: $(cat "$LOG" "$DIR/err")"
for wrong in 0 -1 x 1.5 ''; do
	SAMPLE_SECONDS=$wrong "$sample" 2>/dev/null && [ -n "$wrong" ] && fail "SAMPLE_SECONDS=$wrong is taken"
done
# Told to stop, it waits for the recording to become whole.
: >"$LOG"
WAITS=1 "$sample" 2>"$DIR/err" &
pid=$!
for _ in $(seq 50); do [ -s "$LOG" ] && break || sleep 0.1; done
sleep 0.3
kill -TERM $pid
wait $pid
[ $? -eq 0 ] && grep -q stopped "$LOG" || fail "stopped: $(cat "$LOG" "$DIR/err")"
grep -lq whole "$DIR"/kept/sample-"$(uname -n)"-*.dat || fail "the recording is not whole"

# ---- a real one ----

TLBCAPTURE=$(realpath "$BUILD")/tlbcapture
# PROC_PID_INIT_INO: elsewhere tlbcapture refuses.
if [ "$(readlink /proc/self/ns/pid)" = "pid:[4026531836]" ] && [ "$(id -u)" = 0 ] && "$TLBCAPTURE" --check >/dev/null 2>&1; then
	mkdir "$DIR/real"
	SAMPLE_DIR=$DIR/real SAMPLE_SECONDS=1 SAMPLE_FILE_MIB=64 SAMPLE_KEEP_MIB=512 "$sample" >"$DIR/out" 2>"$DIR/err" ||
		fail "a real recording: status $?: $(cat "$DIR/err")"
	"$BUILD/tlbreplay" -o "$DIR/real.db" "$DIR"/real/sample-*.dat 2>"$DIR/err"
	case $? in 0 | 3) ;; *) fail "the recording cannot be replayed: $(cat "$DIR/err")" ;; esac
else
	[ $failed = 0 ] || exit 1
	echo "nothing can be recorded here; the rest passed"
	exit 77
fi
exit $failed
