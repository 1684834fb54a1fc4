// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xBestIndex says in idxStr, one letter per argument of xFilter, which conditions it took:
 *
 *	F  file (of the table-valued function)     c t  cpu, tid
 *	=  > g < l   time_ns: = > >= < <=          s e  system, event; E: event IN (...)
 *
 * None of them is taken as settled: SQLite checks every row again. So a value of an odd type (text
 * for a time) can be left to SQLite by not using it.
 *
 * Recordings stay open, with what is known of their pages and tasks, until the connection is
 * closed, so the second query on one starts at once. One that was replaced meanwhile is opened
 * anew.
 */
#include "analysis/vtab.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/rawtrace.h"

SQLITE_EXTENSION_INIT1

#define KEPT_MAX 8 /* recordings that stay open without a user */

enum {
	COL_TIME, COL_CPU, COL_TID, COL_COMM, COL_MM, COL_SYSTEM, COL_EVENT, COL_ADDRESS, COL_FLAGS,
	COL_RET, COL_FIELDS, COL_BUFFER, COL_LOST, COL_FILE,
};
static const char schema[] =
	"CREATE TABLE x(time_ns INTEGER, cpu INTEGER, tid INTEGER, comm TEXT, mm TEXT, system TEXT, "
	"event TEXT, address INTEGER, flags INTEGER, ret INTEGER, fields TEXT, buffer TEXT, lost INTEGER, "
	"file TEXT HIDDEN)";

/* An open recording. */
struct kept {
	struct kept *next;
	struct raw_file *file;
	char *path;
	struct stat stat;
	unsigned int users;
};

/* What belongs to one connection. */
struct connection {
	struct kept *kept; /* the last used first */
	struct raw_stats stats;
	uint64_t rows;
};

struct table {
	sqlite3_vtab base;
	struct connection *connection;
	struct kept *kept; /* NULL: the table-valued function */
};

struct table_cursor {
	sqlite3_vtab_cursor base;
	struct kept *kept;
	struct raw_scan *scan;
	struct trace_record record;
	int64_t place;
	uint8_t *ids;
	bool end;
};

/* ---- open recordings ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void kept_free(struct kept *k)
{
	raw_close(k->file);
	free(k->path);
	free(k);
}

/* Closes what nobody uses: beyond the first KEEP. */
static void trim(struct connection *c, unsigned int keep)
{
	struct kept **link = &c->kept;

	while (*link) {
		struct kept *k = *link;

		if (k->users || keep) {
			keep -= !k->users;
			link = &k->next;
			continue;
		}
		*link = k->next;
		kept_free(k);
	}
}

static struct kept *kept_get(struct connection *c, const char *path, struct trace_error *err)
{
	struct stat now = {0};
	struct kept **link, *k;

	if (!stat(path, &now))
		for (link = &c->kept; (k = *link); link = &k->next)
			if (!strcmp(k->path, path) && same_file(&k->stat, &now)) {
				*link = k->next;
				k->next = c->kept;
				c->kept = k;
				k->users++;
				return k;
			}
	k = calloc(1, sizeof(*k));
	if (k)
		k->path = strdup(path);
	if (!k || !k->path) {
		free(k);
		strcpy(err->text, "out of memory");
		errno = ENOMEM;
		return NULL;
	}
	k->stat = now;
	k->file = raw_open(path, &c->stats, err);
	if (!k->file) {
		int saved = errno;

		kept_free(k);
		errno = saved;
		return NULL;
	}
	k->users = 1;
	k->next = c->kept;
	c->kept = k;
	return k;
}

static void kept_put(struct connection *c, struct kept *k)
{
	if (k)
		k->users--;
	trim(c, KEPT_MAX);
}

/* ---- tables ---- */

/* The text of a module's argument: 'it''s' or "it" or it. To be freed. */
static char *unquote(const char *arg)
{
	size_t n = strlen(arg), used = 0;
	char quote = arg[0];
	char *out = malloc(n + 1);

	if (!out)
		return NULL;
	if (n < 2 || (quote != '\'' && quote != '"') || arg[n - 1] != quote) {
		memcpy(out, arg, n + 1);
		return out;
	}
	for (size_t i = 1; i < n - 1; i++) {
		out[used++] = arg[i];
		if (arg[i] == quote && arg[i + 1] == quote && i + 1 < n - 1)
			i++;
	}
	out[used] = '\0';
	return out;
}

