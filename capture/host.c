// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/host.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "capture/marker.h"
#include "common/grow.h"
#include "schema/hostfacts.h"
#include "schema/snapshot.h"

#define VALUE_MOST 700 /* a line must fit into a marker */

int fact_add(struct fact_list *list, const char *key, const char *format, ...)
{
	struct fact fact = {.key = strdup(key)};
	va_list args;

	va_start(args, format);
	if (vasprintf(&fact.value, format, args) < 0)
		fact.value = NULL;
	va_end(args);
	struct fact *facts = grow_list(list->facts, list->count, &list->capacity, sizeof(*facts));
	if (facts)
		list->facts = facts;
	if (!fact.key || !fact.value || !facts) {
		free(fact.key);
		free(fact.value);
		return -ENOMEM;
	}
	for (char *c = fact.key; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '_';
	for (char *c = fact.value; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (strlen(fact.value) > VALUE_MOST)
		fact.value[VALUE_MOST] = '\0';
	list->facts[list->count++] = fact;
	return 0;
}

/* Adds the first line of a file, if there is one. */
static int add_file(struct fact_list *list, const char *key, const char *path)
{
	char *line = read_line(path);
	int rc = line ? fact_add(list, key, "%s", line) : 0;

	free(line);
	return rc;
}

/* The value of the first line of FILE that begins with KEY, behind blanks and a colon. */
static char *file_value(const char *path, const char *key)
{
	char *line = NULL, *value = NULL;
	size_t size = 0;
	FILE *file = fopen(path, "re");

	while (file && !value && getline(&line, &size, file) >= 0) {
		if (strncmp(line, key, strlen(key)))
			continue;
		char *at = line + strlen(key);
		at += strspn(at, " \t:");
		at[strcspn(at, "\n")] = '\0';
		char *unit = strstr(at, " kB");
		if (unit)
			*unit = '\0';
		value = strdup(at);
	}
	free(line);
	if (file)
		fclose(file);
	return value;
}

static int add_value(struct fact_list *list, const char *key, const char *path, const char *in_file)
{
	char *value = file_value(path, in_file);
	int rc = value ? fact_add(list, key, "%s", value) : 0;

	free(value);
	return rc;
}

static int add_caches(struct fact_list *list)
{
	int rc = 0;

	for (int i = 0; i < 8 && !rc; i++) {
		static const char *const parts[] = {"level", "type", "size", "shared_cpu_list"};
		char *values[4] = {NULL}, path[96];

		for (int p = 0; p < 4; p++) {
			snprintf(path, sizeof(path),
				 "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, parts[p]);
			values[p] = read_line(path);
		}
		if (values[0] && values[1] && values[2])
			rc = fact_add(list, "cache", "L%s %s %s cpus %s", values[0], values[1],
				      values[2], values[3] ? values[3] : "?");
		for (int p = 0; p < 4; p++)
			free(values[p]);
	}
	return rc;
}

#if defined(__x86_64__)
/* AMD: CPUID 0x80000005, 0x80000006 and 0x80000019. */
static int add_tlbs_amd(struct fact_list *list)
{
	unsigned int a, b, c, d;
	int rc = 0;

	if (__get_cpuid(0x80000005, &a, &b, &c, &d))
		rc = fact_add(list, "tlb", "L1 data 4K %u ways %u", b >> 16 & 255, b >> 24) ||
		     fact_add(list, "tlb", "L1 code 4K %u ways %u", b & 255, b >> 8 & 255) ||
		     fact_add(list, "tlb", "L1 data 2M %u ways %u", a >> 16 & 255, a >> 24);
	if (!rc && __get_cpuid(0x80000006, &a, &b, &c, &d))
		rc = fact_add(list, "tlb", "L2 data 4K %u code %u", b >> 16 & 0xfff, b & 0xfff) ||
		     fact_add(list, "tlb", "L2 data 2M %u code %u", a >> 16 & 0xfff, a & 0xfff);
	return rc ? -ENOMEM : 0;
}

/* Intel: CPUID 0x18, one structure a subleaf. */
static int add_tlbs_intel(struct fact_list *list)
{
	static const char *const types[] = {NULL, "data", "code", "shared", "load", "store"};
	unsigned int a, b, c, d, last;
	int rc = 0;

	if (!__get_cpuid_count(0x18, 0, &last, &b, &c, &d))
		return 0;
	for (unsigned int i = 0; i <= last && i < 32 && !rc; i++) {
		if (!__get_cpuid_count(0x18, i, &a, &b, &c, &d))
			break;
		unsigned int type = d & 31;
		if (!type || type >= sizeof(types) / sizeof(*types))
			continue;
		rc = fact_add(list, "tlb", "L%u %s%s%s%s%s entries %u ways %u", d >> 5 & 7,
			      types[type], b & 1 ? " 4K" : "", b & 2 ? " 2M" : "",
			      b & 4 ? " 4M" : "", b & 8 ? " 1G" : "", (b >> 16) * c, b >> 16);
	}
	return rc;
}
#endif

static int add_tlbs(struct fact_list *list)
{
	size_t before = list->count;
	int rc = 0;

#if defined(__x86_64__)
	unsigned int a, b, c, d;

	if (__get_cpuid(0, &a, &b, &c, &d))
		rc = b == signature_INTEL_ebx ? add_tlbs_intel(list) : add_tlbs_amd(list);
#endif
	if (!rc && list->count == before)
		rc = fact_add(list, "tlb", "not readable");
	return rc;
}

static int add_thp(struct fact_list *list)
{
	static const char *const base = "/sys/kernel/mm/transparent_hugepage/";
	char pattern[96];
	glob_t found = {0};

	snprintf(pattern, sizeof(pattern), "%senabled", base);
	int rc = add_file(list, "thp", pattern);
	snprintf(pattern, sizeof(pattern), "%shugepages-*kB/enabled", base);
	if (!rc && !glob(pattern, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc && !rc; i++) {
			char key[64];
			const char *name = found.gl_pathv[i] + strlen(base);

			snprintf(key, sizeof(key), "thp.%.*s", (int)strcspn(name, "/"), name);
			rc = add_file(list, key, found.gl_pathv[i]);
		}
	}
	globfree(&found);
	return rc;
}

static int count_nodes(void)
{
	glob_t found = {0};
	int count = glob("/sys/devices/system/node/node[0-9]*", 0, NULL, &found)
			    ? 1
			    : (int)found.gl_pathc;

	globfree(&found);
	return count;
}

static int add_cpu(struct fact_list *list, const struct kernel *kernel)
{
	int rc;

	if (kernel->arch == ARCH_X86) {
		char *flags = file_value("/proc/cpuinfo", "flags");

		rc = add_value(list, "cpu", "/proc/cpuinfo", "model name");
		if (!rc && flags)
			rc = fact_add(list, "hypervisor", "%s",
				      strstr(flags, " hypervisor") ? "yes" : "no");
		free(flags);
		return rc;
	}
	char *implementer = file_value("/proc/cpuinfo", "CPU implementer");
	char *part = file_value("/proc/cpuinfo", "CPU part");
	char *midr = read_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
	rc = fact_add(list, "cpu", "implementer %s part %s midr %s",
		      implementer ? implementer : "?", part ? part : "?", midr ? midr : "?");
	free(implementer);
	free(part);
	free(midr);
	return rc;
}

int host_facts(struct fact_list *list, const struct kernel *kernel)
{
	bool contpte = kernel_find_function(kernel, "contpte_ptep_set_access_flags", NULL) > 0;
	int rc = fact_add(list, "recorder", "tlbcapture %s", TLBREPLAY_VERSION);

	rc = rc ? rc : fact_add(list, "kernel", "%s", kernel->name.release);
	rc = rc ? rc : fact_add(list, "machine", "%s", kernel->name.machine);
	rc = rc ? rc : add_cpu(list, kernel);
	rc = rc ? rc : fact_add(list, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	rc = rc ? rc : add_value(list, "memory_kb", "/proc/meminfo", "MemTotal");
	rc = rc ? rc : add_value(list, "swap_kb", "/proc/meminfo", "SwapTotal");
	rc = rc ? rc : fact_add(list, "page_size", "%ld", sysconf(_SC_PAGESIZE));
	rc = rc ? rc : fact_add(list, "clock", "mono");
	rc = rc ? rc : fact_add(list, "numa_nodes", "%d", count_nodes());
	rc = rc ? rc : add_caches(list);
	rc = rc ? rc : add_tlbs(list);
	rc = rc ? rc : add_thp(list);
	if (kernel->arch == ARCH_ARM64)
		rc = rc ? rc : fact_add(list, "contpte", "%s", contpte ? "yes" : "no");
	rc = rc ? rc
		: add_file(list, "kpti", "/sys/devices/system/cpu/vulnerabilities/meltdown");
	if (kernel->lockdown)
		rc = rc ? rc : fact_add(list, "lockdown", "%s", kernel->lockdown);
	return rc;
}

/* Adds one line for all refused sites of a function, when called for the first of them. */
static int add_refused_site(struct fact_list *list, const struct plan *plan, size_t at)
{
	const struct plan_event *event = &plan->events[at];
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *other = &plan->events[i];

		if (strcmp(other->system, CATALOGUE_GROUP_TLBI) || plan_records(other) ||
		    strcmp(other->function, event->function))
			continue;
		if (i < at)
			return 0;
		count++;
	}
	return fact_add(list, "missing",
			"%s:%s %zu sites: %s; without it: whether this function flushes, and what",
			event->system, event->function, count,
			event->reason ? event->reason : "?");
}

int plan_facts(struct fact_list *list, const struct plan *plan, const struct plan_wish *wish)
{
	const char *profile = profile_name(wish->profile);
	size_t probed = 0, refused = 0;
	int rc = profile ? fact_add(list, "profile", "%s", profile) : 0;

	for (size_t i = 0; i < wish->range_count && !rc; i++)
		rc = fact_add(list, "filter", "0x%llx-0x%llx",
			      (unsigned long long)wish->ranges[i].start,
			      (unsigned long long)wish->ranges[i].end);
	for (size_t i = 0; i < wish->access_count && !rc; i++)
		rc = fact_add(list, "access", "%s %s %s %c", wish->access[i].system,
			      wish->access[i].name, wish->access[i].field, wish->access[i].kind);
	for (size_t i = 0; i < plan->count && !rc; i++) {
		const struct plan_event *event = &plan->events[i];
		bool site = !strcmp(event->system, CATALOGUE_GROUP_TLBI);

		probed += site && plan_records(event);
		refused += site && !plan_records(event);
		if (site && !plan_records(event)) {
			rc = add_refused_site(list, plan, i);
			continue;
		}
		/* That a TLBI had to be probed by its address alone loses nothing. */
		if (site && event->ladder[event->step].how == PLAN_INSTRUCTION)
			continue;
		if (!plan_records(event))
			rc = fact_add(list, "missing", "%s:%s %s; without it: %s", event->system,
				      event->name, event->reason ? event->reason : "?",
				      event->row ? event->row->without : "these accesses");
		else if (event->step > 0 || event->reason)
			rc = fact_add(list, "probe", "%s:%s %s; %s", event->system, event->name,
				      plan_how_text(event->ladder[event->step].how),
				      event->reason ? event->reason : "");
	}
	if (!rc && plan->sites_reason)
		rc = fact_add(list, "missing", "%s %s; without it: what was flushed, by address",
			      CATALOGUE_GROUP_TLBI, plan->sites_reason);
	else if (!rc && probed + refused)
		rc = fact_add(list, "tlbi",
			      "%zu of %zu sites; left out: %zu dummies, %zu elsewhere", probed,
			      probed + refused, plan->sites.dummies, plan->sites.elsewhere);
	return rc;
}

int facts_write(const struct fact_list *list, int marker_fd)
{
	const size_t header = sizeof(HOSTFACTS_HEADER "\n") - 1;
	char marker[SNAPSHOT_MARKER_MAX + 1];
	size_t used = header;
	int rc = 0;

	memcpy(marker, HOSTFACTS_HEADER "\n", header);
	for (size_t i = 0; i < list->count && !rc; i++) {
		const struct fact *fact = &list->facts[i];
		size_t size = strlen(fact->key) + strlen(fact->value) + 2;

		if (used + size > SNAPSHOT_MARKER_MAX) {
			rc = marker_write(marker_fd, marker, used);
			used = header;
		}
		used += (size_t)snprintf(marker + used, sizeof(marker) - used, "%s %s\n", fact->key,
					 fact->value);
	}
	if (!rc && used > header)
		rc = marker_write(marker_fd, marker, used);
	if (!rc) {
		used = header +
		       (size_t)sprintf(marker + header, HOSTFACTS_END " %zu\n", list->count);
		rc = marker_write(marker_fd, marker, used);
	}
	return rc;
}

void facts_free(struct fact_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->facts[i].key);
		free(list->facts[i].value);
	}
	free(list->facts);
	*list = (struct fact_list){0};
}
