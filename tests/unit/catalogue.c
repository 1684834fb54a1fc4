// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names and operands of TLBI instructions, the places that they stand for, and the finding of
 * recorded events. Operands are put together by hand from the encodings in the ARM ARM (DDI 0487,
 * "TLBI VAE1IS", "TLBI RVALE1IS" and so on); two are from a recording.
 */
#include "schema/catalogue.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/check.h"

static const struct {
	const char *name, *function, *op;
	enum tlbi_kind kind;
	bool broadcast, last_level;
} names[] = {
	{"tlb_flush__aside1is__34", "tlb_flush", "aside1is", TLBI_ASID, true, false},
	{"tlb_flush__rvale1is__50", "tlb_flush", "rvale1is", TLBI_RVA, true, true},
	{"__ptep_set_access_flags__vale1is__1", "__ptep_set_access_flags", "vale1is", TLBI_VA, true,
	 true},
	{"__handle_mm_fault__vale1__36", "__handle_mm_fault", "vale1", TLBI_VA, false, true},
	{"check_and_switch_context__vmalle1__3", "check_and_switch_context", "vmalle1", TLBI_VMALL,
	 false, false},
	{"f__vmalle1is__1", "f", "vmalle1is", TLBI_VMALL, true, false},
	{"f__vae1os__1", "f", "vae1os", TLBI_VA, true, false},
	{"f__aside1__1", "f", "aside1", TLBI_ASID, false, false},
	{"f__vaae1is__1", "f", "vaae1is", TLBI_VAA, true, false},
	{"f__vaale1__1", "f", "vaale1", TLBI_VAA, false, true},
	{"f__rvae1is__1", "f", "rvae1is", TLBI_RVA, true, false},
	{"f__rvaae1is__1", "f", "rvaae1is", TLBI_RVAA, true, false},
	{"f__rvaale1os__12345", "f", "rvaale1os", TLBI_RVAA, true, true},
	{"a__b__vae1__1", "a__b", "vae1", TLBI_VA, false, false},
	/* earlier recordings: one underscore, names cut to 28 characters */
	{"tlb_flush_aside1is_34", "tlb_flush", "aside1is", TLBI_ASID, true, false},
	{"__flush_tlb_range_nosync_con_vae1is_56", "__flush_tlb_range_nosync_con", "vae1is",
	 TLBI_VA, true, false},
	{"__ptep_set_access_flags_vale1_1", "__ptep_set_access_flags", "vale1", TLBI_VA, false,
	 true},
	{"huge_pmd_set_accessed_vale1_100", "huge_pmd_set_accessed", "vale1", TLBI_VA, false, true},
	{"copy_mm_aside1is_16", "copy_mm", "aside1is", TLBI_ASID, true, false},
};
static const char *const no_names[] = {
	"",
	"_",
	"__",
	"1",
	"handle_mm_fault",
	"sched_switch",
	"f__vale1xs__1",
	"f__vale1isx__1",
	"f__vale__1",
	"f__vale2is__1",
	"f__ipas2e1is__1",
	"f__alle1is__1",
	"vale1is_f",
};

static void check_names(void)
{
	char function[64];
	struct tlbi_op op;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		bool found = tlbi_parse_name(names[i].name, function, sizeof(function), &op);

		if (found && !strcmp(function, names[i].function) &&
		    !strcmp(op.name, names[i].op) && op.kind == names[i].kind &&
		    op.broadcast == names[i].broadcast && op.last_level == names[i].last_level)
			continue;
		printf("%s: %d, function \"%s\", op \"%s\"\n", names[i].name, found, function,
		       op.name);
		failures++;
	}
	for (size_t i = 0; i < sizeof(no_names) / sizeof(*no_names); i++)
		if (tlbi_parse_name(no_names[i], function, sizeof(function), &op)) {
			printf("\"%s\" is taken for \"%s\" in \"%s\"\n", no_names[i], op.name,
			       function);
			failures++;
		}
	/* A function that does not fit is cut. */
	CHECK(tlbi_parse_name("tlb_flush__vae1is__28", function, 4, &op) &&
	      !strcmp(function, "tlb"));
	CHECK(tlbi_is_group("tlbr_tlbi") && tlbi_is_group("tlbi"));
	CHECK(!tlbi_is_group("tlb") && !tlbi_is_group("tlbr") && !tlbi_is_group(""));
}

