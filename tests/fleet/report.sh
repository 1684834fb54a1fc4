#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The reports about a fleet, against a calculation of its own (Python) over the tables: weighted quantiles, changes
# against each host's own policy, who loses; the bootstrap against the normal approximation, and that it does not
# depend on the order of rows. A database without a fleet has empty tables and no section in the page.
. tests/replay/lib/setup
. tests/fleet/lib/compare
python3 -c 'import sqlite3, statistics' 2>/dev/null || { echo "python3 has no sqlite3"; exit 77; }

printf 'path\thost\tcpu\trecording\tweight\tpart\treason\n' >"$DIR/list.tsv"
for i in $(seq 40); do
	"$GEN" --events $((1000 + i * 60)) --seed $i --pages $((20 + i)) "$DIR/h$i.dat" >/dev/null
	"$REPLAY" -o "$DIR/h$i.db" "$DIR/h$i.dat"
	# Two recordings of one host are added up.
	printf 'h%d.dat\thost%d\tn%d\t%d\t%d\th%d.db\t\n' $i $(((i + 1) / 2)) $(((i + 1) / 2 % 3)) $i $((1 + (i + 1) / 2 % 4)) $i >>"$DIR/list.tsv"
done
printf 'none.dat\tlost\tn1\t1\t2\t\tout of memory\n' >>"$DIR/list.tsv"
expect_status 3 "$REPORT" merge "$DIR/fleet.db" --manifest "$DIR/list.tsv"
for report in fleet sampling; do
	expect_status 0 "$REPORT" "$DIR/fleet.db" $report --json
	cp "$DIR/out" "$DIR/$report.json"
	expect_status 0 "$REPORT" "$DIR/fleet.db" $report
	[ ! -s "$DIR/err" ] || fail "$report: $(cat "$DIR/err")"
done
cat >"$DIR/check.py" <<'END'
import json, math, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
tables = {t["title"]: [dict(zip(t["columns"], row)) for row in t["rows"]] for t in json.load(open(sys.argv[2]))["tables"]}
sampling = {t["title"]: [dict(zip(t["columns"], row)) for row in t["rows"]] for t in json.load(open(sys.argv[3]))["tables"]}
failed = 0

def same(got, want, what):
    global failed
    if got is None or abs(got - want) > 1e-9 * max(1, abs(want)):
        failed += 1
        print("%s: %r instead of %r" % (what, got, want))

weights = dict(db.execute("SELECT host, weight FROM fleet_hosts"))
weights = dict(db.execute("SELECT id, weight FROM fleet_hosts"))
names = dict(db.execute("SELECT id, host FROM fleet_hosts"))
labels = dict(db.execute("SELECT host, value FROM fleet_labels WHERE label = 'cpu'"))
cost, base, kernel, faults, seconds = {}, {}, {}, {}, {}
for host, trace in db.execute("SELECT host, trace FROM fleet_recordings WHERE trace IS NOT NULL"):
    first, last, cpus, own = db.execute("SELECT first_ns, last_ns, cpus_with_events, kernel_policy FROM traces WHERE id = ?", (trace,)).fetchone()
    kernel.setdefault(host, set()).add(own)
    for policy, name in db.execute("SELECT id, policy FROM policies WHERE trace = ?", (trace,)):
        key = host, name
        base[key] = base.get(key, 0) + cpus * (last - first)
        seconds[key] = seconds.get(key, 0) + (last - first) / 1e9
        at = cost.setdefault(key, [0, 0, 0])
        for low, estimate, high in db.execute("SELECT low_ns, estimate_ns, high_ns FROM costs WHERE policy = ?", (policy,)):
            at[0] += low; at[1] += estimate; at[2] += high
        at = faults.setdefault(key, [0, 0, 0])
        for row in db.execute("SELECT low, estimate, high FROM faults WHERE policy = ? AND kind = 'spurious'", (policy,)):
            for i in range(3): at[i] += row[i]
share = {key: [c / base[key] for c in cost[key]] for key in cost}

def quantile(pairs, q):
    pairs = sorted(pairs)
    total, at = sum(w for _, w in pairs), 0
    for x, w in pairs:
        at += w
        if at >= q * total:
            return x

policies = sorted({policy for _, policy in share})
for row in tables["Share of CPU time over the hosts"]:
    if row["metric"] != "cost share":
        continue
    for name, q in (("p5", .05), ("p50", .5), ("p95", .95)):
        for i, bound in enumerate(("_low", "", "_high")):
            same(row[name + bound + "_share"], quantile([(s[i], weights[h]) for (h, p), s in share.items() if p == row["policy"]], q),
                 "%s %s%s" % (row["policy"], name, bound))
for row in tables["Per second, over the hosts"]:
    if row["metric"] == "spurious faults":
        same(row["p50"], quantile([(f[1] / seconds[k], weights[k[0]]) for k, f in faults.items() if k[1] == row["policy"]], .5), "faults " + row["policy"])
