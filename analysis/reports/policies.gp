# SPDX-License-Identifier: GPL-2.0-or-later
# What each policy flushes at each decision point, as a matrix.
# $data: series, row of the point from 1, point, how many broadcasts, flushes by interrupt and local ones, as
# text with its letter, empty if none.
# panel: 560 34

text_only = terminal eq 'dumb'

unset key
set border 0
set ytics scale 0
unset xtics
# Okabe and Ito's colours, pale enough for text; the letter says the same in grey.
array ink[4] = ['#ffffff', '#cfe6f5', '#f6d8a8', '#f0b090']
kind(b, i, l) = strlen(b) ? 3 : strlen(i) ? 2 : strlen(l) ? 1 : 0
lines(b, i, l) = (strlen(b) > 0) + (strlen(i) > 0) + (strlen(l) > 0)
gap(a, b) = strlen(a) && strlen(b) ? (text_only ? ' ' : "\n") : ''
both(a, b) = a . gap(a, b) . b
label(b, i, l) = kind(b, i, l) ? both(both(b, i), l) : '-'
set lmargin 15
set rmargin text_only ? 1 : 10
set bmargin text_only ? 2 : 3
# More columns than that cannot be read.
most = text_only ? (columns - 17) / 17 : 14
shown = series > most ? most : series
rest = series > shown ? sprintf(' (the first %d of %d policies; --policy picks one)', shown, series) : ''
slant = !text_only && shown > 5
set xlabel 'B: broadcast, I: by interrupt, L: local, -: nothing flushed, blank: not reached; estimates'
set tmargin text_only ? 4 : slant ? 8 : 4.5
set xrange [0.5 : shown + 0.5]
set x2range [0.5 : shown + 0.5]
if (slant) {
	set x2tics () scale 0 rotate by 20 left noenhanced
} else {
	set x2tics () scale 0 norotate center noenhanced
}
do for [s = 1:shown] {
	set x2tics add (series_name[s] s)
}
x(s) = s <= shown ? s : NaN

set multiplot layout panels, 1
do for [p = 1:panels] {
	set yrange [*:*]
	stats $data index (p - 1) using 2 nooutput name 'ROW'
	set yrange [ROW_max + 0.5 : 0.5]
	set title panel_title[p] . rest noenhanced
	if (text_only) {
		plot $data index (p - 1) using (x($1)):2:(label(strcol(4), strcol(5), strcol(6))):ytic(3) \
			axes x2y1 with labels
	} else {
		plot for [k = 0:3] $data index (p - 1) \
			using (kind(strcol(4), strcol(5), strcol(6)) == k ? x($1) : NaN):2:($1 - 0.48):($1 + 0.48):($2 - 0.46):($2 + 0.46):ytic(3) \
			axes x2y1 with boxxyerror fs solid 1 border lc rgb '#909090' fc rgb ink[k + 1], \
			for [k = 0:3] $data index (p - 1) \
			using (lines(strcol(4), strcol(5), strcol(6)) == k ? x($1) : NaN):2:(label(strcol(4), strcol(5), strcol(6))) \
			axes x2y1 with labels font sprintf(',%d', shown > 7 ? 7 : 10) offset 0, (k > 1 ? 0.35 * (k - 1) : 0)
	}
}
unset multiplot
