#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The interface of the database: names of columns, words in them, sums that must agree, one trace's name
# for each replay of it, the same bytes for the same input, and what -o and --append do.
. tests/replay/lib/setup

DB=$DIR/all.db
traces=()
for name in broadcast local huge x86; do
	file=$(recording $name) && traces+=("$file")
done
"$GEN" --events 60k --processes 3 --pages 256 "$DIR/gen.dat" >"$DIR/facts"
"$GEN" --events 30k --workload x86tp "$DIR/gen-x86.dat" >"$DIR/facts-x86"
"$GEN" --events 20k --workload sched "$DIR/gen-sched.dat" >"$DIR/facts-sched"
traces+=("$DIR/gen.dat" "$DIR/gen-x86.dat" "$DIR/gen-sched.dat")
expect_status 0 "$REPLAY" -p arm64-broadcast -p arm64-local -p x86 -p none -o "$DB" "${traces[@]}"
[ ! -s "$DIR/err" ] || fail "messages: $(cat "$DIR/err")"
expect "$DB" ${#traces[@]} "SELECT count(*) FROM traces"
expect "$DB" ok "PRAGMA integrity_check"
expect "$DB" "" "PRAGMA foreign_key_check"
expect "$DB" 3 "PRAGMA user_version"
# In a database of many recordings each is found without reading all: whatever belongs to one has an index.
expect "$DB" "" "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name IN ('trace', 'policy')
	WHERE m.type = 'table' AND c.type = 'INTEGER' AND NOT EXISTS (SELECT 1 FROM pragma_index_list(m.name) l
		JOIN pragma_index_info(l.name) i WHERE i.seqno = 0 AND i.name = c.name)"

# ---- columns ----

while read -r view columns; do
	q "$DB" "SELECT $columns FROM $view LIMIT 1" >/dev/null
	[ "$(q "$DB" "SELECT count(*) > 0 FROM $view")" = 1 ] || fail "nothing in $view"
done <<'END'
v_flush trace, policy, point, level, scope, decisions, flushes_low, flushes, flushes_high, pages
v_page trace, mm, page, point, level, decisions
v_recorded trace, event, op, scope, events
v_fault trace, policy, kind, low, estimate, high
v_exposure trace, policy, kind, bound, entries, entry_ns, max_ns
v_cost trace, policy, cost, part, low_ns, estimate_ns, high_ns
v_selfcheck trace, policy, point, level, recorded, replayed, source
v_verdict trace, policy, verdict, witness, unseen
END
# Every view can be read to its end.
for view in $(q "$DB" "SELECT name FROM sqlite_master WHERE type = 'view'"); do
	q "$DB" "SELECT * FROM $view" >/dev/null
done

# ---- words ----

# words VIEW COLUMN LIST
words() {
	got=$(q "$DB" "SELECT DISTINCT coalesce($2, 'NULL') FROM $1" | while read -r word; do
		case " $3 " in
		*" $word "*) ;;
		*) echo "$word" ;;
		esac
	done)
	[ -z "$got" ] || fail "unknown words in $1.$2:" $got
}
points="wp_reuse dirty_up hugetlb_reuse young spurious cow unmap tables_freed nested batch_pending protect
 prot_none_rw numa fork migrate reclaim age clean mremap split collapse fold unfold exit switch kernel"
points=$(echo $points)
levels="pte contpte pmd hugetlb mm all"
scopes="none local mask broadcast"
policies="arm64-broadcast arm64-local x86 none"
for view in v_flush v_page v_selfcheck; do
	words $view point "$points"
	words $view level "$levels"
done
words v_process point "$points"
for view in v_flush v_process v_cpu v_time; do
	words $view scope "$scopes"
done
words v_recorded scope "NULL local mask broadcast"
for view in v_flush v_fault v_cost v_verdict v_process v_cpu v_time v_exposure; do
	words $view policy "$policies"
