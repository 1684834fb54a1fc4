// SPDX-License-Identifier: GPL-2.0-or-later
#include "schema/terms.h"

#define AS_TEXT(id, text) text,

static const char *const points[] = {POINTS(AS_TEXT)};
static const char *const levels[] = {LEVELS(AS_TEXT)};
static const char *const scopes[] = {SCOPES(AS_TEXT)};
static const char *const kinds[] = {STALENESS(AS_TEXT)};
static const char *const endings[] = {ENDINGS(AS_TEXT)};

const char *point_name(unsigned int point)
{
	return point < NR_POINTS ? points[point] : "?";
}

const char *level_name(unsigned int level)
{
	return level < NR_LEVELS ? levels[level] : "?";
}

const char *scope_name(unsigned int scope)
{
	return scope < NR_SCOPES ? scopes[scope] : "?";
}

const char *staleness_name(unsigned int kind)
{
	return kind < NR_STALENESS ? kinds[kind] : "?";
}

const char *ended_name(unsigned int ended)
{
	return ended < NR_ENDED ? endings[ended] : "?";
}
