/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SQLite extension build/tlbtrace.so: the raw events of a recording as a table, without
 * importing them.
 *
 *	.load build/tlbtrace.so
 *	SELECT event, count(*) FROM tlbtrace('host.dat') GROUP BY 1;
 *	CREATE VIRTUAL TABLE temp.t USING tlbtrace('host.dat');
 *	SELECT * FROM t WHERE time_ns BETWEEN 10500000000 AND 10501000000 AND cpu = 2;
 *
 * Columns: time_ns, cpu, tid, comm, mm, system, event, address, flags, ret, fields, buffer, lost;
 * what each means is in docs/sql.md. Conditions on time_ns, cpu, tid, system and event are used:
 * the first two leave pages unread, the others save decoding. Rows come by time.
 *
 * tlbtrace_stats() gives, as JSON, what was read since it was last called.
 */
#ifndef ANALYSIS_VTAB_H
#define ANALYSIS_VTAB_H

#include <sqlite3ext.h>

__attribute__((visibility("default"))) int
sqlite3_tlbtrace_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

#endif