done
words v_fault kind "spurious spurious_recorded spurious_avoided"
words v_exposure kind "benign hint unsafe window"
words v_exposure bound "low estimate high"
words v_selfcheck source "events tlbi-only unseen"
words "(SELECT replace(verdict, ' ', '-') AS verdict FROM v_verdict)" verdict \
	"not-judged safe unsafe stuck break-before-make-violated"
words v_mm origin "pointer derived snapshot placeholder"
words v_param origin "given default assumed"
words traces arch "arm64 x86"
words cost_items trust "measured derived uncalibrated"

# ---- one row each, and sums ----

expect "$DB" $((${#traces[@]} * 4)) "SELECT count(*) FROM v_verdict"
expect "$DB" $((${#traces[@]} * 4 * 3)) "SELECT count(*) FROM v_fault"
expect "$DB" "" "SELECT trace, policy, kind FROM v_fault GROUP BY 1, 2, 3 HAVING count(*) <> 1"
expect "$DB" "" "SELECT trace, policy, kind, bound FROM v_exposure GROUP BY 1, 2, 3, 4 HAVING count(*) <> 1"
expect "$DB" "" "SELECT trace, policy, point, level, scope FROM v_flush GROUP BY 1, 2, 3, 4, 5 HAVING count(*) > 1"
expect "$DB" "" "SELECT trace, mm, page, point, level FROM v_page GROUP BY 1, 2, 3, 4, 5 HAVING count(*) > 1"
expect "$DB" 0 "SELECT count(*) FROM v_flush WHERE (scope = 'none') <> (flushes_high = 0)
	AND NOT (point IN ('protect', 'numa'))"
expect "$DB" 0 "SELECT count(*) FROM v_flush WHERE scope = 'none' AND (flushes_low OR flushes OR flushes_high)"

# A decision is the same for every policy, however it is answered (spurious faults are a policy's own).
expect "$DB" "" "SELECT trace, point, level FROM (SELECT trace, policy, point, level, sum(decisions) AS n
	FROM v_flush WHERE point <> 'spurious' AND level IN ('pte', 'mm') GROUP BY 1, 2, 3, 4)
	GROUP BY 1, 2, 3 HAVING min(n) <> max(n) OR count(*) <> 4"
# By page: the points that concern single pages.
expect "$DB" "" "SELECT a.trace, a.point, a.level, a.n, b.n FROM
	(SELECT trace, point, level, sum(decisions) AS n FROM v_flush WHERE policy = 'arm64-broadcast'
	 AND point IN ('wp_reuse', 'dirty_up', 'young', 'cow', 'reclaim') GROUP BY 1, 2, 3) a LEFT JOIN
	(SELECT trace, point, level, sum(decisions) AS n FROM v_page GROUP BY 1, 2, 3) b
	USING(trace, point, level) WHERE a.n IS NOT b.n"
# By process, by CPU and over time: all flushes but those that follow a spurious fault, which are no
# decision of the recording but an outcome with bounds.
expect "$DB" "" "SELECT trace, policy, scope, group_concat(source || ' ' || l || '/' || n || '/' || h, '; ') FROM
	(SELECT trace, policy, scope, 'v_flush' AS source, sum(flushes_low) AS l, sum(flushes) AS n,
	  sum(flushes_high) AS h FROM v_flush WHERE point <> 'spurious' AND flushes_high > 0 GROUP BY 1, 2, 3
	 UNION ALL SELECT trace, policy, scope, 'v_process', sum(flushes_low), sum(flushes), sum(flushes_high)
	  FROM v_process WHERE point <> 'spurious' AND flushes_high > 0 GROUP BY 1, 2, 3
	 UNION ALL SELECT trace, policy, scope, 'v_time', sum(flushes_low), sum(flushes), sum(flushes_high)
	  FROM v_time WHERE flushes_high > 0 GROUP BY 1, 2, 3)
	GROUP BY 1, 2, 3 HAVING count(*) <> 3 OR min(l) <> max(l) OR min(n) <> max(n) OR min(h) <> max(h)"
expect "$DB" "" "SELECT trace, policy, scope, group_concat(source || ' ' || n, '; ') FROM
	(SELECT trace, policy, scope, 'v_flush' AS source, sum(flushes) AS n FROM v_flush
	  WHERE point <> 'spurious' GROUP BY 1, 2, 3
	 UNION ALL SELECT trace, policy, scope, 'v_cpu', sum(issued) FROM v_cpu GROUP BY 1, 2, 3) WHERE n > 0
	GROUP BY 1, 2, 3 HAVING count(*) <> 2 OR min(n) <> max(n)"
[ "$(q "$DB" "SELECT count(*) > 10 FROM v_time")" = 1 ] || fail "nothing to compare"
# A broadcast reaches every other CPU, an interrupt at most that many, a local flush nobody.
expect "$DB" "" "SELECT trace, policy, scope FROM (SELECT trace, policy, scope, sum(issued) AS i, sum(received) AS r,
	(SELECT cpus - 1 FROM traces t WHERE t.trace = v_cpu.trace) AS others FROM v_cpu GROUP BY 1, 2, 3)
	WHERE scope = 'local' AND r <> 0 OR scope = 'mask' AND r NOT BETWEEN 0 AND i * others
	OR scope = 'broadcast' AND r <> i * others"
# The buckets of time lie side by side within the recording.
expect "$DB" "" "SELECT DISTINCT v.trace, v.start_ns FROM v_time v JOIN traces t USING(trace)
	WHERE v.start_ns + v.width_ns <= t.first_ns OR v.start_ns > t.last_ns"
expect "$DB" "" "SELECT trace FROM v_time GROUP BY trace HAVING count(DISTINCT width_ns) <> 1"
# Every recorded event is in v_recorded.
expect "$DB" "" "SELECT t.trace FROM traces t WHERE events <> (SELECT sum(r.events) FROM v_recorded r
	WHERE r.trace = t.trace) OR events <> (SELECT sum(c.events) FROM cpus c WHERE c.trace = t.id)"
# Single stale entries: not more than in the sums, none longer than the longest.
expect "$DB" "" "SELECT s.trace, s.policy, s.kind FROM (SELECT trace, policy, kind, count(*) AS n, max(ns) AS top
	FROM v_stale GROUP BY 1, 2, 3) s JOIN v_exposure e USING(trace, policy, kind) WHERE e.bound = 'high'
	AND (n > e.entries OR top <> e.max_ns)"
# Costs: all parts or none, and a winner only where nothing overlaps.
expect "$DB" "" "SELECT trace, policy, cost FROM v_cost GROUP BY 1, 2, 3 HAVING count(DISTINCT part) <> 6"
expect "$DB" "" "SELECT l.trace, l.least FROM v_least l WHERE l.least <> 'undecided' AND EXISTS (SELECT 1
	FROM v_cost_total w JOIN v_cost_total o USING(trace, cost) WHERE w.trace = l.trace AND w.cost = l.cost
	AND w.policy = l.least AND o.policy <> w.policy AND o.low_ns <= w.high_ns)"

# ---- what the generator counted while it wrote ----

fact() {
	tr ' ' '\n' <"$DIR/$2" | sed -n "s/^$1=//p"
}
for pair in wp_reuse:wp_reuse cow:cow fork:forks; do
	for policy in $policies; do
		expect "$DB" "$(fact ${pair#*:} facts)" "SELECT sum(decisions) FROM v_flush
			WHERE trace = 'gen.dat' AND policy = '$policy' AND point = '${pair%:*}'"
	done
done
expect "$DB" "$(fact spurious facts).0" "SELECT low FROM v_fault WHERE trace = 'gen.dat'
	AND policy = 'none' AND kind = 'spurious_recorded'"
expect "$DB" "$(fact tlbr:tlb_finish_mmu facts)" "SELECT events FROM v_recorded
	WHERE trace = 'gen.dat' AND event = 'tlbr:tlb_finish_mmu'"
expect "$DB" 0 "SELECT sum(flushes_high) FROM v_flush WHERE trace = 'gen.dat' AND policy = 'x86' AND point = 'wp_reuse'"
expect "$DB" 0 "SELECT sum(abs(recorded - replayed)) FROM v_selfcheck WHERE trace = 'gen.dat'
	AND point IN ('wp_reuse', 'cow', 'fork')"
# Nothing but scheduling of tasks that nothing introduces: nothing to flush.
expect "$DB" 0 "SELECT coalesce(sum(flushes_high), 0) FROM v_flush WHERE trace = 'gen-sched.dat'"

# ---- the same input, the same bytes ----

expect_status 0 "$REPLAY" -p arm64-broadcast -p arm64-local -p x86 -p none -o "$DIR/again.db" "${traces[@]}"
sqlite3 "$DB" .dump >"$DIR/one.sql"
sqlite3 "$DIR/again.db" .dump >"$DIR/two.sql"
cmp -s "$DIR/one.sql" "$DIR/two.sql" || fail "replayed again, it is another database"
[ "$(wc -l <"$DIR/one.sql")" -gt 1000 ] || fail "the dump is too short to compare"
# Neither the place of the file nor the locale or the time zone matters.
mkdir "$DIR/elsewhere"
cp "${traces[@]}" "$DIR/elsewhere"
(cd "$DIR/elsewhere" && env LC_ALL=C.UTF-8 TZ=Asia/Tokyo "$REPLAY" -p arm64-broadcast -p arm64-local \
	-p x86 -p none "${traces[@]##*/}") || fail "elsewhere it fails"
sqlite3 "$DIR/elsewhere/results.db" .dump >"$DIR/two.sql"
cmp -s "$DIR/one.sql" "$DIR/two.sql" || fail "in another place it is another database"

# ---- names, --append and -o ----

gen=$DIR/gen-x86.dat
expect_status 0 "$REPLAY" -o "$DIR/names.db" "$gen" "$gen" "$DIR/gen-sched.dat" "$DIR/elsewhere/gen-x86.dat"
expect "$DIR/names.db" "gen-x86.dat
gen-x86.dat#2
gen-sched.dat
gen-x86.dat#3" "SELECT trace FROM traces ORDER BY id"
expect "$DIR/names.db" "arm64-broadcast
arm64-local
x86" "SELECT policy FROM policies WHERE trace = 1 ORDER BY id"
expect_status 0 "$REPLAY" --append -p none -o "$DIR/names.db" "$gen"
expect "$DIR/names.db" "gen-x86.dat#4|none" "SELECT t.trace, p.policy FROM traces t JOIN policies p ON p.trace = t.id
	WHERE t.id = 5"
expect "$DIR/names.db" "gen-x86.dat
gen-x86.dat#2
gen-sched.dat
gen-x86.dat#3
gen-x86.dat#4" "SELECT trace FROM traces ORDER BY id"
# Every replay of it says the same.
expect "$DIR/names.db" 1 "SELECT count(DISTINCT x) FROM (SELECT group_concat(policy || kind || low || estimate || high)
	AS x FROM v_fault WHERE policy <> 'none' AND trace LIKE 'gen-x86%' GROUP BY trace)"
