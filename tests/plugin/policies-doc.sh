#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# docs/policies.md describes the policies that there are, in their own words: what is behind its mark is
# generated from --help-policy. With --update it is written, without it is compared.
set -u
: "${BUILD:=build}"
program=$BUILD/tlbreplay
[ -x "$program" ] || { echo "$program is not built"; exit 77; }
doc=docs/policies.md
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

sed '/^<!-- generated -->$/q' "$doc" >"$out"
for name in $("$program" --list-policies | awk '{ print $1 }'); do
	"$program" --help-policy="$name" || exit 1
done | awk '
	function finish() {
		for (i = 1; i <= nr_from; i++)
			printf "- *Parameters*: those of `%s`%s\n", from[i], rows ? ", and" : ""
		if (rows)
			printf "\n| parameter | default | range | meaning |\n|---|---|---|---|\n%s", rows
		rows = ""
		nr_from = own = 0
		split("", used)
	}
	# A policy begins with "NAME: ...".
	/^[a-z0-9-]+: / {
		finish()
		name = $1
		sub(/:$/, "", name)
		sub(/^[^ ]+ /, "")
		printf "\n## %s\n\n%s.\n\n", name, $0
	}
	/^(Models|Does not model|Beyond its table): / {
		label = $0
		sub(/:.*/, "", label)
		sub(/^[^:]*: /, "")
		printf "- *%s*: %s\n", label, $0
	}
	/^Parameters:/ { own = 1 }
	/^Parameters of every/ { own = 0 }
	own && /^  [a-z]/ {
		range = default_ = $0
		key = $1
		sub(/=.*/, "", key)
		sub(/^[^=]*=/, "", default_)
		sub(/  \(.*/, "", default_)
		if (!sub(/.*  \(/, "", range))
			range = "on, off"
		sub(/\)$/, "", range)
	}
	# What another policy has taken already is described there.
	own && /^      / {
		sub(/^ +/, "")
		row = sprintf("| `%s` | %s | %s | %s |\n", key, default_, range, $0)
		if (!(row in first)) {
			first[row] = name
			rows = rows row
		} else if (!(first[row] in used)) {
			used[first[row]] = 1
			from[++nr_from] = first[row]
		}
	}
	END { finish() }
' >>"$out"

if [ "${1:-}" = --update ]; then
	cp "$out" "$doc"
	exit
fi
diff -u "$doc" "$out" || { echo "docs/policies.md: run tests/plugin/policies-doc.sh --update"; exit 1; }
# All of them are there, and so is each parameter.
for name in $("$program" --list-policies | awk '{ print $1 }'); do
	grep -qx "## $name" "$doc" || { echo "$name has no section"; exit 1; }
	grep -qF "\`$name\`" "$doc" || { echo "$name is not in the overview"; exit 1; }
done