#define ASID(x)  ((uint64_t)(x) << 48)
#define TTL(x)   ((uint64_t)(x) << 44) /* of the VA forms, 47:44 */
#define RANGE(tg, scale, num, base)                                                                \
	((uint64_t)(tg) << 46 | (uint64_t)(scale) << 44 | (uint64_t)(num) << 39 | (uint64_t)(base))

static const struct {
	const char *op;
	uint64_t operand;
	unsigned int page_shift;
	uint16_t asid;
	uint64_t va, pages;
} operands[] = {
	/* No operand, and an ASID alone. */
	{"vmalle1is", 0, 12, 0, 0, 0},
	{"vmalle1", 0xffffffffffffffff, 12, 0, 0, 0}, /* the register is not read */
	{"aside1is", 0x0154000000000000, 12, 0x154, 0, 0},
	{"aside1is", ASID(0xffff) | 0x123456789abc, 12, 0xffff, 0, 0},
	/* VA: bits 43:0 are VA[55:12]. */
	{"vae1is", 0x0156000fffffffff, 12, 0x156, 0x0000fffffffff000, 1}, /* recorded */
	{"vale1is", ASID(1) | 0x12345, 12, 1, 0x12345000, 1},
	/* the level hint is no address */
	{"vale1is", ASID(1) | TTL(0xf) | 0x12345, 12, 1, 0x12345000, 1},
	{"vale1", ASID(0x8001) | 0x0ffff80010, 12, 0x8001, 0x0000ffff80010000, 1},
	/* VA[55] is bit 43: a kernel address, and no ASID to go by. */
	{"vaale1is", 0xff800080000, 12, 0, 0xffff800080000000, 1},
	{"vaae1is", ASID(7) | 0xff800080000, 12, 0, 0xffff800080000000, 1},
	/* With larger pages VA forms still count in 4K; the page is one of those. */
	{"vae1is", ASID(2) | 0x12340, 16, 2, 0x12340000, 1},
	/* Range: pages = (NUM + 1) * 2^(5 * SCALE + 1), base in units of the granule. */
	{"rvale1is", ASID(3) | RANGE(1, 0, 0, 0x12345), 12, 3, 0x12345000, 2},
	{"rvale1is", ASID(3) | RANGE(1, 0, 31, 0x12345), 12, 3, 0x12345000, 64},
	{"rvae1is", ASID(3) | RANGE(1, 1, 0, 0x200), 12, 3, 0x200000, 64},
	{"rvae1is", ASID(3) | RANGE(1, 2, 4, 0x200), 12, 3, 0x200000, 10240},
	{"rvae1is", ASID(3) | RANGE(1, 3, 31, 0), 12, 3, 0, 1 << 21},
	/* recorded: a table at the top */
	{"rvae1is", 0x0156538ffffffe00, 12, 0x156, 0xffffffe00000, 512},
	/* TTL */
	{"rvae1is", ASID(3) | (uint64_t)3 << 37 | RANGE(1, 0, 0, 0x12345), 12, 3, 0x12345000, 2},
	{"rvae1is", ASID(4) | RANGE(2, 0, 1, 0x100), 14, 4, 0x400000, 4},
	{"rvale1is", ASID(4) | RANGE(3, 1, 1, 0x100), 16, 4, 0x1000000, 128},
	{"rvaale1is", ASID(5) | RANGE(1, 0, 7, 0x1800080000), 12, 0, 0xffff800080000000, 16},
};

static void check_operands(void)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(*operands); i++) {
		struct tlbi_reach reach;
		struct tlbi_op op;
		char name[32], function[16];

		snprintf(name, sizeof(name), "f__%s__1", operands[i].op);
		CHECK(tlbi_parse_name(name, function, sizeof(function), &op));
		memset(&reach, 0xff, sizeof(reach));
		tlbi_decode(&op, operands[i].operand, operands[i].page_shift, &reach);
		if (reach.asid == operands[i].asid && reach.va == operands[i].va &&
		    reach.pages == operands[i].pages)
			continue;
		printf("%s 0x%016lx: asid 0x%x va 0x%lx pages %lu; wanted 0x%x 0x%lx %lu\n",
		       operands[i].op, (unsigned long)operands[i].operand, reach.asid,
		       (unsigned long)reach.va, (unsigned long)reach.pages, operands[i].asid,
		       (unsigned long)operands[i].va, (unsigned long)operands[i].pages);
		failures++;
	}
}

