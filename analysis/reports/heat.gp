# SPDX-License-Identifier: GPL-2.0-or-later
# The hottest regions of memory over time, the darker the more broadcasts a second.
# $data: label of the region, policy, rows above the region, rows of it, row from 0, height of the row, time
# in s since the recording began, width in s, broadcasts a second, length of the recording in s, least and
# most broadcasts a second; time and what follows from it are NaN where a row only names its region.
# panel: 480 34

text_only = terminal eq 'dumb'

unset key
set border 3
set tics nomirror out
set ytics scale 0
set xlabel 'time since the recording began, s'
# One hue from pale to dark reads in grey and for colour-blind people; blank is no broadcast.
set palette defined (0 '#d6e6f4', 0.35 '#7fb2d8', 0.7 '#2f79b5', 1 '#08306b')
set logscale cb 10
stats $data using 9 nooutput name 'HEAT'
most = HEAT_max > 1 ? HEAT_max : 1
least = HEAT_min > 0 ? HEAT_min : most / 10
least = least < 0.95 * most ? least : most / 2.0
set cbrange [least:most]
set cbtics ()
do for [k = floor(log10(least)) : ceil(log10(most))] {
	do for [m in (most / least < 300 ? '1 2 5' : '1')] {
		if (m * 10.0 ** k >= 0.99 * least && m * 10.0 ** k <= 1.01 * most) {
			set cbtics add (gprintf('%.0s%c', m * 10.0 ** k) m * 10.0 ** k)
		}
	}
}
set cblabel 'broadcasts a second, 1/s (logarithmic)' offset 1
shade_of(v) = v >= most ? 7 : v <= least ? 0 : int(8 * log(v / least) / log(most / least))
shade(v) = substr('.:-=+*#@', 1 + shade_of(v), 1 + shade_of(v))
if (text_only) {
	set lmargin widest + 2
	set rmargin 2
} else {
	set lmargin (widest < 14 ? 14 : widest) + 3
	set rmargin 14
	set tmargin 2.5
	set bmargin 3.5
}

set multiplot layout panels, 1
do for [p = 1:panels] {
	set xrange [*:*]
	set yrange [*:*]
	stats $data index (p - 1) using 10 nooutput name 'SPAN'
	# The same rows in every panel of a recording, whatever a policy leaves empty.
	stats $data index (p - 1) using ($3 + $4) nooutput name 'ROWS'
	set xrange [0 : SPAN_max]
	rows = ROWS_max > 6 ? ROWS_max : 6
	set yrange [rows : 0]
	set title panel_title[p] . (text_only ? sprintf(', . %.3g .. @ %.3g /s', least, most) : '') noenhanced
	if (text_only) {
		plot $data index (p - 1) using ($7 + $8 / 2):($5 + 0.5):(shade($9)) with labels, \
			'' index (p - 1) using (-1):($3 + $4 / 2.0):ytic(1) with points
	} else {
		plot $data index (p - 1) using 7:5:7:($7 + $8):5:($5 + $6):9 \
			with boxxyerror fs solid 1 noborder lc palette, \
			'' index (p - 1) using (0):($3 + $4):(SPAN_max):(0) with vectors nohead lc rgb '#b0b0b0' lw 0.6, \
			'' index (p - 1) using (-1):($3 + $4 / 2.0):ytic(1) with points
	}
}
unset multiplot
