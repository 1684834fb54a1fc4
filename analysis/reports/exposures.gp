# SPDX-License-Identifier: GPL-2.0-or-later
# How many entries stay stale for longer than a time, at the high bound.
# $data: series, ns, entries that stay at least so long, entries in all, policy, kind.
# panel: 440 26

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
set logscale xy 10
set ylabel text_only ? 'entries' : 'entries (logarithmic)'
set format y '%.0s%c'
name_of(v) = v >= 1e9 ? 's' : v >= 1e6 ? 'ms' : v >= 1e3 ? 'us' : 'ns'
size_of(v) = v >= 1e9 ? 1e9 : v >= 1e6 ? 1e6 : v >= 1e3 ? 1e3 : 1.0
tick(v) = sprintf('%g %s', v / size_of(v * 1.001), name_of(v * 1.001))
stats $data using 2 nooutput name 'NS'
# Begins at a 1, 2 or 5 of a unit.
below(v) = 10.0 ** floor(log10(v)) * (v / 10.0 ** floor(log10(v)) >= 5 ? 5 : v / 10.0 ** floor(log10(v)) >= 2 ? 2 : 1)
from = below(NS_min * 0.999)
to = NS_max * 1.02
decades = log10(to / from)
set xrange [from / 1.001 : to]
set xtics () scale 1, 0.5
do for [k = floor(log10(from)) : ceil(log10(to))] {
	do for [m in (decades <= 2.5 ? '1 2 5' : '1')] {
		if (m * 10.0 ** k > from / 1.01 && m * 10.0 ** k < to * 1.01 && (decades < 9 || k % 2 == 0)) {
			set xtics add (tick(m * 10.0 ** k) m * 10.0 ** k)
		}
	}
}
set mxtics 10
set key noenhanced left reverse Left tmargin vertical
set title noenhanced
if (text_only) {
	set rmargin 4
} else {
	set key maxrows 5 spacing 1.3 samplen 5
	set grid xtics ytics lc rgb '#b0b0b0' lw 0.6
	set lmargin 12
	set rmargin 4
}
legend = text_only ? '' : "\nexact at powers of two and where entries are stored singly, straight lines in between"

set multiplot layout panels, 1
do for [p = 1:panels] {
	there = ''
	lines = 0
	array all[series]
	array least[series]
	top = 1
	set xrange [*:*]
	set yrange [*:*]
	do for [s = 1:series] {
		undefine ALL_*
		stats $data index (p - 1) using ($1 == s ? $4 : NaN) nooutput name 'ALL'
		if (exists('ALL_records')) {
			there = words(there) < 10 ? there . ' ' . s : there
			lines = lines + 1
			all[s] = ALL_max
			stats $data index (p - 1) using ($1 == s ? $3 : NaN) nooutput name 'RANK'
			least[s] = RANK_min
			top = RANK_max > top ? RANK_max : top
		}
	}
	set xrange [from / 1.001 : to]
	set yrange [0.8:1.3 * top]
	set xlabel 'time that an entry stays stale (logarithmic)' . legend
	set title panel_title[p] . ': entries that stay stale for at least so long, high bound' . (lines > 10 ? sprintf(' (10 of %d lines)', lines) : '')
	if (text_only) {
		plot for [s in there] $data index (p - 1) using 2:($1 == s + 0 ? $3 : NaN) \
			with points pt int(s) title sprintf('%s, %.0f in all', series_name[s + 0], all[s + 0])
	} else {
		plot for [s in there] $data index (p - 1) using 2:($1 == s + 0 ? $3 : NaN) \
			with lines lt s + 0 title sprintf('%s, %.0f in all', series_name[s + 0], all[s + 0]), \
			for [s in there] $data index (p - 1) using 2:($1 == s + 0 && $3 == least[s + 0] ? $3 : NaN) \
			with impulses lt s + 0 notitle
	}
}
unset multiplot