expect "$DIR/names.db" 1 "SELECT count(DISTINCT hash) FROM traces WHERE trace LIKE 'gen-x86%'"
# Appended, it is what one run would have written.
expect_status 0 "$REPLAY" -o "$DIR/both.db" "$gen" "$DIR/gen.dat"
expect_status 0 "$REPLAY" --append -o "$DIR/steps.db" "$gen"
expect_status 0 "$REPLAY" --append -o "$DIR/steps.db" "$DIR/gen.dat"
sqlite3 "$DIR/both.db" .dump >"$DIR/one.sql"
sqlite3 "$DIR/steps.db" .dump >"$DIR/two.sql"
cmp -s "$DIR/one.sql" "$DIR/two.sql" || fail "appended it is another database than in one run"
# -o replaces, whatever was there.
expect_status 0 "$REPLAY" -p none -o "$DIR/names.db" "$DIR/gen-sched.dat"
expect "$DIR/names.db" "gen-sched.dat|none" "SELECT t.trace, p.policy FROM traces t JOIN policies p ON p.trace = t.id"
echo "not a database" >"$DIR/text.db"
expect_status 0 "$REPLAY" -p none -o "$DIR/text.db" "$DIR/gen-sched.dat"
expect "$DIR/text.db" 1 "SELECT count(*) FROM traces"
# An addition to something else is refused and changes nothing.
echo "This is a text and no database of any kind, for sure, and it goes on for more than a header does." \
	>"$DIR/text.db"
