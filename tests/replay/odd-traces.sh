#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings that are odd and true: tests/replay/odd_traces.py.
. tests/replay/lib/setup
[ -x "$BUILD/tlbreport" ] || { echo "tlbreport is not built"; exit 77; }
python3 tests/replay/odd_traces.py "$REPLAY" "$BUILD/tlbreport" "$DIR" || fail "see above"
done_testing
