// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One plan per format, found through a table of the 64 K ids that common_type can hold. Plans of
 * formats that nobody wants have role SKIP, so that an unwanted record costs one look-up.
 */
#include "replay/decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_IDS 65536

struct decoder {
	struct trace *trace;
	struct decode_plan *plans;
	size_t nr_plans;
	uint32_t by_id[NR_IDS]; /* index into plans + 1 */
	uint16_t kinds[NR_IDS]; /* of events in batches; 0: nobody wants it */
	const struct decode_plan **wanted; /* by kind */
	size_t nr_wanted;
	uint32_t *entry_cpu;    /* dense CPU of each (cpu, buffer) */
	unsigned int *cpus;     /* kernel's number of each dense CPU */
	unsigned int nr_cpus;
	bool has[NR_ROLES][2];  /* by role, and whether of a return probe */
	bool has_point[NR_POINTS + 1], has_context[TLBI_SITE_UNKNOWN + 1]; /* TLBI sites for them */
	struct decode_table table;
	uint64_t unknown;
};

static const struct decode_plan nobody = {.role = ROLE_SKIP};

static int add_field(struct trace *t, struct decode_plan *plan, const struct catalogue_field *want,
		     struct trace_error *err)
{
	struct trace_field field;

	for (size_t i = 0; i < 3 && want->names[i]; i++) {
		int ret = trace_find_field(t, plan->format, want->names[i], &field, err);

		if (ret == -ENOENT)
			continue;
		if (ret)
			return ret;
		bool number =
			field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8;
		bool text = want->slot == SLOT_COMM || want->slot == SLOT_TEXT;
		if (!text && (field.is_array || field.is_dynamic || !number))
			continue; /* not the number we know under this name */
		if (!text && field.offset + field.size < 8)
			continue; /* would lie among the fields that all events share */
		struct decode_field *f = &plan->fields[want->slot];
		unsigned int unused = text ? 64 : 64 - 8 * field.size;

		*f = (struct decode_field){
			.mask = text ? 0 : UINT64_MAX >> unused,
			.sign = !text && field.is_signed ? UINT64_C(1) << (63 - unused) : 0,
			.at = text || !trace_info(t)->big_endian ? field.offset
								 : field.offset + field.size - 8,
		};
		plan->has |= 1u << want->slot;
		if (field.offset + (text ? 1 : field.size) > plan->size)
			plan->size = field.offset + (text ? 1 : field.size);
		return 0;
	}
	return 0;
}