for row in tables["Cost by label"]:
    if row["label"] == "cpu":
        rows = [(s[1], weights[h]) for (h, p), s in share.items() if p == row["policy"] and labels[h] == row["value"]]
        same(row["p95_share"], quantile(rows, .95), "label %s %s" % (row["value"], row["policy"]))
        same(row["hosts"], len(rows), "hosts of a label")
change = {}
for (host, policy), s in share.items():
    if len(kernel[host]) == 1 and None not in kernel[host]:
        own = share.get((host, next(iter(kernel[host]))))
        if own and policy not in kernel[host]:
            change[host, policy] = s[0] - own[2], s[1] - own[1], s[2] - own[0]
assert change
for row in tables["Against the policy of the hosts' own kernels"]:
    mine = [(c, weights[h]) for (h, p), c in change.items() if p == row["policy"]]
    total = sum(w for _, w in mine)
    same(row["gain_share"], sum(w for c, w in mine if c[2] < 0) / total, "gain")
    same(row["lose_share"], sum(w for c, w in mine if c[0] > 0) / total, "lose")
    same(row["estimated_lose_share"], sum(w for c, w in mine if c[1] > 0) / total, "estimated lose")
lose = [(names[h], p) for (h, p), c in change.items() if c[1] > 0]
same(len(tables["Hosts that would lose"]), len(lose), "hosts that would lose")
if sorted((r["host"], r["policy"]) for r in tables["Hosts that would lose"]) != sorted(lose):
    failed += 1
    print("others would lose")
same(tables["The fleet"][0]["hosts"], len(names), "hosts")
same(tables["The fleet"][0]["missing"], 1, "missing")
if [(r["host"], r["missing"]) for r in tables["Missing recordings"]] != [("lost", "out of memory")]:
    failed += 1
    print("missing:", tables["Missing recordings"])

# For many hosts drawn, the mean is normal: mean and deviation of it are known.
for row in sampling["What so many hosts would show"]:
    mine = [(c[1], weights[h]) for (h, p), c in change.items() if p == row["policy"]]
    total = sum(w for _, w in mine)
    mean = sum(x * w for x, w in mine) / total
    same(row["mean_share"], mean, "mean")
    if row["n"] >= 200:
        half = 1.96 * math.sqrt(sum(w * (x - mean) ** 2 for x, w in mine) / total / row["n"])
        for got, want in ((row["mean_low_share"], mean - half), (row["mean_high_share"], mean + half)):
            if abs(got - want) > 0.25 * half:
                failed += 1
                print("%s, %d hosts: %g, and %g by the normal distribution" % (row["policy"], row["n"], got, want))
sys.exit(failed > 0)
END
python3 "$DIR/check.py" "$DIR/fleet.db" "$DIR/fleet.json" "$DIR/sampling.json" >"$DIR/differences" || fail "$(head -n 8 "$DIR/differences")"
# The rows in another order: the same answers.
cp "$DIR/fleet.db" "$DIR/order.db"
q "$DIR/order.db" "PRAGMA foreign_keys = OFF; CREATE TABLE f AS SELECT * FROM fleet_recordings ORDER BY random(); DELETE FROM fleet_recordings; INSERT INTO fleet_recordings SELECT * FROM f; DROP TABLE f"
expect_status 0 "$REPORT" "$DIR/order.db" sampling --json
cmp "$DIR/out" "$DIR/sampling.json" || fail "sampling depends on the order of rows"
if command -v gnuplot >/dev/null; then
	for report in fleet sampling; do
		expect_status 0 "$REPORT" "$DIR/fleet.db" $report --plot "$DIR/$report.svg"
		[ "$(wc -c <"$DIR/$report.svg")" -gt 5000 ] || fail "$report: nothing drawn"
		expect_status 0 "$REPORT" "$DIR/fleet.db" $report --plot -
	done
fi
# The page: the fleet first, and so many recordings are left out, with a word.
expect_status 0 "$REPORT" "$DIR/fleet.db" html -o "$DIR/page.html"
grep -q '<h2 id="t0">The fleet</h2>' "$DIR/page.html" || fail "no fleet in the page"
[ "$(grep -c 'class="ln q' "$DIR/page.html")" -ge 5 ] || fail "no pictures of the fleet in the page"
grep -q '40 more recordings left out' "$DIR/page.html" || fail "the page does not say that recordings are left out"
expect_status 0 "$REPORT" "$DIR/h1.db" fleet
grep -q 'No host of a fleet is in this database' "$DIR/out" || fail "without a fleet: $(head -n 5 "$DIR/out")"
expect_status 0 "$REPORT" "$DIR/h1.db" html -o "$DIR/page.html"
! grep -q 'id="t0"' "$DIR/page.html" || fail "a fleet in a page without one"
done_testing