static int failed(char **error, const char *text)
{
	sqlite3_free(*error);
	*error = sqlite3_mprintf("%s", text);
	return *error ? SQLITE_ERROR : SQLITE_NOMEM;
}

static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **error)
{
	/* The function that needs no CREATE has the module's own name and no argument. */
	bool eponymous = argc == 3 && !strcmp(argv[2], "tlbtrace");
	struct table *t;
	struct trace_error err;
	int ret;

	if (argc != 4 && !eponymous)
		return failed(error,
			      "tlbtrace takes one argument, the recording: tlbtrace('FILE')");
	ret = sqlite3_declare_vtab(db, schema);
	if (ret != SQLITE_OK)
		return ret;
	/*
	 * A database from somebody else must not make us read files when one of its views is used.
	 */
	sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
	t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->connection = aux;
	if (!eponymous) {
		char *path = unquote(argv[3]);

		t->kept = path ? kept_get(aux, path, &err) : NULL;
		if (!t->kept) {
			ret = path ? failed(error, err.text) : SQLITE_NOMEM;
			free(path);
			free(t);
			return ret;
		}
		free(path);
	}
	*out = &t->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base)
{
	struct table *t = (struct table *)base;

	kept_put(t->connection, t->kept);
	free(t);
	return SQLITE_OK;
}

/* Whether condition I compares as we would: bytes of text, not letters of either case. */
static bool binary(sqlite3_index_info *info, int i)
{
	const char *collation = sqlite3_vtab_collation(info, i);

	return collation && !strcmp(collation, "BINARY");
}

static char letter_of(sqlite3_index_info *info, int i)
{
	int op = info->aConstraint[i].op;

	if (info->aConstraint[i].iColumn == COL_TIME)
		switch (op) {
		case SQLITE_INDEX_CONSTRAINT_EQ: return '=';
		case SQLITE_INDEX_CONSTRAINT_GT: return '>';
		case SQLITE_INDEX_CONSTRAINT_GE: return 'g';
		case SQLITE_INDEX_CONSTRAINT_LT: return '<';
		case SQLITE_INDEX_CONSTRAINT_LE: return 'l';
		default: return 0;
		}
	if (op != SQLITE_INDEX_CONSTRAINT_EQ)
		return 0;
	switch (info->aConstraint[i].iColumn) {
	case COL_FILE: return 'F';
	case COL_CPU: return 'c';
	case COL_TID: return 't';
	case COL_SYSTEM: return binary(info, i) ? 's' : 0;
	case COL_EVENT: return binary(info, i) ? 'e' : 0;
	default: return 0;
	}
}

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct table *t = (struct table *)base;
	const struct trace_info *trace = t->kept ? raw_info(t->kept->file) : NULL;
	/* About 45 bytes an event as it lies in the file; packed it takes a seventh of that. */
	double scanned =
		trace ? 1 + trace->file_size / (strcmp(trace->compression, "none") ? 7.0 : 45.0)
		      : 1e6;
	double rows = 1;
	char *letters;
	int used = 0;
	bool file = t->kept != NULL, wanted_file = false;

	letters = sqlite3_malloc(info->nConstraint + 1);
	if (!letters)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++) {
		char letter = letter_of(info, i);

		if (letter == 'F' && t->kept)
			continue;
		if (letter == 'F' && !info->aConstraint[i].usable)
			wanted_file = true;
		if (!letter || !info->aConstraint[i].usable)
			continue;
#if SQLITE_VERSION_NUMBER >= 3038000
		/* All values of an IN at once: one pass for all of them. */
		if (letter == 'e' && sqlite3_libversion_number() >= 3038000 &&
		    sqlite3_vtab_in(info, i, -1)) {
			sqlite3_vtab_in(info, i, 1);
			letter = 'E';
		}
#endif
		letters[used++] = letter;
		info->aConstraintUsage[i].argvIndex = used;
		switch (letter) {
		case 'F':
			file = true;
			info->aConstraintUsage[i].omit = 1;
			break;
		case '=':
			scanned /= 1e5;
			break;
		case 'c':
			scanned /= trace && trace->nr_cpus ? trace->nr_cpus : 4;
			break;
		case 't':
		case 's':
		case 'e':
		case 'E':
			rows /= 10;
			break;
		default: /* a bound of the time */
			scanned /= 10;
			break;
		}
	}
	letters[used] = '\0';
	info->idxStr = letters;
	info->needToFreeIdxStr = 1;
	if (!file && wanted_file)
		return SQLITE_CONSTRAINT; /* another order of the join knows the file */
	if (!file)
		rows = scanned = 1e15; /* nothing to be had this way, but a part of an OR may ask */
	if (scanned < 1)
		scanned = 1;
	rows *= scanned;
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	info->estimatedCost = 100 + scanned + rows;
	info->orderByConsumed = info->nOrderBy == 1 && info->aOrderBy[0].iColumn == COL_TIME &&
				!info->aOrderBy[0].desc;
	return SQLITE_OK;
}

