# SPDX-License-Identifier: GPL-2.0-or-later
# Cost of each policy over what is varied, or, if two things are, which policy costs least where.
# $data: series, place on the first axis from 1, on the second (0: there is none), value on the first axis,
# on the second, ns, whether it is the least.
# panel: 440 28

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
# "... over X in ns and Y": the names of the axes.
over(t) = substr(t, strstrt(t, ' over ') + 6, strlen(t))
first(t) = strstrt(over(t), ' and ') ? substr(over(t), 1, strstrt(over(t), ' and ') - 1) : over(t)
second(t) = substr(over(t), strstrt(over(t), ' and ') + 5, strlen(over(t)))
set key noenhanced left reverse Left
if (text_only) {
	set key horizontal tmargin
	set rmargin 4
} else {
	set key outside right top vertical spacing 1.3 samplen 4
	set lmargin 12
	set tmargin 2.5
	set bmargin 4.5
}
shown = series > 12 ? 12 : series
rest = series > shown ? sprintf(' (the first %d of %d policies; --policy picks one)', shown, series) : ''

set multiplot layout panels, 1
do for [p = 1:panels] {
	unset logscale
	set xrange [*:*]
	set yrange [*:*]
	set autoscale
	stats $data index (p - 1) using 2 nooutput name 'I'
	stats $data index (p - 1) using 3 nooutput name 'J'
	stats $data index (p - 1) using 4 nooutput name 'X'
	set title panel_title[p] . rest noenhanced
	set xlabel first(panel_title[p]) noenhanced
	if (J_max > 0) {
		stats $data index (p - 1) using 5 nooutput name 'Y'
		# Values are told at the ticks: an axis may be logarithmic.
		array at_x[6]
		array at_y[6]
		do for [k = 0:5] {
			n = 1 + floor(k * (I_max - 1) / 5.0)
			stats $data index (p - 1) using ($2 == n ? $4 : NaN) nooutput name 'T'
			at_x[k + 1] = T_max
			n = 1 + floor(k * (J_max - 1) / 5.0)
			stats $data index (p - 1) using ($3 == n ? $5 : NaN) nooutput name 'T'
			at_y[k + 1] = T_max
		}
		set xrange [0.5 : I_max + 0.5]
		set yrange [0.5 : J_max + 0.5]
		set xtics ()
		set ytics ()
		unset grid
		do for [k = 0:5] {
			set xtics add (sprintf('%.4g', at_x[k + 1]) 1 + floor(k * (I_max - 1) / 5.0))
			set ytics add (sprintf('%.4g', at_y[k + 1]) 1 + floor(k * (J_max - 1) / 5.0))
		}
		set ylabel second(panel_title[p]) noenhanced
		if (text_only) {
			plot for [s = 1:shown] $data index (p - 1) using ($1 == s && $7 > 0 ? $2 : NaN):3 \
				with points pt s title series_name[s] noenhanced
		} else {
			plot for [s = 1:shown] $data index (p - 1) \
				using ($1 == s && $7 > 0 ? $2 : NaN):3:($2 - 0.5):($2 + 0.5):($3 - 0.5):($3 + 0.5) \
				with boxxyerror fs pattern s noborder lc rgb ink[(s - 1) % 6 + 1] \
				title series_name[s] noenhanced
		}
	} else {
		stats $data index (p - 1) using ($6 > 0 ? $6 : NaN) nooutput name 'NS'
		set xrange [X_min : X_max]
		set xtics autofreq
		set format x '%g'
		wide = X_min > 0 && X_max / X_min > 30
		if (wide) {
			set logscale x 10
			set format x '%.0s%c'
		}
		set logscale y 10
		from_y = 10.0 ** floor(log10(NS_min))
		to_y = 10.0 ** ceil(log10(NS_max))
		to_y = to_y > from_y ? to_y : 10 * from_y
		set yrange [from_y : to_y]
		set ytics ()
		every = ceil((log10(to_y) - log10(from_y)) / 8)
		do for [k = floor(log10(from_y)) : ceil(log10(to_y)) : (every > 0 ? every : 1)] {
			set ytics add (tick(10.0 ** k) 10.0 ** k)
		}
		set ylabel text_only ? 'cost' : 'modelled CPU time (logarithmic), estimate'
		if (!text_only) { set grid xtics ytics lc rgb '#b0b0b0' lw 0.6 }
		if (text_only) {
			plot for [s = 1:shown] $data index (p - 1) using ($1 == s ? $4 : NaN):6 \
				with points pt s title series_name[s] noenhanced
		} else {
			plot for [s = 1:shown] $data index (p - 1) using ($1 == s ? $4 : NaN):6 \
				with lines lt s title series_name[s] noenhanced
		}
	}
}
unset multiplot
