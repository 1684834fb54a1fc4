// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First all parts are looked at and one small record is kept of each recording in them. Sorted by
 * name and content, these are the order of the result; then one after the other is copied, in a
 * transaction of its own. So the result's bytes are the same whatever the order of the parts.
 */
#include "analysis/merge.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/copy.h"
#include "analysis/db.h"
#include "analysis/shards.h"

static const char schema_sql[] =
#include "schema/results.sql.h"
	;

/* One recording in one part. */
struct source {
	const char *path;               /* of the part */
	const struct manifest_row *row; /* that the part is of; NULL: of none */
	char *name, *hash, *how;        /* base name, content, how it was replayed */
	int64_t trace, part, parts;     /* part 0: not a shard */
};

struct merger {
	const struct merge_how *how;
	sqlite3 *db;
	const char *attached;
	struct source *sources;
	size_t nr, max;
	char version[64]; /* of the program that wrote the parts */
	const char *first_path;
	int64_t trace, policies; /* numbers given so far */
	struct text *missing;
	char *err;
	size_t err_size;
};

static int fault(struct merger *m, int ret, const char *path, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int fault(struct merger *m, int ret, const char *path, const char *format, ...)
{
	va_list args;
	int n = snprintf(m->err, m->err_size, "%s: ", path);

	va_start(args, format);
	if (n >= 0 && (size_t)n < m->err_size)
		vsnprintf(m->err + n, m->err_size - (size_t)n, format, args);
	va_end(args);
	return ret;
}

static int out_fault(struct merger *m)
{
	return fault(m, -EIO, m->how->out, "cannot write the results: %s", sqlite3_errmsg(m->db));
}

static int run(struct merger *m, const char *sql)
{
	return sqlite3_exec(m->db, sql, NULL, NULL, NULL) ? out_fault(m) : 0;
}

/* ---- looking at parts ---- */

static char *column(sqlite3_stmt *stmt, int i)
{
	const char *text = (const char *)sqlite3_column_text(stmt, i);

	return strdup(text ? text : "");
}

/*
 * What a list calls a recording is its name, not the file that a task happened to replay: one
 * content may have had another name, or two.
 */
static char *listed_name(const struct manifest_row *row)
{
	const char *slash = strrchr(row->path, '/');
	char *name = strdup(slash ? slash + 1 : row->path);

	for (char *at = name; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	return name;
}

static int add_source(struct merger *m, const char *path, const struct manifest_row *row,
		      sqlite3_stmt *stmt)
{
	if (m->nr == m->max) {
		size_t max = m->max ? m->max * 2 : 256;
		struct source *more = realloc(m->sources, max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		m->sources = more;
		m->max = max;
	}
	struct source *s = &m->sources[m->nr++];
	*s = (struct source){.path = path,
			     .row = row,
			     .trace = sqlite3_column_int64(stmt, 0),
			     .name = row ? listed_name(row) : column(stmt, 1),
			     .hash = column(stmt, 2),
			     .how = column(stmt, 3),
			     .part = sqlite3_column_int64(stmt, 4),
			     .parts = sqlite3_column_int64(stmt, 5)};
	return s->name && s->hash && s->how ? 0 : -ENOMEM;
}

/* The program that wrote the part must be that of all others. */
static int check_version(struct merger *m, sqlite3 *db, const char *path)
{
	sqlite3_stmt *stmt = NULL;
	const char *version = NULL;
	int ret = 0;

	if (!sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = 'tlbreplay'", -1, &stmt,
				NULL) &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		version = (const char *)sqlite3_column_text(stmt, 0);
	if (!version)
		ret = fault(m, -EINVAL, path, "it does not say which tlbreplay wrote it");
	else if (!m->first_path)
		snprintf(m->version, sizeof(m->version), "%s", version);
	else if (strcmp(version, m->version) != 0)
		ret = fault(m, -EINVAL, path,
			    "written by tlbreplay %s, but %s by %s: they are not to be compared",
			    version, m->first_path, m->version);
	if (!m->first_path)
		m->first_path = path;
	sqlite3_finalize(stmt);
	return ret;
}

/*
 * A name "NAME#2" was made by tlbreplay where NAME was taken; the name that a recording gets here
 * does not depend on that.
 */
static const char traces_sql[] =
	"SELECT t.id, coalesce((SELECT b.trace FROM traces b WHERE substr(t.trace, 1, "
	"length(b.trace) + 1) = b.trace || '#' AND substr(t.trace, length(b.trace) + 2) GLOB "
	"'[1-9]*' AND NOT substr(t.trace, length(b.trace) + 2) GLOB '*[^0-9]*' ORDER BY b.id LIMIT "
	"1), t.trace), t.hash, (SELECT group_concat(policy, '|') FROM (SELECT policy FROM policies "
	"WHERE trace = t.id ORDER BY id)) || '|' || (SELECT group_concat(name || '=' || value, "
	"'|') "
	"FROM (SELECT name, value FROM runs WHERE trace = t.id ORDER BY name)), s.part, s.parts "
	"FROM traces t LEFT JOIN shards s ON s.trace = t.id ORDER BY t.id";

/* Hosts come from one list, so that a host is not there twice. */
static int check_hosts(struct merger *m, sqlite3 *db, const char *path)
{
	sqlite3_stmt *stmt = NULL;
	int ret = 0;

	if (sqlite3_prepare_v2(db, "SELECT 1 FROM fleet_hosts LIMIT 1", -1, &stmt, NULL))
		ret = fault(m, -EIO, path, "%s", sqlite3_errmsg(db));
	else if (sqlite3_step(stmt) == SQLITE_ROW)
		ret = fault(m, -EINVAL, path,
			    "it was merged with a list of hosts; merge its parts again instead");
	sqlite3_finalize(stmt);
	return ret;
}

static int look_at(struct merger *m, const char *path, const struct manifest_row *row)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	char reason[400];
	size_t before = m->nr;
	int ret = db_open(path, &db, reason, sizeof(reason)), rc;

	if (ret)
		return fault(m, ret, path, "%s", reason);
	ret = check_version(m, db, path);
	if (!ret)
		ret = check_hosts(m, db, path);
	if (!ret && sqlite3_prepare_v2(db, traces_sql, -1, &stmt, NULL))
		ret = fault(m, -EIO, path, "%s", sqlite3_errmsg(db));
	while (!ret && (rc = sqlite3_step(stmt)) != SQLITE_DONE) {
		ret = rc == SQLITE_ROW ? add_source(m, path, row, stmt)
				       : fault(m, -EIO, path, "%s", sqlite3_errmsg(db));
	}
	if (ret == -ENOMEM)
		fault(m, ret, path, "out of memory");
	if (!ret && row && m->nr != before + 1 && m->sources[m->nr - 1].part == 0)
		ret = fault(m, -EINVAL, path, "a part of the list must hold one recording, not %zu",
			    m->nr - before);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return ret;
}

static int by_content(const void *a, const void *b)
{
	const struct source *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	order = order ? order : strcmp(x->hash, y->hash);
	order = order ? order : strcmp(x->how, y->how);
	order = order ? order : (x->parts > y->parts) - (x->parts < y->parts);
	return order ? order : (x->part > y->part) - (x->part < y->part);
}

/* Whether A and B are of one recording, replayed in the same way. */
static bool same_replay(const struct source *a, const struct source *b)
{
	return !strcmp(a->hash, b->hash) && !strcmp(a->how, b->how) && a->parts == b->parts;
}

static int by_replay(const void *a, const void *b)
{
	const struct source *x = *(const struct source *const *)a,
			    *y = *(const struct source *const *)b;
	int order = strcmp(x->hash, y->hash);

	order = order ? order : strcmp(x->how, y->how);
	order = order ? order : (x->parts > y->parts) - (x->parts < y->parts);
	order = order ? order : (x->part > y->part) - (x->part < y->part);
	return order ? order : strcmp(x->path, y->path);
}

/* One recording counted twice would be worse than none. */
static int find_twice(struct merger *m)
{
	const struct source **order = calloc(m->nr + 1, sizeof(*order));
	int ret = order ? 0 : -ENOMEM;

	for (size_t i = 0; order && i < m->nr; i++)
		order[i] = &m->sources[i];
	if (order)
		qsort(order, m->nr, sizeof(*order), by_replay);
	for (size_t i = 1; order && !ret && i < m->nr; i++) {
		const struct source *a = order[i - 1], *b = order[i];

		if (same_replay(a, b) && a->part == b->part)
			ret = fault(
				m, -EINVAL, b->path,
				"its recording %s is in %s already%s%s: the same content, replayed "
				"in the same way",
				b->name, a->path, strcmp(a->name, b->name) ? " as " : "",
				strcmp(a->name, b->name) ? a->name : "");
	}
	free(order);
	return ret;
}

static int look_at_all(struct merger *m)
{
	const struct manifest *fleet = m->how->fleet;
	int ret = 0;

	for (size_t i = 0; !ret && i < m->how->nr_parts; i++)
		ret = look_at(m, m->how->parts[i], NULL);
	for (size_t i = 0; !ret && fleet && i < fleet->nr; i++)
		if (*fleet->rows[i].part)
			ret = look_at(m, fleet->rows[i].part, &fleet->rows[i]);
	if (!ret)
		ret = find_twice(m);
	if (!ret && m->nr)
		qsort(m->sources, m->nr, sizeof(*m->sources), by_content);
	return ret;
}

/* ---- copying ---- */

static int attach(struct merger *m, const char *path)
{
	sqlite3_stmt *stmt = NULL;
	struct text name = {0};
	int rc = SQLITE_OK;

	if (m->attached && !strcmp(m->attached, path))
		return 0;
	if (m->attached)
		rc = sqlite3_exec(m->db, "DETACH part", NULL, NULL, NULL);
	m->attached = NULL;
	/* Names of files, not SQLite's special ones. */
	text_addf(&name, "%s%s", *path == '/' ? "" : "./", path);
	if (!rc)
		rc = sqlite3_prepare_v2(m->db, "ATTACH ?1 AS part", -1, &stmt, NULL);
	if (!rc) {
		sqlite3_bind_text(stmt, 1, name.text, -1, SQLITE_STATIC);
		rc = sqlite3_step(stmt) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
	}
	sqlite3_finalize(stmt);
	text_free(&name);
	if (rc)
		return fault(m, -EIO, path, "%s", sqlite3_errmsg(m->db));
	m->attached = path;
	return 0;
}

/* The row of traces: under a name that is not taken yet. */
static int copy_trace(struct merger *m, const struct copy *c, const struct source *s)
{
	sqlite3_stmt *stmt = NULL;
	struct text columns = {0}, name = {0};
	char *sql;
	int rc;

	text_addf(&name, "%s", s->name);
	for (int i = 2;; i++) {
		if (sqlite3_prepare_v2(m->db, "SELECT 1 FROM main.traces WHERE trace = ?1", -1,
				       &stmt, NULL))
			return out_fault(m);
		sqlite3_bind_text(stmt, 1, name.text, -1, SQLITE_STATIC);
		rc = sqlite3_step(stmt);
		sqlite3_finalize(stmt);
		if (rc != SQLITE_ROW)
			break;
		text_free(&name);
		text_addf(&name, "%s#%d", s->name, i);
	}
	if (sqlite3_prepare_v2(m->db, "SELECT name FROM pragma_table_info('traces', 'main')", -1,
			       &stmt, NULL))
		return out_fault(m);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *at = (const char *)sqlite3_column_text(stmt, 0);

		text_addf(&columns, columns.len ? ", " : "");
		if (!strcmp(at, "id"))
			text_addf(&columns, "?2");
		else if (!strcmp(at, "trace"))
			text_addf(&columns, "?3");
		else
			text_addf(&columns, "f.\"%s\"", at);
	}
	sqlite3_finalize(stmt);
	sql = sqlite3_mprintf("INSERT INTO main.traces SELECT %s FROM part.traces f WHERE id = ?1",
			      columns.text);
	rc = sql ? sqlite3_prepare_v2(m->db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	text_free(&columns);
	if (!rc) {
		sqlite3_bind_int64(stmt, 1, c->from);
		sqlite3_bind_int64(stmt, 2, c->to);
		sqlite3_bind_text(stmt, 3, name.text, -1, SQLITE_STATIC);
		rc = sqlite3_step(stmt) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
	}
	if (sqlite3_finalize(stmt))
		rc = SQLITE_ERROR;
	text_free(&name);
	return rc ? fault(m, -EIO, s->path, "%s", sqlite3_errmsg(m->db)) : 0;
}

static int copy_table(void *ctx, const char *table)
{
	char target[128];

	snprintf(target, sizeof(target), "main.\"%s\"", table);
	return copy_rows(ctx, table, target);
}

static int count_policies(struct merger *m)
{
	sqlite3_stmt *stmt = NULL;
	int ret = -EIO;

	if (!sqlite3_prepare_v2(m->db, "SELECT count(*) FROM temp.policy_map", -1, &stmt, NULL) &&
	    sqlite3_step(stmt) == SQLITE_ROW) {
		m->policies += sqlite3_column_int64(stmt, 0);
		ret = 0;
	}
	sqlite3_finalize(stmt);
	return ret;
}

/* NR sources from S on are one recording: whole, or all of its shards. */
static int copy_recording(struct merger *m, struct source *s, size_t nr)
{
	struct copy c = {.db = m->db, .to = ++m->trace, .first_policy = m->policies + 1};
	char reason[400] = "";
	int ret = 0;

	for (size_t i = 0; !ret && i < nr; i++) {
		/* A part can only be detached between transactions. */
		c.from = s[i].trace;
		ret = attach(m, s[i].path);
		if (!ret)
			ret = run(m, "BEGIN");
		if (ret)
			return ret;
		ret = copy_policies(&c);
		if (!ret && !i) {
			ret = copy_trace(m, &c, s);
			if (ret)
				return ret;
			ret = copy_table(&c, "policies");
		}
		if (!ret && s->part)
			ret = shards_take(&c, !i, reason, sizeof(reason));
		else if (!ret)
			ret = copy_tables(m->db, copy_table, &c);
		if (ret)
			fault(m, ret, s[i].path, "%s", *reason ? reason : sqlite3_errmsg(m->db));
		if (!ret && s->part && i + 1 == nr) {
			ret = shards_write(&c, reason, sizeof(reason));
			if (ret)
				fault(m, ret, s->path, "%s", reason);
		}
		if (!ret)
			ret = run(m, "COMMIT");
	}
	return !ret && count_policies(m) ? out_fault(m) : ret;
}

/* Says which shards of the recording at S are not among the NR that are there. */
static void tell_missing(struct merger *m, const struct source *s, size_t nr)
{
	size_t at = 0;

	text_add_clean(m->missing, s->name, strlen(s->name));
	text_addf(m->missing,
		  ": left out, for these of its %lld shards are missing:", (long long)s->parts);
	for (int64_t part = 1; part <= s->parts; part++)
		if (at < nr && s[at].part == part)
			at++;
		else
			text_addf(m->missing, " %lld", (long long)part);
	text_addf(m->missing, "\n");
}

static int copy_all(struct merger *m)
{
	size_t nr;
	int ret = 0;

	for (size_t i = 0; !ret && i < m->nr; i += nr) {
		struct source *s = &m->sources[i];

		for (nr = 1; s->part && i + nr < m->nr && same_replay(s, &m->sources[i + nr]); nr++)
			;
		if (s->part && nr != (size_t)s->parts) {
			tell_missing(m, s, nr);
			for (size_t k = 0; k < nr; k++)
				s[k].trace = 0;
			continue;
		}
		ret = copy_recording(m, s, nr);
		/* Where its rows of the list find it. */
		for (size_t k = 0; k < nr; k++)
			s[k].trace = m->trace;
		if (m->how->progress)
			m->how->progress(i + nr, m->nr);
	}
	return ret;
}

/* ---- the fleet ---- */

/* Rows of one host follow each other, and its recordings are in order. */
static int by_host(const void *a, const void *b)
{
	const struct manifest_row *x = *(const struct manifest_row *const *)a,
				  *y = *(const struct manifest_row *const *)b;
	int order = strcmp(x->host, y->host);

	order = order ? order : strcmp(x->recording, y->recording);
	return order ? order : strcmp(x->path, y->path);
}

static sqlite3_stmt *prepare(struct merger *m, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	sqlite3_prepare_v2(m->db, sql, -1, &stmt, NULL);
	return stmt;
}

static int write_hosts(struct merger *m, const struct manifest_row **rows, const int64_t *traces)
{
	const struct manifest *fleet = m->how->fleet;
	sqlite3_stmt *hosts = prepare(m, "INSERT INTO fleet_hosts VALUES(?1, ?2, ?3)"),
		     *labels = prepare(m, "INSERT INTO fleet_labels VALUES(?1, ?2, ?3)"),
		     *recordings =
			     prepare(m, "INSERT INTO fleet_recordings VALUES(?1, ?2, ?3, ?4, ?5)");
	int64_t host = 0;
	bool fine = hosts && labels && recordings;

	for (size_t i = 0; fine && i < fleet->nr; i++) {
		const struct manifest_row *row = rows[i];
		int64_t trace = traces[row - fleet->rows];

		if (!i || strcmp(row->host, rows[i - 1]->host) != 0) {
			sqlite3_bind_int64(hosts, 1, ++host);
			sqlite3_bind_text(hosts, 2, row->host, -1, SQLITE_STATIC);
			sqlite3_bind_double(hosts, 3, row->weight);
			fine &= sqlite3_step(hosts) == SQLITE_DONE;
			sqlite3_reset(hosts);
			for (size_t k = 0; k < fleet->nr_labels; k++) {
				sqlite3_bind_int64(labels, 1, host);
				sqlite3_bind_text(labels, 2, fleet->labels[k], -1, SQLITE_STATIC);
				sqlite3_bind_text(labels, 3, row->labels[k], -1, SQLITE_STATIC);
				fine &= sqlite3_step(labels) == SQLITE_DONE;
				sqlite3_reset(labels);
			}
		}
		sqlite3_bind_int64(recordings, 1, host);
		sqlite3_bind_text(recordings, 2, row->recording, -1, SQLITE_STATIC);
		sqlite3_bind_text(recordings, 3, row->path, -1, SQLITE_STATIC);
		sqlite3_bind_null(recordings, 4);
		sqlite3_bind_null(recordings, 5);
		if (trace)
			sqlite3_bind_int64(recordings, 4, trace);
		else
			sqlite3_bind_text(recordings, 5,
					  *row->reason ? row->reason
					  : *row->part ? "shards are missing"
						       : "not replayed",
					  -1, SQLITE_STATIC);
		fine &= sqlite3_step(recordings) == SQLITE_DONE;
		sqlite3_reset(recordings);
		if (!trace && !*row->part) {
			text_add_clean(m->missing, row->path, strlen(row->path));
			text_addf(m->missing, " (host ");
			text_add_clean(m->missing, row->host, strlen(row->host));
			text_addf(m->missing, "): ");
			text_add_clean(m->missing, *row->reason ? row->reason : "not replayed",
				       strlen(*row->reason ? row->reason : "not replayed"));
			text_addf(m->missing, "\n");
		}
	}
	sqlite3_finalize(hosts);
	sqlite3_finalize(labels);
	sqlite3_finalize(recordings);
	return fine ? 0 : out_fault(m);
}

static int write_fleet(struct merger *m)
{
	const struct manifest *fleet = m->how->fleet;
	const struct manifest_row **rows = calloc(fleet->nr + 1, sizeof(*rows));
	int64_t *traces = calloc(fleet->nr + 1, sizeof(*traces));
	int ret = rows && traces ? 0 : fault(m, -ENOMEM, m->how->out, "out of memory");

	for (size_t i = 0; !ret && i < fleet->nr; i++)
		rows[i] = &fleet->rows[i];
	for (size_t i = 0; !ret && i < m->nr; i++)
		if (m->sources[i].row)
			traces[m->sources[i].row - fleet->rows] = m->sources[i].trace;
	if (!ret) {
		qsort(rows, fleet->nr, sizeof(*rows), by_host);
		ret = run(m, "BEGIN");
	}
	if (!ret)
		ret = write_hosts(m, rows, traces);
	if (!ret)
		ret = run(m, "COMMIT");
	free(rows);
	free(traces);
	return ret;
}

/* ---- beginning and ending ---- */

static int open_out(struct merger *m, const char *building)
{
	char *sql;
	int ret;

	unlink(building);
	if (sqlite3_open_v2(building, &m->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL)) {
		int saved = sqlite3_system_errno(m->db);

		return fault(m, -EIO, m->how->out, "cannot be created: %s",
			     strerror(saved ? saved : EIO));
	}
	sqlite3_busy_timeout(m->db, 10000);
	sqlite3_db_config(m->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	sqlite3_db_config(m->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL);
	ret = run(m, "PRAGMA page_size = 4096; PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;"
		     "PRAGMA temp_store = FILE; PRAGMA cache_size = -16384; BEGIN");
	if (!ret)
		ret = run(m, schema_sql);
	sql = sqlite3_mprintf("INSERT INTO meta SELECT 'schema', user_version FROM "
			      "pragma_user_version UNION ALL SELECT 'tlbreplay', %Q; COMMIT",
			      *m->version ? m->version : TLBREPLAY_VERSION);
	if (!ret)
		ret = run(m, sql ? sql : "");
	sqlite3_free(sql);
	return ret;
}

static int check_target(struct merger *m)
{
	struct stat out, part;

	if (!*m->how->out)
		return fault(m, -EINVAL, "merge", "the name of the output is empty");
	if (stat(m->how->out, &out))
		return 0;
	if (!S_ISREG(out.st_mode))
		return fault(m, -EISDIR, m->how->out, "not a regular file");
	for (size_t i = 0; i < m->nr; i++)
		if (!stat(m->sources[i].path, &part) && part.st_dev == out.st_dev &&
		    part.st_ino == out.st_ino)
			return fault(m, -EINVAL, m->how->out,
				     "is the output and one of the parts, too");
	return 0;
}

static int finish(struct merger *m, const char *building)
{
	if (m->attached && run(m, "DETACH part"))
		return -EIO;
	m->attached = NULL;
	if (sqlite3_close(m->db) != SQLITE_OK)
		return out_fault(m);
	m->db = NULL;
	if (rename(building, m->how->out))
		return fault(m, -EIO, m->how->out, "cannot be put into place: %s", strerror(errno));
	return 0;
}

int merge_run(const struct merge_how *how, struct text *missing, char *err, size_t err_size)
{
	struct merger m = {.how = how, .missing = missing, .err = err, .err_size = err_size};
	const char *base = strrchr(how->out, '/');
	struct text building = {0};
	int ret = look_at_all(&m);

	base = base ? base + 1 : how->out;
	text_addf(&building, "%.*s.%s.%d.tmp", (int)(base - how->out), how->out, base,
		  (int)getpid());
	if (!building.text && !ret)
		ret = fault(&m, -ENOMEM, how->out, "out of memory");
	if (!ret && !m.nr && !how->fleet)
		ret = fault(&m, -EINVAL, how->out, "no part holds a recording");
	if (!ret)
		ret = check_target(&m);
	if (!ret)
		ret = open_out(&m, building.text);
	if (!ret)
		ret = copy_all(&m);
	if (!ret && how->fleet)
		ret = write_fleet(&m);
	if (!ret)
		ret = finish(&m, building.text);
	sqlite3_close(m.db);
	if (ret && building.text)
		unlink(building.text);
	text_free(&building);
	for (size_t i = 0; i < m.nr; i++) {
		free(m.sources[i].name);
		free(m.sources[i].hash);
		free(m.sources[i].how);
	}
	free(m.sources);
	return ret;
}
