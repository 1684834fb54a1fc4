// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/calibrate-host.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "schema/costs.h"

/* The first line of PATH that begins with KEY (or the first one, if that is NULL), behind its ':'.
 */
static bool first_line(const char *path, const char *key, char *out, size_t size)
{
	char line[512];
	FILE *in = fopen(path, "re");
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in)) {
		char *value = line;

		if (key && strncmp(line, key, strlen(key)) != 0)
			continue;
		if (key)
			value = strchr(line, ':') ? strchr(line, ':') + 1 : line;
		value += strspn(value, " \t");
		value[strcspn(value, "\n")] = '\0';
		snprintf(out, size, "%s", value);
		found = true;
	}
	if (in)
		fclose(in);
	return found;
}

/* A preset is plain ASCII. */
static void clean(char *text)
{
	for (; *text; text++)
		if (!isascii((unsigned char)*text) || !isprint((unsigned char)*text))
			*text = '?';
}

#if defined(__x86_64__) || defined(__i386__)
static bool virtual_machine(const char **emulated)
{
	unsigned int a, b, c, d;
	char name[13] = "";

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31))
		return false;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(name, &b, 4);
	memcpy(name + 4, &c, 4);
	memcpy(name + 8, &d, 4);
	if (!strcmp(name, "TCGTCGTCGTCG"))
		*emulated = COST_NOT_FOR_USE_TCG;
	return true;
}
#else
static bool contains(const char *path, const char *text)
{
	char line[256];

	return first_line(path, NULL, line, sizeof(line)) && strstr(line, text);
}

/*
 * arm64 has no word for it. QEMU's own CPU models show implementer 0; and under TCG the counter of
 * its virtual machine ticks with 62.5 MHz (newer versions: 1 GHz), where a real one's goes through.
 */
static bool virtual_machine(const char **emulated)
{
	char implementer[64] = "";
	bool qemu = contains("/sys/class/dmi/id/sys_vendor", "QEMU") ||
		    contains("/proc/device-tree/compatible", "linux,dummy-virt");
	uint64_t hertz = 0;

#ifdef __aarch64__
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
#endif
	first_line("/proc/cpuinfo", "CPU implementer", implementer, sizeof(implementer));
	if (!strcmp(implementer, "0x00") || (qemu && (hertz == 62500000 || hertz == 1000000000)))
		*emulated = COST_NOT_FOR_USE_TCG;
	return qemu;
}
#endif

void host_read(struct host *host, unsigned int cpus)
{
	struct utsname name;
	char model[96] = "", part[32] = "";
	bool guest;

	memset(host, 0, sizeof(*host));
	if (uname(&name))
		memset(&name, 0, sizeof(name));
	host->arm64 = !strcmp(name.machine, "aarch64");
	snprintf(host->kernel, sizeof(host->kernel), "%s", name.release);
	snprintf(host->cores, sizeof(host->cores), "%u", cpus);
	if (!first_line("/proc/cpuinfo", "model name", model, sizeof(model)) || !*model) {
		char implementer[32] = "?";

		first_line("/proc/cpuinfo", "CPU implementer", implementer, sizeof(implementer));
		first_line("/proc/cpuinfo", "CPU part", part, sizeof(part));
		snprintf(model, sizeof(model), "%s, implementer %s part %s", name.machine,
			 implementer, part);
	}
	guest = virtual_machine(&host->emulated);
	snprintf(host->cpu, sizeof(host->cpu), "%s%s", model, guest ? ", in a virtual machine" : "");
	clean(host->cpu);
	clean(host->kernel);
}
