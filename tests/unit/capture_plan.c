// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is planned for kernels that are not here: which of a function's names is probed, and how.
 * The expected definitions are those that Debian's 6.1 and 6.12 kernels were seen to take.
 */
#include "capture/btf.c"
#include "capture/flow.c"
#include "capture/kernel.c"
#include "capture/plan.c"
#include "capture/sites.c"
#include "tests/unit/check.h"

/* A kernel with these functions and nothing else. */
static void make_kernel(struct kernel *kernel, unsigned int version, const char *const *functions)
{
	*kernel = (struct kernel){.arch = ARCH_ARM64, .version = version, .function_probes = true,
				  .addresses_hidden = true,
				  .return_arguments = version >= KERNEL_VERSION_OF(6, 9)};
	while (functions[kernel->function_count])
		kernel->function_count++;
	kernel->functions = calloc(kernel->function_count, sizeof(*kernel->functions));
	kernel->by_name = calloc(kernel->function_count, sizeof(*kernel->by_name));
	for (size_t i = 0; i < kernel->function_count; i++)
		kernel->functions[i] = kernel->by_name[i] =
			(struct kernel_symbol){0x1000 * (i + 1), (char *)functions[i]};
	qsort(kernel->by_name, kernel->function_count, sizeof(*kernel->by_name), by_symbol_name);
}

static const struct plan_event *find_event(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->count; i++)
		if (!strcmp(plan->events[i].name, name))
			return &plan->events[i];
	return NULL;
}

/* The first way to make event NAME; "-": it cannot be made; NULL: it is not in the plan. */
static const char *first_way(unsigned int version, unsigned int profile,
			     const char *const *functions, const char *name)
{
	static char text[512];
	struct plan_wish wish = {.profile = profile};
	struct kernel kernel;
	struct plan plan;

	make_kernel(&kernel, version, functions);
	CHECK(plan_make(&plan, &kernel, &wish) == 0);
	const struct plan_event *event = find_event(&plan, name);
	if (event)
		snprintf(text, sizeof(text), "%s",
			 plan_records(event) ? event->ladder[0].definition : "-");
	plan_free(&plan);
	free(kernel.functions);
	free(kernel.by_name);
	return event ? text : NULL;
}

#define WAY(version, profile, name, ...)                                                           \
	first_way(version, profile, (const char *const[]){__VA_ARGS__, NULL}, name)

static void test_names(void)
{
	static const unsigned int v6_1 = KERNEL_VERSION_OF(6, 1), v6_12 = KERNEL_VERSION_OF(6, 12);
	static const char fields[] = " mm=+0x10($arg1):x64 addr=$arg2:x64 pte=+0($arg3):x64"
				     " entry=$arg4:x64 dirty=$arg5:u8";
	char wanted[256];

	/* One event, whatever the kernel calls the function; the innermost one is the one. */
	snprintf(wanted, sizeof(wanted), "p:tlbr/ptep_set_access_flags ptep_set_access_flags%s",
		 fields);
	CHECK(!strcmp(WAY(v6_1, PROFILE_FULL, "ptep_set_access_flags", "ptep_set_access_flags"),
		      wanted));
	snprintf(wanted, sizeof(wanted), "p:tlbr/ptep_set_access_flags __ptep_set_access_flags%s",
		 fields);
	CHECK(!strcmp(WAY(v6_12, PROFILE_FULL, "ptep_set_access_flags", "ptep_set_access_flags",
			  "__ptep_set_access_flags"),
		      wanted));
	snprintf(wanted, sizeof(wanted),
		 "p:tlbr/ptep_set_access_flags __ptep_set_access_flags_anysz%s", fields);
	CHECK(!strcmp(WAY(v6_12, PROFILE_FULL, "ptep_set_access_flags", "__ptep_set_access_flags",
			  "__ptep_set_access_flags_anysz"),
		      wanted));
	CHECK(!strcmp(WAY(v6_12, PROFILE_FULL, "ptep_set_access_flags",
			  "__ptep_set_access_flags_anysz"),
		      wanted));
	/* Its return probe: the same function, the event's own name. */
	static const char ret[] = "r64:tlbr/ptep_set_access_flags_ret __ptep_set_access_flags_anysz ";
	CHECK(!strncmp(WAY(v6_12, PROFILE_FULL, "ptep_set_access_flags_ret",
			   "__ptep_set_access_flags_anysz"),
		       ret, strlen(ret)));
	/* A name that only begins alike is another function. */
	CHECK(!strcmp(WAY(v6_12, PROFILE_FULL, "ptep_set_access_flags",
			  "__ptep_set_access_flags_other"),
		      "-"));
	static const char swap[] = "p:tlbr/swap_writepage swap_writeout";
	CHECK(!strncmp(WAY(v6_12, PROFILE_SWAP, "swap_writepage", "swap_writeout"), swap,
		       strlen(swap)));
	/* Two functions of one name: since 6.6 the kernel refuses to guess. */
	CHECK(!strcmp(WAY(v6_12, PROFILE_FULL, "do_wp_page", "do_wp_page", "do_wp_page"), "-"));
	CHECK(strcmp(WAY(v6_1, PROFILE_FULL, "do_wp_page", "do_wp_page", "do_wp_page"), "-"));
	/* A kernel that nobody has looked at, without BTF: offsets would be guesses. */
	CHECK(!strcmp(WAY(KERNEL_VERSION_OF(6, 19), PROFILE_FULL, "do_wp_page", "do_wp_page"),
		      "p:tlbr/do_wp_page do_wp_page"));
}

