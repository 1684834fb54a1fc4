#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What must hold of every recording under every policy: bounds are in order, the control that never
# flushes flushes nothing and is unsafe wherever something was taken away, those that kernels ship are
# safe, the oracle flushes no more than a broadcast does, and the table that a policy prints is the one
# that it counts by.
. tests/replay/lib/setup

mapfile -t POLICIES < <("$REPLAY" --list-policies | awk '{ print $1 }')
[ ${#POLICIES[@]} -ge 12 ] || fail "only ${#POLICIES[@]} policies are listed"
args=()
for policy in "${POLICIES[@]}"; do args+=(-p "$policy"); done

traces=()
for file in examples/*.dat; do [ -f "$file" ] && traces+=("$file"); done
[ ${#traces[@]} -gt 0 ] || fail "no recording in examples/"
more=0
for file in "$SHARED"/traces/*.dat; do [ -f "$file" ] && traces+=("$file") && more=1; done
[ $more = 1 ] || missing=" those in $SHARED/traces"

# ---- the tables ----

# What a policy may do that its table does not show, by point: where the hook flushes at an empty cell.
# All have the switch, but for those that have no such hook.
switches() {
	case $1 in
	sharers | none) return 1 ;;
	*) return 0 ;;
	esac
}

echo "CREATE TABLE cell(policy TEXT, point TEXT, level TEXT);" >"$DIR/cells.sql"
for policy in "${POLICIES[@]}"; do
	expect_status 0 "$REPLAY" --help-policy="$policy"
	# A cell begins with a point and a level; its second invalidation is on a line of its own.
	awk -v policy="$policy" '
		/^At each decision point/ { table = 1; next }
		table && /^  [a-z]/ { printf "INSERT INTO cell VALUES(\047%s\047, \047%s\047, \047%s\047);\n", policy, $1, $2 }
	' "$DIR/out" >"$DIR/rows"
	cat "$DIR/rows" >>"$DIR/cells.sql"
	[ -s "$DIR/rows" ] || [ "$policy" = none ] || fail "$policy: its help shows no table"
	[ "$policy" != none ] || [ ! -s "$DIR/rows" ] || fail "none: its help shows a table"
	switches "$policy" &&
		echo "INSERT INTO cell SELECT '$policy', 'switch', 'mm';" >>"$DIR/cells.sql"
done

# none_of DB FILE WHAT SQL: the query must find nothing.
none_of() {
	got=$(q "$1" "$4")
	[ -z "$got" ] || fail "$2: $3: ${got:0:400}"
}

# ---- each recording ----

check() {
	db=$DIR/$1.db
	file=$2
	"$REPLAY" "${args[@]}" -o "$db" "$file" >"$DIR/out" 2>"$DIR/err" </dev/null
	got=$?
	# 3: the recording has lost events; the bounds must hold all the more.
	[ $got = 0 ] || [ $got = 3 ] || { fail "$file: status $got: $(head -c 300 "$DIR/err")"; return; }
	expect "$db" ${#POLICIES[@]} "SELECT count(DISTINCT policy) FROM v_flush"
	expect "$db" ${#POLICIES[@]} "SELECT count(DISTINCT policy) FROM v_verdict"

	none_of "$db" "$file" "bounds of v_flush" "SELECT * FROM v_flush
		WHERE (0 <= flushes_low AND flushes_low <= flushes AND flushes <= flushes_high) IS NOT TRUE"
	none_of "$db" "$file" "bounds of v_fault" "SELECT * FROM v_fault
		WHERE (0 <= low AND low <= estimate AND estimate <= high) IS NOT TRUE"
	none_of "$db" "$file" "bounds of v_cost" "SELECT * FROM v_cost
		WHERE (0 <= low_ns AND low_ns <= estimate_ns AND estimate_ns <= high_ns) IS NOT TRUE"
	# A bound that is not there is 0.
	none_of "$db" "$file" "bounds of v_exposure" "SELECT policy, kind, group_concat(bound || ' ' || entries || ' '
			|| entry_ns || ' ' || max_ns) FROM v_exposure GROUP BY policy, kind
		HAVING NOT (
			total(entries) FILTER (WHERE bound = 'low') <= total(entries) FILTER (WHERE bound = 'estimate')
			AND total(entries) FILTER (WHERE bound = 'estimate') <= total(entries) FILTER (WHERE bound = 'high')
			AND total(entry_ns) FILTER (WHERE bound = 'low') <= total(entry_ns) FILTER (WHERE bound = 'estimate')
			AND total(entry_ns) FILTER (WHERE bound = 'estimate') <= total(entry_ns) FILTER (WHERE bound = 'high')
			AND total(max_ns) FILTER (WHERE bound = 'low') <= total(max_ns) FILTER (WHERE bound = 'estimate')
			AND total(max_ns) FILTER (WHERE bound = 'estimate') <= total(max_ns) FILTER (WHERE bound = 'high'))"

	none_of "$db" "$file" "none flushes" "SELECT point, level, scope FROM v_flush
		WHERE policy = 'none' AND (scope <> 'none' OR flushes_high > 0)"
	none_of "$db" "$file" "scope none flushes" "SELECT * FROM v_flush WHERE scope = 'none' AND flushes_high > 0"

	# What one policy leaves to a switch, another one flushes at once: switches are not compared.
	none_of "$db" "$file" "sharers flushes more than arm64-broadcast" "SELECT s.point, s.level, s.low, s.n, s.high,
			b.low, b.n, b.high FROM
		(SELECT point, level, sum(flushes_low) AS low, sum(flushes) AS n, sum(flushes_high) AS high
		 FROM v_flush WHERE policy = 'sharers' AND point <> 'switch' GROUP BY point, level) s LEFT JOIN
		(SELECT point, level, sum(flushes_low) AS low, sum(flushes) AS n, sum(flushes_high) AS high
		 FROM v_flush WHERE policy = 'arm64-broadcast' GROUP BY point, level) b USING(point, level)
		WHERE (s.low <= b.low AND s.n <= b.n AND s.high <= b.high) IS NOT TRUE AND s.high > 0"

	# Every policy is asked at the same points. A spurious fault depends on what a policy left behind.
	none_of "$db" "$file" "policies are not asked alike" "SELECT point, level, min(n), max(n) FROM
		(SELECT policy, point, level, max(decisions) AS most, sum(decisions) AS n FROM v_flush
		 WHERE point <> 'spurious' GROUP BY policy, point, level)
		GROUP BY point, level HAVING max(n) > 0 AND (count(*) < ${#POLICIES[@]} OR min(n) < max(most))"

	expect "$db" "$(q "$db" "SELECT CASE WHEN EXISTS(SELECT 1 FROM v_flush WHERE policy = 'none' AND decisions > 0
			AND point IN ('unmap', 'cow', 'exit', 'fork')) THEN 'unsafe' ELSE verdict END
		FROM v_verdict WHERE policy = 'none'")" "SELECT verdict FROM v_verdict WHERE policy = 'none'"
	none_of "$db" "$file" "not safe" "SELECT policy, verdict, witness FROM v_verdict
		WHERE policy IN ('arm64-broadcast', 'arm64-local', 'x86', 'sharers') AND verdict <> 'safe'"
	none_of "$db" "$file" "safe, but with unsafe entries" "SELECT e.policy, e.bound, e.entries FROM v_exposure e
		JOIN v_verdict v USING(policy) WHERE v.verdict = 'safe' AND e.kind = 'unsafe' AND e.entries > 0"

	q "$db" ".read $DIR/cells.sql"
	none_of "$db" "$file" "flushes where its table has none" "SELECT policy, point, level, scope, flushes_high
		FROM v_flush f WHERE (scope <> 'none' OR flushes_high > 0) AND NOT EXISTS
		(SELECT 1 FROM cell c WHERE c.policy = f.policy AND c.point = f.point AND c.level = f.level)"
	rm -f "$db"
}

n=0
for file in "${traces[@]}"; do
	check $((++n)) "$file"
done
echo "$n recordings under ${#POLICIES[@]} policies"
done_testing
