# SPDX-License-Identifier: GPL-2.0-or-later
# Which part of a fleet's hosts stays below a share of CPU time: a line for each policy.
# $data: series, share of CPU time by the estimate, part of the hosts (by weight) that have no greater one.
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

stats $data using ($2 > 0 ? $2 : NaN) nooutput name 'SHARE'
wide = SHARE_records > 0 && SHARE_max / SHARE_min > 100
if (wide) {
	set logscale x 10
}
set xlabel (wide ? 'modelled cost, % of CPU time (logarithmic)' : 'modelled cost, % of CPU time')
set ylabel 'hosts below, %'
set yrange [0:100]
set format x '%g'

set multiplot layout panels, 1
do for [p = 1:panels] {
	set title panel_title[p] . rest noenhanced
	if (text_only) {
		plot for [s = 1:shown] $data index (p - 1) using (100 * $2):($1 == s ? 100 * $3 : NaN) \
			with points pt s title series_name[s] noenhanced
	} else {
		plot for [s = 1:shown] $data index (p - 1) using (100 * $2):($1 == s ? 100 * $3 : NaN) \
			with steps lt s title series_name[s] noenhanced
	}
}
unset multiplot
