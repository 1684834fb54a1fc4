// SPDX-License-Identifier: GPL-2.0-or-later
/* What the arm64 policies share: see arm64.h. */
#include "replay/policies/arm64.h"

const struct param arm64_params[] = {
	{.name = "range_ops", .type = PARAM_BOOL, .offset = offsetof(struct arm64_params, range_ops),
	 .unit = "", .def = 1, .min = 0, .max = 1,
	 .help = "the CPUs have TLBI range operations (FEAT_TLBIRANGE): the limit for one range is 2^21 "
		 "pages instead of 512"},
	PARAM_END,
};

/*
 * __flush_tlb_range_limit_excess() of 6.12: without range operations MAX_DVM_OPS (one per PTE of a
 * table, 512 with 4K pages), with them MAX_TLBI_RANGE_PAGES.
 */
void arm64_limits(const struct policy_view *view, const void *params, void *state,
		  const struct tlb_event *event, struct policy_cell *cell)
{
	const struct arm64_params *own = params;
	bool excess = own->range_ops ? event->pages > UINT64_C(1) << 21 : event->pages >= 512;

	(void)view;
	(void)state;
	if (event->pages && !excess)
		return;
	for (unsigned int i = 0; i < POLICY_ACTIONS; i++)
		if (cell->act[i].reach == REACH_HULL)
			cell->act[i].reach = event->point == POINT_KERNEL ? REACH_ALL : REACH_MM;
}
