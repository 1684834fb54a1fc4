// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A probe's definition is written in several ways, best first (enum plan_how). Which of them a
 * kernel takes shows only when it is asked to, one by one; the first that it takes is used.
 *
 * A row with fields of both kinds gets two probes, entry and return. Kernels since 6.9 give a
 * return probe the arguments as well; then it carries who and where, so that it can be filtered,
 * and some rows need no entry probe at all.
 */
#include "capture/plan.h"
#include "common/grow.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

#define FETCH_SIZE     192
#define RETURNS_FEW    64   /* return probes that may be pending at a time */
#define RETURNS_MANY   1024 /* the same for functions that sleep */
#define SITE_NAME_SIZE 36   /* of the function, in a TLBI's name */

const char *plan_how_text(enum plan_how how)
{
	static const char *const texts[NR_PLAN_HOW] = {
		[PLAN_TRACEPOINT] = "tracepoint",
		[PLAN_NAMES] = "probe, BTF names",
		[PLAN_OFFSETS] = "probe, offsets from BTF",
		[PLAN_KNOWN] = "probe, offsets of known kernels",
		[PLAN_FEWER] = "probe, fewer fields",
		[PLAN_BARE] = "probe, no fields",
		[PLAN_INSTRUCTION] = "probe on an instruction",
		[PLAN_TWIN] = "probe on an instruction behind it that is executed as often",
		[PLAN_USER] = "the user's event",
	};

	return how < NR_PLAN_HOW ? texts[how] : "?";
}

bool plan_records(const struct plan_event *event)
{
	return event->steps > 0;
}

void plan_set_reason(struct plan_event *event, const char *format, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	free(event->reason);
	event->reason = text;
}

static struct plan_event *add_event(struct plan *plan, const struct catalogue_row *row,
				    const char *system, const char *name)
{
	struct plan_event *events =
		grow_list(plan->events, plan->count, &plan->capacity, sizeof(*events));

	if (!events)
		return NULL;
	plan->events = events;
	struct plan_event *event = &plan->events[plan->count++];
	*event = (struct plan_event){.row = row};
	snprintf(event->system, sizeof(event->system), "%s", system);
	snprintf(event->name, sizeof(event->name), "%s", name);
	return event;
}

/* Adds a way to make EVENT, unless it is the one before. DEFINITION is taken over. */
static int add_step(struct plan_event *event, enum plan_how how, char *definition)
{
	if (event->steps &&
	    !strcmp(event->ladder[event->steps - 1].definition, definition)) {
		free(definition);
		return 0;
	}
	if (event->steps == PLAN_LADDER) {
		free(definition);
		return 0;
	}
	event->ladder[event->steps].how = how;
	event->ladder[event->steps++].definition = definition;
	return 0;
}

static int add_tracepoint(struct plan *plan, const struct catalogue_row *row)
{
	struct plan_event *event = add_event(plan, row, row->system, row->name);
	bool marker = row->role == ROLE_MARKER;

	if (!event)
		return -ENOMEM;
	/* A marker is written through trace_marker, and never to be enabled. */
	if (marker ? tracefs_file_exists(NULL, "trace_marker")
		   : tracefs_event_file_exists(NULL, row->system, row->name, "enable")) {
		event->ladder[0].how = PLAN_TRACEPOINT;
		event->steps = 1;
	} else {
		plan_set_reason(event, "this kernel has no such tracepoint");
	}
	return 0;
}

/* Chooses among "A|B" by architecture. */
static void known_fetch(const struct kernel *kernel, const char *text, char *out, size_t size)
{
	const char *bar = strchr(text, '|');

	if (bar && kernel->arch == ARCH_X86)
		snprintf(out, size, "%s", bar + 1);
	else
		snprintf(out, size, "%.*s", (int)(bar ? (size_t)(bar - text) : strlen(text)), text);
}