static const struct {
	const char *function, *op;
	enum point point;
	enum tlbi_context context;
	enum level level;
} sites[] = {
	{"__ptep_set_access_flags", "vale1is", POINT_WP_REUSE, TLBI_SITE_UPGRADE, LEVEL_PTE},
	{"ptep_set_access_flags", "vale1is", POINT_WP_REUSE, TLBI_SITE_UPGRADE, LEVEL_PTE},
	{"contpte_ptep_set_access_flags", "rvale1is", POINT_WP_REUSE, TLBI_SITE_UPGRADE,
	 LEVEL_CONTPTE},
	{"contpte_ptep_set_access_flag", "rvale1is", POINT_WP_REUSE, TLBI_SITE_UPGRADE,
	 LEVEL_CONTPTE},
	{"ptep_clear_flush", "vale1is", POINT_COW, TLBI_SITE_CLEAR_FLUSH, LEVEL_PTE},
	{"__handle_mm_fault", "vale1", POINT_SPURIOUS, TLBI_SITE_PLAIN, LEVEL_PTE},
	{"huge_pmd_set_accessed", "vale1", POINT_SPURIOUS, TLBI_SITE_PLAIN, LEVEL_PMD},
	{"copy_mm", "aside1is", POINT_FORK, TLBI_SITE_PLAIN, LEVEL_MM},
	{"copy_process", "aside1is", POINT_FORK, TLBI_SITE_PLAIN, LEVEL_MM},
	{"tlb_flush", "rvae1is", NR_POINTS, TLBI_SITE_GATHER, LEVEL_PTE},
	{"__flush_tlb_range_nosync_con", "vae1is", NR_POINTS, TLBI_SITE_RANGE, LEVEL_PTE},
	{"nobody_knows_this", "vae1is", NR_POINTS, TLBI_SITE_UNKNOWN, LEVEL_PTE},
	{"nobody_knows_this", "aside1is", NR_POINTS, TLBI_SITE_UNKNOWN, LEVEL_PTE},
	/* By address and for every ASID: the kernel's own mappings. */
	{"nobody_knows_this", "vaale1is", POINT_KERNEL, TLBI_SITE_PLAIN, LEVEL_ALL},
	{"nobody_knows_this", "rvaae1is", POINT_KERNEL, TLBI_SITE_PLAIN, LEVEL_ALL},
};

static void check_sites(void)
{
	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++) {
		enum tlbi_context context = 99;
		enum level level = 99;
		struct tlbi_op op;
		char name[96], function[64];

		snprintf(name, sizeof(name), "%s__%s__1", sites[i].function, sites[i].op);
		CHECK(tlbi_parse_name(name, function, sizeof(function), &op));
		enum point point = tlbi_site_point(function, &op, &context, &level);
		if (point == sites[i].point && context == sites[i].context &&
		    level == sites[i].level)
			continue;
		printf("%s: point %s, context %d, level %s\n", name, point_name(point), context,
		       level_name(level));
		failures++;
	}
}

static const struct {
	const char *system, *name;
	enum role role; /* ROLE_SKIP: not to be found */
} events[] = {
	{"sched", "sched_switch", ROLE_SWITCH},
	{"task", "task_newtask", ROLE_NEWTASK},
	{"exceptions", "page_fault_user", ROLE_HW_FAULT},
	{"exceptions", "page_fault_kernel", ROLE_HW_FAULT_KERNEL},
	{"tlb", "tlb_flush", ROLE_TLB_FLUSH},
	{"ftrace", "print", ROLE_MARKER},
	{"tlbr", "handle_mm_fault", ROLE_FAULT},
	{"tlbr", "handle_mm_fault_ret", ROLE_FAULT},
	{"tlbr", "ptep_set_access_flags", ROLE_SET_FLAGS},
	{"tlbr", "ptep_set_access_flags_ret", ROLE_SET_FLAGS},
	{"tlbr", "check_and_switch_context", ROLE_LOAD_MM},
	/* earlier recordings */
	{"k", "hmf", ROLE_FAULT},
	{"k", "hmf_r", ROLE_FAULT},
	{"k", "wp", ROLE_WP},
	{"k", "psaf", ROLE_SET_FLAGS},
	{"k", "psaf_r", ROLE_SET_FLAGS},
	{"k", "psafe", ROLE_SET_FLAGS},
	{"k", "pcf", ROLE_CLEAR_FLUSH},
	{"k", "tfm", ROLE_GATHER_FINISH},
	{"k", "cpr", ROLE_COPY_RANGE},
	{"k", "chp", ROLE_PROTECT},
	{"k", "cctx", ROLE_LOAD_MM},
	{"k", "xmm", ROLE_EXIT_MMAP},
	{"k", "bne", ROLE_BEGIN_EXEC},
	{"k", "sw", ROLE_THREAD},
	{"k", "hwp", ROLE_HUGE_WP},
	{"k", "hpsa", ROLE_HUGE_ACCESSED},
	{"k", "ftmr", ROLE_FLUSH_RANGE},
	/* not these */
	{"tlbr", "sched_switch", ROLE_SKIP},
	{"sched", "sched_switch_ret", ROLE_SKIP},
	{"sched", "handle_mm_fault", ROLE_SKIP},
	{"k", "handle_mm_fault", ROLE_SKIP},
	{"k", "h", ROLE_SKIP},
	{"k", "hmf_", ROLE_SKIP},
	{"kk", "hmf", ROLE_SKIP},
	{"", "", ROLE_SKIP},
	{"tlbr", "_ret", ROLE_SKIP},
	{"tlbr",
	 "a_name_that_is_longer_than_any_that_the_kernel_would_take_for_the_name_of_an_event",
	 ROLE_SKIP},
};