static int table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct table_cursor *c = calloc(1, sizeof(*c));

	(void)base;
	if (!c)
		return SQLITE_NOMEM;
	*out = &c->base;
	return SQLITE_OK;
}

static void cursor_reset(struct table_cursor *c)
{
	struct table *t = (struct table *)c->base.pVtab;

	raw_scan_free(c->scan);
	c->scan = NULL;
	free(c->ids);
	c->ids = NULL;
	if (c->kept)
		kept_put(t->connection, c->kept);
	c->kept = NULL;
}

static int table_close(sqlite3_vtab_cursor *base)
{
	cursor_reset((struct table_cursor *)base);
	free(base);
	return SQLITE_OK;
}

static int cursor_failed(struct table_cursor *c, const char *text)
{
	c->end = true;
	return failed(&c->base.pVtab->zErrMsg, text);
}

static int table_next(sqlite3_vtab_cursor *base)
{
	struct table_cursor *c = (struct table_cursor *)base;
	struct trace_error err;
	int ret = raw_scan_next(c->scan, &c->record, &c->place, &err);

	if (ret < 0)
		return cursor_failed(c, err.text);
	c->end = !ret;
	((struct table *)base->pVtab)->connection->rows += ret;
	return SQLITE_OK;
}

/* Takes a bound of the time, as far as VALUE has one. */
static void bound(struct raw_window *w, char letter, sqlite3_value *value)
{
	uint64_t from = 0, to = UINT64_MAX;

	if (sqlite3_value_type(value) == SQLITE_INTEGER) {
		int64_t v = sqlite3_value_int64(value);

		/*
		 * Times beyond 2^63 are shown as negative numbers: nothing is left out for those.
		 */
		if (v < 0)
			return;
		from = v + (letter == '>');
		to = v;
		if (letter == '<' && v)
			to = v - 1;
	} else if (sqlite3_value_type(value) == SQLITE_FLOAT) {
		double v = sqlite3_value_double(value);

		if (!(v >= 0 && v < 9e18))
			return;
		from = (uint64_t)floor(v);
		to = (uint64_t)ceil(v);
	} else {
		return;
	}
	if (letter != '<' && letter != 'l' && from > w->from_ns)
		w->from_ns = from;
	if (letter != '>' && letter != 'g' && to < w->to_ns)
		w->to_ns = to;
}

/* Marks the ids of the events that SYSTEM and EVENT (either may be NULL) name. */
static void mark(struct raw_file *file, const char *system, const char *event, uint8_t *ids)
{
	const struct trace_format *formats;
	size_t nr;

	formats = raw_formats(file, &nr);
	for (size_t i = 0; i < nr; i++)
		if (formats[i].id < RAW_IDS && (!system || !strcmp(formats[i].system, system)) &&
		    (!event || !strcmp(formats[i].name, event)))
			ids[formats[i].id / 8] |= 1u << formats[i].id % 8;
	/* Events without a format go by their number. */
	if (event && event[0] >= '0' && event[0] <= '9') {
		unsigned long id = strtoul(event, NULL, 10);

		if (id < RAW_IDS)
			ids[id / 8] |= 1u << id % 8;
	}
}

