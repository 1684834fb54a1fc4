// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A TLBI is SYS with CRn = 8 (ARM ARM DDI 0487, "TLB maintenance instructions"):
 *
 *   31      19 18 16 15 12 11  8 7  5 4   0
 *   1101010100001 | op1 | CRn  | CRm | op2 | Rt |       op1 0: EL1&0; others belong to hypervisors
 *
 * CRm tells the reach (7 this CPU, 3 inner shareable, 1 outer) and whether it is a range (6, 2, 5).
 * Kernels that work around errata of broadcast TLBI issue one twice: "tlbi op, x; dsb ish; tlbi op,
 * x", or "tlbi vale1is, xzr" as a mere dummy. Neither says anything new.
 */
#include "capture/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/flow.h"
#include "common/grow.h"

#define FUNCTION_MOST 16384 /* instructions */

#define TLBI_MASK  0xfff8f000u
#define TLBI_VALUE 0xd5088000u
#define DSB_ISH    0xd5033b9fu

bool site_decode(uint32_t instruction, char op[12], unsigned int *reg)
{
	static const char *const stems[8] = {"vmalle1", "vae1", "aside1", "vaae1",
					     NULL,      "vale1", NULL,    "vaale1"};
	static const struct {
		const char *suffix;
		bool valid, range;
	} reaches[16] = {
		[1] = {"os", true, false}, [3] = {"is", true, false}, [7] = {"", true, false},
		[2] = {"is", true, true},  [5] = {"os", true, true},  [6] = {"", true, true},
	};

	if ((instruction & TLBI_MASK) != TLBI_VALUE || instruction >> 16 & 7)
		return false;
	unsigned int reach = instruction >> 8 & 15, op2 = instruction >> 5 & 7;
	if (!stems[op2] || !reaches[reach].valid || (reaches[reach].range && !(op2 & 1)))
		return false;
	strcpy(op, reaches[reach].range ? "r" : "");
	strcat(op, stems[op2]);
	strcat(op, reaches[reach].suffix);
	*reg = instruction & 31;
	return true;
}

/* Code that runs before there are processes, or not for them; much of it must not be probed. */
static bool is_elsewhere(const char *function)
{
	static const char *const beginnings[] = {"__kvm", "kvm", "__pi_", "__set_fixmap"};
	static const char *const parts[] = {"kpti", "sdei", "relocate", "hyp", "suspend",
					    "bp_harden", "cpu_replace", "cpu_setup",
					    "enable_hw_dbm", "secondary_start"};

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(function, beginnings[i], strlen(beginnings[i])))
			return true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(function, parts[i]))
			return true;
	return false;
}

/* Index of the first word behind INDEX that is of another function. */
static size_t function_end(const struct kernel *kernel, uint64_t address, size_t index,
			   size_t count, const struct kernel_symbol *function)
{
	size_t most = index + FUNCTION_MOST < count ? index + FUNCTION_MOST : count;

	while (index < most &&
	       kernel_function_at(kernel, address + index * sizeof(uint32_t)) == function)
		index++;
	return index;
}

/* Looks for another instruction where this one is going to be refused. */
static void find_twin(const struct kernel *kernel, const uint32_t *words, size_t count,
		      uint64_t address, size_t index, struct site *site)
{
	if (!flow_is_exclusive(words, index) || site->function->address < address)
		return;
	size_t start = (site->function->address - address) / sizeof(*words);
	size_t end = function_end(kernel, address, index, count, site->function);
	size_t twin = flow_twin(words + start, end - start, index - start, &site->twin_has_operand);

	if (twin)
		site->twin = site->function->address + twin * sizeof(*words);
}

int sites_scan(const struct kernel *kernel, const void *text, size_t size, uint64_t address,
	       struct site_list *list)
{
	const uint32_t *words = text;
	size_t capacity = 0;

	*list = (struct site_list){0};
	for (size_t i = 0; i < size / sizeof(*words); i++) {
		struct site site = {.address = address + i * sizeof(*words)};

		if (!site_decode(words[i], site.op, &site.reg))
			continue;
		bool whole = !strncmp(site.op, "vmalle1", 7);
		bool repeated = i >= 2 && words[i - 2] == words[i] && words[i - 1] == DSB_ISH;
		site.function = kernel_function_at(kernel, site.address);
		if ((site.reg == SITE_NO_REGISTER && !whole) || repeated) {
			list->dummies++;
			continue;
		}
		if (!site.function || is_elsewhere(site.function->name)) {
			list->elsewhere++;
			continue;
		}
		if (whole)
			site.reg = SITE_NO_REGISTER;
		find_twin(kernel, words, size / sizeof(*words), address, i, &site);
		struct site *sites = grow_list(list->sites, list->count, &capacity, sizeof(*sites));
		if (!sites) {
			sites_free(list);
			return -ENOMEM;
		}
		list->sites = sites;
		list->sites[list->count++] = site;
	}
	return 0;
}

void sites_free(struct site_list *list)
{
	free(list->sites);
	*list = (struct site_list){0};
}