static bool offsets_are_known(const struct kernel *kernel)
{
	return kernel->version >= KERNEL_VERSION_OF(6, 1) &&
	       kernel->version <= KERNEL_VERSION_OF(6, 12);
}

/* How FIELD is fetched on the ladder's step HOW, or by a later one. False: not at all. */
static bool fetch_text(const struct kernel *kernel, const char *function,
		       const struct catalogue_field *field, enum plan_how how, char *out,
		       size_t size)
{
	if (field->fetch && *field->fetch == '$') {
		snprintf(out, size, "%s", field->fetch);
		return true;
	}
	if (how <= PLAN_NAMES && field->fetch && kernel->probe_names &&
	    !btf_fetch(kernel->btf, function, field->fetch, true, out, size))
		return true;
	if (how <= PLAN_OFFSETS && field->fetch &&
	    !btf_fetch(kernel->btf, function, field->fetch, false, out, size))
		return true;
	if (field->fetch_6_1 && offsets_are_known(kernel)) {
		known_fetch(kernel, field->fetch_6_1, out, size);
		return true;
	}
	return false;
}

/* Whether the return probe, where it can have arguments, fetches this one. */
static bool repeated_at_return(const struct catalogue_field *field, bool alone)
{
	switch (field->slot) {
	case SLOT_MM:
	case SLOT_ADDR:
	case SLOT_FLAGS:
	case SLOT_DIRTY:
		return true;
	case SLOT_ENTRY:
	case SLOT_FOLIO:
	case SLOT_MAPPING:
		return alone;
	case SLOT_PTE:
		/* By then the new one, if it is read through a pointer to it. */
		return alone && field->fetch && *field->fetch != '+';
	default:
		return false;
	}
}

/*
 * Writes one definition. ARGUMENTS: the return probe fetches them; ALONE: there is no entry probe.
 */