static int make_plan(struct trace *t, struct decode_plan *plan, struct trace_error *err)
{
	const struct trace_format *f = plan->format;
	struct trace_field field;
	char function[64];
	int ret;

	if (tlbi_is_group(f->system)) {
		static const struct catalogue_field op = {.slot = SLOT_OP, .names = {"op"}};

		if (!tlbi_parse_name(f->name, function, sizeof(function), &plan->op))
			return 0;
		plan->role = ROLE_TLBI;
		plan->site_point = tlbi_site_point(function, &plan->op, &plan->site_context,
						   &plan->site_level);
		return add_field(t, plan, &op, err);
	}
	plan->row = catalogue_find(f->system, f->name);
	if (!plan->row)
		return 0;
	plan->role = plan->row->role;
	if (plan->row->source == SOURCE_FUNCTION) {
		ret = trace_find_field(t, f, "__probe_ret_ip", &field, err);
		if (ret && ret != -ENOENT)
			return ret;
		plan->is_return = !ret;
	}
	for (size_t i = 0; i < 10 && plan->row->fields[i].names[0]; i++) {
		if (plan->row->fields[i].at_return && !plan->is_return)
			continue;
		ret = add_field(t, plan, &plan->row->fields[i], err);
		if (ret)
			return ret;
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

static int index_cpus(struct decoder *d, const struct trace_info *info)
{
	d->cpus = calloc(info->nr_entries + 1, sizeof(*d->cpus));
	d->entry_cpu = calloc(info->nr_entries + 1, sizeof(*d->entry_cpu));
	if (!d->cpus || !d->entry_cpu)
		return -ENOMEM;
	for (size_t i = 0; i < info->nr_entries; i++)
		d->cpus[i] = info->cpus[i].cpu;
	qsort(d->cpus, info->nr_entries, sizeof(*d->cpus), by_number);
	for (size_t i = 0; i < info->nr_entries; i++)
		if (!d->nr_cpus || d->cpus[d->nr_cpus - 1] != d->cpus[i])
			d->cpus[d->nr_cpus++] = d->cpus[i];
	for (size_t i = 0; i < info->nr_entries; i++) {
		unsigned int *at = bsearch(&info->cpus[i].cpu, d->cpus, d->nr_cpus,
					   sizeof(*d->cpus), by_number);
		d->entry_cpu[i] = (uint32_t)(at - d->cpus);
	}
	return 0;
}

/* Events of PLAN, if anybody wants them, shall come in batches. */
static int want(struct decoder *d, const struct decode_plan *plan)
{
	int id = plan->format->id;

	if (plan->role == ROLE_SKIP || id < 0 || id >= NR_IDS ||
	    d->by_id[id] != (uint32_t)(plan - d->plans) + 1 || d->kinds[id])
		return 0;
	if (d->nr_wanted == NR_IDS - 1)
		return -E2BIG;
	d->kinds[id] = (uint16_t)++d->nr_wanted;
	d->wanted[d->nr_wanted] = plan;
	return 0;
}

struct decoder *decoder_new(struct trace *t, struct trace_error *err)
{
	struct decoder *d = calloc(1, sizeof(*d));
	const struct trace_format *formats;
	size_t nr;

	formats = trace_formats(t, &nr);
	if (d) {
		d->trace = t;
		d->plans = calloc(nr + 1, sizeof(*d->plans));
		d->wanted = calloc(NR_IDS + 1, sizeof(const struct decode_plan *));
	}
	if (!d || !d->plans || !d->wanted || index_cpus(d, trace_info(t))) {
		snprintf(err->text, sizeof(err->text), "%s: out of memory", trace_info(t)->path);
		decoder_free(d);
		return NULL;
	}
	d->wanted[0] = &nobody;
	d->table = (struct decode_table){.plans = d->wanted, .entry_cpu = d->entry_cpu};
	for (size_t i = 0; i < nr; i++) {
		struct decode_plan *plan = &d->plans[d->nr_plans++];

		plan->format = &formats[i];
		if (make_plan(t, plan, err)) {
			decoder_free(d);
			return NULL;
		}
		plan->swap = trace_swap(t);
		if (plan->size < 8)
			plan->size = 8; /* as much is read even for a number that is not there */
		if (formats[i].id >= 0 && formats[i].id < NR_IDS && !d->by_id[formats[i].id])
			d->by_id[formats[i].id] = (uint32_t)d->nr_plans;
		d->has[plan->role][plan->is_return] = true;
		if (plan->role == ROLE_TLBI) {
			d->has_point[plan->site_point] = true;
			d->has_context[plan->site_context] = true;
		}
		if (want(d, plan)) {
			snprintf(err->text, sizeof(err->text), "%s: all 65536 ids are wanted",
				 trace_info(t)->path);
			decoder_free(d);
			return NULL;
		}
	}
	return d;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	free(d->plans);
	free(d->wanted);
	free(d->entry_cpu);
	free(d->cpus);
	free(d);
}

int decoder_add_access(struct decoder *d, struct trace *t, const char *system, const char *name,
		       const char *field, bool writes)
{
	const struct catalogue_field number = {.slot = SLOT_ADDR, .names = {field}};
	struct trace_error err;

	for (size_t i = 0; i < d->nr_plans; i++) {
		struct decode_plan *plan = &d->plans[i];

		if (strcmp(plan->format->system, system) || strcmp(plan->format->name, name))
			continue;
		if (plan->role != ROLE_SKIP && plan->role != ROLE_ACCESS)
			return -EBUSY;
		if (add_field(t, plan, &number, &err) || !(plan->has & 1u << SLOT_ADDR))
			return -ENOENT;
		plan->role = ROLE_ACCESS;
		plan->writes = writes;
		return want(d, plan);
	}
	return -ENOENT;
}

unsigned int decoder_nr_cpus(const struct decoder *d)
{
	return d->nr_cpus;
}

unsigned int decoder_cpu(const struct decoder *d, unsigned int i)
{
	return d->cpus[i];
}

bool decoder_has(const struct decoder *d, enum role role, int is_return)
{
	return is_return < 0 ? d->has[role][0] || d->has[role][1] : d->has[role][!!is_return];
}

bool decoder_has_site(const struct decoder *d, enum point point, enum tlbi_context context)
{
	return point == NR_POINTS ? d->has_context[context] : d->has_point[point];
}

/* "access GROUP EVENT FIELD r|w|?" */
static void read_access(struct decoder *d, const char *line, size_t size)
{
	char text[256], system[64], name[64], field[64], kind;

	if (size >= sizeof(text))
		return;
	memcpy(text, line, size);
	text[size] = '\0';
	if (sscanf(text, "access %63s %63s %63s %c", system, name, field, &kind) != 4)
		return;
	/* What is neither is taken for a read: it fills a TLB, and faults on nothing. */
	decoder_add_access(d, d->trace, system, name, field, kind == 'w');
}

/* A marker may name events that tell accesses. */
static void read_marker(struct decoder *d, const struct decode_plan *plan, const uint8_t *data,
			uint32_t size)
{
	static const char begins[] = "access ";
	uint32_t at = plan->fields[SLOT_TEXT].at;
	const char *line = (const char *)data + at, *end, *next;

	if (!(plan->has & 1u << SLOT_TEXT) || size < plan->size)
		return;
	end = memchr(line, '\0', size - at);
	if (!end)
		end = (const char *)data + size;
	for (; line < end; line = next ? next + 1 : end) {
		next = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((next ? next : end) - line);

		if (length >= sizeof(begins) && !memcmp(line, begins, sizeof(begins) - 1))
			read_access(d, line, length);
	}
}

bool decode(struct decoder *d, const struct trace_record *rec, struct raw_event *raw)
{
	uint32_t at = rec->id >= 0 && rec->id < NR_IDS ? d->by_id[rec->id] : 0;
	const struct trace_event e = {.time_ns = rec->time_ns, .data = rec->data,
				      .size = rec->size, .pid = rec->pid,
				      .kind = at ? d->kinds[rec->id] : 0,
				      .entry = (uint16_t)rec->entry};

	if (!at)
		d->unknown++;
	else
		d->plans[at - 1].events++;
	if (!decode_event(&d->table, &e, raw))
		return false;
	if (raw->plan->role == ROLE_MARKER)
		read_marker(d, raw->plan, raw->data, raw->size);
	return true;
}

/* The kind of event after which a batch ends; 0: none. */
static uint16_t marker_kind(const struct decoder *d)
{
	for (size_t i = 1; i <= d->nr_wanted; i++)
		if (d->wanted[i]->role == ROLE_MARKER)
			return (uint16_t)i;
	return 0;
}

int decoder_fill(struct decoder *d, struct trace_batch *b, size_t max, struct trace_error *err)
{
	int ret;

	if (!b->events)
		trace_want(d->trace, d->kinds, marker_kind(d));
	ret = trace_fill(d->trace, b, max, err);
	/* A batch ends behind a marker. */
	if (ret > 0 && b->nr) {
		const struct trace_event *last = &b->events[b->nr - 1];
		const struct decode_plan *plan = d->wanted[last->kind];

		if (plan->role == ROLE_MARKER)
			read_marker(d, plan, last->data, last->size);
	}
	return ret;
}

struct decode_table *decoder_table(struct decoder *d)
{
	return &d->table;
}

void decoder_count(struct decoder *d)
{
	d->unknown = 0;
	for (int id = 0; id < NR_IDS; id++) {
		uint64_t n = trace_id_count(d->trace, (uint16_t)id);

		if (d->by_id[id])
			d->plans[d->by_id[id] - 1].events = n;
		else
			d->unknown += n;
	}
}

const struct decode_plan *decoder_plans(const struct decoder *d, size_t *nr, uint64_t *unknown)
{
	*nr = d->nr_plans;
	if (unknown)
		*unknown = d->unknown;
	return d->plans;
}

uint64_t decoder_short(const struct decoder *d)
{
	return d->table.too_short;
}
