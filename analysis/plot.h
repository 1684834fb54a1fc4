/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures, drawn by gnuplot. A report NAME that has one brings NAME.gp and, in NAME.sql, a
 * statement marked "-- plot". Its first column names the panel a row belongs to; rows of a panel
 * lie together. A second column called "series" names the line a row belongs to.
 *
 * Before NAME.gp runs, the terminal is set and these exist:
 *
 *   $data          the other columns, text in double quotes, NULL as NaN, a series as its number
 *                  from 1; panels are apart by two empty lines: "plot $data index p - 1"
 *   panels         how many there are
 *   panel_title[p] the name of panel p, from 1
 *   panel_rows[p]  its rows
 *   series         how many series there are in all panels
 *   series_name[s] the name of series s, from 1
 *   widest         characters of the longest text in the first column of $data, at most 60
 *   terminal       "png", "svg" or "dumb"
 *   columns        of the text terminal, for "dumb"
 *
 * A line "# panel: PIXELS LINES" in NAME.gp sets the height of a panel; without it that follows
 * from its rows.
 */
#ifndef ANALYSIS_PLOT_H
#define ANALYSIS_PLOT_H

#include <stddef.h>
#include <sqlite3.h>

#include "analysis/report.h"
#include "analysis/text.h"

enum plot_format {
	PLOT_PNG,
	PLOT_SVG,
	PLOT_DUMB
};

/*
 * Draws report R of DB into *IMAGE (bytes of a file, or text for PLOT_DUMB); of HOW, trace, policy
 * and width matter. Returns 0; -ENODATA: nothing to draw; -ENOENT: no gnuplot on this host; another
 * negative errno. ERR gets the reason. text_free(IMAGE) is due in every case.
 */
int plot_draw(sqlite3 *db, const struct report *r, const struct report_how *how,
	      enum plot_format format, struct text *image, char *err, size_t err_size);

#endif
