# SPDX-License-Identifier: GPL-2.0-or-later
# The hottest regions, from first to last page, the darker the more decisions a page.
# $data: label, place from 1, cell from 0, cells of the region, decisions a page.
# panel: 560 32

text_only = terminal eq 'dumb'

unset key
set border 3
set tics nomirror out
set ytics scale 0
set xrange [0:100]
set xlabel 'position in the region, % of its size'
# One hue from pale to dark reads in grey and for colour-blind people; blank is no decision.
set palette defined (0 '#d6e6f4', 0.35 '#7fb2d8', 0.7 '#2f79b5', 1 '#08306b')
set logscale cb 10
set cblabel 'decisions a page (logarithmic)'
stats $data using 5 nooutput name 'HEAT'
most = HEAT_max > 1 ? HEAT_max : 1
least = HEAT_min
least = least < most ? least : most / 2.0
set cbrange [least:most]
set cbtics ()
do for [k = floor(log10(least)) : ceil(log10(most))] {
	do for [m in (most / least < 300 ? '1 2 5' : '1')] {
		if (m * 10.0 ** k >= 0.99 * least && m * 10.0 ** k <= 1.01 * most) {
			set cbtics add (sprintf('%g', m * 10.0 ** k) m * 10.0 ** k)
		}
	}
}
set cblabel offset 1
shade(v) = substr('.:-=+*#@', 1 + shade_of(v), 1 + shade_of(v))
shade_of(v) = v >= most ? 7 : v <= least ? 0 : int(8 * log(v / least) / log(most / least))
if (text_only) {
	set lmargin widest + 2
	set rmargin 2
} else {
	set lmargin (widest < 14 ? 14 : widest) + 3
	set rmargin 14
	set tmargin 2.5
	set bmargin 3.5
}

set multiplot layout panels, 1
do for [p = 1:panels] {
	set xrange [*:*]
	set yrange [*:*]
	stats $data index (p - 1) using 2 nooutput name 'PLACE'
	set xrange [0:100]
	bottom = PLACE_max > 6 ? PLACE_max : 6
	set yrange [bottom + 0.7 : 0.3]
	set title panel_title[p] noenhanced
	if (text_only) {
		plot $data index (p - 1) using (100.0 * ($3 + 0.5) / $4):2:(shade($5)):ytic(1) with labels
	} else {
		plot $data index (p - 1) using (100.0 * $3 / $4):2:(100.0 * $3 / $4):(100.0 * ($3 + 1) / $4 + 0.12):($2 - 0.4):($2 + 0.4):5:ytic(1) \
			with boxxyerror fs solid 1 noborder lc palette
	}
}
unset multiplot