/* Which ids the values for system and event (or events: IN) leave. */
static int choose(struct table_cursor *c, sqlite3_value *system, sqlite3_value *event, bool in)
{
	const char *name = NULL;

	if (system && sqlite3_value_type(system) == SQLITE_TEXT) {
		name = (const char *)sqlite3_value_text(system);
		if (name && !strcmp(name, "unknown"))
			name = NULL;
		else if (!event || (!in && sqlite3_value_type(event) != SQLITE_TEXT)) {
			c->ids = calloc(RAW_IDS / 8, 1);
			if (!c->ids || !name)
				return SQLITE_NOMEM;
			mark(c->kept->file, name, NULL, c->ids);
			return SQLITE_OK;
		}
	}
	if (!event || (!in && sqlite3_value_type(event) != SQLITE_TEXT))
		return SQLITE_OK;
	c->ids = calloc(RAW_IDS / 8, 1);
	if (!c->ids)
		return SQLITE_NOMEM;
#if SQLITE_VERSION_NUMBER >= 3038000
	if (in) {
		sqlite3_value *one;
		int ret;

		for (ret = sqlite3_vtab_in_first(event, &one); ret == SQLITE_OK && one;
		     ret = sqlite3_vtab_in_next(event, &one))
			if (sqlite3_value_type(one) == SQLITE_TEXT)
				mark(c->kept->file, name, (const char *)sqlite3_value_text(one),
				     c->ids);
		return ret == SQLITE_DONE ? SQLITE_OK : ret;
	}
#endif
	mark(c->kept->file, name, (const char *)sqlite3_value_text(event), c->ids);
	return SQLITE_OK;
}

static int table_filter(sqlite3_vtab_cursor *base, int number, const char *letters, int argc,
			sqlite3_value **argv)
{
	struct table_cursor *c = (struct table_cursor *)base;
	struct table *t = (struct table *)base->pVtab;
	struct raw_window window = {.to_ns = UINT64_MAX};
	sqlite3_value *system = NULL, *event = NULL;
	bool in = false, nothing = false;
	struct trace_error err;
	int ret;

	(void)number;
	cursor_reset(c);
	c->end = true;
	if (t->kept) {
		c->kept = t->kept;
		c->kept->users++;
	}
	for (int i = 0; i < argc; i++) {
		bool integer = sqlite3_value_type(argv[i]) == SQLITE_INTEGER;

		/* Nothing equals, or compares to, NULL. (The values of an IN look like one.) */
		nothing |= letters[i] != 'E' && sqlite3_value_type(argv[i]) == SQLITE_NULL;
		switch (letters[i]) {
		case 'F':
			if (sqlite3_value_type(argv[i]) != SQLITE_TEXT)
				return cursor_failed(
					c, "tlbtrace: the recording is to be named by a text");
			if (!c->kept)
				c->kept = kept_get(t->connection,
						   (const char *)sqlite3_value_text(argv[i]), &err);
			if (!c->kept)
				return cursor_failed(c, err.text);
			break;
		case 'c':
		case 't': {
			int64_t v = sqlite3_value_int64(argv[i]);
			bool fits =
				v >= INT32_MIN && v <= (letters[i] == 'c' ? UINT32_MAX : INT32_MAX);

			if (!integer)
				break;
			nothing |= !fits || (letters[i] == 'c' && v < 0);
			if (letters[i] == 'c') {
				window.one_cpu = true;
				window.cpu = (unsigned int)v;
			} else {
				window.one_tid = true;
				window.tid = (int32_t)v;
			}
			break;
		}
		case 's':
			system = argv[i];
			break;
		case 'E':
			in = true;
			event = argv[i];
			break;
		case 'e':
			event = argv[i];
			break;
		default:
			bound(&window, letters[i], argv[i]);
			break;
		}
	}
	if (nothing)
		return SQLITE_OK;
	if (!c->kept)
		return cursor_failed(c, "tlbtrace: which recording? tlbtrace('FILE')");
	ret = choose(c, system, event, in);
	if (ret != SQLITE_OK)
		return ret;
	window.ids = c->ids;
	c->scan = raw_scan_new(c->kept->file, &window, &err);
	if (!c->scan)
		return cursor_failed(c, err.text);
	return table_next(base);
}

static int table_eof(sqlite3_vtab_cursor *base)
{
	return ((struct table_cursor *)base)->end;
}

static int table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	*rowid = ((struct table_cursor *)base)->place;
	return SQLITE_OK;
}

