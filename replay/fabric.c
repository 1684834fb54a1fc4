// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/fabric.h"

#include <stdlib.h>

struct sender {
	double done;      /* when its last broadcast was complete, on the stretched clock */
	uint64_t time_ns; /* when it was issued, on the recording's */
	bool any;
};

struct fabric {
	struct fabric_service service;
	struct fabric_result result;
	double free_at; /* on the stretched clock */
	unsigned int cpus;
	struct sender senders[];
};

struct fabric *fabric_new(unsigned int cpus, struct fabric_service service)
{
	struct fabric *f = calloc(1, sizeof(*f) + cpus * sizeof(f->senders[0]));

	if (!f)
		return NULL;
	f->cpus = cpus;
	f->service = service;
	return f;
}

void fabric_free(struct fabric *f)
{
	free(f);
}

/* CPUs whose broadcast is on its way or waits at TIME. */
static unsigned int waiting(const struct fabric *f, double time)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < f->cpus; i++)
		n += f->senders[i].done > time;
	return n;
}

void fabric_broadcast(struct fabric *f, uint64_t time_ns, unsigned int cpu, unsigned int times,
		      bool waits)
{
	struct fabric_result *r = &f->result;
	struct sender *s = &f->senders[cpu];
	double at = (double)time_ns + r->stretch_ns, begin, end;

	/* Who is served in no time keeps nobody waiting. */
	if (f->service.service_ns <= 0 && f->service.waiter_ns <= 0) {
		r->broadcasts += times;
		return;
	}
	if (s->any && waits) {
		double earliest = s->done + (double)(time_ns - s->time_ns);

		if (earliest > at) {
			r->stretch_ns += earliest - at;
			at = earliest;
		}
	}
	begin = f->free_at > at ? f->free_at : at;
	end = begin + times * f->service.service_ns;
	if (f->service.waiter_ns > 0)
		end += times * f->service.waiter_ns * waiting(f, at);
	f->free_at = end;
	r->broadcasts += times;
	if (!waits)
		return;
	if (begin > at) {
		r->waited++;
		r->wait_ns += begin - at;
		if (begin - at > r->max_ns)
			r->max_ns = begin - at;
	}
	*s = (struct sender){.done = end, .time_ns = time_ns, .any = true};
}

const struct fabric_result *fabric_result(const struct fabric *f)
{
	return &f->result;
}
