// SPDX-License-Identifier: GPL-2.0-or-later
#include "schema/costs.h"

#include <stddef.h>
#include <string.h>

#define ASSUMED "nobody has published it; the range is assumed"

static const struct cost_preset arm64_generic = {
	.name = "arm64-generic",
	.summary = "an arm64 server of no particular make, few CPUs issuing at once",
	.items =
		{
			[COST_FLUSH_LOCAL] = {"flush_local", "ns per invalidation", 10, 50, 300,
					      COST_UNCALIBRATED, ASSUMED},
			[COST_FLUSH_BROADCAST] =
				{"flush_broadcast", "ns per invalidation", 100, 350, 6200,
				 COST_DERIVED,
				 "0.35 us per avoided broadcast, from mprotect 3.2 -> 2.85 us "
				 "(Linux "
				 "commit c320dbb7c80d, machine not stated); high: times 17.7, what "
				 "32 "
				 "concurrent senders cost on a 32-CPU Ampere (linux-arm-kernel "
				 "20200203201745.29986-1); low assumed"},
			[COST_VICTIM_BROADCAST] =
				{"victim_broadcast", "ns per broadcast and other CPU", 0, 79, 1395,
				 COST_DERIVED,
				 "a bystander loses 22.5% while one core issues TLBIs (ThunderX2, "
				 "linux-arm-kernel, 12 Feb 2020), of flush_broadcast's time"},
			[COST_IPI_SEND] = {"ipi_send", "ns per shootdown", 500, 2000, 10000,
					   COST_UNCALIBRATED, ASSUMED},
			[COST_IPI_TARGET] = {"ipi_target", "ns per further target", 100, 500, 2000,
					     COST_UNCALIBRATED, ASSUMED},
			[COST_VICTIM_IPI] = {"victim_ipi", "ns per target", 200, 1000, 5000,
					     COST_UNCALIBRATED, ASSUMED},
			[COST_SPURIOUS_FAULT] = {"spurious_fault", "ns per fault", 300, 1000, 5000,
						 COST_UNCALIBRATED,
						 "nobody has published it; assumed around a "
						 "first-touch fault (1.01 us "
						 "on an 11th gen i7)"},
			[COST_REFILL] = {"refill", "ns per entry", 5, 30, 200, COST_UNCALIBRATED,
					 ASSUMED},
			[COST_NOTIFY] = {"notify", "ns per notification", 0, 0, 0,
					 COST_UNCALIBRATED,
					 "no device is taken to share the address space; with one "
					 "bound a CoW break "
					 "took 5,380 ns more (Jetson Thor 6.8, derived)"},
		},
};

static const struct cost_preset x86_generic = {
	.name = "x86-generic",
	.summary = "an x86 server of no particular make",
	.items =
		{
			[COST_FLUSH_LOCAL] = {"flush_local", "ns per invalidation", 60, 100, 300,
					      COST_MEASURED,
					      "about 100 ns per single page (Linux commit "
					      "a5102476a24b, Intel); range "
					      "from hot and cold figures of I. Molnar, 2015"},
			[COST_FLUSH_BROADCAST] = {"flush_broadcast", "ns per invalidation", 200,
						  1000, 10000, COST_UNCALIBRATED, ASSUMED},
			[COST_VICTIM_BROADCAST] = {"victim_broadcast",
						   "ns per broadcast and other CPU", 0, 100, 1000,
						   COST_UNCALIBRATED, ASSUMED},
			[COST_IPI_SEND] = {"ipi_send", "ns per shootdown", 1000, 2510, 5000,
					   COST_DERIVED,
					   "IPI with acknowledgement 2.51 us (KVM commit "
					   "4180bf1b655a, Skylake, "
					   "80-vCPU guest); low and high assumed"},
			[COST_IPI_TARGET] = {"ipi_target", "ns per further target", 200, 1143, 1500,
					     COST_DERIVED,
					     "92.8 us to 80 CPUs, less the first, by 79 (the same "
					     "source); low and high "
					     "assumed"},
			[COST_VICTIM_IPI] = {"victim_ipi", "ns per target", 200, 500, 2000,
					     COST_UNCALIBRATED, ASSUMED},
			[COST_SPURIOUS_FAULT] = {"spurious_fault", "ns per fault", 300, 1000, 5000,
						 COST_UNCALIBRATED,
						 "nobody has published it; assumed around a "
						 "first-touch fault (1.01 us "
						 "on an 11th gen i7)"},
			[COST_REFILL] = {"refill", "ns per entry", 5, 30, 200, COST_UNCALIBRATED,
					 ASSUMED},
			[COST_NOTIFY] = {"notify", "ns per notification", 0, 0, 0,
					 COST_UNCALIBRATED,
					 "no device is taken to share the address space"},
		},
};

const struct cost_preset *const cost_presets[] = {&arm64_generic, &x86_generic, NULL};

const struct cost_preset *cost_find(const char *name)
{
	for (size_t i = 0; cost_presets[i]; i++)
		if (!strcmp(cost_presets[i]->name, name))
			return cost_presets[i];
	return NULL;
}

const char *cost_trust_name(enum cost_trust trust)
{
	static const char *const names[] = {"measured", "derived", "uncalibrated"};

	return names[trust];
}
