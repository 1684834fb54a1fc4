// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TLBI instructions as an assembler writes them, and text with what is to be left out.
 */
#include "capture/flow.c"
#include "capture/sites.c"

#include <stdio.h>

#include "schema/catalogue.h"
#include "tests/unit/check.h"

static const struct kernel_symbol symbols[] = {
	{0x1000, "ptep_clear_flush"}, {0x2000, "__kvm_tlb_flush"}, {0x3000, "local_flush"}};

/* Only these: the rest of kernel.c reads the running kernel. */
const struct kernel_symbol *kernel_function_at(const struct kernel *kernel, uint64_t address)
{
	(void)kernel;
	return address < 0x1000 ? NULL
				: &symbols[address >= 0x3000   ? 2
					   : address >= 0x2000 ? 1
							       : 0];
}

/* aarch64 as: the words of "tlbi OP, x3". */
static const struct {
	uint32_t word;
	const char *op;
} known[] = {
	{0xd508831f, "vmalle1is"}, {0xd508871f, "vmalle1"},  {0xd5088323, "vae1is"},
	{0xd5088343, "aside1is"},  {0xd5088363, "vaae1is"},  {0xd50883a3, "vale1is"},
	{0xd50883e3, "vaale1is"},  {0xd5088723, "vae1"},     {0xd50887a3, "vale1"},
	{0xd5088123, "vae1os"},    {0xd5088223, "rvae1is"},  {0xd50882a3, "rvale1is"},
	{0xd5088623, "rvae1"},     {0xd50886a3, "rvale1"},   {0xd50882e3, "rvaale1is"},
	{0xd5088523, "rvae1os"},
};

int main(void)
{
	char op[12];
	unsigned int reg = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct tlbi_op parsed;
		char function[32], event[64];

		CHECK(site_decode(known[i].word, op, &reg));
		CHECK(!strcmp(op, known[i].op));
		CHECK(reg == (strncmp(op, "vmalle1", 7) ? 3 : SITE_NO_REGISTER));
		/* The replay reads the names that we give. */
		snprintf(event, sizeof(event), "some_function__%s__%zu", op, i + 1);
		CHECK(tlbi_parse_name(event, function, sizeof(function), &parsed));
		CHECK(!strcmp(function, "some_function") && !strcmp(parsed.name, op));
	}
	CHECK(!site_decode(0xd50c8323, op, &reg)); /* alle2is and the like: hypervisors */
	CHECK(!site_decode(0xd5033b9f, op, &reg)); /* dsb ish */
	CHECK(!site_decode(0xd5088263, op, &reg) || !strcmp(op, "rvaae1is"));
	CHECK(!site_decode(0xd5088243, op, &reg)); /* no range of an ASID */

	static uint32_t text[0x3000 / 4];
	struct site_list list;
	text[0x10 / 4] = 0xd50883a3;              /* vale1is, x3 */
	text[0x14 / 4] = DSB_ISH;
	text[0x18 / 4] = 0xd50883a3;              /* repeated */
	text[0x20 / 4] = 0xd50883bf;              /* vale1is, xzr */
	text[0x1010 / 4] = 0xd5088323;            /* __kvm */
	text[0x2004 / 4] = 0xd508871f;            /* vmalle1 */
	CHECK(!sites_scan(NULL, text, sizeof(text), 0x1000, &list));
	CHECK(list.count == 2 && list.dummies == 2 && list.elsewhere == 1);
	if (list.count == 2) {
		CHECK(list.sites[0].address == 0x1010 && list.sites[0].reg == 3);
		CHECK(!strcmp(list.sites[0].function->name, "ptep_clear_flush"));
		CHECK(list.sites[1].address == 0x3004 && list.sites[1].reg == SITE_NO_REGISTER);
	}
	sites_free(&list);
	return failures > 0;
}
