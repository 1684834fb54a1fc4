/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ANALYSIS_HTML_STYLE_H
#define ANALYSIS_HTML_STYLE_H

/* The page's style; classes of pictures are in svg.h. */
extern const char html_style[];

/* A script without which the page is complete: it sorts tables. */
extern const char html_script[];

#endif
