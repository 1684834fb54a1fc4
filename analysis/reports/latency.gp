# SPDX-License-Identifier: GPL-2.0-or-later
# Durations of calls, one panel per recording.
# $data: kind of call, shortest, median, 99th percentile, the two as text.

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
	set logscale x
	set xrange [*:*]
	set yrange [panel_rows[p] + 0.55 : text_only ? 0.2 : 0.35]
	set title panel_title[p] noenhanced
	legend = text_only ? "\nD: median, line: shortest to 99th percentile" : \
		"\ndot: median; whisker: shortest to 99th percentile"
	set xlabel 'ns' . legend
	if (text_only) {
		plot $data index (p - 1) using 3:(y($0)):2:4:ytic(1) with xerrorbars pt 4
	} else {
		plot $data index (p - 1) using 3:(y($0)):2:4:ytic(1) \
			with xerrorbars pt 7 ps 0.7 lw 2 lc rgb '#4477aa', \
			'' index (p - 1) using 2:(y($0) - 0.36):(strcol(5)) with labels left
	}
}
unset multiplot
