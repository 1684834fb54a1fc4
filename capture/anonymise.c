// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A trace.dat of version 6 (trace-cmd.dat.v6(5)), one part after the other:
 *
 *   17 08 44 "tracing" "6\0" endian long-size page-size
 *   header_page, header_event      name, 8-byte size, text
 *   ftrace formats                 4-byte count, each 8-byte size, text
 *   event formats                  count of systems, each name, count, each 8-byte size, text
 *   kallsyms, printk, cmdlines     4-byte, 4-byte, 8-byte size, text
 *   cpus
 *   "options  \0"                  2-byte id, 4-byte size, bytes; to id 0. A buffer's option says
 *                                  where it is
 *   "flyrecord\0"                  for each CPU 8-byte offset, 8-byte size; also for each buffer
 *   pages of the ring buffers
 *
 * The formats say where in an event of an id a comm, a path or an address lies. Everything is
 * replaced where it stands, so that nothing moves. Where addresses are moved, the pages are read
 * twice: first for what tells whose address space is whose (shift.h).
 *
 * The operand of a TLBI says an ASID and no mm. It belongs to the mm that the same task was last
 * seen to act on, on the same CPU, where the function is one that a fault or a gather leads to.
 * Elsewhere (reclaim without its own probe, migration) nothing tells, and the address goes.
 */
#include "capture/anonymise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/child.h"
#include "capture/shift.h"
#include "schema/catalogue.h"
#include "schema/format.h"
#include "schema/snapshot.h"

#define NR_IDS        65536
#define PAGE_HEADER   16
#define PAGE_LEAST    512
#define TIME_HIGH     (UINT64_C(0xf8) << 56)
#define COMM_SIZE     16
#define MAX_FIELDS    6
#define OPTION_BUFFER 3
#define OPTION_UNAME  5
#define PAUSE_NS      20000000
#define PAUSES        30000 /* 10 min: a large file is compressed */
#define VA_MASK       ((UINT64_C(1) << 44) - 1) /* of a TLBI's operand: address >> 12 */
#define RVA_MASK      ((UINT64_C(1) << 37) - 1) /* of one of a range: address >> page shift */
#define COMMON_PID    4                         /* where every event has its task */
#define REMOTE        0x80                      /* FAULT_FLAG_REMOTE: of another one's mm */
#define NOTE_NS       UINT64_C(10000000) /* the same is noted again after so long */
#define SEEN_TASKS    4096

struct anonymiser {
	uint64_t key[2];
	bool shifts;
	const struct plan_wish *wish;
};

/* What to do to a field of an event. */
enum treatment { REPLACE_COMM, REPLACE_DYNAMIC, SHIFT_ADDRESS, SHIFT_OPERAND };

struct plan_of_id {
	struct {
		enum treatment what;
		unsigned int offset, size;
	} fields[MAX_FIELDS];
	unsigned int count;
	enum role role;
	bool is_return;
	struct {
		bool has;
		unsigned int offset, size;
	} slots[NR_SLOTS];
	struct tlbi_op op; /* of a TLBI */
	bool told;         /* of a TLBI: the events before it say whose it is */
	enum point point;
};

/* Whom a CPU was last seen to act on. */
struct acting {
	int32_t tid;
	uint64_t mm;
	enum role role;
};

struct file {
	unsigned char *data;
	size_t size, at;
	unsigned int page_size, cpus;
	struct plan_of_id *ids;
	const struct anonymiser *anonymiser;
	struct shift *shift;
	bool noting; /* the first reading */
	struct acting acting;
	struct {
		int32_t tid;
		uint64_t mm, time_ns;
	} *seen; /* by tid: what was noted last */
	uint64_t blanked;
	int failure;
};

struct anonymiser *anonymiser_new(bool shift, const struct plan_wish *wish)
{
	struct anonymiser *anonymiser = calloc(1, sizeof(*anonymiser));