static char *define(const struct kernel *kernel, const struct plan_event *event, enum plan_how how,
		    bool arguments, bool alone)
{
	const struct catalogue_row *row = event->row;
	char *text = NULL, fetch[FETCH_SIZE];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (event->is_return)
		fprintf(out, "r%d:", row->sleeps ? RETURNS_MANY : RETURNS_FEW);
	else
		fputs("p:", out);
	fprintf(out, "%s/%s %s", event->system, event->name, event->function);
	for (size_t i = 0; i < sizeof(row->fields) / sizeof(*row->fields); i++) {
		const struct catalogue_field *field = &row->fields[i];
		bool wanted = event->is_return
				      ? field->at_return ||
						(arguments && repeated_at_return(field, alone))
				      : !field->at_return;

		if (!field->names[0])
			break;
		if (!wanted || (!field->fetch && !field->fetch_6_1) ||
		    (how >= PLAN_FEWER && field->optional) || how == PLAN_BARE)
			continue;
		if (fetch_text(kernel, event->function, field,
			       how == PLAN_FEWER ? PLAN_OFFSETS : how, fetch, sizeof(fetch)))
			fprintf(out, " %s=%s", field->names[0], fetch);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int add_probe(struct plan *plan, const struct kernel *kernel,
		     const struct catalogue_row *row, const char *function, bool is_return,
		     bool alone, const char *reason)
{
	struct plan_event *event = add_event(plan, row, row->system, row->name);
	bool arguments = is_return && kernel->return_arguments;

	if (!event)
		return -ENOMEM;
	event->is_return = is_return;
	if (is_return)
		snprintf(event->name, sizeof(event->name), "%s_ret", row->name);
	snprintf(event->function, sizeof(event->function), "%s", function ? function : row->name);
	if (reason) {
		plan_set_reason(event, "%s", reason);
		return 0;
	}
	for (enum plan_how how = PLAN_NAMES; how <= PLAN_BARE; how++) {
		char *definition;

		if ((how == PLAN_NAMES && !kernel->probe_names) ||
		    (how == PLAN_OFFSETS && !kernel->btf) ||
		    (how == PLAN_KNOWN && !offsets_are_known(kernel)))
			continue;
		/* What only the return tells must be told: without it the probe is of no use. */
		if (how == PLAN_BARE && is_return) {
			definition = define(kernel, event, PLAN_FEWER, false, false);
		} else {
			definition = define(kernel, event, how, arguments, alone);
		}
		if (!definition)
			return -ENOMEM;
		add_step(event, how, definition);
	}
	return 0;
}

/* The function's name on this kernel: the innermost of those that it has. NULL: none. */
static const char *function_name(const struct kernel *kernel, const struct catalogue_row *row,
				 size_t *count)
{
	for (size_t i = sizeof(row->functions) / sizeof(*row->functions); i-- > 0;) {
		if (row->functions[i] &&
		    (*count = kernel_find_function(kernel, row->functions[i], NULL)))
			return row->functions[i];
	}
	*count = kernel_find_function(kernel, row->name, NULL);
	return *count ? row->name : NULL;
}

static int add_function(struct plan *plan, const struct kernel *kernel,
			const struct catalogue_row *row, unsigned int profile)
{
	bool entry_fields = !row->fields[0].names[0], return_fields = false;
	const char *reason = NULL;
	size_t count = 0;

	const char *function = function_name(kernel, row, &count);
	if (!kernel->function_probes)
		reason = "this kernel has no kprobe events";
	else if (!function)
		reason = "this kernel has no such function, or has it inlined";
	else if (count > 1 && kernel->version >= KERNEL_VERSION_OF(6, 6))
		reason = "this kernel has several functions of this name";
	for (size_t i = 0; i < sizeof(row->fields) / sizeof(*row->fields); i++) {
		const struct catalogue_field *field = &row->fields[i];

		if (!field->names[0] || (!field->fetch && !field->fetch_6_1))
			continue;
		return_fields |= field->at_return;
		entry_fields |= !field->at_return;
	}
	bool minimal = profile == PROFILE_MINIMAL;
	bool timed = profile == PROFILE_LATENCY && row->timed;
	if (minimal && row->role == ROLE_FAULT)
		return_fields = false;
	bool alone = return_fields && kernel->return_arguments &&
		     (row->return_alone || (minimal && row->role == ROLE_SET_FLAGS));
	if (timed)
		alone = false;
	if (alone)
		entry_fields = false;
	int rc = entry_fields || !return_fields
			 ? add_probe(plan, kernel, row, function, false, false, reason)
			 : 0;
	if (!rc && (return_fields || timed))
		rc = add_probe(plan, kernel, row, function, true, alone, reason);
	return rc;
}

static const char *text_reason(const struct kernel *kernel, int rc)
{
	if (kernel->lockdown && strcmp(kernel->lockdown, "none"))
		return "kernel lockdown denies /proc/kcore";
	switch (rc) {
	case -EACCES:
		return "kernel addresses are hidden (kptr_restrict)";
	case -ENOENT:
		return "this kernel has no /proc/kcore, or its text is not in it";
	case -EPERM:
		return "/proc/kcore is denied";
	default:
		return strerror(-rc);
	}
}

static int add_site(struct plan *plan, const struct kernel *kernel, const struct site *site,
		    size_t n)
{
	char name[PLAN_NAME_SIZE], operand[24] = "";
	char *definition = NULL;
	int size = snprintf(name, sizeof(name), "%.*s__%s__%zu", SITE_NAME_SIZE,
			    site->function->name, site->op, n);

	for (int i = 0; i < size && name[i]; i++)
		if (!isalnum((unsigned char)name[i]))
			name[i] = '_';
	struct plan_event *event = add_event(plan, NULL, CATALOGUE_GROUP_TLBI, name);
	if (!event)
		return -ENOMEM;
	snprintf(event->function, sizeof(event->function), "%s", site->function->name);
	if (!kernel->notrace_probes && !kernel_is_traceable(kernel, site->function->name))
		plan_set_reason(event, "ftrace leaves this function out");
	if (site->reg != SITE_NO_REGISTER)
		snprintf(operand, sizeof(operand), " op=%%x%u:x64", site->reg);
	if (kernel_find_function(kernel, site->function->name, NULL) == 1) {
		if (asprintf(&definition, "p:%s/%s %s+0x%llx%s", event->system, event->name,
			     site->function->name,
			     (unsigned long long)(site->address - site->function->address),
			     operand) < 0)
			return -ENOMEM;
		add_step(event, PLAN_INSTRUCTION, definition);
	}
	if (asprintf(&definition, "p:%s/%s 0x%llx%s", event->system, event->name,
		     (unsigned long long)site->address, operand) < 0)
		return -ENOMEM;
	add_step(event, PLAN_INSTRUCTION, definition);
	if (!site->twin)
		return 0;
	if (asprintf(&definition, "p:%s/%s 0x%llx%s", event->system, event->name,
		     (unsigned long long)site->twin, site->twin_has_operand ? operand : "") < 0)
		return -ENOMEM;
	return add_step(event, PLAN_TWIN, definition);
}

static int add_sites(struct plan *plan, const struct kernel *kernel)
{
	void *text = NULL;
	size_t size = 0;
	uint64_t address = 0;
	int rc = 0;

	if (!kernel->function_probes) {
		plan->sites_reason = strdup("this kernel has no kprobe events");
		return plan->sites_reason ? 0 : -ENOMEM;
	}
	rc = kernel_read_text(kernel, &text, &size, &address);
	if (rc) {
		plan->sites_reason = strdup(text_reason(kernel, rc));
		return plan->sites_reason ? 0 : -ENOMEM;
	}
	rc = sites_scan(kernel, text, size, address, &plan->sites);
	free(text);
	for (size_t i = 0; i < plan->sites.count && !rc; i++)
		rc = add_site(plan, kernel, &plan->sites.sites[i], i + 1);
	return rc;
}

static int add_access(struct plan *plan, const struct plan_access *access)
{
	struct plan_event *event = add_event(plan, NULL, access->system, access->name);

	if (!event)
		return -ENOMEM;
	char *format = tracefs_event_file_read(NULL, access->system, access->name, "format", NULL);
	char field[PLAN_NAME_SIZE + 4];
	snprintf(field, sizeof(field), " %s;", access->field);
	if (!format) {
		plan_set_reason(event, "there is no such event");
	} else if (!strstr(format, field)) {
		plan_set_reason(event, "it has no field %s", access->field);
	} else {
		event->ladder[0].how = PLAN_USER;
		event->steps = 1;
	}
	free(format);
	return 0;
}

int plan_make(struct plan *plan, const struct kernel *kernel, const struct plan_wish *wish)
{
	int rc = 0;
	bool faults_probed = false;

	*plan = (struct plan){0};
	for (const struct catalogue_row *row = catalogue; row->role != ROLE_SKIP && !rc; row++) {
		unsigned int profiles = row->profiles ? row->profiles : PROFILE_FULL | PROFILE_SWAP;

		if (!(row->arch & kernel->arch) || !(profiles & wish->profile))
			continue;
		if (row->source == SOURCE_TRACEPOINT)
			rc = add_tracepoint(plan, row);
		else
			rc = add_function(plan, kernel, row, wish->profile);
		if (!rc && row->role == ROLE_FAULT)
			faults_probed = plan_records(&plan->events[plan->count - 1]);
	}
	/* The hardware's report of a fault adds little to the kernel's own. */
	for (size_t i = 0; i < plan->count && faults_probed; i++) {
		struct plan_event *event = &plan->events[i];

		if (wish->profile == PROFILE_MINIMAL &&
		    (event->row->role == ROLE_HW_FAULT ||
		     event->row->role == ROLE_HW_FAULT_KERNEL)) {
			event->steps = 0;
			plan_set_reason(event, "handle_mm_fault is probed instead");
		}
	}
	if (!rc && kernel->arch == ARCH_ARM64 && wish->profile == PROFILE_LATENCY) {
		plan->sites_reason = strdup("they lie inside what is timed");
		rc = plan->sites_reason ? 0 : -ENOMEM;
	} else if (!rc && kernel->arch == ARCH_ARM64) {
		rc = add_sites(plan, kernel);
	}
	for (size_t i = 0; i < wish->access_count && !rc; i++)
		rc = add_access(plan, &wish->access[i]);
	return rc;
}

void plan_free(struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		for (size_t s = 0; s < PLAN_LADDER; s++)
			free(plan->events[i].ladder[s].definition);
		free(plan->events[i].filter);
		free(plan->events[i].reason);
	}
	free(plan->events);
	free(plan->sites_reason);
	sites_free(&plan->sites);
	*plan = (struct plan){0};
}

/* The event's own name of the field that is read into SLOT; NULL: it has none. */
static const char *field_of(const struct plan_event *event, enum slot slot, const char *format)
{
	char text[PLAN_NAME_SIZE];

	for (size_t i = 0; i < sizeof(event->row->fields) / sizeof(*event->row->fields); i++) {
		const struct catalogue_field *field = &event->row->fields[i];

		for (size_t n = 0; n < 3 && field->names[n] && field->slot == slot; n++) {
			snprintf(text, sizeof(text), " %s;", field->names[n]);
			if (strstr(format, text))
				return field->names[n];
		}
	}
	return NULL;
}

static void write_ranges(FILE *out, const struct plan_event *event, const struct plan_wish *wish,
			 const char *format)
{
	const char *address = field_of(event, SLOT_ADDR, format);
	const char *start = field_of(event, SLOT_START, format);
	const char *end = field_of(event, SLOT_END, format);
	const char *bits = field_of(event, SLOT_BITS, format);

	if (!address && !(start && end))
		return;
	for (size_t i = 0; i < wish->range_count; i++) {
		unsigned long long first = wish->ranges[i].start, behind = wish->ranges[i].end;

		fputs(i ? " || " : "(", out);
		if (address)
			fprintf(out, "(%s >= 0x%llx && %s < 0x%llx)", address, first, address,
				behind);
		else
			fprintf(out, "(%s < 0x%llx && %s > 0x%llx)", start, behind, end, first);
	}
	/* Bit 0 of a gather: the whole address space, which holds the range as well. */
	if (bits)
		fprintf(out, " || (%s & 1)", bits);
	fputs(")", out);
}

int plan_set_filter(struct plan_event *event, const struct plan_wish *wish, const char *format)
{
	char *text = NULL, field[PLAN_NAME_SIZE];
	size_t size;

	if (!event->row || !format)
		return 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	if (wish->range_count)
		write_ranges(out, event, wish, format);
	if (wish->profile == PROFILE_MINIMAL && event->row->writes) {
		snprintf(field, sizeof(field), " %.*s;", (int)strcspn(event->row->writes, " "),
			 event->row->writes);
		if (strstr(format, field))
			fprintf(out, "%s(%s)", ftell(out) > 0 ? " && " : "", event->row->writes);
	}
	if (fclose(out)) {
		free(text);
		return -ENOMEM;
	}
	if (!*text) {
		free(text);
		text = NULL;
	}
	free(event->filter);
	event->filter = text;
	return 0;
}

void plan_join_filters(struct plan *plan)
{
	for (size_t i = 1; i < plan->count; i++) {
		struct plan_event *entry = &plan->events[i - 1], *ret = &plan->events[i];

		/* A fault's return without its entry says nothing, so nothing wrong either. */
		if (!entry->row || entry->row != ret->row || entry->row->role == ROLE_FAULT ||
		    !plan_records(entry) || !plan_records(ret) || !entry->filter == !ret->filter)
			continue;
		free(entry->filter);
		free(ret->filter);
		entry->filter = ret->filter = NULL;
	}
}
