# SPDX-License-Identifier: GPL-2.0-or-later
# Cost by policy with bounds, one panel per recording and cost preset.
# $data: policy, low ns, estimate ns, high ns, uncalibrated (0 or 1), the three as text.
#
# A bar ends at the estimate and a whisker spans low to high. Where the bounds span more than two
# decades the axis is logarithmic; a bar's length would mean nothing there, so a diamond marks the
# estimate instead. Uncalibrated is told by hatching or a hollow mark and in words, never by colour alone.

text_only = terminal eq 'dumb'

unset key
set border 3
set tics nomirror out
set ytics scale 0
set grid xtics lc rgb '#b0b0b0' lw 0.6
set bars text_only ? 0 : 0.6
if (!text_only) {
	set style fill solid 0.55 border lc rgb '#222222'
	set lmargin (widest < 12 ? 12 : widest) + 4
	set rmargin 6
	set bmargin 5
	set tmargin 3
} else {
	set lmargin widest + 3
	set rmargin 3
	unset grid
}

size_of(v) = v >= 1e9 ? 1e9 : v >= 1e6 ? 1e6 : v >= 1e3 ? 1e3 : 1.0
name_of(v) = v >= 1e9 ? 's' : v >= 1e6 ? 'ms' : v >= 1e3 ? 'us' : 'ns'
tick(v) = sprintf('%g %s', v / size_of(v * 1.001), name_of(v * 1.001))
at(v) = v / unit > axis ? v / unit : axis
said(label, doubt) = label . (doubt > 0 ? (text_only ? ' ?' : ', uncalibrated') : '')
y(r) = r + 1


# Panels as high as their rows need, so that all bars are equally thick.
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
	# stats refuses to work on logarithmic axes and leaves out what is not a number.
	unset logscale x
	set xrange [*:*]
	set yrange [*:*]
	stats $data index (p - 1) using 4 nooutput name 'HIGH'
	largest = HIGH_max
	stats $data index (p - 1) using ($2 > 0 ? $2 : $4 > 0 ? $4 : largest) nooutput name 'LEAST'
	least = LEAST_min
	wide = largest > 0 && largest / least > 100
	axis = 0.0
	if (wide) {
		# Decades from ns to s would be unreadable in any one unit: each tick brings its own.
		unit = 1.0
		from = floor(log10(least) - 0.05)
		to = ceil(log10(largest) + 0.02)
		axis = 10.0 ** from
		set logscale x 10
		# A little wider than the outermost ticks, or rounding may leave these out.
		set xrange [axis / 1.001 : 1.001 * 10.0 ** to]
		set xtics () scale 1, 0.5
		room = (columns - widest - 6) / 9
		step = text_only && room > 0 ? ceil((to - from + 1.0) / room) : 1
		do for [k = from : to : step] {
			set xtics add (tick(10.0 ** k) 10.0 ** k)
		}
		set mxtics 10
		label = 'modelled CPU time (logarithmic)'
	} else {
		unit = size_of(largest)
		set xrange [0 : largest > 0 ? 1.08 * largest / unit : 1]
		set xtics autofreq
		set format x '%g'
		set mxtics
		label = sprintf('modelled CPU time, %s', name_of(largest))
	}
	set yrange [panel_rows[p] + 0.55 : text_only ? 0.2 : 0.35]
	set title panel_title[p] noenhanced
	legend = text_only ? "\nD: estimate, line: bounds, ?: uncalibrated" : \
		"\n" . (wide ? 'diamond: estimate; whisker: low to high bound; hollow: uncalibrated' : \
		'bar and dot: estimate; whisker: low to high bound; hatched: uncalibrated')
	set xlabel label . legend
	if (text_only) {
		plot $data index (p - 1) using (at($3)):(y($0)):(at($2)):(at($4)):ytic(1) \
			with xerrorbars pt 4, \
			'' index (p - 1) using (axis):(y($0) - 0.45):(said(strcol(6), $5)) \
			with labels left offset 1, 0
	} else {
		if (wide) {
			plot $data index (p - 1) using (at($3)):(y($0)):(at($2)):(at($4)):ytic(1) \
				with xerrorbars pt 13 ps 1.8 lw 2 lc rgb '#222222', \
				'' index (p - 1) using ($5 > 0 ? at($3) : NaN):(y($0)) \
				with points pt 13 ps 1.1 lc rgb '#ffffff', \
				'' index (p - 1) using (axis):(y($0) - 0.40):(said(strcol(6), $5)) \
				with labels left offset 1, 0
		} else {
			plot $data index (p - 1) using (0):(y($0)):(0):(at($3)):(y($0) - 0.2):(y($0) + 0.2):ytic(1) \
				with boxxyerror lc rgb '#4477aa', \
				'' index (p - 1) using (0):(y($0)):(0):($5 > 0 ? at($3) : NaN):(y($0) - 0.2):(y($0) + 0.2) \
				with boxxyerror fs pattern 4 lc rgb '#222222', \
				'' index (p - 1) using (at($3)):(y($0)):(at($2)):(at($4)) \
				with xerrorbars pt 7 ps 0.7 lw 2 lc rgb '#222222', \
				'' index (p - 1) using (axis):(y($0) - 0.36):(said(strcol(6), $5)) \
				with labels left offset 1, 0
		}
	}
}
unset multiplot