	if (!anonymiser ||
	    getrandom(anonymiser->key, sizeof(anonymiser->key), 0) != sizeof(anonymiser->key)) {
		free(anonymiser);
		return NULL;
	}
	anonymiser->shifts = shift;
	anonymiser->wish = wish;
	return anonymiser;
}

void anonymiser_free(struct anonymiser *anonymiser)
{
	free(anonymiser);
}

/* A keyed mix of the name: whoever has only the recording cannot go back by trying names. */
static uint64_t mix(uint64_t key, const char *text, size_t size)
{
	uint64_t hash = key;

	for (size_t i = 0; i < size && text[i]; i++) {
		hash ^= (unsigned char)text[i];
		hash *= UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	hash ^= key >> 7;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	return hash ^ hash >> 32;
}

static void replace_comm(const struct anonymiser *anonymiser, char *comm, size_t size)
{
	char token[24];

	if (!size || !comm[0] || !strncmp(comm, "swapper/", 8) || !strncmp(comm, "<idle>", 6))
		return;
	uint64_t hash = mix(anonymiser->key[0], comm, size);
	snprintf(token, sizeof(token), "t%08x", (unsigned int)hash);
	memset(comm, 0, size);
	memcpy(comm, token, strlen(token) < size ? strlen(token) : size - 1);
}

void anonymise_comm(const struct anonymiser *anonymiser, char comm[16])
{
	replace_comm(anonymiser, comm, COMM_SIZE);
}

/* ---- reading the file's head ---- */

static uint64_t take(struct file *f, unsigned int bytes)
{
	uint64_t value = 0;

	if (f->size - f->at < bytes) {
		f->at = f->size;
		return 0;
	}
	memcpy(&value, f->data + f->at, bytes);
	f->at += bytes;
	return value;
}

/* SIZE bytes from here on; NULL if there are not that many. */
static char *take_bytes(struct file *f, uint64_t size)
{
	char *at = (char *)f->data + f->at;

	if (size > f->size - f->at)
		return NULL;
	f->at += size;
	return at;
}

static char *take_string(struct file *f)
{
	char *at = (char *)f->data + f->at;
	char *end = memchr(at, '\0', f->size - f->at);

	return end ? take_bytes(f, (size_t)(end - at) + 1) : NULL;
}

/* Overwrites letters and digits, so that lines stay lines. */
static void blank(char *text, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		if ((unsigned char)text[i] > ' ')
			text[i] = '.';
}

static bool is_user_address(const struct format_field *field)
{
	static const char *const names[] = {"addr", "raddr", "address", "start",
					    "end",  "ip",    "upc"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (format_field_is(field, names[i]))
			return true;
	return false;
}

/* Whether FIELD is what --access said of this event, or the place of a probe in a program. */
static bool is_users_address(const struct file *f, const char *system, const char *name,
			     const struct format_field *field)
{
	const struct plan_wish *wish = f->anonymiser->wish;

	for (size_t i = 0; wish && i < wish->access_count; i++)
		if (!strcmp(wish->access[i].system, system) && !strcmp(wish->access[i].name, name))
			return format_field_is(field, wish->access[i].field) ||
			       format_field_is(field, "__probe_ip");
	return false;
}

static void add_treatment(struct plan_of_id *plan, enum treatment what,
			  const struct format_field *field)
{
	if (plan->count == MAX_FIELDS)
		return;
	plan->fields[plan->count].what = what;
	plan->fields[plan->count].offset = field->offset;
	plan->fields[plan->count++].size = field->size;
}

/* Takes note of where a field of ROW's lies. */
static void plan_slot(struct plan_of_id *plan, const struct catalogue_row *row,
		      const struct format_field *found)
{
	for (size_t i = 0; i < sizeof(row->fields) / sizeof(*row->fields); i++) {
		const struct catalogue_field *field = &row->fields[i];

		for (size_t n = 0; n < 3 && field->names[n]; n++) {
			if (!format_field_is(found, field->names[n]) ||
			    plan->slots[field->slot].has)
				continue;
			plan->slots[field->slot].has = true;
			plan->slots[field->slot].offset = found->offset;
			plan->slots[field->slot].size = found->size;
		}
	}
}

/* Whether what comes before a TLBI of FUNCTION tells whose address it flushes. */
static void plan_tlbi(struct plan_of_id *plan, const char *name)
{
	char function[64];
	enum tlbi_context context;
	enum level level;

	plan->role = ROLE_TLBI;
	if (!tlbi_parse_name(name, function, sizeof(function), &plan->op))
		return;
	plan->point = tlbi_site_point(function, &plan->op, &context, &level);
	plan->told = context != TLBI_SITE_UNKNOWN && plan->point != POINT_RECLAIM &&
		     plan->point != POINT_AGE && plan->point != POINT_MIGRATE &&
		     plan->point != POINT_BATCH_PENDING && plan->point != POINT_COLLAPSE;
}

/* The text behind "name:", as a string. */
static void event_name(const char *text, uint64_t size, char *out, size_t out_size)
{
	const char *end = memchr(text, '\n', size);
	size_t n = end ? (size_t)(end - text) : size;

	*out = '\0';
	if (n > 6 && !memcmp(text, "name: ", 6) && n - 6 < out_size) {
		memcpy(out, text + 6, n - 6);
		out[n - 6] = '\0';
	}
}

/* Returns 0, or -EINVAL for a format that no kernel writes: what is in its events is not known. */
static int plan_event_fields(struct file *f, const char *system, const char *text, uint64_t size)
{
	const char *at = text, *end = text + size;
	struct format_field field;
	char name[256];
	int id, ret;

	if (!size)
		return 0;
	if (!format_id(text, size, &id) || id >= NR_IDS)
		return -EINVAL;
	event_name(text, size, name, sizeof(name));
	struct plan_of_id *plan = &f->ids[id];
	const struct catalogue_row *row = catalogue_find(system, name);
	bool tlbi = tlbi_is_group(system);

	if (row)
		plan->role = row->role;
	else if (tlbi)
		plan_tlbi(plan, name);
	while ((ret = format_next_field(&at, end, &field)) > 0) {
		const char *tail = field.name + field.name_size - 4;
		bool comm = field.name_size >= 4 && !memcmp(tail, "comm", 4);
		bool number = field.size == 8 && f->anonymiser->shifts;

		plan->is_return |= format_field_is(&field, "__probe_ret_ip");
		if (row)
			plan_slot(plan, row, &field);
		if (format_field_is_dynamic(&field) && memmem(field.type, field.type_size, "char", 4))
			add_treatment(plan, REPLACE_DYNAMIC, &field);
		else if (comm && field.array)
			add_treatment(plan, REPLACE_COMM, &field);
		else if (number && (row ? is_user_address(&field)
					: is_users_address(f, system, name, &field)))
			add_treatment(plan, SHIFT_ADDRESS, &field);
		else if (tlbi && number && format_field_is(&field, "op"))
			add_treatment(plan, SHIFT_OPERAND, &field);
	}
	return ret < 0 ? -EINVAL : 0;
}

/* A count and so many formats, of one system. */
static int read_system(struct file *f, const char *system)
{
	uint64_t count = take(f, 4);

	while (count--) {
		if (f->size - f->at < 8)
			return -EINVAL;
		uint64_t size = take(f, 8);
		char *text = take_bytes(f, size);

		if (!text || plan_event_fields(f, system, text, size))
			return -EINVAL;
	}
	return 0;
}

static int read_formats(struct file *f)
{
	int rc = read_system(f, "ftrace");
	uint64_t systems = take(f, 4);

	while (!rc && systems--) {
		const char *system = take_string(f);

		rc = system ? read_system(f, system) : -EINVAL;
	}
	return rc;
}

/* "PID NAME" a line. The name is replaced in its room; what does not fit is cut. */
static void replace_cmdlines(struct file *f, char *text, uint64_t size)
{
	for (char *line = text, *end = text + size; line < end;) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		char *stop = newline ? newline : end;
		char *name = memchr(line, ' ', (size_t)(stop - line));

		if (name && ++name < stop && strncmp(name, "<idle>", 6)) {
			char comm[COMM_SIZE + 1] = "";
			size_t room = (size_t)(stop - name);

			memcpy(comm, name, room < COMM_SIZE ? room : COMM_SIZE);
			replace_comm(f->anonymiser, comm, COMM_SIZE);
			memset(name, '_', room);
			memcpy(name, comm, strlen(comm) < room ? strlen(comm) : room);
		}
		line = stop + 1;
	}
}

/* ---- the events ---- */

/* What a record has in SLOT. Returns false if it has not. */
static bool get(const struct plan_of_id *plan, const unsigned char *record, unsigned int size,
		enum slot slot, uint64_t *value)
{
	unsigned int offset = plan->slots[slot].offset, length = plan->slots[slot].size;

	*value = 0;
	if (!plan->slots[slot].has || !length || length > 8 || offset > size || length > size - offset)
		return false;
	memcpy(value, record + offset, length);
	return true;
}

static void note(struct file *f, enum shift_kind kind, uint64_t time_ns, int32_t tid, uint64_t a,
		 uint64_t b)
{
	struct shift_note one = {.time_ns = time_ns, .a = a, .b = b, .tid = tid, .kind = kind};
	int rc = shift_note(f->shift, &one);

	if (rc)
		f->failure = rc;
}

/* The tasks of a snapshot, a line each. */
static void note_snapshot(struct file *f, const char *text, size_t size)
{
	const char *end = memchr(text, '\0', size);
	struct snapshot_task task;

	if (!end)
		end = text + size;
	for (const char *line = text; line < end;) {
		const char *next = memchr(line, '\n', (size_t)(end - line));

		if (snapshot_parse(line, (size_t)((next ? next : end) - line), &task))
			note(f, SHIFT_BEFORE, 0, task.tid, task.kernel ? 0 : (uint32_t)task.mm, 0);
		line = next ? next + 1 : end;
	}
}

/* Takes note of what a record says of tasks and their address spaces. */
static void take_note(struct file *f, const unsigned char *record, unsigned int size,
		      const struct plan_of_id *plan, int32_t tid, uint64_t time_ns)
{
	uint64_t mm, other, flags, task;
	bool has_mm = get(plan, record, size, SLOT_MM, &mm) && mm;

	switch (plan->role) {
	case ROLE_MARKER:
		if (plan->slots[SLOT_TEXT].has && plan->slots[SLOT_TEXT].offset < size)
			note_snapshot(f, (const char *)record + plan->slots[SLOT_TEXT].offset,
				      size - plan->slots[SLOT_TEXT].offset);
		return;
	case ROLE_NEWTASK:
		if (get(plan, record, size, SLOT_PID, &task))
			note(f, SHIFT_TASK, time_ns, tid, (uint32_t)task, 0);
		return;
	case ROLE_EXEC:
		note(f, SHIFT_EXEC, time_ns, tid, 0, 0);
		f->seen[(uint32_t)tid % SEEN_TASKS].tid = -1;
		return;
	case ROLE_EXIT_MMAP:
		if (has_mm)
			note(f, SHIFT_END, time_ns, tid, mm, 0);
		return;
	case ROLE_COPY_RANGE:
		if (has_mm && get(plan, record, size, SLOT_MM2, &other) && other)
			note(f, SHIFT_COPY, time_ns, tid, mm, other);
		return;
	case ROLE_LOAD_MM:
	case ROLE_THREAD: /* of the task that comes, not of this one */
		return;
	default:
		break;
	}
	if (!has_mm)
		return;
	enum shift_kind kind = SHIFT_OTHER;
	if (plan->role == ROLE_FAULT && !plan->is_return &&
	    get(plan, record, size, SLOT_FLAGS, &flags))
		kind = flags & REMOTE ? SHIFT_REMOTE : SHIFT_FAULT;
	unsigned int at = (uint32_t)tid % SEEN_TASKS;
	if (f->seen[at].tid == tid && f->seen[at].mm == mm &&
	    time_ns - f->seen[at].time_ns < NOTE_NS)
		return;
	note(f, kind, time_ns, tid, mm, 0);
	if (kind == SHIFT_FAULT) {
		f->seen[at].tid = tid;
		f->seen[at].mm = mm;
		f->seen[at].time_ns = time_ns;
	}
}

/* The operand of a TLBI with its address moved, or without one where nobody knows whose it is. */
static uint64_t shift_operand(struct file *f, const struct plan_of_id *plan, uint64_t operand,
			      int32_t tid, uint64_t time_ns)
{
	bool range = plan->op.kind == TLBI_RVA || plan->op.kind == TLBI_RVAA;
	uint64_t mask = range ? RVA_MASK : VA_MASK, page = operand & mask, distance;
	unsigned int shift = 12 + 2 * (unsigned int)(range ? ((operand >> 46 & 3) - 1) & 3 : 0);
	bool acting = f->acting.tid == tid && f->acting.mm;
	bool told = plan->told || (plan->point == POINT_RECLAIM &&
				   f->acting.role == ROLE_UNMAP_ONE) ||
		    (plan->point == POINT_AGE && f->acting.role == ROLE_AGE_ONE);

	/* The upper half is the kernel's. */
	if ((plan->op.kind != TLBI_VA && plan->op.kind != TLBI_VAA && !range) || !page ||
	    page > mask / 2)
		return operand;
	if (!told || (!acting && !shift_knows_task(f->shift, tid, time_ns))) {
		f->blanked++;
		return operand & ~mask;
	}
	distance = acting ? shift_of_mm(f->shift, f->acting.mm, time_ns)
			  : shift_of_task(f->shift, tid, time_ns);
	return (operand & ~mask) | (shift_address(page << shift, distance) >> shift & mask);
}

static void treat(struct file *f, unsigned char *record, unsigned int size, uint64_t time_ns)
{
	uint16_t id;
	int32_t tid;
	uint64_t value, mm;

	if (size < sizeof(id))
		return;
	memcpy(&id, record, sizeof(id));
	const struct plan_of_id *plan = &f->ids[id];
	if (size < COMMON_PID + sizeof(tid))
		return;
	memcpy(&tid, record + COMMON_PID, sizeof(tid));
	if (f->noting) {
		take_note(f, record, size, plan, tid, time_ns);
		return;
	}
	bool has_mm = get(plan, record, size, SLOT_MM, &mm) && mm;
	if (has_mm && plan->role != ROLE_LOAD_MM && plan->role != ROLE_THREAD)
		f->acting = (struct acting){.tid = tid, .mm = mm, .role = plan->role};
	for (unsigned int i = 0; i < plan->count; i++) {
		unsigned int offset = plan->fields[i].offset, length = plan->fields[i].size;
		unsigned char *at = record + offset;

		if (offset > size || length > size - offset)
			continue;
		switch (plan->fields[i].what) {
		case REPLACE_COMM:
			replace_comm(f->anonymiser, (char *)at, length);
			break;
		case REPLACE_DYNAMIC: {
			uint32_t where;

			if (length != 4)
				break;
			memcpy(&where, at, 4);
			unsigned int start = where & 0xffff, bytes = where >> 16;
			if (start > size || bytes > size - start)
				break;
			replace_comm(f->anonymiser, (char *)record + start, bytes);
			break;
		}
		case SHIFT_ADDRESS:
			memcpy(&value, at, 8);
			value = shift_address(value,
					      has_mm ? shift_of_mm(f->shift, mm, time_ns)
						     : shift_of_task(f->shift, tid, time_ns));
			memcpy(at, &value, 8);
			break;
		case SHIFT_OPERAND:
			memcpy(&value, at, 8);
			value = shift_operand(f, plan, value, tid, time_ns);
			memcpy(at, &value, 8);
			break;
		}
	}
}

/*
 * One page of a 64-bit, little-endian kernel's ring buffer; replay/page.h says what is in it. A
 * record that runs over the page's data ends the page with an error.
 */
static int treat_page(struct file *f, unsigned char *page)
{
	uint64_t commit, time_ns;
	uint32_t at = 0, used, word, next;
	unsigned char *data = page + PAGE_HEADER;

	memcpy(&time_ns, page, 8);
	memcpy(&commit, page + 8, 8);
	used = commit & 0x7ffffff;
	if (used > f->page_size - PAGE_HEADER)
		return -EINVAL;
	while (used - at >= 4) {
		memcpy(&word, data + at, 4);
		uint32_t type = word & 31, delta = word >> 5, size = type * 4;

		if (type == 29 && !delta) /* the rest of the page is empty */
			break;
		if (type >= 1 && type <= 28) {
			if (size > used - at - 4)
				return -EINVAL;
			time_ns += delta;
			treat(f, data + at + 4, size, time_ns);
			at += 4 + size;
			continue;
		}
		if (used - at < 8)
			return word ? -EINVAL : 0;
		memcpy(&next, data + at + 4, 4);
		if (type >= 30) { /* times: to be added, or as they are but for the highest bits */
			uint64_t wide = ((uint64_t)next << 27) + delta;

			time_ns = type == 30 ? time_ns + wide : (time_ns & TIME_HIGH) | wide;
			at += 8;
			continue;
		}
		if (!word && !next) /* committed and never written */
			break;
		size = (next + 3) & ~3U;
		if (next < 4 || next > used - at - 4 || size > used - at - 4)
			return -EINVAL;
		time_ns += delta;
		if (!type)
			treat(f, data + at + 8, next - 4, time_ns);
		at += 4 + size;
	}
	return 0;
}

static int treat_pages(struct file *f, uint64_t offset, uint64_t size)
{
	int rc = 0;

	f->acting = (struct acting){0};
	for (size_t i = 0; f->noting && i < SEEN_TASKS; i++)
		f->seen[i].tid = -1;
	if (offset > f->size || size > f->size - offset || size % f->page_size)
		return -EINVAL;
	for (uint64_t at = offset; !rc && at < offset + size; at += f->page_size)
		rc = treat_page(f, f->data + at);
	return rc;
}

/* The "flyrecord" part that begins at f->at: every CPU's pages. */
static int treat_buffer(struct file *f)
{
	const char *kind = take_string(f);
	int rc = 0;

	if (!kind || strcmp(kind, "flyrecord"))
		return -EINVAL;
	if (f->cpus > (f->size - f->at) / 16)
		return -EINVAL;
	for (unsigned int cpu = 0; cpu < f->cpus && !rc; cpu++) {
		uint64_t offset = take(f, 8), size = take(f, 8);

		rc = treat_pages(f, offset, size);
	}
	return rc;
}

static int treat_options(struct file *f)
{
	uint64_t buffers[16];
	unsigned int count = 0;
	int rc = 0;

	for (;;) {
		unsigned int id = (unsigned int)take(f, 2);

		if (!id)
			break;
		uint64_t size = take(f, 4);
		char *bytes = take_bytes(f, size);
		if (!bytes)
			return -EINVAL;
		if (id == OPTION_UNAME) {
			/* "Linux HOST RELEASE MACHINE" */
			char *host = memchr(bytes, ' ', size);
			char *end = host ? memchr(host + 1, ' ', size - (size_t)(host + 1 - bytes))
					 : NULL;

			if (end)
				memset(host + 1, 'x', (size_t)(end - host - 1));
		} else if (id == OPTION_BUFFER && size >= 8 && count < 16) {
			memcpy(&buffers[count++], bytes, 8);
		}
	}
	size_t first = f->at;
	f->noting = f->anonymiser->shifts;
	do {
		f->at = first;
		rc = treat_buffer(f);
		for (unsigned int i = 0; i < count && !rc; i++) {
			f->at = buffers[i] < f->size ? buffers[i] : f->size;
			rc = treat_buffer(f);
		}
		if (!f->noting)
			break;
		f->noting = false;
		rc = rc ? rc : f->failure ? f->failure : shift_settle(f->shift);
	} while (!rc);
	return rc;
}

static int treat_file(struct file *f)
{
	static const char magic[] = "\x17\x08\x44tracing";
	char *text;
	uint64_t size;

	if (f->size < 32 || memcmp(f->data, magic, 10))
		return -EINVAL;
	f->at = 10;
	const char *version = take_string(f);
	if (!version || strcmp(version, "6") || take(f, 1) != 0 || take(f, 1) != 8)
		return -EINVAL;
	f->page_size = (unsigned int)take(f, 4);
	for (int i = 0; i < 2; i++) {
		if (!take_string(f) || !take_bytes(f, take(f, 8)))
			return -EINVAL;
	}
	int rc = f->page_size >= PAGE_LEAST ? read_formats(f) : -EINVAL;
	if (rc)
		return rc;
	size = take(f, 4);
	if (!(text = take_bytes(f, size)))
		return -EINVAL;
	blank(text, size);
	if (!take_bytes(f, take(f, 4)))
		return -EINVAL;
	size = take(f, 8);
	if (!(text = take_bytes(f, size)))
		return -EINVAL;
	replace_cmdlines(f, text, size);
	f->cpus = (unsigned int)take(f, 4);
	const char *part = take_string(f);
	if (!part || strncmp(part, "options", 7))
		return -EINVAL;
	return treat_options(f);
}

/* Has trace-cmd make a file of this version of PATH in its place. COMPRESSION: NULL for version 6.
 */
static int convert(const char *path, char *version, const char *compression)
{
	char *out = NULL;
	struct child child = CHILD_NONE;
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	if (asprintf(&out, "%s.small", path) < 0)
		return -ENOMEM;
	char *argv[] = {"trace-cmd",      "convert", "-i",
			(char *)path,     "-o",      out,
			"--file-version", version,   compression ? "--compression" : NULL,
			(char *)compression, NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct child_setup setup = {.stdin_fd = null, .stdout_fd = null, .stderr_fd = null,
				    .tool = true};
	int rc = child_fork(&child, argv, &setup);
	if (!rc)
		rc = child_release(&child);
	for (int i = 0; !rc && !child_ended(&child) && i < PAUSES; i++)
		nanosleep(&pause, NULL);
	if (!rc && (!child_ended(&child) || child.status || rename(out, path)))
		rc = -EIO;
	child_destroy(&child);
	if (rc)
		unlink(out);
	if (null >= 0)
		close(null);
	free(out);
	return rc;
}

int anonymise_prepare(const char *path)
{
	return convert(path, "6", NULL);
}

int anonymise_file(const struct anonymiser *anonymiser, const char *path, const char *compression,
		   uint64_t *bytes, uint64_t *blanked)
{
	struct file f = {.anonymiser = anonymiser, .data = MAP_FAILED};
	struct stat st = {0};
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int rc = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (!rc && !st.st_size)
		rc = -EINVAL;
	if (!rc) {
		f.size = (size_t)st.st_size;
		f.data = mmap(NULL, f.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		f.ids = calloc(NR_IDS, sizeof(*f.ids));
		f.shift = shift_new(anonymiser->key[1]);
		f.seen = calloc(SEEN_TASKS, sizeof(*f.seen));
		if (f.data == MAP_FAILED || !f.ids || !f.shift || !f.seen)
			rc = -ENOMEM;
	}
	if (!rc)
		rc = treat_file(&f);
	if (f.data != MAP_FAILED)
		munmap(f.data, f.size);
	shift_free(f.shift);
	free(f.seen);
	free(f.ids);
	*blanked = f.blanked;
	if (fd >= 0)
		close(fd);
	if (!rc && strcmp(compression, "none"))
		rc = convert(path, "7", compression);
	if (!rc && !stat(path, &st))
		*bytes = (uint64_t)st.st_size;
	return rc;
}