cp "$DIR/text.db" "$DIR/text.before"
expect_status 1 "$REPLAY" --append -o "$DIR/text.db" "$DIR/gen-sched.dat"
cmp -s "$DIR/text.db" "$DIR/text.before" || fail "a text was changed by --append"
sqlite3 "$DIR/other.db" "CREATE TABLE t(a)"
cp "$DIR/other.db" "$DIR/other.before"
expect_status 1 "$REPLAY" --append -o "$DIR/other.db" "$DIR/gen-sched.dat"
cmp -s "$DIR/other.db" "$DIR/other.before" || fail "another program's database was changed by --append"

# ---- a policy twice ----

# Without ids, sorted: what one policy came to.
of_policy() {
	for table in flush flush_mm flush_cpu flush_time faults exposures exposure_rows costs policy_params; do
		q "$1" "SELECT '$table', x.* FROM $table x JOIN policies p ON p.id = x.policy WHERE p.policy = '$2'" |
			sed 's/^\([^|]*\)|[0-9]*|/\1|/' | sort
	done
}
two="arm64-local:share=0.5,write_share=1"
expect_status 0 "$REPLAY" -p arm64-local -p "$two" -p x86 -p x86:ceiling=4 -o "$DIR/twice.db" "$DIR/gen.dat"
expect "$DIR/twice.db" "arm64-local
$two
x86
x86:ceiling=4" "SELECT policy FROM policies ORDER BY id"
for spec in arm64-local "$two" x86 x86:ceiling=4; do
	expect_status 0 "$REPLAY" -p "$spec" -o "$DIR/once.db" "$DIR/gen.dat"
	of_policy "$DIR/once.db" "$spec" >"$DIR/one"
	of_policy "$DIR/twice.db" "$spec" >"$DIR/two"
	[ -s "$DIR/one" ] && cmp -s "$DIR/one" "$DIR/two" ||
		fail "$spec: together with others it comes to something else: $(diff "$DIR/one" "$DIR/two" | head -n 4)"
