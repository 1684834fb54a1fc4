/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fabric that carries broadcasts (on arm64 the DVM messages of TLBI and DSB): it serves one at
 * a time, in the order in which they come; whoever comes while it is busy waits. That the latency
 * of a TLBI grows almost linearly with the CPUs that issue at once is published for an Ampere
 * ARMv8 with 32 CPUs (linux-arm-kernel 20200203201745.29986-1).
 *
 * Times are the recording's own, with one correction: a CPU that waits for its broadcast does its
 * next one so much later. So the time between two broadcasts of a CPU is kept, counted from the end
 * of the first one, and where that does not fit the recording's clock, that clock is stretched, for
 * all CPUs alike. How much it was stretched in the end says how much longer the run would have
 * taken. Without this, a fabric that cannot keep up would let waits grow without end; as it is, a
 * broadcast waits for at most one of each other CPU.
 */
#ifndef REPLAY_FABRIC_H
#define REPLAY_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;

/* What one broadcast takes, ns. */
struct fabric_service {
	double service_ns; /* by itself */
	double waiter_ns;  /* more of it for each broadcast that waits when it begins */
};

struct fabric_result {
	uint64_t broadcasts, waited; /* how many, and how many of them had to wait */
	double wait_ns;              /* added up */
	double max_ns;               /* the longest */
	double stretch_ns;           /* by which the recording got longer */
};

/* A fabric between CPUS. NULL: no memory. */
struct fabric *fabric_new(unsigned int cpus, struct fabric_service service);
void fabric_free(struct fabric *f);

/*
 * CPU issues TIMES broadcasts, one after the other, at TIME_NS; times never go back. WAITS: it goes
 * on only once they are complete; else they keep the fabric busy and nobody counts what they wait.
 */
void fabric_broadcast(struct fabric *f, uint64_t time_ns, unsigned int cpu, unsigned int times,
		      bool waits);

const struct fabric_result *fabric_result(const struct fabric *f);

#endif
