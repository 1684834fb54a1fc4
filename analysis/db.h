/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The results database as reports see it: read only, checked to be one of tlbreplay's, narrowed to
 * a trace and a policy, with functions that word numbers.
 */
#ifndef ANALYSIS_DB_H
#define ANALYSIS_DB_H

#include <stddef.h>
#include <sqlite3.h>

/*
 * Opens the database at PATH for reading. Nothing can be written or created through *DB, by any
 * SQL: statements other than queries are refused. Returns 0, or a negative errno with the reason
 * (without PATH) in ERR. Close with sqlite3_close().
 */
int db_open(const char *path, sqlite3 **db, char *err, size_t err_size);

/*
 * Puts a copy in memory, which can be written to, in the place of *DB, which PATH is the name of.
 * The file stays as it is. Returns 0, or a negative errno with ERR and *DB as it was.
 */
int db_copy(sqlite3 **db, const char *path, char *err, size_t err_size);

/* From now on SQL may do on that copy what it may on a database from db_open(). */
void db_guard(sqlite3 *db);

/*
 * Opens an empty database of our schema in memory, to see what queries look like. Returns like
 * db_open().
 */
int db_empty(sqlite3 **db, char *err, size_t err_size);

/*
 * Narrows every view of the interface, and the tables "traces" and "policies", to one trace and one
 * policy from now on. POLICY is a policy as given, or a bare name that means it with any
 * parameters. NULL: all. "main.v_flush" and the like still show everything. Returns 0 or -EIO.
 */
int db_narrow(sqlite3 *db, const char *trace, const char *policy, char *err, size_t err_size);

/*
 * Checks that TRACE and POLICY (either may be NULL) exist. Returns 0, -ENOENT with a message that
 * names what there is, or -EIO.
 */
int db_check(sqlite3 *db, const char *trace, const char *policy, char *err, size_t err_size);

#endif