done
# The bounds do not depend on the shares; the estimate is low + share * write share * possible.
expect "$DIR/twice.db" 1 "SELECT count(DISTINCT low || '-' || high) FROM v_fault WHERE policy LIKE 'arm64-local%'
	AND kind = 'spurious'"
expect "$DIR/twice.db" "given|0.5
assumed|0.1" "SELECT origin, value FROM v_param WHERE name = 'share' AND policy LIKE 'arm64-local%' ORDER BY policy DESC"
expect "$DIR/twice.db" 1 "SELECT (SELECT sum(flushes) FROM v_flush WHERE policy = 'x86:ceiling=4') =
	(SELECT sum(flushes) FROM v_flush WHERE policy = 'x86')"

# ---- lists ----

expect_status 0 "$REPLAY" --list-policies
cut -d ' ' -f 1 "$DIR/out" >"$DIR/policies"
for policy in $policies; do
	grep -qx -- "$policy" "$DIR/policies" || fail "--list-policies lacks $policy"
done
[ -z "$(sort "$DIR/policies" | uniq -d)" ] || fail "--list-policies names one twice"
! grep -qvxE '[a-z][a-z0-9-]*' "$DIR/policies" || fail "--list-policies: $(cat "$DIR/policies")"
for policy in $(cat "$DIR/policies"); do
	expect_status 0 "$REPLAY" --help-policy=$policy
	grep -q '^  share=' "$DIR/out" || fail "--help-policy=$policy does not name share"
done
expect_status 2 "$REPLAY" --help-policy=nonesuch
if [ ${#traces[@]} -lt 7 ]; then
	missing=" some of them"
fi
done_testing
