# SPDX-License-Identifier: GPL-2.0-or-later
# Pages written to swap under each mkwrite, one panel per recording.
# $data: kernel, low, estimate, high, recorded (0 or 1), the three as text.
# The recorded kernel's bar is hatched, and says so in words.

text_only = terminal eq 'dumb'

unset key
set border 3
set tics nomirror out
set ytics scale 0
set grid xtics lc rgb '#b0b0b0' lw 0.6
set bars text_only ? 0 : 0.6
set format x '%.0s%c'
if (!text_only) {
	set style fill solid 0.55 border lc rgb '#222222'
	set lmargin widest + 4
	set rmargin 6
	set bmargin 5
	set tmargin 3
} else {
	set lmargin widest + 3
	set rmargin 3
	unset grid
}
y(r) = r + 1

all = 0.0
do for [p = 1:panels] {
	all = all + panel_rows[p] + 2.4
}
top = 1.0

set multiplot
do for [p = 1:panels] {
	high = (panel_rows[p] + 2.4) / all
	top = top - high
	set size 1, high
	set origin 0, top
	set xrange [*:*]
	set yrange [*:*]
	stats $data index (p - 1) using 4 nooutput name 'HIGH'
	set xrange [0 : HIGH_max > 0 ? 1.08 * HIGH_max : 1]
	set yrange [panel_rows[p] + 0.55 : text_only ? 0.2 : 0.35]
	set title panel_title[p] noenhanced
	legend = text_only ? "\nD: estimate, line: bounds" : \
		"\nbar and dot: estimate; whisker: low to high bound; hatched: recorded, not predicted"
	set xlabel 'pages' . legend
	if (text_only) {
		plot $data index (p - 1) using 3:(y($0)):2:4:ytic(1) with xerrorbars pt 4, \
			'' index (p - 1) using (0):(y($0) - 0.45):(strcol(6)) with labels left offset 1, 0
	} else {
		plot $data index (p - 1) using (0):(y($0)):(0):3:(y($0) - 0.2):(y($0) + 0.2):ytic(1) \
			with boxxyerror lc rgb '#4477aa', \
			'' index (p - 1) using (0):(y($0)):(0):($5 > 0 ? $3 : NaN):(y($0) - 0.2):(y($0) + 0.2) \
			with boxxyerror fs pattern 4 lc rgb '#222222', \
			'' index (p - 1) using 3:(y($0)):2:4 with xerrorbars pt 7 ps 0.7 lw 2 lc rgb '#222222', \
			'' index (p - 1) using (0):(y($0) - 0.36):(strcol(6)) with labels left offset 1, 0
	}
}
unset multiplot