/* TLBI instructions in it serve the same point under any of its names. */
static void test_sites(void)
{
	static const char *const names[] = {
		"ptep_set_access_flags__vale1is__1", "__ptep_set_access_flags__vale1is__2",
		"__ptep_set_access_flags_anysz__vale1is__3"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char function[64];
		struct tlbi_op op;
		enum tlbi_context context;
		enum level level;

		CHECK(tlbi_parse_name(names[i], function, sizeof(function), &op));
		CHECK(tlbi_site_point(function, &op, &context, &level) == POINT_WP_REUSE);
		CHECK(context == TLBI_SITE_UPGRADE);
	}
}

static void test_minimal(void)
{
	static const unsigned int v6_1 = KERNEL_VERSION_OF(6, 1), v6_12 = KERNEL_VERSION_OF(6, 12);

	/* One probe for an upgrade where the return has the arguments, two where it has not. */
	CHECK(!strcmp(WAY(v6_12, PROFILE_MINIMAL, "ptep_set_access_flags_ret",
			  "__ptep_set_access_flags"),
		      "r64:tlbr/ptep_set_access_flags_ret __ptep_set_access_flags"
		      " mm=+0x10($arg1):x64 addr=$arg2:x64 entry=$arg4:x64 dirty=$arg5:u8"
		      " ret=$retval:s32"));
	CHECK(!WAY(v6_12, PROFILE_MINIMAL, "ptep_set_access_flags", "__ptep_set_access_flags"));
	CHECK(!strcmp(WAY(v6_1, PROFILE_MINIMAL, "ptep_set_access_flags_ret",
			  "ptep_set_access_flags"),
		      "r64:tlbr/ptep_set_access_flags_ret ptep_set_access_flags ret=$retval:s32"));
	CHECK(WAY(v6_1, PROFILE_MINIMAL, "ptep_set_access_flags", "ptep_set_access_flags"));
	CHECK(!WAY(v6_12, PROFILE_MINIMAL, "handle_mm_fault_ret", "handle_mm_fault"));
	CHECK(!WAY(v6_12, PROFILE_MINIMAL, "sched_switch", "handle_mm_fault"));
}

/* Both ends of what flushes, with the return as bare as it was; and nothing for what does not. */
static void test_latency(void)
{
	static const unsigned int v6_1 = KERNEL_VERSION_OF(6, 1), v6_12 = KERNEL_VERSION_OF(6, 12);
	static const char *const timed[] = {"ptep_clear_flush", "tlb_finish_mmu"};

	for (size_t i = 0; i < sizeof(timed) / sizeof(*timed); i++) {
		char name[64], wanted[128];

		snprintf(name, sizeof(name), "%s_ret", timed[i]);
		snprintf(wanted, sizeof(wanted), "r64:tlbr/%s %s", name, timed[i]);
		CHECK(!strcmp(WAY(v6_1, PROFILE_LATENCY, name, timed[i]), wanted));
		CHECK(WAY(v6_1, PROFILE_LATENCY, timed[i], timed[i]));
		CHECK(!WAY(v6_1, PROFILE_FULL, name, timed[i]));
	}
	CHECK(WAY(v6_12, PROFILE_LATENCY, "ptep_set_access_flags", "__ptep_set_access_flags"));
	CHECK(WAY(v6_12, PROFILE_LATENCY, "ptep_set_access_flags_ret", "__ptep_set_access_flags"));
	CHECK(!WAY(v6_12, PROFILE_LATENCY, "copy_page_range_ret", "copy_page_range"));
}

int main(void)
{
	test_names();
	test_sites();
	test_minimal();
	test_latency();
	return failures != 0;
}