static void give_number(sqlite3_context *out, struct table_cursor *c,
			const struct raw_format *format, const struct raw_field *field)
{
	uint64_t value;

	if (format && raw_value(c->kept->file, &c->record, field, &value))
		sqlite3_result_int64(out, (int64_t)value);
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	struct table_cursor *c = (struct table_cursor *)base;
	const struct trace_record *rec = &c->record;
	struct raw_file *file = c->kept->file;
	const struct raw_format *format;
	struct trace_error err;
	char text[24];
	uint64_t value;
	size_t size;

	switch (column) {
	case COL_TIME:
		sqlite3_result_int64(out, (int64_t)rec->time_ns);
		return SQLITE_OK;
	case COL_CPU:
		sqlite3_result_int64(out, rec->cpu);
		return SQLITE_OK;
	case COL_TID:
		sqlite3_result_int(out, rec->pid);
		return SQLITE_OK;
	case COL_BUFFER:
		sqlite3_result_text(out, raw_info(file)->buffers[rec->buffer].name, -1,
				    SQLITE_TRANSIENT);
		return SQLITE_OK;
	case COL_LOST:
		if (rec->missed)
			sqlite3_result_int64(out,
					     rec->missed_events ? (int64_t)rec->missed_events : -1);
		return SQLITE_OK;
	case COL_FILE:
		sqlite3_result_text(out, c->kept->path, -1, SQLITE_TRANSIENT);
		return SQLITE_OK;
	case COL_COMM: {
		const char *comm;

		if (raw_comm(file, rec->pid, rec->cpu, rec->time_ns, &comm, &err))
			return cursor_failed(c, err.text);
		if (comm)
			sqlite3_result_text(out, comm, -1, SQLITE_TRANSIENT);
		return SQLITE_OK;
	}
	}
	format = raw_format(file, rec->id);
	switch (column) {
	case COL_SYSTEM:
		if (format)
			sqlite3_result_text(out, format->system, -1, SQLITE_TRANSIENT);
		else
			sqlite3_result_text(out, "unknown", -1, SQLITE_STATIC);
		break;
	case COL_EVENT:
		if (format) {
			sqlite3_result_text(out, format->name, -1, SQLITE_TRANSIENT);
		} else {
			snprintf(text, sizeof(text), "%" PRId32, rec->id);
			sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
		}
		break;
	case COL_MM:
		if (format && raw_value(file, rec, format->mm, &value)) {
			snprintf(text, sizeof(text), "0x%" PRIx64, value);
			sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
		}
		break;
	case COL_ADDRESS:
		if (format && raw_address(file, format, rec, &value))
			sqlite3_result_int64(out, (int64_t)value);
		break;
	case COL_FLAGS:
		give_number(out, c, format, format ? format->flags : NULL);
		break;
	case COL_RET:
		give_number(out, c, format, format ? format->ret : NULL);
		break;
	case COL_FIELDS:
		if (format) {
			char *json = raw_json(file, format, rec, &size);

			if (!json)
				return SQLITE_NOMEM;
			sqlite3_result_text(out, json, (int)size, free);
		}
		break;
	}
	return SQLITE_OK;
}

static sqlite3_module module = {
	.iVersion = 0,
	.xCreate = table_connect, /* the same as xConnect: so the module is a function, too */
	.xConnect = table_connect,
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xDestroy = table_disconnect,
	.xOpen = table_open,
	.xClose = table_close,
	.xFilter = table_filter,
	.xNext = table_next,
	.xEof = table_eof,
	.xColumn = table_column,
	.xRowid = table_rowid,
};

/* ---- what was read ---- */

static void give_stats(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct connection *c = sqlite3_user_data(out);
	char *text = sqlite3_mprintf(
		"{\"scans\":%llu,\"events\":%llu,\"rows\":%llu,\"data_bytes\":%llu,"
		"\"index_bytes\":%llu}",
		(unsigned long long)c->stats.scans, (unsigned long long)c->stats.events,
		(unsigned long long)c->rows, (unsigned long long)c->stats.data_bytes,
		(unsigned long long)c->stats.index_bytes);

	(void)argc;
	(void)argv;
	c->stats = (struct raw_stats){0};
	c->rows = 0;
	if (text)
		sqlite3_result_text(out, text, -1, sqlite3_free);
	else
		sqlite3_result_error_nomem(out);
}

static void connection_free(void *arg)
{
	struct connection *c = arg;

	trim(c, 0);
	free(c);
}

int sqlite3_tlbtrace_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	struct connection *c;
	int ret;

	SQLITE_EXTENSION_INIT2(api);
	(void)error;
	c = calloc(1, sizeof(*c));
	if (!c)
		return SQLITE_NOMEM;
	/* The module owns C, and frees it when this fails, too. */
	ret = sqlite3_create_module_v2(db, "tlbtrace", &module, c, connection_free);
	if (ret == SQLITE_OK)
		ret = sqlite3_create_function_v2(db, "tlbtrace_stats", 0,
						 SQLITE_UTF8 | SQLITE_DIRECTONLY, c, give_stats,
						 NULL, NULL, NULL);
	return ret;
}
