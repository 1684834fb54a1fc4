#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What README and docs show is what the programs print; every option is in its manual.
set -eu
BUILD=${BUILD:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# In a copy of the folder, so that results.db is not left here.
root=$PWD
mkdir "$tmp/in"
case $BUILD in /*) built=$BUILD ;; *) built=$root/$BUILD ;; esac
cp -r README.md docs examples "$tmp/in"
ln -s "$built" "$tmp/in/build"
cd "$tmp/in"
BUILD=build python3 "$root/tests/docs/console.py" README.md
cd "$root"

for program in tlbreplay tlbreport tlbcapture; do
	for option in $("$built/$program" --help | grep -oE -e '(^|[ [|,])--?[a-z][a-z-]*' |
			tr -d ' [|,' | sort -u); do
		grep -q -e "$(printf '%s' "$option" | sed 's/-/\\\\-/g')" "docs/$program.1" || {
			echo "FAIL: $program $option is not in docs/$program.1"
			exit 1
		}
	done
done

# Folders and files that the documents send a reader to exist.
for path in $(grep -ohE '`(schema|replay|capture|analysis|common|tests|docs|examples)/[A-Za-z0-9_./-]+`' \
		README.md CONTRIBUTING.md docs/*.md examples/README.md | tr -d '`' | sort -u); do
	case $path in *NAME* | */DIR/*) continue ;; esac
	[ -e "$path" ] || { echo "FAIL: $path is named and does not exist"; exit 1; }
done