static void check_events(void)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		const struct catalogue_row *row = catalogue_find(events[i].system, events[i].name);

		if (row ? row->role == events[i].role : events[i].role == ROLE_SKIP)
			continue;
		printf("%s:%s: %s\n", events[i].system, events[i].name,
		       row ? row->name : "not found");
		failures++;
	}
	for (const struct catalogue_row *row = catalogue; row->role != ROLE_SKIP; row++) {
		CHECK(catalogue_find(row->system, row->name) == row);
		CHECK(row->without && *row->without);
		CHECK(row->arch & ARCH_ANY);
		CHECK((row->source == SOURCE_FUNCTION) == !strcmp(row->system, CATALOGUE_GROUP));
		for (size_t i = 0; i < 4 && row->aliases[i]; i++) {
			char system[32];
			const char *colon = strchr(row->aliases[i], ':');

			snprintf(system, sizeof(system), "%.*s", (int)(colon - row->aliases[i]),
				 row->aliases[i]);
			CHECK(catalogue_find(system, colon + 1) == row);
		}
		/* A slot is filled once. */
		for (size_t i = 0; i < 10 && row->fields[i].names[0]; i++)
			for (size_t k = i + 1; k < 10 && row->fields[k].names[0]; k++)
				CHECK(row->fields[i].slot != row->fields[k].slot);
	}
}

static void check_reasons(void)
{
	/* include/linux/mm_types.h, enum tlb_flush_reason; the names that the kernel prints. */
	static const struct {
		const char *name;
		enum scope scope;
	} reasons[] = {
		{"flush on task switch", SCOPE_LOCAL}, {"remote shootdown", SCOPE_MASK},
		{"local shootdown", SCOPE_LOCAL},      {"local mm shootdown", SCOPE_LOCAL},
		{"remote ipi send", SCOPE_MASK},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		const char *name = tlb_flush_reason_name(i);

		CHECK(name && !strcmp(name, reasons[i].name));
		CHECK(tlb_flush_reason_scope(i) == reasons[i].scope);
	}
	CHECK(tlb_flush_reason_name(5)); /* remote wrong CPU, 6.10 and later */
	CHECK(!tlb_flush_reason_name(6));
	CHECK(!tlb_flush_reason_name(UINT64_MAX));
}

static void check_terms(void)
{
	CHECK(!strcmp(point_name(POINT_WP_REUSE), "wp_reuse") &&
	      !strcmp(point_name(POINT_KERNEL), "kernel"));
	CHECK(!strcmp(level_name(LEVEL_PTE), "pte") && !strcmp(level_name(LEVEL_ALL), "all"));
	CHECK(!strcmp(scope_name(SCOPE_NONE), "none") &&
	      !strcmp(scope_name(SCOPE_BROADCAST), "broadcast"));
	CHECK(!strcmp(staleness_name(STALE_BENIGN), "benign") &&
	      !strcmp(staleness_name(STALE_WINDOW), "window"));
	CHECK(NR_POINTS == 26 && NR_LEVELS == 6 && NR_SCOPES == 4 && NR_STALENESS == 4);
	CHECK(!strcmp(point_name(NR_POINTS), "?") && !strcmp(level_name(99), "?") &&
	      !strcmp(scope_name(99), "?") && !strcmp(staleness_name(99), "?"));
}

int main(void)
{
	check_names();
	check_operands();
	check_sites();
	check_events();
	check_reasons();
	check_terms();
	return failures != 0;
}
