// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows that arrive while a replay runs go into temporary tables (SQLite spills them to disk by
 * itself, so memory stays bounded); everything is put into place in one transaction at the end. A
 * new database is built under a hidden name beside the target and renamed; an addition to an old
 * one is that one transaction on it.
 */
#include "replay/results.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "common/newfile.h"
#include "replay/top.h"

#define SCHEMA_VERSION 3
#define MAX_FACT_ROWS  4096

static const char schema_sql[] =
#include "schema/results.sql.h"
	;

/*
 * The end of the schema, from this mark on, is made once all rows are there: cheaper than to keep
 * those indexes up to date with each.
 */
static const char late_mark[] = "\n-- late: ";

struct results {
	sqlite3 *db;
	char *path;
	struct newfile file; /* what it is while it is not whole; not used when appending */
	bool append, begun, writing;
	struct top reuses;  /* pages by wp_reuse of PTEs */
	struct top *stales; /* pages by stale entries, of each policy */
	size_t nr_stales;
	bool full; /* memory ran out where it could not be told */
	sqlite3_stmt *page, *flush_mm, *mm, *fact, *dirty_mm;
	uint64_t facts;
	int error; /* first SQLite error of a call that could not report it */
	char error_text[256];
};

static void note_error(struct results *r)
{
	if (r->error)
		return;
	r->error = sqlite3_errcode(r->db);
	snprintf(r->error_text, sizeof(r->error_text), "%s", sqlite3_errmsg(r->db));
}

static void note_no_memory(struct results *r)
{
	if (r->error)
		return;
	r->error = SQLITE_NOMEM;
	snprintf(r->error_text, sizeof(r->error_text), "out of memory");
}

static int fail(struct results *r, struct results_error *err)
{
	note_error(r);
	snprintf(err->text, sizeof(err->text), "%s: cannot write the results: %s", r->path,
		 r->error_text);
	return -EIO;
}

