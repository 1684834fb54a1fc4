# SPDX-License-Identifier: GPL-2.0-or-later
# Between which values the mean change of CPU time lies when so many hosts show it: two lines for each policy.
# $data: series, hosts drawn, low, mean and high share of CPU time.
# panel: 420 24

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
set key noenhanced left reverse Left
if (text_only) {
	set key horizontal tmargin
	set rmargin 2
} else {
	set key outside right top vertical spacing 1.3 samplen 4
	set grid xtics ytics lc rgb '#b0b0b0' lw 0.6
	set lmargin 11
	set tmargin 2.5
	set bmargin 3.5
}

# More lines than that are a tangle.
shown = series > 12 ? 12 : series
rest = series > shown ? sprintf(' (the first %d of %d policies; --policy picks one)', shown, series) : ''

set logscale x 10
set xlabel 'hosts drawn (logarithmic)'
set ylabel text_only ? '%' : 'mean change, % of CPU time'
set format y '%g'
set format x '%.0f'
set xzeroaxis lt -1

set multiplot layout panels, 1
do for [p = 1:panels] {
	set title panel_title[p] . rest noenhanced
	if (text_only) {
		plot for [s = 1:shown] $data index (p - 1) using 2:($1 == s ? 100 * $3 : NaN) \
			with points pt s title series_name[s] noenhanced, \
			for [s = 1:shown] '' index (p - 1) using 2:($1 == s ? 100 * $5 : NaN) \
			with points pt s notitle
	} else {
		plot for [s = 1:shown] $data index (p - 1) using 2:($1 == s ? 100 * $3 : NaN) \
			with lines lt s title series_name[s] noenhanced, \
			for [s = 1:shown] '' index (p - 1) using 2:($1 == s ? 100 * $5 : NaN) \
			with lines lt s notitle, \
			for [s = 1:shown] '' index (p - 1) using 2:($1 == s ? 100 * $4 : NaN) \
			with lines lt s lw 0.7 notitle
	}
}
unset multiplot
