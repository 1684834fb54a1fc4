# SPDX-License-Identifier: GPL-2.0-or-later
# Invalidations that leave a CPU and that reach it: a line for each policy.
# $data: series, CPU, how many.
# panel: 300 18

text_only = terminal eq 'dumb'
# Okabe and Ito's colours, which colour-blind people tell apart, and a dash pattern each, so that the
# lines differ in grey, too; the seventh line begins again with a thicker one.
array ink[6] = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#000000', '#e69f00']
do for [s = 1:series] {
	set linetype s lc rgb ink[(s - 1) % 6 + 1] lw 2 + ((s - 1) / 6) % 3
}
do for [s = 1:series] {
	set linetype s dt 1 + (s - 1) % 5
}

set border 3
set tics nomirror out
set xlabel 'CPU'
set ylabel text_only ? 'flushes' : 'broadcasts, interrupts'
set yrange [0:*]
set format y '%.7g'
set format x '%.0f'
set key noenhanced left reverse Left
if (text_only) {
	set key horizontal tmargin
	# The letters that the lines are drawn with.
	set rmargin 2
} else {
	set key outside right top vertical spacing 1.3 samplen 4
	set grid ytics lc rgb '#b0b0b0' lw 0.6
	set lmargin 11
	set tmargin 2.5
	set bmargin 3.5
}
stats $data using 2 nooutput name 'CPU'
# A tick is a CPU, none lies between two.
set xrange [CPU_min - 0.5 : CPU_max + 0.5]
step = ceil((CPU_max - CPU_min + 1) / 16)
set xtics step

# More lines than that are a tangle.
shown = series > 12 ? 12 : series
rest = series > shown ? sprintf(' (the first %d of %d policies; --policy picks one)', shown, series) : ''

set multiplot layout panels, 1
do for [p = 1:panels] {
	set title panel_title[p] . rest noenhanced
	if (text_only) {
		plot for [s = 1:shown] $data index (p - 1) using 2:($1 == s ? $3 : NaN) \
			with points pt s title series_name[s] noenhanced
	} else {
		plot for [s = 1:shown] $data index (p - 1) using 2:($1 == s ? $3 : NaN) \
			with linespoints lt s pt s ps 1.2 title series_name[s] noenhanced
	}
}
unset multiplot
