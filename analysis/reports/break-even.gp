# SPDX-License-Identifier: GPL-2.0-or-later
# Cost of each policy over what is varied: the price of a broadcast
# $data: series, price of a broadcast in ns, ns, the preset's price in ns.
# panel: 420 26

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
name_of(v) = v >= 1e9 ? 's' : v >= 1e6 ? 'ms' : v >= 1e3 ? 'us' : 'ns'
size_of(v) = v >= 1e9 ? 1e9 : v >= 1e6 ? 1e6 : v >= 1e3 ? 1e3 : 1.0
tick(v) = sprintf('%g %s', v / size_of(v * 1.001), name_of(v * 1.001))
stats $data using 2 nooutput name 'X'
stats $data using ($3 > 0 ? $3 : NaN) nooutput name 'Y'
from_x = X_min
to_x = X_max
from_y = 10.0 ** floor(log10(Y_min))
to_y = 10.0 ** ceil(log10(Y_max))
array price[panels]
do for [p = 1:panels] {
	stats $data index (p - 1) using 4 nooutput name 'PRICE'
	price[p] = PRICE_max
}
set logscale xy 10
set xrange [from_x : to_x]
set yrange [from_y : to_y]
set xtics ()
set ytics ()
room = text_only ? 12 : 6
every = ceil((log10(to_y) - log10(from_y)) / 8)
do for [k = floor(log10(from_x)) : ceil(log10(to_x))] {
	if (10.0 ** k >= from_x && 10.0 ** k <= to_x) { set xtics add (tick(10.0 ** k) 10.0 ** k) }
}
do for [k = floor(log10(from_y)) : ceil(log10(to_y)) : (every > 0 ? every : 1)] {
	set ytics add (tick(10.0 ** k) 10.0 ** k)
}
set key noenhanced left reverse Left
if (text_only) {
	set key horizontal tmargin
	set rmargin 4
} else {
	set key outside right top vertical spacing 1.3 samplen 4
	set grid xtics ytics lc rgb '#b0b0b0' lw 0.6
	set lmargin 12
	set tmargin 2.5
	set bmargin 4.5
}
set xlabel "price of a broadcast on the CPU issuing it (logarithmic)\ndotted: the preset's"
set ylabel text_only ? 'cost' : 'modelled CPU time (logarithmic), estimate'
shown = series > 12 ? 12 : series
rest = series > shown ? sprintf(' (the first %d of %d policies; --policy picks one)', shown, series) : ''

set multiplot layout panels, 1
do for [p = 1:panels] {
	set title panel_title[p] . rest noenhanced
	if (text_only) {
		plot for [s = 1:shown] $data index (p - 1) using ($1 == s ? $2 : NaN):3 \
			with points pt s title series_name[s] noenhanced
	} else {
		set arrow 1 from price[p], from_y to price[p], to_y nohead dt 3 lc rgb '#606060'
		plot for [s = 1:shown] $data index (p - 1) using ($1 == s ? $2 : NaN):3 \
			with lines lt s title series_name[s] noenhanced
	}
}
unset multiplot
