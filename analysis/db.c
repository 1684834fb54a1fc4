// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/db.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/sample.h"
#include "analysis/text.h"

static const char schema_sql[] =
#include "schema/results.sql.h"
	;

/* The schema says which version it is; nothing else repeats the number. */
static int schema_version(void)
{
	static const char mark[] = "\nPRAGMA user_version = ";
	const char *at = strstr(schema_sql, mark);

	return at ? atoi(at + sizeof(mark) - 1) : -1;
}

/* SQL functions ---------------------------------------------------------------------------------
 */

static void result_text(sqlite3_context *ctx, struct text *t)
{
	for (size_t i = 0; i < t->len; i++)
		if (t->text[i] == TEXT_GLUE[0])
			t->text[i] = ' ';
	sqlite3_result_text(ctx, t->text ? t->text : "", (int)t->len, SQLITE_TRANSIENT);
	text_free(t);
}

static bool any_null(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	for (int i = 0; i < n; i++)
		if (sqlite3_value_type(v[i]) == SQLITE_NULL) {
			sqlite3_result_null(ctx);
			return true;
		}
	return false;
}

/* One function serves all kinds: its user data is the kind, its arguments one value or three. */
static void sql_number(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	enum number_kind kind = (enum number_kind)(intptr_t)sqlite3_user_data(ctx);
	struct text t = {0};

	if (any_null(ctx, n, v))
		return;
	if (n == 1)
		number_add(&t, kind, sqlite3_value_double(v[0]));
	else
		number_add_range(&t, kind, sqlite3_value_double(v[0]), sqlite3_value_double(v[1]),
				 sqlite3_value_double(v[2]));
	result_text(ctx, &t);
}

/* count_of(2, 'place') is "2 places"; a third argument is the plural where it is not an s more. */
static void sql_count_of(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	struct text t = {0};

	if (any_null(ctx, n, v))
		return;
	number_add(&t, NUMBER_COUNT, sqlite3_value_double(v[0]));
	if (sqlite3_value_double(v[0]) == 1 || n == 2)
		text_addf(&t, " %s%s", (const char *)sqlite3_value_text(v[1]),
			  sqlite3_value_double(v[0]) == 1 ? "" : "s");
	else
		text_addf(&t, " %s", (const char *)sqlite3_value_text(v[2]));
	result_text(ctx, &t);
}

static bool shell_plain(const char *s)
{
	return *s && *s != '-' &&
	       !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789/._-+:=@%,")];
}

/* shell_word(NAME): NAME as one can type it into a shell. */
static void sql_shell_word(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	struct text t = {0};

	if (any_null(ctx, n, v))
		return;
	const char *s = (const char *)sqlite3_value_text(v[0]);
	if (!s || shell_plain(s)) {
		sqlite3_result_value(ctx, v[0]);
		return;
	}
	text_add(&t, "'", 1);
	for (; *s; s++)
		if (*s == '\'')
			text_addf(&t, "'\\''");
		else
			text_add(&t, s, 1);
	text_add(&t, "'", 1);
	result_text(ctx, &t);
}

/* program(): this program as it was called, so that what we suggest can be typed as it stands. */
static void sql_program(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	(void)n;
	(void)v;
	sqlite3_result_text(ctx, program_invocation_name, -1, SQLITE_STATIC);
}

/* database(): the file as it was named on the command line. */
static void sql_database(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	(void)n;
	(void)v;
	sqlite3_result_text(ctx, sqlite3_user_data(ctx), -1, SQLITE_TRANSIENT);
}