static void run(struct results *r, const char *sql)
{
	if (!r->error && sqlite3_exec(r->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		note_error(r);
}

/* The schema, but for its end. */
static void make_tables(struct results *r)
{
	char *sql = strndup(schema_sql, (size_t)(strstr(schema_sql, late_mark) - schema_sql));

	if (sql)
		run(r, sql);
	else
		note_no_memory(r);
	free(sql);
}

/*
 * Binds text of at most SIZE bytes; names of tasks can hold any bytes, and what is not ASCII
 * becomes '?' here.
 */
static int text_value(sqlite3_stmt *stmt, int at, const char *text, size_t size)
{
	char clean[1024];
	size_t n = 0;

	for (size_t i = 0; i < size && text[i] && n + 1 < sizeof(clean); i++)
		clean[n++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	return sqlite3_bind_text(stmt, at, clean, (int)n, SQLITE_TRANSIENT);
}

/*
 * Runs a prepared statement with values by FORMAT: i int64_t; n int (is it known?) and int64_t,
 * NULL if not; d double; s text, NULL is NULL; t text and its greatest length.
 */
static void put(struct results *r, sqlite3_stmt *stmt, const char *format, ...)
{
	va_list args;
	int at = 1, rc = SQLITE_OK;

	if (r->error || !stmt)
		return;
	va_start(args, format);
	for (const char *f = format; *f && rc == SQLITE_OK; f++, at++) {
		const char *text;

		switch (*f) {
		case 'i':
			rc = sqlite3_bind_int64(stmt, at, va_arg(args, int64_t));
			break;
		case 'n': {
			int known = va_arg(args, int);
			int64_t value = va_arg(args, int64_t);

			if (known)
				rc = sqlite3_bind_int64(stmt, at, value);
			else
				rc = sqlite3_bind_null(stmt, at);
			break;
		}
		case 'd':
			rc = sqlite3_bind_double(stmt, at, va_arg(args, double));
			break;
		case 's':
			text = va_arg(args, const char *);
			if (text)
				rc = sqlite3_bind_text(stmt, at, text, -1, SQLITE_TRANSIENT);
			else
				rc = sqlite3_bind_null(stmt, at);
			break;
		case 't':
			text = va_arg(args, const char *);
			rc = text_value(stmt, at, text, va_arg(args, size_t));
			break;
		default:
			rc = sqlite3_bind_null(stmt, at);
		}
	}
	va_end(args);
	/* A value that could not be bound would be NULL. */
	if (rc != SQLITE_OK || sqlite3_step(stmt) != SQLITE_DONE)
		note_error(r);
	sqlite3_reset(stmt);
}

static sqlite3_stmt *prepare(struct results *r, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	if (!r->error && sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		note_error(r);
	return stmt;
}

/* "INSERT INTO table VALUES(?, ...)" once per row; finish with sqlite3_finalize(). */
static sqlite3_stmt *insert_into(struct results *r, const char *table, int columns)
{
	char sql[256];
	int n = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(", table);

	for (int i = 0; i < columns; i++)
		n += snprintf(sql + n, sizeof(sql) - (size_t)n, "%s?", i ? "," : "");
	snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
	return prepare(r, sql);
}

static int64_t one_number(struct results *r, const char *sql)
{
	sqlite3_stmt *stmt = prepare(r, sql);
	int64_t value = 0;

	if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	else
		note_error(r);
	sqlite3_finalize(stmt);
	return value;
}

/* ---- beginning and ending ---- */

static int check_target(const char *path, bool append, struct results_error *err)
{
	struct stat st;

	if (!*path) {
		snprintf(err->text, sizeof(err->text), "the name of the output is empty");
		return -EINVAL;
	}
	if (stat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		snprintf(err->text, sizeof(err->text), "%s: %s", path, strerror(errno));
		return -errno;
	}
	if (S_ISDIR(st.st_mode) || !S_ISREG(st.st_mode)) {
		snprintf(err->text, sizeof(err->text), "%s: not a regular file", path);
		return -EISDIR;
	}
	if (append && access(path, W_OK)) {
		snprintf(err->text, sizeof(err->text), "%s: %s", path, strerror(errno));
		return -errno;
	}
	return 0;
}

struct results *results_begin(const char *path, bool append, struct results_error *err)
{
	struct results *r;
	struct stat st;
	bool fresh = !append || stat(path, &st) || !st.st_size;

	if (check_target(path, append, err))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (r)
		r->path = strdup(path);
	if (!r || !r->path) {
		snprintf(err->text, sizeof(err->text), "%s: out of memory", path);
		results_free(r);
		return NULL;
	}
	r->append = !fresh;
	/* One thread at a time is here (replay/stages.c); nobody asks what memory SQLite has. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	int ret = fresh ? newfile_begin(&r->file, path) : 0;
	if (!ret &&
	    sqlite3_open_v2(fresh ? r->file.path : path, &r->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		ret = r->db ? -sqlite3_system_errno(r->db) : -ENOMEM;
		if (!ret)
			ret = -EIO;
	}
	if (ret) {
		snprintf(err->text, sizeof(err->text), "%s: cannot be created: %s", path,
			 strerror(-ret));
		results_free(r);
		return NULL;
	}
	sqlite3_busy_timeout(r->db, 10000);
	run(r, "PRAGMA temp_store = FILE; PRAGMA cache_size = -8192;");
	if (fresh) {
		run(r,
		    "PRAGMA page_size = 4096; PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;");
		make_tables(r);
		run(r,
		    "INSERT INTO meta SELECT 'schema', user_version FROM pragma_user_version "
		    "UNION ALL SELECT 'tlbreplay', '" TLBREPLAY_VERSION "'");
	} else if (one_number(r, "PRAGMA user_version") != SCHEMA_VERSION && !r->error) {
		snprintf(err->text, sizeof(err->text),
			 "%s: not a results database of schema version %d; nothing was added", path,
			 SCHEMA_VERSION);
		results_free(r);
		return NULL;
	}
	if (r->error) {
		fail(r, err);
		results_free(r);
		return NULL;
	}
	return r;
}

int results_commit(struct results *r, struct results_error *err)
{
	run(r, "COMMIT");
	if (!r->append)
		run(r, strstr(schema_sql, late_mark));
	if (r->error)
		return fail(r, err);
	if (r->append)
		return 0;
	run(r, "PRAGMA optimize");
	if (r->error)
		return fail(r, err);
	if (sqlite3_close(r->db) != SQLITE_OK)
		return fail(r, err);
	r->db = NULL;
	int ret = newfile_commit(&r->file);
	if (ret)
		snprintf(err->text, sizeof(err->text), "%s: cannot be put into place: %s", r->path,
			 strerror(-ret));
	return ret ? -EIO : 0;
}

static void drop_statements(struct results *r)
{
	sqlite3_finalize(r->page);
	sqlite3_finalize(r->flush_mm);
	sqlite3_finalize(r->mm);
	sqlite3_finalize(r->fact);
	sqlite3_finalize(r->dirty_mm);
	r->page = r->flush_mm = r->mm = r->fact = r->dirty_mm = NULL;
}

void results_free(struct results *r)
{
	if (!r)
		return;
	drop_statements(r);
	top_clear(&r->reuses);
	for (size_t i = 0; i < r->nr_stales; i++)
		top_clear(&r->stales[i]);
	free(r->stales);
	sqlite3_close(r->db);
	newfile_drop(&r->file);
	free(r->path);
	free(r);
}

int results_trace_begin(struct results *r, struct results_error *err)
{
	run(r,
	    "DROP TABLE IF EXISTS temp.page_rows; DROP TABLE IF EXISTS temp.flush_mm_rows;"
	    "DROP TABLE IF EXISTS temp.mm_rows;"
	    "DROP TABLE IF EXISTS temp.fact_rows; CREATE TEMP TABLE fact_rows(key, value);"
	    "CREATE TEMP TABLE page_rows(mm, page, point, level, decisions);"
	    "CREATE TEMP TABLE flush_mm_rows(policy, mm, point, scope, low, estimate, high);"
	    "DROP TABLE IF EXISTS temp.dirty_mm_rows;"
	    "CREATE TEMP TABLE dirty_mm_rows(mm, swap_ins, writable, writes, low, estimate, high);"
	    "CREATE TEMP TABLE mm_rows(mm, pointer, tid, comm, origin, first_ns, last_ns, pages);");
	/*
	 * One transaction for all recordings of a run; it locks nothing before its first row is
	 * written.
	 */
	if (!r->begun)
		run(r, "BEGIN");
	r->begun = true;
	r->page = insert_into(r, "temp.page_rows", 5);
	r->flush_mm = insert_into(r, "temp.flush_mm_rows", 7);
	r->mm = insert_into(r, "temp.mm_rows", 8);
	r->fact = insert_into(r, "temp.fact_rows", 2);
	r->reuses.most = PAGE_ROWS;
	r->facts = 0;
	r->dirty_mm = insert_into(r, "temp.dirty_mm_rows", 7);
	return r->error ? fail(r, err) : 0;
}

void results_page(void *context, uint32_t mm, uint64_t page, unsigned int point, unsigned int level,
		  uint64_t decisions)
{
	struct results *r = context;

	/* Most of all rows, and each of them whole. */
	if (point == POINT_WP_REUSE && level == LEVEL_PTE) {
		struct top_row row = {.n = decisions, .mm = mm, .page = page};

		r->full |= top_add(&r->reuses, &row) != 0;
		return;
	}
	put(r, r->page, "iissi", (int64_t)mm, (int64_t)page, point_name(point), level_name(level),
	    (int64_t)decisions);
}

void results_stale(void *context, unsigned int policy, uint32_t mm, uint64_t page, uint64_t entries)
{
	struct results *r = context;
	struct top_row row = {.n = entries, .mm = mm, .page = page};

	while (r->nr_stales <= policy) {
		struct top *more = realloc(r->stales, (r->nr_stales + 1) * sizeof(*more));

		if (!more) {
			r->full = true;
			return;
		}
		more[r->nr_stales++] = (struct top){.most = STALE_PAGE_ROWS};
		r->stales = more;
	}
	r->full |= top_add(&r->stales[policy], &row) != 0;
}

void results_flush_mm(void *context, unsigned int policy, uint32_t mm, unsigned int point,
		      unsigned int scope, const struct bound *flushes)
{
	struct results *r = context;

	put(r, r->flush_mm, "iissiii", (int64_t)policy, (int64_t)mm, point_name(point),
	    scope_name(scope), (int64_t)flushes->low, (int64_t)flushes->estimate,
	    (int64_t)flushes->high);
}

void results_mm(void *context, const struct mm_identity *mm, uint64_t pages)
{
	static const char *const origins[] = {"pointer", "derived", "snapshot", "placeholder"};
	struct results *r = context;
	char pointer[32];

	snprintf(pointer, sizeof(pointer), "0x%" PRIx64, mm->pointer);
	put(r, r->mm, "isitsiii", (int64_t)mm->mm, mm->pointer ? pointer : NULL, (int64_t)mm->tid,
	    mm->comm, sizeof(mm->comm), origins[mm->origin], (int64_t)mm->first_ns,
	    (int64_t)mm->last_ns, (int64_t)pages);
}

void results_fact(void *context, const char *line, size_t size)
{
	struct results *r = context;
	const char *blank = memchr(line, ' ', size);
	size_t key = blank ? (size_t)(blank - line) : size;

	if (size && ++r->facts <= MAX_FACT_ROWS)
		put(r, r->fact, "tt", line, key, blank ? blank + 1 : line + key,
		    blank ? size - key - 1 : 0);
}

void results_dirty_mm(void *context, const struct dirty_mm *mm)
{
	struct results *r = context;

	put(r, r->dirty_mm, "iiiiddd", (int64_t)mm->mm, (int64_t)mm->swap_ins, (int64_t)mm->made,
	    (int64_t)mm->writes, mm->unwritten.low, mm->unwritten.estimate, mm->unwritten.high);
}

/* ---- one recording ---- */

struct job {
	struct results *r;
	const struct results_input *in;
	const struct trace_info *info;
	const struct interpret_counts *counts;
	const char *kernel_policy;
	int64_t trace;
	char name[256];
	char cost[512]; /* label of the preset */
	sqlite3_stmt *notes;
};

static void note(struct job *j, const char *kind, const char *subject, int64_t n,
		 const char *format, ...) __attribute__((format(printf, 5, 6)));

static void note(struct job *j, const char *kind, const char *subject, int64_t n,
		 const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(j->r, j->notes, "issns", j->trace, kind, subject, (int)(n != 0), n, text);
}

/* The file's base name, with "#2" and so on behind it if the database has that name already. */
static void choose_name(struct job *j)
{
	const char *base = strrchr(j->info->path, '/');
	sqlite3_stmt *stmt = prepare(j->r, "SELECT 1 FROM traces WHERE trace = ?");
	char clean[224];
	size_t n = 0;

	for (base = base ? base + 1 : j->info->path; *base && n + 1 < sizeof(clean); base++)
		clean[n++] = (unsigned char)*base >= ' ' && *base != 0x7f ? *base : '?';
	clean[n] = '\0';
	snprintf(j->name, sizeof(j->name), "%s", clean);
	for (int i = 2; stmt; i++) {
		sqlite3_bind_text(stmt, 1, j->name, -1, SQLITE_STATIC);
		bool taken = sqlite3_step(stmt) == SQLITE_ROW;

		sqlite3_reset(stmt);
		if (!taken)
			break;
		snprintf(j->name, sizeof(j->name), "%s#%d", clean, i);
	}
	sqlite3_finalize(stmt);
}

static void write_trace(struct job *j)
{
	const struct results_input *in = j->in;
	const struct trace_info *info = j->info;
	sqlite3_stmt *cpus = insert_into(j->r, "cpus", 8), *stmt;
	int64_t lost = 0, unknown = 0, overrun = 0, dropped = 0, with_events = 0;
	bool stat = info->nr_entries > 0;
	char hash[32];

	j->trace = one_number(j->r, "SELECT coalesce(max(id), 0) + 1 FROM traces");
	choose_name(j);
	for (size_t i = 0; i < info->nr_entries; i++) {
		const struct trace_cpu *c = &info->cpus[i];

		lost += (int64_t)c->loss.events;
		unknown += (int64_t)c->loss.unknown;
		with_events += trace_entry_count(in->trace, i) > 0;
		if (c->stat.present) {
			overrun += (int64_t)c->stat.overrun;
			dropped += (int64_t)(c->stat.dropped + c->stat.commit_overrun);
		} else if (info->buffers[c->buffer].name[0] == '\0' || trace_entry_count(in->trace, i)) {
			stat = false;
		}
	}
	snprintf(hash, sizeof(hash), "%016" PRIx64, in->hash);
	stmt = insert_into(j->r, "traces", 25);
	put(j->r, stmt, "issiisssssiiiiiinniinniis", j->trace, j->name, hash,
	    (int64_t)info->file_size, (int64_t)info->version, info->compression, info->kernel,
	    in->arch, in->arch_source,
	    info->nr_entries ? info->buffers[info->cpus[0].buffer].clock : "",
	    (int64_t)info->page_size, (int64_t)decoder_nr_cpus(in->decoder), with_events,
	    (int64_t)info->nr_buffers, (int64_t)in->events, (int64_t)in->events_used,
	    in->events > 0, (int64_t)in->first_ns, in->events > 0, (int64_t)in->last_ns, lost,
	    unknown, (int)stat, overrun, (int)stat, dropped, (int64_t)j->counts->tasks,
	    (int64_t)j->counts->mms_placeholder, j->kernel_policy);
	sqlite3_finalize(stmt);
	for (size_t i = 0; i < info->nr_entries; i++) {
		const struct trace_cpu *c = &info->cpus[i];

		put(j->r, cpus, "iisiiinn", j->trace, (int64_t)c->cpu,
		    info->buffers[c->buffer].name, (int64_t)trace_entry_count(in->trace, i),
		    (int64_t)c->loss.events, (int64_t)c->loss.unknown, (int)c->stat.present,
		    (int64_t)c->stat.overrun, (int)c->stat.present,
		    (int64_t)(c->stat.dropped + c->stat.commit_overrun));
	}
	sqlite3_finalize(cpus);
}

/* What the recorder wrote about its host, and what it says that the recording lacks. */
static void write_facts(struct job *j)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO host SELECT %" PRId64
		 ", key, value FROM temp.fact_rows ORDER BY rowid;"
		 "INSERT INTO notes SELECT %" PRId64
		 ", 'missing', substr(value, 1, instr(value || ' ', ' ') - 1), "
		 "NULL, substr(value, instr(value || ' ', ' ') + 1) "
		 "FROM temp.fact_rows WHERE key = 'missing' ORDER BY rowid",
		 j->trace, j->trace);
	run(j->r, sql);
	if (j->r->facts > MAX_FACT_ROWS)
		note(j, "left out", "host facts", (int64_t)(j->r->facts - MAX_FACT_ROWS),
		     "lines about the host behind the limit up to which they are stored");
}

static void write_heat(struct job *j)
{
	sqlite3_stmt *stmt = insert_into(j->r, "heat", 7), *grid = insert_into(j->r, "heat_grid", 3);
	size_t nr;
	struct heat_cell *cells = heat_cells(j->in->heat, &nr);
	uint64_t bytes, width_ns;

	if (!cells)
		note_no_memory(j->r);
	heat_size(j->in->heat, &bytes, &width_ns);
	put(j->r, grid, "iii", j->trace, (int64_t)bytes, (int64_t)width_ns);
	for (size_t i = 0; i < nr; i++)
		if (shard_has(&j->in->shard, cells[i].mm))
			put(j->r, stmt, "iinissi", j->trace, (int64_t)cells[i].mm,
			    cells[i].addr != 0, (int64_t)cells[i].addr, (int64_t)cells[i].start_ns,
			    point_name(cells[i].point), level_name(cells[i].level),
			    (int64_t)cells[i].decisions);
	free(cells);
	sqlite3_finalize(stmt);
	sqlite3_finalize(grid);
}

static void write_latency(struct job *j)
{
	const struct latency *l = j->in->latency;

	if (!l)
		return;
	sqlite3_stmt *stmt = insert_into(j->r, "latencies", 12),
		     *bucket = insert_into(j->r, "latency_buckets", 8),
		     *left_out = insert_into(j->r, "latency_left_out", 3);
	for (size_t i = 0; i < latency_groups(l); i++) {
		struct latency_group g;
		size_t nr;
		struct latency_bucket *list = latency_group(l, i, &g, &nr);
		const char *call = latency_call_name(g.call), *flush = latency_flush_name(g.flush);

		if (!list)
			note_no_memory(j->r);
		put(j->r, stmt, "issiiiiiiiii", j->trace, call, flush, (int64_t)g.cpus,
		    (int64_t)g.cpus_to, (int64_t)g.concurrent, (int64_t)g.concurrent_to,
		    (int64_t)g.calls, (int64_t)g.probes, (int64_t)g.min_ns, (int64_t)g.max_ns,
		    (int64_t)g.sum_ns);
		for (size_t k = 0; k < nr; k++)
			put(j->r, bucket, "issiiiii", j->trace, call, flush, (int64_t)g.cpus,
			    (int64_t)g.concurrent, (int64_t)list[k].from_ns, (int64_t)list[k].to_ns,
			    (int64_t)list[k].calls);
		free(list);
	}
	for (unsigned int i = 0; i < NR_LATENCY_LEFT_OUT; i++)
		put(j->r, left_out, "isi", j->trace, latency_left_out_name(i),
		    (int64_t)latency_left_out(l, i));
	sqlite3_finalize(stmt);
	sqlite3_finalize(bucket);
	sqlite3_finalize(left_out);
}

static void write_recorded(struct job *j)
{
	sqlite3_stmt *stmt = insert_into(j->r, "recorded", 6);
	const struct decode_plan *plans;
	uint64_t unknown;
	size_t nr;

	plans = decoder_plans(j->in->decoder, &nr, &unknown);
	for (size_t i = 0; i < nr; i++) {
		const struct decode_plan *p = &plans[i];
		char name[256], op[64];
		int64_t used = p->role != ROLE_SKIP;

		if (!p->events)
			continue;
		snprintf(name, sizeof(name), "%s:%s", p->format->system, p->format->name);
		if (p->role == ROLE_TLBI) {
			put(j->r, stmt, "isssii", j->trace, name, p->op.name,
			    scope_name(p->op.broadcast ? SCOPE_BROADCAST : SCOPE_LOCAL),
			    (int64_t)p->events, used);
		} else if (p->role == ROLE_TLB_FLUSH) {
			for (uint64_t k = 0; k < 8; k++) {
				const char *reason = k < 7 ? tlb_flush_reason_name(k) : NULL;

				if (!j->counts->flush_reasons[k])
					continue;
				snprintf(op, sizeof(op), k < 7 ? "reason %d" : "reason over 6",
					 (int)k);
				put(j->r, stmt, "isssii", j->trace, name,
				    reason ? reason : op,
				    reason ? scope_name(tlb_flush_reason_scope(k)) : NULL,
				    (int64_t)j->counts->flush_reasons[k], used);
			}
		} else {
			put(j->r, stmt, "isssii", j->trace, name, NULL, NULL, (int64_t)p->events,
			    used);
		}
	}
	if (unknown)
		put(j->r, stmt, "isssii", j->trace, "unknown", NULL, NULL, (int64_t)unknown,
		    (int64_t)0);
	sqlite3_finalize(stmt);
}

/* Whether POLICY would issue anything at POINT, at any level. */
static bool point_matters(const struct policy *policy, unsigned int point)
{
	for (unsigned int level = 0; level < NR_LEVELS; level++)
		if (policy->table[point][level].act[0].scope != SCOPE_NONE)
			return true;
	return policy->hooked & POINT_BIT(point);
}

static void write_notes(struct job *j)
{
	const struct results_input *in = j->in;
	const struct interpret_counts *c = j->counts;
	const struct decode_plan *plans;
	uint64_t unknown, skipped = 0;
	size_t nr;

	plans = decoder_plans(in->decoder, &nr, &unknown);
	for (size_t i = 0; i < nr; i++)
		if (plans[i].role == ROLE_SKIP)
			skipped += plans[i].events;
	if (skipped)
		note(j, "skipped", "events", (int64_t)skipped,
		     "events that the catalogue does not know; they feed nothing (see v_recorded)");
	if (unknown)
		note(j, "skipped", "ids", (int64_t)unknown,
		     "events whose format is not in the file");
	if (decoder_short(in->decoder))
		note(j, "skipped", "short", (int64_t)decoder_short(in->decoder),
		     "events too short for their format");
	for (size_t i = 0; i < j->info->nr_entries; i++) {
		const struct trace_cpu *cpu = &j->info->cpus[i];
		char subject[32];

		snprintf(subject, sizeof(subject), "cpu %u", cpu->cpu);
		if (cpu->loss.events)
			note(j, "lost", subject, (int64_t)cpu->loss.events,
			     "events lost, by the pages' own count");
		if (cpu->loss.unknown)
			note(j, "lost", subject, (int64_t)cpu->loss.unknown,
			     "places where events were lost and nobody counted them");
		if (cpu->stat.present && cpu->stat.overrun)
			note(j, "lost", subject, (int64_t)cpu->stat.overrun,
			     "events overwritten, by the kernel's count at the end (may hold the pages' count)");
		if (cpu->stat.present && cpu->stat.dropped + cpu->stat.commit_overrun)
			note(j, "lost", subject,
			     (int64_t)(cpu->stat.dropped + cpu->stat.commit_overrun),
			     "events dropped, by the kernel's count at the end");
	}
	for (unsigned int point = 0; point < NR_POINTS; point++) {
		bool matters = false;

		for (unsigned int p = 0; p < in->nr_policies; p++)
			matters |= point_matters(in->policies[p].policy, point);
		if (matters && !interpret_feeds(in->interpreter, point))
			note(j, "unseen", point_name(point), 0,
			     "nothing recorded here shows this decision point; no policy is charged for it");
	}
	if (c->unplaced_tlbi)
		note(j, "unplaced", "tlbi", (int64_t)c->unplaced_tlbi,
		     "recorded invalidations whose decision point could not be told");
	if (c->unplaced_clear_flush)
		note(j, "unplaced", "ptep_clear_flush", (int64_t)c->unplaced_clear_flush,
		     "calls outside a write fault: migration, KSM or reclaim, not told apart");
	if (c->undecided_wp)
		note(j, "unplaced", "write faults", (int64_t)c->undecided_wp,
		     "write faults on present pages without further probes: they count in the bounds of "
		     "wp_reuse, cow and spurious");
	if (c->tasks_unknown)
		note(j, "unknown", "tasks", (int64_t)c->tasks_unknown,
		     "tasks of which nothing was learnt; taken to leave the loaded mm alone, as "
		     "kernel threads do");
	if (c->mms_placeholder)
		note(j, "unknown", "mms", (int64_t)c->mms_placeholder,
		     "address spaces made up for tasks that nothing introduced; two of them may be one");
	if (c->snapshot_tasks && !c->snapshot_complete)
		note(j, "unknown", "snapshot", (int64_t)c->snapshot_tasks,
		     "the task snapshot has no end mark or a wrong count");
	if (c->remote_faults)
		note(j, "skipped", "remote faults", (int64_t)c->remote_faults,
		     "faults on behalf of another mm or without user registers: they fill no TLB");
	if (c->accesses && !in->tlb)
		note(j, "skipped", "accesses", (int64_t)c->accesses,
		     "recorded accesses were not used: --tlb says what they fill");
	if (c->samples_unknown)
		note(j, "skipped", "samples", (int64_t)c->samples_unknown,
		     "samples of tasks of which the recording knows nothing");
	if (c->accesses && in->tlb)
		note(j, "assumed", "accesses", (int64_t)c->accesses,
		     "recorded accesses are taken for all of their address space's");
	note(j, "assumed", "share", 0,
	     "the estimate of stale entries rests on share and write_share, which are assumed "
	     "unless given");
	if (!j->kernel_policy)
		note(j, "unseen", "kernel policy", 0,
		     "the recording does not show how its kernel flushed at write upgrades: no self-check");
	if (!in->cost)
		note(j, "unseen", "cost", 0,
		     "the architecture is not known, so no cost preset was applied");
}

static bool is_kernel(const struct job *j, unsigned int p)
{
	return j->kernel_policy && !strcmp(j->kernel_policy, j->in->policies[p].policy->name);
}

/* What policy P did, as far as other numbers follow from it. */
static struct policy_counts policy_counts(const struct job *j, unsigned int p)
{
	const struct policy_result *res = j->in->outcomes[p];
	const struct common_params *common = &j->in->policies[p].common;
	struct policy_counts c = {.targets = res->targets,
				  .refills = res->refills,
				  .notifies = res->notifies,
				  .share = common->share,
				  .write_share = common->write_share,
				  .kernels = is_kernel(j, p)};

	memcpy(c.flushes, res->scope, sizeof(c.flushes));
	memcpy(c.whole, res->whole, sizeof(c.whole));
	memcpy(c.further, res->further, sizeof(c.further));
	c.target_pages = res->target_pages;
	c.rewalks = res->rewalks;
	if (j->in->cost) {
		const struct fabric_result *queues = &j->in->queues[p * 3];

		c.queue_ns = (struct real_bound){queues[0].wait_ns, queues[1].wait_ns,
						 queues[2].wait_ns};
	}
	for (unsigned int l = 0; l < NR_LEVELS; l++) {
		c.fix_scope[l] = res->spurious_scope[l];
		c.spurious[l] = (struct spurious_count){.proven = res->spurious_proven[l],
							.possible = res->spurious_possible[l],
							.predicted = res->spurious_predicted[l],
							.held = res->spurious_held[l],
							.unsure = res->spurious_unsure[l],
							.likely = res->spurious_likely[l],
							.maybe = res->spurious_maybe[l]};
	}
	return c;
}

/* Spurious faults under policy P at LEVEL (NR_LEVELS: all). */
static struct real_bound spurious_of(const struct job *j, unsigned int p, unsigned int level)
{
	struct policy_counts c = policy_counts(j, p);

	return derive_spurious_at(&c, level);
}

/* Where policy P flushes after a spurious fault at LEVEL. */
static enum scope spurious_scope(const struct job *j, unsigned int p, unsigned int level)
{
	return j->in->outcomes[p]->spurious_scope[level];
}

static void write_flush(struct job *j, unsigned int p, int64_t id)
{
	const struct policy_result *res = j->in->outcomes[p];
	sqlite3_stmt *stmt = insert_into(j->r, "flush", 9);

	for (unsigned int point = 0; point < NR_POINTS; point++)
		for (unsigned int level = 0; level < NR_LEVELS; level++)
			for (unsigned int scope = 0; scope < NR_SCOPES; scope++) {
				const struct flush_count *c = &res->flush[point][level][scope];

				if (!c->decisions && !c->flushes.high && point != POINT_SPURIOUS)
					continue;
				if (point == POINT_SPURIOUS)
					continue;
				put(j->r, stmt, "isssiiiii", id, point_name(point),
				    level_name(level), scope_name(scope), (int64_t)c->decisions,
				    (int64_t)c->flushes.low, (int64_t)c->flushes.estimate,
				    (int64_t)c->flushes.high, (int64_t)c->pages);
			}
	/* Spurious faults are an outcome of the policy, not of the recording. */
	for (unsigned int level = 0; level < NR_LEVELS; level++) {
		struct real_bound b = spurious_of(j, p, level);
		enum scope scope = spurious_scope(j, p, level);
		bool flushes = scope != SCOPE_NONE;

		if (b.high == 0)
			continue;
		put(j->r, stmt, "isssiiiii", id, point_name(POINT_SPURIOUS), level_name(level),
		    scope_name(scope), derive_rounded(b.estimate), flushes ? derive_rounded(b.low) : 0,
		    flushes ? derive_rounded(b.estimate) : 0, flushes ? derive_rounded(b.high) : 0,
		    flushes ? derive_rounded(b.estimate) : 0);
	}
	sqlite3_finalize(stmt);

	stmt = insert_into(j->r, "flush_cpu", 5);
	for (unsigned int cpu = 0; cpu < decoder_nr_cpus(j->in->decoder); cpu++)
		for (unsigned int scope = SCOPE_LOCAL; scope < NR_SCOPES; scope++) {
			uint64_t issued = res->issued[cpu * NR_SCOPES + scope];
			uint64_t received = scope == SCOPE_MASK ? res->received[cpu]
					    : scope == SCOPE_BROADCAST
						    ? res->scope[SCOPE_BROADCAST].estimate - issued
						    : 0;

			if (issued || received)
				put(j->r, stmt, "iisii", id,
				    (int64_t)decoder_cpu(j->in->decoder, cpu), scope_name(scope),
				    (int64_t)issued, (int64_t)received);
		}
	sqlite3_finalize(stmt);

	stmt = insert_into(j->r, "flush_time", 7);
	uint64_t start_ns, width_ns;
	engine_time(j->in->engine, &start_ns, &width_ns);
	for (size_t i = 0; i < res->nr_buckets; i++)
		for (unsigned int scope = SCOPE_LOCAL; scope < NR_SCOPES; scope++) {
			const struct bound *b = &res->buckets[i].flushes[scope];

			if (b->high)
				put(j->r, stmt, "iiisiii", id, (int64_t)(start_ns + i * width_ns),
				    (int64_t)width_ns, scope_name(scope), (int64_t)b->low,
				    (int64_t)b->estimate, (int64_t)b->high);
		}
	sqlite3_finalize(stmt);
}

static void write_faults(struct job *j, unsigned int p, int64_t id)
{
	const struct policy_result *res = j->in->outcomes[p];
	sqlite3_stmt *stmt = insert_into(j->r, "faults", 5);
	struct real_bound b = spurious_of(j, p, NR_LEVELS);
	double recorded = (double)j->counts->spurious_recorded;
	double unsure = (double)j->counts->undecided_wp;

	put(j->r, stmt, "isddd", id, "spurious", b.low, b.estimate, b.high);
	put(j->r, stmt, "isddd", id, "spurious_recorded", recorded, recorded, recorded + unsure);
	put(j->r, stmt, "isddd", id, "spurious_avoided", (double)res->avoided.low,
	    (double)res->avoided.estimate, (double)res->avoided.high);
	sqlite3_finalize(stmt);
}

static void write_exposures(struct job *j, unsigned int p, int64_t id)
{
	const struct policy_result *res = j->in->outcomes[p];
	const struct policy_instance *inst = &j->in->policies[p];
	const struct exposure_row *rows = res->rows;
	sqlite3_stmt *stmt = insert_into(j->r, "exposures", 7);

	for (unsigned int kind = 0; kind < NR_STALENESS; kind++)
		for (unsigned int ended = 0; ended < NR_ENDED; ended++) {
			const struct exposure_sum *low = &res->proven[kind][ended];
			const struct exposure_sum *likely = &res->likely[kind][ended];
			const struct exposure_sum *held = &res->held[kind][ended];
			const struct exposure_sum *high = &res->possible[kind][ended];
			struct real_bound entries, ns;

			if (high->entries <= 0 && held->entries <= 0)
				continue;
			derive_exposure(low, held, likely, high, inst->common.share, &entries,
					&ns);
			put(j->r, stmt, "isssddi", id, staleness_name(kind), "low",
			    ended_name(ended), entries.low, ns.low, (int64_t)low->max_ns);
			put(j->r, stmt, "isssddi", id, staleness_name(kind), "estimate",
			    ended_name(ended), entries.estimate, ns.estimate,
			    (int64_t)(likely->max_ns > held->max_ns ? likely->max_ns
								    : held->max_ns));
			put(j->r, stmt, "isssddi", id, staleness_name(kind), "high",
			    ended_name(ended), entries.high, ns.high, (int64_t)high->max_ns);
		}
	sqlite3_finalize(stmt);
	stmt = insert_into(j->r, "exposure_lengths", 4);
	for (unsigned int kind = 0; kind < NR_STALENESS; kind++)
		for (unsigned int n = 0; n < 65; n++)
			if (res->lengths[kind][n])
				put(j->r, stmt, "isii", id, staleness_name(kind),
				    n < 63 ? (int64_t)1 << n : INT64_MAX,
				    (int64_t)res->lengths[kind][n]);
	sqlite3_finalize(stmt);
	stmt = insert_into(j->r, "exposure_rows", 8);
	for (size_t i = 0; i < res->nr_rows; i++) {
		const struct exposure_row *row = &rows[i];

		put(j->r, stmt, "isiiiiis", id, staleness_name(row->kind), (int64_t)row->mm,
		    (int64_t)row->page, (int64_t)decoder_cpu(j->in->decoder, row->cpu),
		    (int64_t)row->start_ns, (int64_t)row->end_ns, ended_name(row->ended));
	}
	sqlite3_finalize(stmt);
	if (res->rows_left_out)
		note(j, "left out", inst->spec, (int64_t)res->rows_left_out, "%s", NOTE_ROWS_LEFT);
}

/* CPUs of the machine that is priced. */
static unsigned int priced_cpus(const struct job *j)
{
	unsigned int cpus = j->in->cost ? j->in->cost->use_cpus : 0;

	return cpus ? cpus : decoder_nr_cpus(j->in->decoder);
}

static void write_sweep(struct job *j, const struct policy_counts *counts, int64_t id)
{
	const struct sweep_axis *axes = j->in->sweep;
	unsigned int nr = j->in->nr_sweep, cpus = priced_cpus(j);
	sqlite3_stmt *stmt = insert_into(j->r, "sweeps", 9);

	for (unsigned int a = 0; nr && a < axes[0].nr; a++)
		for (unsigned int b = 0; b < (nr > 1 ? axes[1].nr : 1); b++) {
			double v[SWEEP_AXES_MAX] = {sweep_value(&axes[0], a),
						    nr > 1 ? sweep_value(&axes[1], b) : 0};
			struct real_bound all = sweep_cost(counts, cpus, j->in->cost, axes, v, nr);

			if (nr > 1)
				put(j->r, stmt, "issdsdddd", id, j->cost, axes[0].name, v[0],
				    axes[1].name, v[1], all.low, all.estimate, all.high);
			else
				put(j->r, stmt, "issdsnddd", id, j->cost, axes[0].name, v[0], "", 0,
				    (int64_t)0, all.low, all.estimate, all.high);
		}
	sqlite3_finalize(stmt);
}

static void write_costs(struct job *j, unsigned int p, int64_t id)
{
	struct policy_counts counts = policy_counts(j, p);
	struct derived_cost parts[NR_PARTS];
	sqlite3_stmt *stmt = insert_into(j->r, "quantities", 5);

	for (unsigned int i = 0; i < NR_COSTS; i++) {
		struct real_bound n = derive_quantity(&counts, priced_cpus(j), i);

		put(j->r, stmt, "isddd", id, cost_infos[i].name, n.low, n.estimate, n.high);
	}
	sqlite3_finalize(stmt);
	write_sweep(j, &counts, id);
	derive_costs(&counts, priced_cpus(j), j->in->cost, parts);
	stmt = insert_into(j->r, "costs", 7);
	for (unsigned int i = 0; i < NR_PARTS; i++)
		put(j->r, stmt, "issdddi", id, j->cost, cost_part_name(i), parts[i].ns.low,
		    parts[i].ns.estimate, parts[i].ns.high, (int64_t)parts[i].uncalibrated);
	sqlite3_finalize(stmt);
}

static void write_params(struct job *j, unsigned int p, int64_t id)
{
	const struct policy_instance *inst = &j->in->policies[p];
	sqlite3_stmt *stmt = insert_into(j->r, "policy_params", 5);
	const struct {
		const struct param *table;
		const void *base;
		const char *otherwise;
	} sets[] = {{inst->policy->params, inst->params, "default"},
		    {common_params, &inst->common, "assumed"}};

	for (size_t s = 0; s < 2; s++)
		for (const struct param *a = sets[s].table; a && a->name; a++) {
			char value[64], key[64];
			bool given;

			param_print(a, sets[s].base, value, sizeof(value));
			snprintf(key, sizeof(key), "%s=", a->name);
			const char *at = strstr(inst->given, key);
			given = at && (at == inst->given || at[-1] == ',');
			put(j->r, stmt, "issss", id, a->name, value, a->unit,
			    given ? "given" : sets[s].otherwise);
		}
	sqlite3_finalize(stmt);
}

static bool is_seen(const struct job *j, unsigned int point, unsigned int level)
{
	return interpret_sees(j->in->interpreter, point) || j->counts->recorded[point][level];
}

static const char *check_source(const struct job *j, unsigned int point, unsigned int level)
{
	return !is_seen(j, point, level)		  ? "unseen"
	       : j->counts->tlbi_only[point][level] > 0 ? "tlbi-only"
							  : "events";
}

/* The policy that the kernel had, against the flushes that the recording shows. */
static void write_selfcheck(struct job *j)
{
	sqlite3_stmt *stmt = insert_into(j->r, "selfcheck", 7);
	unsigned int p;

	for (p = 0; p < j->in->nr_policies; p++)
		if (is_kernel(j, p))
			break;
	if (p == j->in->nr_policies) {
		if (j->kernel_policy)
			note(j, "unseen", "self-check", 0,
			     "the kernel's own policy, %s, was not among those replayed",
			     j->kernel_policy);
		sqlite3_finalize(stmt);
		return;
	}
	const struct policy_result *res = j->in->outcomes[p];
	for (unsigned int point = 0; point < NR_POINTS; point++)
		for (unsigned int level = 0; level < NR_LEVELS; level++) {
			struct check_counts c = {.recorded = j->counts->recorded[point][level],
						 .seen = is_seen(j, point, level)};

			for (unsigned int scope = 0; scope < NR_SCOPES; scope++) {
				c.decisions += res->flush[point][level][scope].decisions;
				c.replayed += res->flush[point][level][scope].flushes.estimate;
			}
			if (point == POINT_SPURIOUS) {
				struct real_bound b = spurious_of(j, p, level);

				c.decisions = (uint64_t)derive_rounded(b.estimate);
				c.replayed = spurious_scope(j, p, level) == SCOPE_NONE
						     ? 0
						     : c.decisions;
			}
			if (!derive_check_row(&c, point))
				continue;
			if (derive_check_silent(&c, point))
				note(j, "unseen", point_name(point), (int64_t)c.replayed, "%s",
				     CHECK_SILENT);
			put(j->r, stmt, "isssnis", j->trace, j->kernel_policy, point_name(point),
			    level_name(level), (int)c.seen, (int64_t)c.recorded,
			    (int64_t)c.replayed, check_source(j, point, level));
		}
	sqlite3_finalize(stmt);
}

/* Stale entries of policy P by mm, and the pages that had most. */
static void write_stale(struct job *j, unsigned int p, int64_t id)
{
	struct top *t = p < j->r->nr_stales ? &j->r->stales[p] : NULL;
	sqlite3_stmt *sums = insert_into(j->r, "stale_mm", 4);
	sqlite3_stmt *pages = insert_into(j->r, "stale_pages", 4);

	if (t)
		top_sort(t);
	for (size_t i = 0; t && i < t->nr_sums; i++)
		put(j->r, sums, "iiii", id, (int64_t)t->sums[i].mm, (int64_t)t->sums[i].rows,
		    (int64_t)t->sums[i].n);
	for (size_t i = 0; t && i < t->nr; i++)
		put(j->r, pages, "iiii", id, (int64_t)t->rows[i].mm, (int64_t)t->rows[i].page,
		    (int64_t)t->rows[i].n);
	sqlite3_finalize(sums);
	sqlite3_finalize(pages);
	if (t)
		top_clear(t);
}

/*
 * The pages with most reuses join the others' rows, the rest of an mm as a row without a page.
 * Returns how many pages that is.
 */
static int64_t add_reuses(struct job *j)
{
	struct top *t = &j->r->reuses;
	sqlite3_stmt *stmt = insert_into(j->r, "temp.page_rows", 5);
	const char *point = point_name(POINT_WP_REUSE), *level = level_name(LEVEL_PTE);
	int64_t rest = 0;

	top_sort(t);
	for (size_t i = 0; i < t->nr; i++) {
		struct top_sum *sum = top_sum_of(t, t->rows[i].mm);

		put(j->r, stmt, "iissi", (int64_t)t->rows[i].mm, (int64_t)t->rows[i].page, point,
		    level, (int64_t)t->rows[i].n);
		sum->rows--;
		sum->n -= t->rows[i].n;
	}
	for (size_t i = 0; i < t->nr_sums; i++) {
		rest += (int64_t)t->sums[i].rows;
		if (t->sums[i].rows)
			put(j->r, stmt, "inssi", (int64_t)t->sums[i].mm, 0, INT64_C(0), point,
			    level, (int64_t)t->sums[i].n);
	}
	sqlite3_finalize(stmt);
	top_clear(t);
	return rest;
}

static void write_pages_and_mms(struct job *j, const int64_t *ids)
{
	sqlite3_stmt *stmt;
	char sql[512];

	for (unsigned int p = 0; p < j->in->nr_policies; p++) {
		snprintf(
			sql, sizeof(sql),
			"INSERT INTO flush_mm SELECT %" PRId64
			", mm, point, scope, sum(low), sum(estimate), "
			"sum(high) FROM temp.flush_mm_rows WHERE policy = %u GROUP BY mm, point, scope "
			"ORDER BY mm, point, scope",
			ids[p], p);
		run(j->r, sql);
		write_stale(j, p, ids[p]);
	}
	snprintf(sql, sizeof(sql),
		 "INSERT INTO mms SELECT %" PRId64
		 ", mm, pointer, tid, comm, origin, first_ns, last_ns, pages "
		 "FROM temp.mm_rows ORDER BY mm",
		 j->trace);
	run(j->r, sql);
	/* The hottest pages one by one, the rest added up. */
	int64_t rest = add_reuses(j);
	run(j->r,
	    "CREATE TEMP TABLE page_sums AS SELECT mm, page, point, level, sum(decisions) AS n "
	    "FROM temp.page_rows GROUP BY mm, page, point, level "
	    "ORDER BY page IS NULL, n DESC, mm, page, point, level");
	snprintf(sql, sizeof(sql),
		 "INSERT INTO pages SELECT %" PRId64
		 ", mm, page, point, level, n FROM temp.page_sums "
		 "WHERE rowid <= %d AND page NOT NULL ORDER BY mm, page, point, level",
		 j->trace, PAGE_ROWS);
	run(j->r, sql);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO pages SELECT %" PRId64
		 ", mm, NULL, point, level, sum(n) FROM temp.page_sums "
		 "WHERE rowid > %d OR page IS NULL GROUP BY mm, point, level "
		 "ORDER BY mm, point, level",
		 j->trace, PAGE_ROWS);
	run(j->r, sql);
	int64_t pages = one_number(j->r, "SELECT count(page) FROM temp.page_sums");
	rest += pages > PAGE_ROWS ? pages - PAGE_ROWS : 0;
	if (rest > 0)
		note(j, "left out", "pages", rest, "%s", NOTE_PAGES_LEFT);
	run(j->r, "DROP TABLE temp.page_sums");
	stmt = insert_into(j->r, "runs", 4);
	put(j->r, stmt, "isss", j->trace, "cost", j->in->cost ? j->cost : "none",
	    j->in->cost_origin);
	snprintf(sql, sizeof(sql), "%u", priced_cpus(j));
	put(j->r, stmt, "isss", j->trace, "cost_cpus", sql,
	    j->in->cost && j->in->cost->use_cpus ? "given" : "default");
	put(j->r, stmt, "isss", j->trace, "tlb", j->in->tlb ? j->in->tlb : "none",
	    j->in->tlb ? "given" : "default");
	snprintf(sql, sizeof(sql), "%zu", j->in->max_rows);
	put(j->r, stmt, "isss", j->trace, "exposure_rows", sql, "default");
	snprintf(sql, sizeof(sql), "%d", PAGE_ROWS);
	put(j->r, stmt, "isss", j->trace, "page_rows", sql, "default");
	snprintf(sql, sizeof(sql), "%zu", engine_page_bytes(j->in->nr_policies));
	put(j->r, stmt, "isss", j->trace, "bytes_per_live_page", sql, "default");
	sqlite3_finalize(stmt);
}

static bool lost_events(const struct job *j)
{
	for (size_t i = 0; i < j->info->nr_entries; i++) {
		const struct trace_cpu *c = &j->info->cpus[i];

		if (c->loss.events || c->loss.unknown || c->stat.overrun || c->stat.dropped ||
		    c->stat.commit_overrun)
			return true;
	}
	return false;
}

/* The worst comes first. */
enum witness_kind { WITNESS_UNSAFE, WITNESS_UNBROKEN, WITNESS_STUCK, NR_WITNESSES };

static const char *const witness_verdicts[] = {
	[WITNESS_UNSAFE] = "unsafe",
	[WITNESS_UNBROKEN] = "break-before-make violated",
	[WITNESS_STUCK] = "stuck",
};

static void witness_text(const struct job *j, const struct witness *w, enum witness_kind kind,
			 char *text, size_t size)
{
	static const char *const what[] = {
		[WITNESS_UNSAFE] =
			"may hold an entry that allows more than the page table, or maps what is gone",
		[WITNESS_UNBROKEN] = "changes a block without taking the old entry away",
		[WITNESS_STUCK] =
			"may hold a read-only entry that nothing on this path removes: it faults for ever",
	};

	snprintf(text, size,
		 "%" PRIu64 ".%09" PRIu64 " s, %s %s on cpu %u, mm %u, page 0x%" PRIx64 ": cpu %u %s",
		 w->time_ns / 1000000000, w->time_ns % 1000000000, point_name(w->point),
		 level_name(w->level), decoder_cpu(j->in->decoder, w->cpu), w->mm, w->addr,
		 decoder_cpu(j->in->decoder, kind == WITNESS_UNBROKEN ? w->cpu : w->holder),
		 what[kind]);
}

/*
 * Judged at the high bound, over the points that the recording shows. What is unsafe is so whatever
 * was lost; what looks safe is not known to be, if events are missing.
 */
static void write_verdict(struct job *j, sqlite3_stmt *stmt, unsigned int p, int64_t id,
			  int64_t unseen)
{
	const struct policy_result *res = j->in->outcomes[p];
	const struct witness *witnesses[] = {[WITNESS_UNSAFE] = &res->unsafe,
					     [WITNESS_UNBROKEN] = &res->unbroken,
					     [WITNESS_STUCK] = &res->stuck};
	char text[256];

	for (enum witness_kind kind = 0; kind < NR_WITNESSES; kind++) {
		if (!witnesses[kind]->seen)
			continue;
		witness_text(j, witnesses[kind], kind, text, sizeof(text));
		put(j->r, stmt, "issi", id, witness_verdicts[kind], text, unseen);
		return;
	}
	put(j->r, stmt, "issi", id, lost_events(j) ? "unknown" : "safe",
	    lost_events(j) ? "events were lost: what they would have shown is not known" : NULL,
	    unseen);
}

/* ---- shards ---- */

static void write_witness(sqlite3_stmt *stmt, struct job *j, int64_t id, const struct witness *w,
			  enum witness_kind kind)
{
	char text[256];

	if (!w->seen)
		return;
	witness_text(j, w, kind, text, sizeof(text));
	put(j->r, stmt, "isis", id, witness_verdicts[kind], (int64_t)w->seq, text);
}

static void write_shard_sums(struct job *j, unsigned int p, int64_t id)
{
	const struct policy_result *res = j->in->outcomes[p];
	const struct {
		const char *name;
		const struct exposure_sum (*sums)[NR_ENDED];
	} sets[] = {{"proven", res->proven},
		    {"held", res->held},
		    {"likely", res->likely},
		    {"possible", res->possible}};
	sqlite3_stmt *stmt = insert_into(j->r, "shard_exposures", 8);

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		for (unsigned int kind = 0; kind < NR_STALENESS; kind++)
			for (unsigned int ended = 0; ended < NR_ENDED; ended++) {
				const struct exposure_sum *s = &sets[i].sums[kind][ended];

				if (s->entries <= 0)
					continue;
				put(j->r, stmt, "isssdiii", id, staleness_name(kind),
				    ended_name(ended), sets[i].name, s->entries,
				    (int64_t)(s->entry_units >> EXPOSURE_LIMB),
				    (int64_t)(s->entry_units & EXPOSURE_LIMB_MASK),
				    (int64_t)s->max_ns);
			}
	sqlite3_finalize(stmt);
}

/* What this shard counted, in the form in which shards add up. */
static void write_shard(struct job *j, const int64_t *ids)
{
	const struct shard *shard = &j->in->shard;
	sqlite3_stmt *stmt = insert_into(j->r, "shards", 3);

	put(j->r, stmt, "iii", j->trace, (int64_t)shard->part, (int64_t)shard->parts);
	sqlite3_finalize(stmt);
	note(j, "left out", "shards", shard->parts - 1,
	     "this is shard %u of %u: what belongs to the others is missing; tlbreport merge adds them "
	     "up", shard->part, shard->parts);
	for (unsigned int p = 0; p < j->in->nr_policies; p++) {
		const struct policy_result *res = j->in->outcomes[p];
		struct policy_counts counts = policy_counts(j, p);

		stmt = insert_into(j->r, "shard_counts", 4);
		for (const struct counts_field *f = counts_fields; f->name; f++)
			for (unsigned int i = 0; i < f->nr; i++) {
				const char *at = (const char *)&counts + f->offset + i * f->stride;
				const char *subject = f->subject ? f->subject(i) : "";

				if (f->is_double)
					put(j->r, stmt, "issd", ids[p], f->name, subject,
					    *(const double *)at);
				else
					put(j->r, stmt, "issi", ids[p], f->name, subject,
					    (int64_t)*(const uint64_t *)at);
			}
		sqlite3_finalize(stmt);
		write_shard_sums(j, p, ids[p]);
		stmt = insert_into(j->r, "shard_witnesses", 4);
		write_witness(stmt, j, ids[p], &res->unsafe, WITNESS_UNSAFE);
		write_witness(stmt, j, ids[p], &res->unbroken, WITNESS_UNBROKEN);
		write_witness(stmt, j, ids[p], &res->stuck, WITNESS_STUCK);
		sqlite3_finalize(stmt);
		if (j->in->shard_unsure[p])
			note(j, "assumed", j->in->policies[p].spec, 0,
			     "its hook asks who holds entries of other shards' address spaces, which a shard "
			     "does not know: counts may differ from a replay without shards");
	}
	stmt = insert_into(j->r, "shard_points", 5);
	for (unsigned int point = 0; point < NR_POINTS; point++)
		for (unsigned int level = 0; level < NR_LEVELS; level++)
			put(j->r, stmt, "issis", j->trace, point_name(point), level_name(level),
			    (int64_t)j->counts->recorded[point][level],
			    check_source(j, point, level));
	sqlite3_finalize(stmt);
}

static void write_policies(struct job *j)
{
	sqlite3_stmt *rows = insert_into(j->r, "policies", 7);
	sqlite3_stmt *verdicts = insert_into(j->r, "verdicts", 4);
	int64_t ids[j->in->nr_policies + 1];
	int64_t next = one_number(j->r, "SELECT coalesce(max(id), 0) + 1 FROM policies");

	for (unsigned int p = 0; p < j->in->nr_policies; p++) {
		const struct policy_instance *inst = &j->in->policies[p];
		int64_t unseen = 0;

		ids[p] = next + p;
		for (unsigned int point = 0; point < NR_POINTS; point++)
			unseen += point_matters(inst->policy, point) &&
				  !interpret_feeds(j->in->interpreter, point);
		put(j->r, rows, "iisssss", ids[p], j->trace, inst->spec, inst->policy->name,
		    inst->policy->summary, inst->policy->source, inst->policy->omits);
		write_params(j, p, ids[p]);
		write_flush(j, p, ids[p]);
		write_faults(j, p, ids[p]);
		write_exposures(j, p, ids[p]);
		if (j->in->cost)
			write_costs(j, p, ids[p]);
		write_verdict(j, verdicts, p, ids[p], unseen);
	}
	sqlite3_finalize(rows);
	sqlite3_finalize(verdicts);
	write_pages_and_mms(j, ids);
	if (j->in->shard.parts > 1)
		write_shard(j, ids);
}

static void write_cost_items(struct job *j)
{
	sqlite3_stmt *stmt = insert_into(j->r, "cost_items", 12);

	for (unsigned int i = 0; j->in->cost && i < NR_COSTS; i++) {
		const struct cost_item *item = &j->in->cost->items[i];

		put(j->r, stmt, "isssdddsssss", j->trace, j->cost, item->name, item->unit, item->low,
		    item->value, item->high, cost_trust_name(item->trust), item->source, item->cpu,
		    item->cores, item->kernel);
	}
	sqlite3_finalize(stmt);
}

/* What the policies would do at the faults that a kernel without dbm takes more. */
static void write_dirty_flushes(struct job *j, int64_t first_policy)
{
	const struct dirty_result *d = dirty_result(j->in->dirty);
	const struct dirty_bound *b = &d->outcome[MKWRITE_CLEAN][DBM_OFF].extra_faults;
	sqlite3_stmt *stmt = insert_into(j->r, "dirty_flush", 7);

	for (unsigned int p = 0; b->high > 0 && p < j->in->nr_policies; p++) {
		const struct policy *policy = j->in->policies[p].policy;
		enum scope scope = policy->table[POINT_DIRTY_UP][LEVEL_PTE].act[0].scope;
		double n = scope != SCOPE_NONE;

		if (policy->hooked & POINT_BIT(POINT_DIRTY_UP)) {
			note(j, "left out", j->in->policies[p].spec, 0,
			     "v_dirty_flush: where it flushes at dirty_up depends on more than its "
			     "table");
			continue;
		}
		put(j->r, stmt, "isssddd", first_policy + p, mkwrite_name(MKWRITE_CLEAN),
		    dbm_name(DBM_OFF), scope_name(scope), n * b->low, n * b->estimate,
		    n * b->high);
	}
	sqlite3_finalize(stmt);
}

/* What was recorded of swap, and what the four kernels would have made of it. */
static void write_dirty(struct job *j)
{
	const struct dirty_result *d = dirty_result(j->in->dirty);
	sqlite3_stmt *stmt = insert_into(j->r, "swap", 15);
	char sql[256];

	put(j->r, stmt, "iiiiiiiiiiiiiss", j->trace, (int64_t)d->swap_ins,
	    (int64_t)d->swap_in_writes, (int64_t)d->made, (int64_t)d->made_dirty,
	    (int64_t)d->unmapped, (int64_t)d->shared, (int64_t)d->not_anon, (int64_t)d->writes,
	    (int64_t)d->writes_unplaced, (int64_t)d->missing_writes, (int64_t)d->upgrades,
	    (int64_t)d->silent, d->mkwrite < 0 ? NULL : mkwrite_name((unsigned int)d->mkwrite),
	    d->dbm < 0 ? NULL : dbm_name((unsigned int)d->dbm));
	sqlite3_finalize(stmt);
	stmt = insert_into(j->r, "dirty", 13);
	for (unsigned int m = 0; m < NR_MKWRITE; m++)
		for (unsigned int h = 0; h < NR_DBM; h++) {
			const struct dirty_outcome *o = &d->outcome[m][h];
			bool told = d->mkwrite >= 0 && (d->mkwrite != (int)m || d->dbm >= 0);

			put(j->r, stmt, "issnddddddddd", j->trace, mkwrite_name(m), dbm_name(h),
			    (int)told, (int64_t)(d->mkwrite == (int)m && d->dbm == (int)h),
			    o->writes.low, o->writes.estimate, o->writes.high, o->unwritten.low,
			    o->unwritten.estimate, o->unwritten.high, o->extra_faults.low,
			    o->extra_faults.estimate, o->extra_faults.high);
		}
	sqlite3_finalize(stmt);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO dirty_mm SELECT %" PRId64 ", * FROM temp.dirty_mm_rows ORDER BY mm",
		 j->trace);
	run(j->r, sql);
	write_dirty_flushes(j, one_number(j->r, "SELECT min(id) FROM policies WHERE trace = "
						"(SELECT max(id) FROM traces)"));
}

static void write_dirty_notes(struct job *j)
{
	const struct dirty_result *d = dirty_result(j->in->dirty);

	if (d->writes_unplaced)
		note(j, "unplaced", "swap writes", (int64_t)d->writes_unplaced,
		     "writes to swap of pages that were not seen unmapped just before; taken to be "
		     "the same under every kernel");
	if (d->missing_writes)
		note(j, "unplaced", "swap writes missing", (int64_t)d->missing_writes,
		     "pages that reclaim unmapped and had to write, and no write was seen before they "
		     "came back or the recording ended");
	if (d->unknown_before)
		note(j, "unknown", "pages", (int64_t)d->unknown_before,
		     "reclaimed pages whose last fault came before the recording: they are in the "
		     "bounds of what other kernels write");
	if (d->unknown_entries)
		note(j, "unknown", "swap-ins", (int64_t)d->unknown_entries,
		     "swap-ins for a read whose entry was not recorded, or cannot be read for this "
		     "architecture");
	if (!decoder_has(j->in->decoder, ROLE_SWAP_ADD, 0))
		note(j, "unseen", "add_to_swap", 0,
		     "not recorded: a page is taken to keep its copy in swap while it is in memory, in "
		     "the estimate (a fast device, as zram, keeps none)");
	if (j->in->dirty_share < 0)
		note(j, "assumed", "later writes", 0,
		     "swapped-in pages whose later writes nothing shows are taken to be written as "
		     "often as pages that are swapped out, in the estimate");
	else
		note(j, "assumed", "later writes", 0,
		     "of the swapped-in pages whose later writes nothing shows, the share given is "
		     "taken to be written, in the estimate");
	note(j, "unseen", "mkwrite elsewhere", 0,
	     "migration, NUMA hinting, mprotect and splits make writable entries too; only swap-ins "
	     "are recorded and counted");
}

int results_trace(struct results *r, const struct results_input *input, struct results_error *err)
{
	struct job j = {.r = r, .in = input, .info = trace_info(input->trace),
			.counts = interpret_counts(input->interpreter),
			.kernel_policy = interpret_kernel_policy(input->interpreter)};

	drop_statements(r);
	if (r->full)
		note_no_memory(r);
	/*
	 * Until now nothing but temporary rows was written. A transaction that has read could not
	 * become one that writes while another replay is about to commit: this one waits for it.
	 */
	if (!r->writing)
		run(r, "COMMIT; BEGIN IMMEDIATE");
	r->writing = true;
	if (input->cost)
		cost_label(input->cost, j.cost, sizeof(j.cost));
	j.notes = insert_into(r, "notes", 5);
	write_trace(&j);
	write_recorded(&j);
	write_facts(&j);
	write_heat(&j);
	write_latency(&j);
	write_cost_items(&j);
	write_policies(&j);
	write_selfcheck(&j);
	write_notes(&j);
	if (input->dirty) {
		write_dirty(&j);
		write_dirty_notes(&j);
	}
	sqlite3_finalize(j.notes);
	return r->error ? fail(r, err) : 0;
}
