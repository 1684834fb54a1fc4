#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the recorder wrote about its host stands in the database line for line, as trace-cmd shows the
# marker; what the recorder could not get is a note; a recording of another tool has neither.
. tests/replay/lib/setup
command -v trace-cmd >/dev/null || { echo 'trace-cmd is not installed'; exit 77; }

for file in examples/debian-6.12.dat examples/debian-6.1-x86.dat; do
	# Lines of the marker behind its header, up to the next event; the end line is none of them.
	trace-cmd report -i "$file" 2>/dev/null | awk '
		/: print: .*: tlbr\.host 1$/ { on = 1; next }
		/^[^ ]+: +[^ ]+ +\[[0-9]+\]/ { on = 0 }
		on && NF && !/^tlbr\.host\.end/' >"$DIR/lines"
	count=$(trace-cmd report -i "$file" 2>/dev/null | awk '$1 == "tlbr.host.end" { n += $2 } END { print n }')
	[ "$count" -gt 10 ] && [ "$(wc -l <"$DIR/lines")" = "$count" ] ||
		fail "$file: $(wc -l <"$DIR/lines") lines where its end line says $count"
	expect_status 0 "$REPLAY" -o "$DIR/r.db" "$file"
	q "$DIR/r.db" "SELECT key || ' ' || value FROM v_host" | cmp -s - "$DIR/lines" ||
		fail "$file: $(q "$DIR/r.db" "SELECT key || ' ' || value FROM v_host" | diff "$DIR/lines" - | head)"
	expect "$DIR/r.db" "$(grep '^missing ' "$DIR/lines" | cut -d ' ' -f 2- | sort)" \
		"SELECT subject || ' ' || text AS t FROM v_trust WHERE kind = 'missing' ORDER BY t"
done

expect_status 0 "$REPLAY" -o "$DIR/r.db" examples/arm64-broadcast.dat
expect "$DIR/r.db" "0|0" "SELECT (SELECT count(*) FROM v_host), (SELECT count(*) FROM v_trust WHERE kind = 'missing')"
done_testing