static int add_functions(sqlite3 *db, const char *path)
{
	static const struct {
		const char *name;
		int args;
		enum number_kind kind;
	} numbers[] = {
		{"human_count", 1, NUMBER_COUNT}, {"human_count", 3, NUMBER_COUNT},
		{"human_ns", 1, NUMBER_NS},       {"human_ns", 3, NUMBER_NS},
		{"human_share", 1, NUMBER_SHARE}, {"human_share", 3, NUMBER_SHARE},
		{"human_bytes", 1, NUMBER_BYTES}, {"human_bytes", 3, NUMBER_BYTES},
	};
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	char *copy = strdup(path);
	int rc = copy ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; !rc && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		rc = sqlite3_create_function_v2(db, numbers[i].name, numbers[i].args, flags,
						(void *)(intptr_t)numbers[i].kind, sql_number, NULL,
						NULL, NULL);
	for (int args = 2; !rc && args <= 3; args++)
		rc = sqlite3_create_function_v2(db, "count_of", args, flags, NULL, sql_count_of,
						NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_create_function_v2(db, "shell_word", 1, flags, NULL, sql_shell_word,
						NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_create_function_v2(db, "program", 0, flags, NULL, sql_program, NULL,
						NULL, NULL);
	if (!rc)
		rc = sample_functions(db);
	if (!rc) /* frees COPY even when it fails */
		return sqlite3_create_function_v2(db, "database", 0, flags, copy, sql_database,
						  NULL, NULL, free);
	free(copy);
	return rc;
}

/* Access ----------------------------------------------------------------------------------------
 */

static bool harmless_pragma(const char *name, const char *value)
{
	static const char *const about[] = {"table_info", "table_xinfo", "table_list",
					    "index_list", "index_info",  "function_list"};

	if (!strcmp(name, "user_version"))
		return !value;
	for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++)
		if (!strcmp(name, about[i]))
			return true;
	return false;
}

/*
 * A read-only connection could still write elsewhere (ATTACH, VACUUM INTO), so what a report may do
 * is listed, not what it may not.
 */
static int authorize(void *unused, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	(void)unused;
	(void)c;
	(void)d;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && !sqlite3_stricmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		return a && harmless_pragma(a, b) ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_CREATE_TABLE:
		/*
		 * Table-valued functions (json_each, pragma_table_info) declare their columns so;
		 * anything real of this kind fails on the read-only database.
		 */
		return SQLITE_OK;
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
		return a && !strcmp(a, "sqlite_master") ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

/* Runs a query of one number. Returns 0, or -EIO with *OUT unchanged. */
static int number(sqlite3 *db, const char *sql, int *out)
{
	sqlite3_stmt *stmt = NULL;
	int err = -EIO;

	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW) {
		*out = sqlite3_column_int(stmt, 0);
		err = 0;
	}
	sqlite3_finalize(stmt);
	return err;
}

static int check_schema(sqlite3 *db, char *err, size_t err_size)
{
	int version = 0, ours = 0;

	if (number(db, "PRAGMA user_version", &version) ||
	    number(db,
		   "SELECT count(*) FROM sqlite_schema WHERE (type, name) IN "
		   "(('table', 'traces'), ('table', 'policies'), ('view', 'v_flush'), "
		   "('view', 'v_verdict'))",
		   &ours)) {
		snprintf(err, err_size, "%s",
			 sqlite3_errcode(db) == SQLITE_NOTADB ? "not an SQLite database"
							      : sqlite3_errmsg(db));
		return -EIO;
	}
	if (ours < 4) {
		snprintf(err, err_size,
			 "an SQLite database, but not one that tlbreplay wrote (no results in it)");
		return -EINVAL;
	}
	if (version != schema_version()) {
		snprintf(err, err_size,
			 "results of schema version %d; this tlbreport reads version %d: %s",
			 version, schema_version(),
			 version < schema_version() ? "replay the recordings again"
						    : "a newer tlbreport is needed");
		return -EINVAL;
	}
	return 0;
}

int db_open(const char *path, sqlite3 **db, char *err, size_t err_size)
{
	struct text name = {0};
	struct stat st;
	int ret;

	*db = NULL;
	if (stat(path, &st)) {
		ret = -errno;
		snprintf(err, err_size, "%s", strerror(-ret));
		return ret;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(err, err_size,
			 S_ISDIR(st.st_mode) ? "is a directory, not a database"
					     : "not a regular file");
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	}
	/* ":memory:" and "file:x" are names of files here, not SQLite's special ones. */
	text_addf(&name, "%s%s", *path == '/' ? "" : "./", path);
	if (!name.text)
		return -ENOMEM;
	int rc = sqlite3_open_v2(name.text, db, SQLITE_OPEN_READONLY, NULL);
	text_free(&name);
	if (!rc) {
		sqlite3_busy_timeout(*db, 5000);
		sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
		sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
		rc = sqlite3_exec(*db, "PRAGMA temp_store = memory", NULL, NULL, NULL);
	}
	if (!rc)
		rc = add_functions(*db, path);
	if (rc) {
		snprintf(err, err_size, "%s", *db ? sqlite3_errmsg(*db) : sqlite3_errstr(rc));
		ret = rc == SQLITE_NOMEM ? -ENOMEM : -EIO;
		goto fail;
	}
	ret = check_schema(*db, err, err_size);
	if (ret)
		goto fail;
	sqlite3_set_authorizer(*db, authorize, NULL);
	return 0;

fail:
	sqlite3_close(*db);
	*db = NULL;
	return ret;
}

int db_copy(sqlite3 **db, const char *path, char *err, size_t err_size)
{
	sqlite3 *copy = NULL;
	sqlite3_backup *backup = NULL;
	int rc = sqlite3_open_v2(":memory:", &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	sqlite3_set_authorizer(*db, NULL, NULL);
	if (!rc)
		backup = sqlite3_backup_init(copy, "main", *db, "main");
	if (backup) {
		rc = sqlite3_backup_step(backup, -1);
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
		sqlite3_backup_finish(backup);
	} else if (!rc) {
		rc = sqlite3_errcode(copy);
	}
	if (!rc)
		rc = add_functions(copy, path);
	if (rc) {
		snprintf(err, err_size, "%s", copy ? sqlite3_errmsg(copy) : sqlite3_errstr(rc));
		sqlite3_close(copy);
		return rc == SQLITE_NOMEM ? -ENOMEM : -EIO;
	}
	sqlite3_db_config(copy, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	sqlite3_close(*db);
	*db = copy;
	return 0;
}

void db_guard(sqlite3 *db)
{
	sqlite3_exec(db, "PRAGMA temp_store = memory", NULL, NULL, NULL);
	sqlite3_set_authorizer(db, authorize, NULL);
}

int db_empty(sqlite3 **db, char *err, size_t err_size)
{
	int rc = sqlite3_open_v2(":memory:", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (!rc)
		rc = sqlite3_exec(*db, schema_sql, NULL, NULL, NULL);
	if (!rc)
		rc = add_functions(*db, "");
	if (!rc) {
		sqlite3_set_authorizer(*db, authorize, NULL);
		return 0;
	}
	snprintf(err, err_size, "%s", *db ? sqlite3_errmsg(*db) : sqlite3_errstr(rc));
	sqlite3_close(*db);
	*db = NULL;
	return rc == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

/* Narrowing -------------------------------------------------------------------------------------
 */

static bool has_column(sqlite3 *db, const char *view, const char *column)
{
	char *sql = sqlite3_mprintf(
		"SELECT count(*) FROM pragma_table_info(%Q, 'main') WHERE name = %Q", view, column);
	int n = 0;

	if (sql)
		number(db, sql, &n);
	sqlite3_free(sql);
	return n > 0;
}

static void narrow_one(struct text *sql, sqlite3 *db, const char *view, const char *trace,
		       const char *policy)
{
	char *part = sqlite3_mprintf("DROP VIEW IF EXISTS temp.\"%w\";\n", view);

	if (part)
		text_add(sql, part, strlen(part));
	sqlite3_free(part);
	if (!has_column(db, view, "trace"))
		trace = NULL;
	if (!has_column(db, view, "policy"))
		policy = NULL;
	if (!trace && !policy)
		return;
	part = sqlite3_mprintf("CREATE TEMP VIEW \"%w\" AS SELECT * FROM main.\"%w\" WHERE 1", view,
			       view);
	if (part)
		text_add(sql, part, strlen(part));
	sqlite3_free(part);
	if (trace) {
		part = sqlite3_mprintf(" AND trace = %Q", trace);
		if (part)
			text_add(sql, part, strlen(part));
		sqlite3_free(part);
	}
	if (policy) {
		part = sqlite3_mprintf(" AND (policy = %Q OR substr(policy, 1, instr(policy || "
				       "':', ':') - 1) = %Q)",
				       policy, policy);
		if (part)
			text_add(sql, part, strlen(part));
		sqlite3_free(part);
	}
	text_add(sql, ";\n", 2);
}

int db_narrow(sqlite3 *db, const char *trace, const char *policy, char *err, size_t err_size)
{
	sqlite3_stmt *stmt = NULL;
	struct text sql = {0};
	int ret = 0;

	if (sqlite3_prepare_v2(db,
			       "SELECT name FROM main.sqlite_schema WHERE type = 'view' AND name "
			       "GLOB 'v_*' UNION ALL SELECT 'traces' UNION ALL SELECT 'policies'",
			       -1, &stmt, NULL))
		goto fail;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *view = (const char *)sqlite3_column_text(stmt, 0);
		bool policies = !strcmp(view, "policies");

		/* There the trace is a number; joining "traces" narrows it. */
		narrow_one(&sql, db, view, policies ? NULL : trace, policy);
	}
	if (sqlite3_finalize(stmt))
		goto fail;
	sqlite3_set_authorizer(db, NULL, NULL);
	ret = sqlite3_exec(db, sql.text ? sql.text : "", NULL, NULL, NULL);
	sqlite3_set_authorizer(db, authorize, NULL);
	text_free(&sql);
	if (!ret)
		return 0;
fail:
	snprintf(err, err_size, "%s", sqlite3_errmsg(db));
	text_free(&sql);
	return -EIO;
}

/* Whether WANTED is among the rows of SQL's only parameter; lists what there is into HAVE. */
static int among(sqlite3 *db, const char *match, const char *list, const char *wanted,
		 struct text *have)
{
	sqlite3_stmt *stmt = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(db, match, -1, &stmt, NULL))
		return -EIO;
	sqlite3_bind_text(stmt, 1, wanted, -1, SQLITE_STATIC);
	found = sqlite3_step(stmt) == SQLITE_ROW;
	if (sqlite3_finalize(stmt))
		return -EIO;
	if (found)
		return 0;
	if (sqlite3_prepare_v2(db, list, -1, &stmt, NULL))
		return -EIO;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		if (have->len)
			text_add(have, ", ", 2);
		text_add_clean(have, (const char *)sqlite3_column_text(stmt, 0),
			       (size_t)sqlite3_column_bytes(stmt, 0));
	}
	return sqlite3_finalize(stmt) ? -EIO : -ENOENT;
}

int db_check(sqlite3 *db, const char *trace, const char *policy, char *err, size_t err_size)
{
	struct text have = {0};
	const char *what = "trace", *wanted = trace;
	int ret = 0;

	if (trace)
		ret = among(db, "SELECT 1 FROM main.traces WHERE trace = ?1",
			    "SELECT trace FROM main.traces ORDER BY id", trace, &have);
	if (!ret && policy) {
		what = "policy";
		wanted = policy;
		ret = among(db,
			    "SELECT 1 FROM main.policies WHERE policy = ?1 OR "
			    "substr(policy, 1, instr(policy || ':', ':') - 1) = ?1",
			    "SELECT policy FROM main.policies GROUP BY policy ORDER BY min(id)",
			    policy, &have);
	}
	if (ret == -ENOENT)
		snprintf(err, err_size, "no %s \"%s\" in it; there is: %s", what, wanted,
			 have.text ? have.text : "none");
	else if (ret)
		snprintf(err, err_size, "%s", sqlite3_errmsg(db));
	text_free(&have);
	return ret;
}
