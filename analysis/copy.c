// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/copy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/text.h"

static int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) ? -EIO : 0;
}

/* Runs SQL, which is freed, with the recording's old and new number as ?1 and ?2. */
static int run_for(const struct copy *c, char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sql ? sqlite3_prepare_v2(c->db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (!rc) {
		sqlite3_bind_int64(stmt, 1, c->from);
		sqlite3_bind_int64(stmt, 2, c->to);
		rc = sqlite3_step(stmt);
	}
	/* What went wrong stays in sqlite3_errmsg(). */
	return sqlite3_finalize(stmt) || rc == SQLITE_NOMEM || (rc && rc != SQLITE_DONE) ? -EIO : 0;
}

int copy_policies(const struct copy *c)
{
	if (run(c->db, "CREATE TEMP TABLE IF NOT EXISTS policy_map(old INTEGER PRIMARY KEY, new);"
		       "DELETE FROM temp.policy_map"))
		return -EIO;
	return run_for(c, sqlite3_mprintf("INSERT INTO temp.policy_map SELECT id, %lld - 1 + "
					  "row_number() OVER (ORDER BY id) FROM part.policies "
					  "WHERE trace = ?1",
					  (long long)c->first_policy));
}

/* What a column of TABLE refers to: "traces", "policies" or nothing. */
static void refers_to(sqlite3 *db, const char *table, const char *column, char *out, size_t size)
{
	sqlite3_stmt *stmt = NULL;

	*out = '\0';
	if (!sqlite3_prepare_v2(db,
				"SELECT \"table\" FROM pragma_foreign_key_list(?1, 'main') "
				"WHERE \"from\" = ?2",
				-1, &stmt, NULL)) {
		sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, column, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			snprintf(out, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
}

/*
 * "SELECT ... FROM part.TABLE ..." with the numbers that rows get here. Returns 0, -EINVAL or -EIO.
 */
static int select_rows(const struct copy *c, const char *table, struct text *sql)
{
	bool policies = !strcmp(table, "policies"), by_policy = policies, by_trace = false;
	struct text where = {0}, join = {0};
	sqlite3_stmt *stmt = NULL;
	char target[64];

	text_addf(sql, "SELECT ");
	if (sqlite3_prepare_v2(c->db, "SELECT name FROM pragma_table_info(?1, 'main')", -1, &stmt,
			       NULL))
		return -EIO;
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	for (int i = 0; sqlite3_step(stmt) == SQLITE_ROW; i++) {
		const char *column = (const char *)sqlite3_column_text(stmt, 0);

		refers_to(c->db, table, column, target, sizeof(target));
		text_addf(sql, i ? ", " : "");
		if (!strcmp(target, "traces")) {
			by_trace = true;
			text_addf(sql, "?2");
			text_addf(&where, " WHERE f.\"%s\" = ?1", column);
		} else if (!strcmp(target, "policies") || (policies && !strcmp(column, "id"))) {
			by_policy = true;
			text_addf(sql, "m.new");
			text_addf(&join, " JOIN temp.policy_map m ON m.old = f.\"%s\"", column);
		} else {
			text_addf(sql, "f.\"%s\"", column);
		}
	}
	sqlite3_finalize(stmt);
	text_addf(sql, " FROM part.\"%s\" f%s%s", table, join.len ? join.text : "",
		  where.len ? where.text : "");
	text_free(&where);
	text_free(&join);
	return by_trace || by_policy ? 0 : -EINVAL;
}

static bool has_rowid(sqlite3 *db, const char *table)
{
	return !sqlite3_table_column_metadata(db, "main", table, "rowid", NULL, NULL, NULL, NULL,
					      NULL);
}

int copy_rows(const struct copy *c, const char *table, const char *target)
{
	struct text sql = {0};
	int ret;

	text_addf(&sql, "INSERT INTO %s ", target);
	ret = select_rows(c, table, &sql);
	if (!ret)
		ret = run_for(c,
			      sqlite3_mprintf("%s%s", sql.text,
					      has_rowid(c->db, table) ? " ORDER BY f.rowid" : ""));
	text_free(&sql);
	return ret;
}

int copy_differs(const struct copy *c, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	struct text sql = {0};
	int ret;

	ret = select_rows(c, table, &sql);
	if (!ret) {
		text_addf(&sql, " EXCEPT SELECT * FROM main.\"%s\"", table);
		ret = sqlite3_prepare_v2(c->db, sql.text, -1, &stmt, NULL) ? -EIO : 0;
	}
	if (!ret) {
		sqlite3_bind_int64(stmt, 1, c->from);
		sqlite3_bind_int64(stmt, 2, c->to);
		ret = sqlite3_step(stmt) == SQLITE_ROW;
	}
	if (sqlite3_finalize(stmt))
		ret = -EIO;
	text_free(&sql);
	return ret;
}

int copy_tables(sqlite3 *db, int (*each)(void *ctx, const char *table), void *ctx)
{
	sqlite3_stmt *stmt = NULL;
	int ret = 0;

	/* About hosts, not recordings: meta and the tables of a fleet. */
	if (sqlite3_prepare_v2(
		    db,
		    "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name "
		    "NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'fleet\\_%' ESCAPE "
		    "'\\' AND name NOT IN ('meta', 'traces', 'policies') ORDER BY name",
		    -1, &stmt, NULL))
		return -EIO;
	while (!ret && sqlite3_step(stmt) == SQLITE_ROW)
		ret = each(ctx, (const char *)sqlite3_column_text(stmt, 0));
	if (sqlite3_finalize(stmt) && !ret)
		ret = -EIO;
	return ret;
}
