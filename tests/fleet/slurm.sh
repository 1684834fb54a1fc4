#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A fleet on a real Slurm: several nodes on this machine, started here on the loopback address and stopped again.
# What the job array makes and the job behind it merges is, byte for byte, what --local makes. Then what can go
# wrong: a task killed, one out of memory, a node that goes down, a controller that restarts, a folder that is
# full, a recording that is corrupt. Nothing is counted twice, nothing is lost, and what is submitted again is
# what was missing.
#
# HOSTS=200 makes the fleet larger than what every run of the tests needs.
. tests/replay/lib/setup
. tests/fleet/lib/compare
. tests/fleet/lib/slurm
FLEET=$(dirname "$REPLAY")/tlbfleet
[ -x "$FLEET" ] || { echo "$FLEET is not built"; exit 77; }
: "${HOSTS:=24}"

# list FILE RECORDING...: a list of them, each of a host of its own.
list() {
	local file=$1 n=0
	shift
	printf 'path\thost\tcpu\tweight\n' >"$file"
	for recording; do
		n=$((n + 1))
		printf '%s\thost%03d\tn%d\t%d\n' "$recording" $n $((n % 3)) $((1 + n % 4)) >>"$file"
	done
}
parts() { (cd "$1/parts" && stat -c '%n %i %Y' ./*.db 2>/dev/null | sort); }
nr_parts() { find "$1/parts" -name '*.db' | wc -l; }
# Units of the last job array of a folder.
last_units() { cut -f 2 "$1/jobs/$(ls "$1/jobs" | sort -n | tail -n 1)" | sort; }
settled() { wait_for "${2:-120}" '[ -z "$(squeue -h)" ]' || fail "$1: still in the queue: $(squeue -h | head -n 3)"; }
say() { printf '%-24s %s\n' "$@"; }

small=() large=()
for i in $(seq "$HOSTS"); do
	"$GEN" --events $((2000 + i % 7 * 500)) --seed $i --pages 64 "$DIR/h$i.dat" >/dev/null
	small+=("$DIR/h$i.dat")
done
list "$DIR/small.tsv" "${small[@]}"
slurm_start 4

# ---- the same as anywhere else ----

start=$(date +%s.%N)
"$FLEET" submit "$DIR/small.tsv" -r "$DIR/slurm" --group 0 --sbatch --mem=100M -- -p arm64-local -p x86 2>"$DIR/err"
[ $? -eq 3 ] || fail "submit: $(cat "$DIR/err")"
settled "the first fleet" 600
say "$HOSTS tasks on 8 slots" "$(echo "$(date +%s.%N) - $start" | bc 2>/dev/null) s"
expect_status 0 "$FLEET" status -r "$DIR/slurm"
"$FLEET" submit "$DIR/small.tsv" -r "$DIR/local" --local -j 2 -- -p arm64-local -p x86 2>"$DIR/err" || fail "$(cat "$DIR/err")"
cmp "$DIR/slurm/fleet.db" "$DIR/local/fleet.db" || fail "Slurm and --local make different databases"
"$REPLAY" -p arm64-local -p x86 -o "$DIR/serial.db" $(printf '%s\n' "${small[@]}" | sort)
for db in serial slurm/fleet; do
	ask "$DIR/$db.db" "$DIR/answers"
	sed '/^== v_fleet/,/^== v_h/{/^== v_h/!d}' "$DIR/answers" | sha256sum
done >"$DIR/sums"
[ "$(sort -u "$DIR/sums" | wc -l)" = 1 ] || fail "another answer than that of one run"
# Again: nothing to do.
jobs=$(ls "$DIR/slurm/jobs")
before=$(parts "$DIR/slurm")
expect_status 0 "$FLEET" submit "$DIR/small.tsv" -r "$DIR/slurm" --group 0 -- -p arm64-local -p x86
[ "$(ls "$DIR/slurm/jobs")" = "$jobs" ] && [ "$(parts "$DIR/slurm")" = "$before" ] || fail "submitted again, something was done"
# Grouped: fewer tasks, the same bytes. More tasks than an array may have: several arrays.
"$FLEET" submit "$DIR/small.tsv" -r "$DIR/grouped" --group 400K -- -p arm64-local -p x86 2>"$DIR/err"
tasks=$(cut -f 1 "$DIR"/grouped/jobs/* | sort -u | wc -l)
[ "$tasks" -gt 1 ] && [ "$tasks" -lt "$HOSTS" ] || fail "$tasks tasks for $HOSTS recordings in groups"
settled grouped 300
cmp "$DIR/grouped/fleet.db" "$DIR/local/fleet.db" || fail "in groups, another database"

# ---- what goes wrong: a fleet of tasks that take a while ----

for i in 1 2 3 4 5 6; do
	"$GEN" --events 700k --seed $i --processes 3 --pages 4000 "$DIR/big$i.dat" >/dev/null
	large+=("$DIR/big$i.dat")
done
list "$DIR/large.tsv" "${large[@]}"
options=(-p arm64-broadcast -p arm64-local -p x86 -p deferred -p sharers -p none -p x86-invlpgb -p arm64-cpumask)
"$FLEET" submit "$DIR/large.tsv" -r "$DIR/good" --local -j 2 -- "${options[@]}" 2>"$DIR/err" || fail "$(cat "$DIR/err")"

# begin NAME [OPTION...]: submits the large ones and waits until two of them run.
begin() {
	R=$DIR/$1
	"$FLEET" submit "$DIR/large.tsv" -r "$R" --group 0 "${@:2}" -- "${options[@]}" 2>"$DIR/err"
	[ $? -eq 3 ] || fail "$1: submit: $(cat "$DIR/err")"
	wait_for 60 '[ "$(find "$R/running" -type f ! -name ".*" | wc -l)" -ge 2 ]' || fail "$1: nothing runs"
}
# finish NAME WORDS: one or more are missing for the reason WORDS; retry does these and nothing else.
finish() {
	local had units reason
	settled "$1"
	# The merge behind the tasks has their limits, and may have died of them, too.
	[ -e "$R/fleet.db" ] || "$FLEET" merge -r "$R" 2>"$DIR/err"
	"$FLEET" status -r "$R" >"$DIR/out"
	if [ -n "$2" ]; then
		grep -qE "$2" "$DIR/out" || fail "$1: not '$2': $(cat "$DIR/out")"
		reason=$(sed -n 's/.*): //p' "$DIR/out" | head -n 1)
		had=$(parts "$R") units=$(comm -23 <(cut -f 1 "$DIR/good/list" | sort) <(done_units "$R"))
		[ "$(q "$R/fleet.db" "SELECT count(*) FROM traces")" = "$(nr_parts "$R")" ] || fail "$1: the merge has not what is there"
		[ "$(q "$R/fleet.db" "SELECT count(*) FROM v_fleet WHERE missing IS NOT NULL")" = $((6 - $(nr_parts "$R"))) ] ||
			fail "$1: the merge does not say what is missing"
		"$FLEET" retry -r "$R" --group 0 "${@:3}" 2>"$DIR/err"
		[ "$(last_units "$R")" = "$units" ] || fail "$1: submitted again: $(last_units "$R") instead of $units"
		settled "$1, again"
		[ -z "$(comm -13 <(parts "$R") <(echo "$had"))" ] || fail "$1: what was done was done again"
	fi
	expect_status 0 "$FLEET" status -r "$R"
	cmp "$R/fleet.db" "$DIR/good/fleet.db" || fail "$1: another database than without the fault"
	if [ -n "$2" ]; then
		say "$1" "$(wc -l <<<"$units") of 6 missing ($reason), then submitted again: the same bytes"
	else
		say "$1" "none missing, Slurm went on by itself: the same bytes"
	fi
}
done_units() {
	for file in "$1"/inputs/*; do
		[ -e "$file" ] || continue
		ls "$1/parts/$(cut -f 4 "$file" | cut -c 1-32)"* >/dev/null 2>&1 && basename "$file"
	done | sort
}

begin killed
unit=$(find "$R/running" -type f -printf '%f\n' | head -n 1)
job=$(sed 's/.*job \([0-9_]*\) on.*/\1/' "$R/running/$unit")
scancel --signal=KILL --full "$job"
finish "task killed" 'killed by signal 9|its task died: job'

begin memory --sbatch --mem=6M
finish "out of memory" 'out of memory|killed by signal 9|its task died' --sbatch --mem=200M

begin node
node=$(cat "$R"/running/* | sed 's/.* on //' | head -n 1)
node_kill "$node"
wait_for 60 '[ -n "$(sinfo -h -t down -o %n)" ]' || fail "the node that was killed is not down"
# Slurm itself runs its tasks again, elsewhere; what had begun there is counted once.
finish "node down" ''
[ "$(sinfo -h -n "$node" -t down -o %D)" = 1 ] || fail "$node was not down until the end"
node_start "$node"
wait_for 60 '[ "$(sinfo -h -t idle -o %D)" = 4 ]' || fail "$node does not come back"

begin controller
# It saves what it knows every few seconds; what it is told in between, a kill can take from it.
saved=$SLURM/state/job_state
touch "$DIR/now"
wait_for 30 '[ "$saved" -nt "$DIR/now" ]' || fail "the controller does not save its state"
controller_kill
sleep 1
controller_start
wait_for 30 'squeue -h >/dev/null 2>&1' || fail "the controller does not come back"
finish "controller restarted" ''

if mkdir "$DIR/full" && mount -t tmpfs -o size=5m none "$DIR/full" 2>/dev/null; then
	trap 'slurm_stop; umount "$DIR/full"; rm -rf "$DIR"' EXIT
	R=$DIR/full/r
	"$FLEET" submit "$DIR/large.tsv" -r "$R" --group 0 -- "${options[@]}" 2>"$DIR/err"
	settled "folder full"
	mount -o remount,size=200m "$DIR/full"
	"$FLEET" merge -r "$R" 2>"$DIR/err"
	finish "folder full" 'full|cannot be noted'
else
	say "folder full" "not tried: no file system can be mounted here"
fi

cp "$DIR/big3.dat" "$DIR/big3.good"
head -c 2000 "$DIR/big3.good" >"$DIR/big3.dat"
R=$DIR/corrupt
"$FLEET" submit "$DIR/large.tsv" -r "$R" --group 0 -- "${options[@]}" 2>"$DIR/err"
settled corrupt
expect_status 3 "$FLEET" status -r "$R"
grep -q '^5 of 6 done, 1 failed$' "$DIR/out" && grep -q '^.*/big3.dat (host host003): .*big3.dat: ' "$DIR/out" || fail "corrupt: $(cat "$DIR/out")"
expect "$R/fleet.db" 'host003|1' "SELECT host, missing LIKE '%big3.dat%' FROM v_fleet WHERE trace IS NULL"
mv "$DIR/big3.good" "$DIR/big3.dat"
had=$(parts "$R")
"$FLEET" submit "$DIR/large.tsv" -r "$R" --group 0 -- "${options[@]}" 2>"$DIR/err"
[ "$(last_units "$R" | wc -l)" = 1 ] || fail "corrupt: more than one was submitted again"
settled "corrupt, again"
[ -z "$(comm -13 <(parts "$R") <(echo "$had"))" ] || fail "corrupt: what was done was done again"
cmp "$R/fleet.db" "$DIR/good/fleet.db" || fail "corrupt: another database than without the fault"
say "recording corrupt" "1 of 6 missing, submitted again when it was whole: the same bytes"
done_testing
