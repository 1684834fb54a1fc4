// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A twin of the engine, slow and obvious, on 10,000 small random streams of events. It keeps what
 * every CPU had loaded after every event, and looks there who may hold what; an entry is stale or
 * not by (mm, page, CPU, kind), and ends when something ends it. All policies of the registry take
 * part, those that defer or pick a set of CPUs, too. A hook is the policy and not the engine: the
 * twin calls it, on a state of its own and with a view of its own.
 *
 *	twin [STREAMS [COARSE [FIRST]]]
 *
 * A difference is printed with the number (the seed) of its stream and the shortest part of that
 * stream that still shows one. Where the engine knows less than the text of "what a replay means"
 * says, the twin forgets the same; COARSE is a sum of such places (enum coarse), and 0 shows what
 * they change. They make the high bound higher. Two more stand for faults that the engine once had:
 * LOST_RAN made it lower, OPEN_TILL_SEEN took a spurious fault for proven that was none of that
 * policy's making.
 *
 * Evidence (struct engine_config.tlb) is not covered.
 */
#include "replay/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CPUS = 5,
	MMS = 10,       /* numbers; no more than 3 live at a time */
	/* the last 12 are used: two of the groups in which the engine keeps pages */
	PAGES = 22,
	FIRST_PAGE = 10,
	GROUP = 16,
	MAX_EVENTS = 100,
	MAX_POLICIES = 16,
};

enum coarse {
	/* a flush of pages that leaves a CPU out is not remembered for the others */
	PARTIAL_PAGE = 1,
	UNKNOWN_GROUP = 2, /* nor one of pages, none of whose group was ever seen */
	/* a CPU that lost events and had the mm before has not run it, until it loads */
	LOST_RAN = 4,
	/* what a tick has swept counts as stale until the next look at the page */
	OPEN_TILL_SEEN = 16,
};
static unsigned int coarse = PARTIAL_PAGE | UNKNOWN_GROUP;

/* ---- what happened: the same under all policies ---- */

static const struct tlb_event *now;
static unsigned int at; /* its number, from 1 */
static unsigned int had[MAX_EVENTS + 1][CPUS];      /* mm that was loaded after each event */
static bool running[MAX_EVENTS + 1][CPUS];          /* and a task of it ran */
/* events were lost, and nothing was loaded since */
static bool unsure[MAX_EVENTS + 1][CPUS];
static bool suspected[MAX_EVENTS + 1][CPUS];        /* a load ended such a time */
static bool shown[MAX_EVENTS + 1][CPUS];            /* it has had something loaded */
static bool older[MMS];                             /* than the stream */
static unsigned int born[MMS];                      /* first event of each mm; 0: there is none */
static unsigned int last_loss;
static bool lazy[CPUS];
static bool present[MMS][PAGES], writable[MMS][PAGES], forked[MMS][PAGES], group_seen[MMS][2];
static uint64_t upgrade_ns[MMS][PAGES];

/* ---- and under each ---- */

struct stale {
	bool open, likely, permission, deferred;
	uint64_t start_ns;
	unsigned int start, level;
};

struct own {
	const struct policy_instance *given;
	void *state;
	uint64_t tick;
	/* when last, by event */
	unsigned int flushed_mm[MMS][CPUS], flushed_page[MMS][PAGES][CPUS];
	struct stale stale[MMS][PAGES][CPUS][NR_STALENESS];
	bool dropped[CPUS];
	double forever, forever_sum;
	uint64_t forever_first;
	struct policy_result r;
	uint64_t received[CPUS], issued[CPUS * NR_SCOPES];
};

static struct policy_instance instances[MAX_POLICIES];
static unsigned int nr_policies;

/* What waits for the end of its task's batch. */
struct put_off {
	struct tlb_event event;
	struct policy_action act;
	struct own *whose;
};
static struct put_off put_offs[4 * MAX_EVENTS * MAX_POLICIES];
static unsigned int nr_put_off;
static bool batches;
static struct own twins[MAX_POLICIES], *own;

static void add(struct bound *to, uint64_t low, uint64_t estimate, uint64_t high)
{
	to->low += low;
	to->estimate += estimate;
	to->high += high;
}

static bool loaded(unsigned int mm, unsigned int cpu)
{
	return mm && had[at][cpu] == mm;
}

/* CPU had MM loaded after event SINCE or later, or may have. */
static bool had_since(unsigned int mm, unsigned int cpu, unsigned int since)
{
	for (unsigned int t = since > born[mm] ? since : born[mm]; t <= at; t++)
		if (had[t][cpu] == mm || unsure[t][cpu] || (older[mm] && !shown[t][cpu]))
			return true;
	/* Before the stream any CPU may have had it, and until it shows that it has another. */
	return older[mm] && !shown[since][cpu];
}

/* CPU was seen with MM. */
static bool was_seen(unsigned int mm, unsigned int cpu)
{
	for (unsigned int t = born[mm]; t <= at; t++)
		if (had[t][cpu] == mm)
			return true;
	return false;
}

/* Or by the end of a time that was lost. */
static bool was_there(unsigned int mm, unsigned int cpu)
{
	for (unsigned int t = born[mm]; t <= at; t++)
		if (suspected[t][cpu])
			return true;
	return was_seen(mm, cpu);
}

static bool ran_since(unsigned int mm, unsigned int cpu, unsigned int since)
{
	/* From the latest moment back. */
	bool counts_lost = !(coarse & LOST_RAN) || !was_there(mm, cpu);

	for (unsigned int t = at; t >= since && t >= born[mm]; t--) {
		if ((had[t][cpu] == mm && running[t][cpu]) || (unsure[t][cpu] && counts_lost) ||
		    (older[mm] && !shown[t][cpu]))
			return true;
		counts_lost |= suspected[t][cpu];
	}
	return false;
}

/* PAGE PAGES: any page. */
static bool may_hold(unsigned int mm, unsigned int page, unsigned int cpu)
{
	unsigned int since = own->flushed_mm[mm][cpu];

	if (page < PAGES && own->flushed_page[mm][page][cpu] > since)
		since = own->flushed_page[mm][page][cpu];
	return had_since(mm, cpu, since);
}

/* ---- the view ---- */

static uint64_t view_word, lazy_word, set_word;

static const uint64_t *view_loaded(const struct policy_view *view, uint32_t mm)
{
	(void)view;
	view_word = 0;
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		if (loaded(mm, cpu) && !own->dropped[cpu])
			view_word |= UINT64_C(1) << cpu;
	return &view_word;
}

static const uint64_t *view_lazy(const struct policy_view *view)
{
	(void)view;
	lazy_word = 0;
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		if (lazy[cpu])
			lazy_word |= UINT64_C(1) << cpu;
	return &lazy_word;
}

static const uint64_t *view_visited(const struct policy_view *view, uint32_t mm)
{
	(void)view;
	view_word = 0;
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		if (mm && born[mm] && had_since(mm, cpu, 0))
			view_word |= UINT64_C(1) << cpu;
	return &view_word;
}

static const uint64_t *view_holders(const struct policy_view *view, uint32_t mm, uint64_t addr)
{
	(void)view;
	view_word = 0;
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		if (mm && born[mm] && may_hold(mm, addr ? (unsigned int)(addr >> 12) : PAGES, cpu))
			view_word |= UINT64_C(1) << cpu;
	return &view_word;
}

static const struct policy_view view = {.nr_cpus = CPUS,
					.words = 1,
					.page_shift = 12,
					.loaded = view_loaded,
					.lazy = view_lazy,
					.visited = view_visited,
					.holders = view_holders,
					.set = &set_word};

static struct policy_cell hook(const struct tlb_event *event)
{
	const struct policy *policy = own->given->policy;
	struct policy_cell cell = policy->table[event->point][event->level];

	if (policy->decide)
		policy->decide(&view, own->given->params, own->state, event, &cell);
	return cell;
}

static struct policy_cell question(const struct tlb_event *event, unsigned int point)
{
	struct tlb_event copy = *event;

	copy.point = (uint8_t)point;
	copy.sure = (struct event_sureness){0, 0, 0};
	return hook(&copy);
}

/* ---- exposures ---- */

static void sum(struct exposure_sum *s, uint64_t ns)
{
	s->entries++;
	s->entry_units += (unsigned __int128)ns * EXPOSURE_UNIT;
	if (ns > s->max_ns)
		s->max_ns = ns;
}

static bool swept(const struct stale *x, uint64_t ns)
{
	return x->deferred && own->tick && ns / own->tick > x->start_ns / own->tick;
}

static void end_one(unsigned int mm, unsigned int page, unsigned int cpu, unsigned int kind,
		    enum ended ended, uint64_t ns)
{
	struct stale *x = &own->stale[mm][page][cpu][kind];
	uint64_t length;
	unsigned int log = 0;

	if (!x->open)
		return;
	x->open = false;
	if (swept(x, ns)) {
		ended = ENDED_FLUSH;
		ns = (x->start_ns / own->tick + 1) * own->tick;
	}
	length = ns - x->start_ns;
	sum(&own->r.possible[kind][ended], length);
	if (x->likely)
		sum(&own->r.likely[kind][ended], length);
	while (length >> log)
		log++;
	own->r.lengths[kind][log]++;
	if (ended == ENDED_REFAULT) {
		sum(&own->r.proven[kind][ended], length);
	} else if (kind == STALE_BENIGN && ran_since(mm, cpu, x->start)) {
		own->r.spurious_possible[x->level]++;
		if (x->likely)
			own->r.spurious_likely[x->level]++;
	}
}

static void end_page(unsigned int mm, unsigned int page, unsigned int cpu, enum ended ended,
		     uint64_t ns)
{
	for (unsigned int kind = 0; kind < NR_STALENESS; kind++)
		end_one(mm, page, cpu, kind, ended, ns);
}

static void end_mm(unsigned int mm, unsigned int cpu, enum ended ended, uint64_t ns)
{
	for (unsigned int page = 0; page < PAGES; page++)
		end_page(mm, page, cpu, ended, ns);
}

static void witness(struct witness *w)
{
	if (w->seen)
		return;
	w->seen = true;
	w->time_ns = now->time_ns;
}

/* ---- one decision under one policy ---- */

static bool page_point(unsigned int point)
{
	static const unsigned int list[] = {
		POINT_WP_REUSE, POINT_DIRTY_UP, POINT_HUGETLB_REUSE, POINT_YOUNG, POINT_SPURIOUS,
		POINT_COW,      POINT_MIGRATE,  POINT_RECLAIM,       POINT_AGE,   POINT_CLEAN};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (list[i] == point)
			return true;
	return false;
}

static unsigned int kind_left(void)
{
	switch (now->point) {
	case POINT_WP_REUSE: case POINT_DIRTY_UP: case POINT_HUGETLB_REUSE:
		return STALE_BENIGN;
	case POINT_PROTECT:
		return now->flags & EVENT_UP ? STALE_BENIGN : STALE_UNSAFE;
	case POINT_AGE:
		return STALE_HINT;
	case POINT_COW: case POINT_UNMAP: case POINT_TABLES_FREED: case POINT_NUMA: case POINT_FORK:
	case POINT_MIGRATE:
	case POINT_RECLAIM:
	case POINT_CLEAN:
	case POINT_MREMAP:
	case POINT_SPLIT:
	case POINT_COLLAPSE: case POINT_EXIT:
		return STALE_UNSAFE;
	default:
		return NR_STALENESS; /* nothing */
	}
}

static bool in_range(unsigned int page)
{
	unsigned int first = (unsigned int)(now->addr >> 12);

	return !now->pages || (page >= first && page - first < now->pages);
}

static void flush_mm(unsigned int mm, unsigned int cpu)
{
	own->flushed_mm[mm][cpu] = at;
	end_mm(mm, cpu, ENDED_FLUSH, now->time_ns);
}

static void flush_mm_everywhere(unsigned int mm)
{
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		own->flushed_mm[mm][cpu] = at;
		end_mm(mm, cpu, ENDED_FLUSH, now->time_ns);
	}
}

static void take_effect(const struct policy_action *act, const bool *reached)
{
	unsigned int mm = now->mm;
	bool everywhere = true, whole = act->reach == REACH_MM || act->reach == REACH_ALL;

	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		everywhere &= reached[cpu];
	for (unsigned int other = 1; act->reach == REACH_ALL && other < MMS; other++) {
		if (born[other] && other != mm && everywhere)
			flush_mm_everywhere(other);
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			if (born[other] && other != mm && reached[cpu] && !everywhere)
				flush_mm(other, cpu);
	}
	if (!mm)
		return;
	/* A set that leaves out only CPUs that hold nothing leaves nobody out. */
	if (act->flags & ACT_SET) {
		everywhere = true;
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			everywhere &= reached[cpu] || !may_hold(mm, PAGES, cpu);
	}
	if (whole) {
		if (everywhere)
			flush_mm_everywhere(mm);
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			if (reached[cpu] && !everywhere)
				flush_mm(mm, cpu);
		return;
	}
	for (unsigned int page = 0; page < PAGES; page++)
		for (unsigned int cpu = 0; in_range(page) && cpu < CPUS; cpu++) {
			if (reached[cpu])
				end_page(mm, page, cpu, ENDED_FLUSH, now->time_ns);
			if (coarse & PARTIAL_PAGE ? !everywhere : !reached[cpu])
				continue;
			if (!(coarse & UNKNOWN_GROUP) || group_seen[mm][page / GROUP])
				own->flushed_page[mm][page][cpu] = at;
		}
	/* Who was not interrupted finds the mm's generation changed, and flushes all of it. */
	if (act->scope == SCOPE_MASK && !(act->flags & ACT_SET))
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			if (!loaded(mm, cpu) || (lazy[cpu] && !(act->flags & ACT_LAZY)))
				flush_mm(mm, cpu);
}

/* Scope mask: who is interrupted; what it comes to. */
static unsigned int interrupt(const struct policy_action *act, const struct bound *once)
{
	unsigned int sure = 0, most = 0, blind = 0;
	bool here = false;

	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		bool in_mask, hit;

		if (!now->mm)
			in_mask = hit = true;
		else if (act->flags & ACT_SET)
			in_mask = hit = set_word >> cpu & 1;
		else {
			in_mask = loaded(now->mm, cpu) && !own->dropped[cpu];
			hit = in_mask && (!lazy[cpu] || act->flags & ACT_LAZY);
		}
		if (cpu == now->cpu) {
			here = in_mask;
			continue;
		}
		most += in_mask;
		sure += hit;
		/* Nobody knows what it has loaded. */
		blind += now->mm && !(act->flags & ACT_SET) && !loaded(now->mm, cpu) &&
			 (unsure[at][cpu] || (older[now->mm] && !shown[at][cpu]));
		if (hit && once->estimate)
			own->received[cpu]++;
	}
	if (now->mm && act->flags & ACT_LAZY && now->sure.low)
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			own->dropped[cpu] |= loaded(now->mm, cpu) && lazy[cpu];
	add(&own->r.targets, sure * once->low, sure * once->estimate, (most + blind) * once->high);
	if (!now->mm || most)
		return SCOPE_MASK;
	return here ? SCOPE_LOCAL : SCOPE_NONE;
}

static void leave(unsigned int page, unsigned int kind, const bool *covered, bool deferred)
{
	const struct policy *policy = own->given->policy;
	bool stays[CPUS], any = false;

	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		any |= stays[cpu] = !covered[cpu] && may_hold(now->mm, page, cpu);
	if (!any)
		return;
	if (now->point == POINT_EXIT) {
		for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
			if (!stays[cpu])
				continue;
			if (own->forever == 0)
				own->forever_first = now->time_ns;
			own->forever++;
			own->forever_sum += (double)now->time_ns;
		}
		witness(&own->r.unsafe);
		return;
	}
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		for (unsigned int k = 0; k < NR_STALENESS; k++)
			if (swept(&own->stale[now->mm][page][cpu][k], now->time_ns))
				end_one(now->mm, page, cpu, k, ENDED_FLUSH, now->time_ns);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		struct stale *x = &own->stale[now->mm][page][cpu][kind];

		if (!stays[cpu] || x->open)
			continue;
		*x = (struct stale){.open = true,
				    .start_ns = now->time_ns,
				    .start = at,
				    .level = now->level,
				    .likely = now->sure.estimate && was_seen(now->mm, cpu),
				    .deferred = deferred,
				    .permission = now->point == POINT_FORK ||
						  now->point == POINT_PROTECT};
		if (kind == STALE_UNSAFE)
			witness(&own->r.unsafe);
		if (kind == STALE_BENIGN && !(policy->flags & POLICY_REWALKS) &&
		    policy->table[POINT_SPURIOUS][now->level].act[0].scope == SCOPE_NONE)
			witness(&own->r.stuck);
	}
}

static void leave_all(unsigned int kind, const bool *covered, bool deferred, bool batched)
{
	if (kind == NR_STALENESS || !now->mm || (deferred && now->point == POINT_EXIT))
		return;
	if (deferred && (now->point == POINT_UNMAP || now->point == POINT_TABLES_FREED ||
			 now->point == POINT_RECLAIM))
		kind = STALE_WINDOW;
	if (batched && !deferred)
		kind = STALE_WINDOW;
	if (page_point(now->point)) {
		leave((unsigned int)(now->addr >> 12), kind, covered, deferred);
		return;
	}
	for (unsigned int page = 0; page < PAGES; page++)
		if (present[now->mm][page] && (in_range(page) || now->point == POINT_EXIT) &&
		    (now->point != POINT_FORK || forked[now->mm][page]))
			leave(page, kind, covered, deferred);
	/* Pages that were there before the stream may be among them. */
	for (unsigned int cpu = 0; older[now->mm] && kind == STALE_UNSAFE && cpu < CPUS; cpu++)
		if (!covered[cpu] && may_hold(now->mm, PAGES, cpu))
			witness(&own->r.unsafe);
}

static bool changes_block(void)
{
	return now->point == POINT_FOLD || now->point == POINT_UNFOLD ||
	       now->point == POINT_SPLIT || now->point == POINT_COLLAPSE ||
	       (now->point == POINT_WP_REUSE && now->level == LEVEL_CONTPTE) ||
	       (now->point == POINT_COW &&
		(now->level == LEVEL_CONTPTE || now->level == LEVEL_PMD));
}

static void decide(const struct bound *once)
{
	const struct policy *policy = own->given->policy;
	struct flush_count *counts;
	struct policy_cell cell;
	bool covered[CPUS] = {false}, deferred = false, batched = false;
	unsigned int before = NR_SCOPES, kind = kind_left();

	set_word = 0;
	cell = hook(now);
	counts = own->r.flush[now->point][now->level];
	if (cell.act[0].scope == SCOPE_NONE)
		counts[SCOPE_NONE].decisions += now->sure.estimate;
	for (unsigned int i = 0; i < POLICY_ACTIONS && cell.act[i].scope != SCOPE_NONE; i++) {
		const struct policy_action *act = &cell.act[i];
		uint64_t times = act->times ? act->times : 1;
		unsigned int scope = act->scope == SCOPE_MASK ? interrupt(act, once) : act->scope;
		bool reached[CPUS];

		if (page_point(now->point) && now->mm && act->reach == REACH_PAGE &&
		    scope >= SCOPE_MASK && once->estimate)
			for (unsigned int cpu = 0; cpu < CPUS; cpu++)
				own->r.refills +=
					cpu != now->cpu &&
					may_hold(now->mm, (unsigned int)(now->addr >> 12), cpu);
		if (scope != before)
			counts[scope].decisions += now->sure.estimate;
		before = scope;
		if (scope != SCOPE_NONE) {
			add(&counts[scope].flushes, once->low * times, once->estimate * times,
			    once->high * times);
			if (once->estimate && act->reach == REACH_PAGE)
				counts[scope].pages++;
			else if (once->estimate && act->reach != REACH_MM &&
				 act->reach != REACH_ALL)
				counts[scope].pages += now->pages;
			own->issued[now->cpu * NR_SCOPES + scope] += once->estimate * times;
			if (act->flags & ACT_NOTIFY)
				own->r.notifies += once->estimate * times;
		}
		if (act->wait == WAIT_DEFERRED && own->tick) {
			deferred = true;
			continue;
		}
		if (batches && act->wait == WAIT_BATCHED && act->scope >= SCOPE_MASK &&
		    !(act->flags & ACT_SET) && now->sure.low && !(now->flags & EVENT_MAYBE) &&
		    (now->point == POINT_RECLAIM || now->point == POINT_MIGRATE)) {
			put_offs[nr_put_off++] = (struct put_off){*now, *act, own};
			batched = true;
			continue;
		}
		for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
			reached[cpu] = act->scope == SCOPE_LOCAL ? cpu == now->cpu :
				       act->flags & ACT_SET ? set_word >> cpu & 1 : true;
			covered[cpu] |= reached[cpu];
		}
		if (now->sure.low && !(now->flags & EVENT_MAYBE))
			take_effect(act, reached);
	}
	if (kind == STALE_BENIGN && policy->flags & POLICY_REWALKS && !(now->flags & EVENT_REMOTE))
		covered[now->cpu] = true;
	leave_all(kind, covered, deferred, batched);
	if (policy->flags & POLICY_BREAKS_FIRST && changes_block() && now->sure.low &&
	    (cell.act[0].scope < SCOPE_MASK || cell.act[0].reach < REACH_BLOCK))
		witness(&own->r.unbroken);
}

/* A recorded spurious fault. */
static void spurious(void)
{
	unsigned int page = (unsigned int)(now->addr >> 12), level = now->level;
	struct stale *x = &own->stale[now->mm][page][now->cpu][STALE_BENIGN];
	struct policy_result *r = &own->r;
	bool flushes, fixes, race, lost, known;

	/*
	 * Some hooks do learn from a question (single-thread-local marks CPUs): it is put as the
	 * engine does.
	 */
	flushes = (now->sure.low || now->sure.estimate) &&
		  question(now, POINT_WP_REUSE).act[0].scope >= SCOPE_MASK;
	if (!now->sure.low) {
		add(flushes ? &r->avoided : &r->spurious_maybe[level], 0,
		    now->sure.estimate, now->sure.high);
		return;
	}
	fixes = question(now, POINT_SPURIOUS).act[0].scope != SCOPE_NONE ||
		own->given->policy->flags & POLICY_REWALKS;
	if (now->flags & EVENT_REMOTE)
		return;
	race = upgrade_ns[now->mm][page] && now->began_ns < upgrade_ns[now->mm][page];
	lost = last_loss != 0;
	if (!(coarse & OPEN_TILL_SEEN) && x->open && swept(x, now->time_ns))
		end_one(now->mm, page, now->cpu, STALE_BENIGN, ENDED_FLUSH, now->time_ns);
	if (x->open) {
		lost = last_loss > x->start;
		if (fixes)
			end_one(now->mm, page, now->cpu, STALE_BENIGN,
				lost || race ? ENDED_FLUSH : ENDED_REFAULT, now->time_ns);
		if (!lost && !race) {
			r->spurious_proven[level]++;
			return;
		}
	}
	known = upgrade_ns[now->mm][page] && !lost;
	if (race) {
		r->spurious_unsure[level]++;
	} else if (flushes) {
		add(&r->avoided, known, 1, 1);
	} else if (known) {
		/* The entry was flushed since. Or it was no entry. */
		add(&r->avoided, 0, 1, 1);
		add(&r->spurious_maybe[level], 0, 0, 1);
	} else {
		add(&r->avoided, 0, 0, 1);
		r->spurious_unsure[level]++;
	}
}

/* ---- the stream ---- */

static void each(void (*what)(void))
{
	for (own = twins; own < twins + nr_policies; own++)
		what();
}

static void make_mm(void)
{
	if (now->mm && !born[now->mm])
		born[now->mm] = at;
}

static void see_page(unsigned int page)
{
	present[now->mm][page] = true;
	group_seen[now->mm][page / GROUP] = true;
}

static struct bound once;

static void decide_once(void)
{
	decide(&once);
}

static void decision(void)
{
	unsigned int page = (unsigned int)(now->addr >> 12), mm = now->mm;
	bool any = false;

	make_mm();
	if (mm && page_point(now->point))
		see_page(page);
	if (mm && now->point == POINT_SPURIOUS) {
		if (!now->sure.low || !(now->flags & EVENT_REMOTE))
			each(spurious);
		return;
	}
	once = (struct bound){now->sure.low, now->sure.estimate, now->sure.high};
	for (unsigned int i = 0; i < PAGES; i++)
		any |= present[mm][i] && in_range(i);
	if (now->flags & EVENT_MAYBE ||
	    (!any && (now->point == POINT_PROTECT || now->point == POINT_NUMA)))
		once.low = once.estimate = 0;
	each(decide_once);
	if (!mm)
		return;

	switch (now->point) {
	case POINT_WP_REUSE: case POINT_DIRTY_UP: case POINT_HUGETLB_REUSE: case POINT_COW:
		if (!now->sure.estimate)
			break;
		writable[mm][page] = true;
		upgrade_ns[mm][page] = now->time_ns;
		/* What allowed too much is right again; not if the page is another one. */
		for (own = twins; now->point != POINT_COW && own < twins + nr_policies; own++)
			for (unsigned int cpu = 0; cpu < CPUS; cpu++)
				if (own->stale[mm][page][cpu][STALE_UNSAFE].permission)
					end_one(mm, page, cpu, STALE_UNSAFE, ENDED_GONE,
						now->time_ns);
		break;
	case POINT_RECLAIM:
		present[mm][page] = writable[mm][page] = false;
		break;
	case POINT_UNMAP: case POINT_TABLES_FREED:
		for (unsigned int i = 0; i < PAGES; i++)
			if (in_range(i))
				present[mm][i] = writable[mm][i] = false;
		break;
	case POINT_FORK:
		memset(forked[mm], 0, sizeof(forked[mm]));
		break;
	case POINT_PROTECT:
		for (unsigned int i = 0; i < PAGES; i++)
			if (in_range(i) && !(now->flags & EVENT_UP))
				writable[mm][i] = false;
		break;
	default:
		break;
	}
}

static void batch_ends(void)
{
	const struct tlb_event *ends = now;
	bool reached[CPUS];
	unsigned int kept = 0;

	memset(reached, true, sizeof(reached));
	for (unsigned int i = 0; i < nr_put_off; i++) {
		struct put_off p = put_offs[i];

		if (p.event.tid != ends->tid) {
			put_offs[kept++] = p;
			continue;
		}
		p.event.time_ns = ends->time_ns;
		own = p.whose;
		now = &p.event;
		take_effect(&p.act, reached);
	}
	nr_put_off = kept;
	now = ends;
}

static void gone(void)
{
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		end_mm(now->mm, cpu, ENDED_GONE, now->time_ns);
	if (own->state && own->given->policy->forget)
		own->given->policy->forget(own->state, now->mm);
}

static void happen(const struct tlb_event *event)
{
	unsigned int cpu = event->cpu, page = (unsigned int)(event->addr >> 12), mm = event->mm;

	now = event;
	at++;
	memcpy(had[at], had[at - 1], sizeof(had[at]));
	memcpy(running[at], running[at - 1], sizeof(running[at]));
	memcpy(unsure[at], unsure[at - 1], sizeof(unsure[at]));
	memcpy(shown[at], shown[at - 1], sizeof(shown[at]));
	memset(suspected[at], 0, sizeof(suspected[at]));
	switch (event->kind) {
	case EVENT_DECISION:
		decision();
		break;
	case EVENT_PRESENT:
		make_mm();
		see_page(page);
		writable[mm][page] |= event->flags & EVENT_WRITE;
		break;
	case EVENT_PROTECTED:
		for (unsigned int i = 0; i < PAGES; i++)
			if (in_range(i) && writable[mm][i]) {
				forked[mm][i] = true;
				writable[mm][i] = false;
			}
		break;
	case EVENT_LOAD:
		make_mm();
		had[at][cpu] = mm;
		running[at][cpu] = shown[at][cpu] = true;
		suspected[at][cpu] = unsure[at][cpu];
		unsure[at][cpu] = lazy[cpu] = false;
		for (own = twins; own < twins + nr_policies; own++)
			own->dropped[cpu] = false;
		break;
	case EVENT_IDLE:
		running[at][cpu] = false;
		lazy[cpu] = true;
		break;
	case EVENT_LOST:
		unsure[at][cpu] = true;
		last_loss = at;
		break;
	case EVENT_BATCH_END:
		batch_ends();
		break;
	case EVENT_OLDER:
		make_mm();
		older[mm] = true;
		break;
	case EVENT_MM_END:
		if (!born[mm])
			break;
		each(gone);
		for (unsigned int i = 0; i < CPUS; i++)
			if (had[at][i] == mm) {
				had[at][i] = 0;
				running[at][i] = false;
			}
		born[mm] = 0;
		older[mm] = false;
		break;
	default:
		break;
	}
}

static uint64_t end_ns;

static void end_twin(void)
{
	struct exposure_sum *sums[] = {&own->r.possible[STALE_UNSAFE][ENDED_TRACE],
				       &own->r.likely[STALE_UNSAFE][ENDED_TRACE]};

	for (unsigned int mm = 1; mm < MMS; mm++)
		for (unsigned int cpu = 0; born[mm] && cpu < CPUS; cpu++)
			end_mm(mm, cpu, ENDED_TRACE, end_ns);
	for (unsigned int i = 0; i < 2 && own->forever > 0; i++) {
		sums[i]->entries += own->forever;
		sums[i]->entry_units +=
			(unsigned __int128)(own->forever * (double)end_ns - own->forever_sum) *
			EXPOSURE_UNIT;
		if (end_ns - own->forever_first > sums[i]->max_ns)
			sums[i]->max_ns = end_ns - own->forever_first;
	}
	if (own->state && own->given->policy->forget)
		own->given->policy->forget(own->state, 0);
	free(own->state);
}

static void begin_twin(void)
{
	const struct policy_instance *given = &instances[own - twins];

	memset(own, 0, sizeof(*own));
	own->given = given;
	own->state = given->policy->state_size ? calloc(1, given->policy->state_size) : NULL;
	own->tick = given->policy->defer_ns ? (uint64_t)given->policy->defer_ns(given->params) : 0;
}

/* ---- comparing ---- */

static bool tell;
static unsigned int differences;
static const char *whose;

static void same(double engine, double twin, const char *what, const char *a, const char *b,
		 const char *c)
{
	if (engine == twin)
		return;
	differences++;
	if (tell)
		printf("%s: %s %s %s %s: the engine has %.17g, the twin %.17g\n", whose, what, a, b,
		       c, engine, twin);
}

static void same_bound(const struct bound *engine, const struct bound *twin, const char *what,
		       const char *a, const char *b, const char *c)
{
	char name[64];

	snprintf(name, sizeof(name), "%s, low,", what);
	same((double)engine->low, (double)twin->low, name, a, b, c);
	snprintf(name, sizeof(name), "%s, estimate,", what);
	same((double)engine->estimate, (double)twin->estimate, name, a, b, c);
	snprintf(name, sizeof(name), "%s, high,", what);
	same((double)engine->high, (double)twin->high, name, a, b, c);
}

static void same_sum(const struct exposure_sum *engine, const struct exposure_sum *twin,
		     const char *what, const char *a, const char *b)
{
	same(engine->entries, twin->entries, what, a, b, "entries");
	same(exposure_ns(engine), exposure_ns(twin), what, a, b, "entry_ns");
	same((double)engine->max_ns, (double)twin->max_ns, what, a, b, "max_ns");
}

static void same_witness(const struct witness *engine, const struct witness *twin, const char *what)
{
	same(engine->seen, twin->seen, "witness", what, "seen", "");
	same((double)engine->time_ns, (double)twin->time_ns, "witness", what, "time", "");
}

static void same_flushes(const struct policy_result *engine, const struct policy_result *twin)
{
	for (unsigned int p = 0; p < NR_POINTS; p++)
		for (unsigned int l = 0; l < NR_LEVELS; l++)
			for (unsigned int s = 0; s < NR_SCOPES; s++) {
				const struct flush_count *a = &engine->flush[p][l][s],
							 *b = &twin->flush[p][l][s];
				const char *names[] = {point_name(p), level_name(l), scope_name(s)};

				if (!memcmp(a, b, sizeof(*a)))
					continue;
				same((double)a->decisions, (double)b->decisions, "decisions",
				     names[0], names[1], names[2]);
				same_bound(&a->flushes, &b->flushes, "flushes", names[0], names[1],
					   names[2]);
				same((double)a->pages, (double)b->pages, "pages", names[0],
				     names[1], names[2]);
			}
	same_bound(&engine->targets, &twin->targets, "targets", "", "", "");
	same((double)engine->refills, (double)twin->refills, "refills", "", "", "");
	same((double)engine->notifies, (double)twin->notifies, "notifies", "", "", "");
	for (unsigned int i = 0; i < CPUS; i++)
		same((double)engine->received[i], (double)own->received[i], "received", "", "", "");
	for (unsigned int i = 0; i < CPUS * NR_SCOPES; i++)
		same((double)engine->issued[i], (double)own->issued[i], "issued", "", "", "");
}

static void same_staleness(const struct policy_result *engine, const struct policy_result *twin)
{
	for (unsigned int l = 0; l < NR_LEVELS; l++) {
		const char *name = level_name(l);

		same((double)engine->spurious_proven[l], (double)twin->spurious_proven[l],
		     "spurious", "proven", name, "");
		same((double)engine->spurious_possible[l], (double)twin->spurious_possible[l],
		     "spurious", "possible", name, "");
		same(engine->spurious_likely[l], twin->spurious_likely[l], "spurious", "likely",
		     name, "");
		same((double)engine->spurious_unsure[l], (double)twin->spurious_unsure[l],
		     "spurious", "unsure", name, "");
		same_bound(&engine->spurious_maybe[l], &twin->spurious_maybe[l], "spurious",
			   "maybe", name, "");
	}
	same_bound(&engine->avoided, &twin->avoided, "avoided", "", "", "");
	for (unsigned int k = 0; k < NR_STALENESS; k++) {
		for (unsigned int i = 0; i < NR_ENDED; i++) {
			const char *a = staleness_name(k), *b = ended_name(i);

			same_sum(&engine->proven[k][i], &twin->proven[k][i], "exposures, proven,",
				 a, b);
			same_sum(&engine->possible[k][i], &twin->possible[k][i],
				 "exposures, possible,", a, b);
			same_sum(&engine->likely[k][i], &twin->likely[k][i], "exposures, likely,",
				 a, b);
		}
		for (unsigned int i = 0; i < 65; i++)
			same((double)engine->lengths[k][i], (double)twin->lengths[k][i], "lengths",
			     staleness_name(k), "", "");
	}
	same_witness(&engine->unsafe, &twin->unsafe, "unsafe");
	same_witness(&engine->stuck, &twin->stuck, "stuck");
	same_witness(&engine->unbroken, &twin->unbroken, "unbroken");
}

static void sink_page(void *context, uint32_t mm, uint64_t page, unsigned int point,
		      unsigned int level, uint64_t decisions)
{
	(void)context, (void)mm, (void)page, (void)point, (void)level, (void)decisions;
}

static void sink_flush_mm(void *context, unsigned int policy, uint32_t mm, unsigned int point,
			  unsigned int scope, const struct bound *flushes)
{
	(void)context, (void)policy, (void)mm, (void)point, (void)scope, (void)flushes;
}

static uint64_t compared; /* flushes and exposures that were there to compare */

/* Feeds both with N EVENTS. Do they differ? */
static bool differ(const struct tlb_event *events, unsigned int n)
{
	struct engine *e = engine_new(
		&(struct engine_config){.nr_cpus = CPUS,
					.page_shift = 12,
					.policies = instances,
					.nr_policies = nr_policies,
					.max_rows = 3,
					.batches = batches,
					.sink = {.page = sink_page, .flush_mm = sink_flush_mm}});

	if (!e)
		abort();
	at = last_loss = nr_put_off = 0;
	memset(had, 0, sizeof(had));
	memset(running, 0, sizeof(running));
	memset(unsure, 0, sizeof(unsure));
	memset(shown, 0, sizeof(shown));
	memset(older, 0, sizeof(older));
	memset(born, 0, sizeof(born));
	memset(lazy, 0, sizeof(lazy));
	memset(present, 0, sizeof(present));
	memset(writable, 0, sizeof(writable));
	memset(forked, 0, sizeof(forked));
	memset(group_seen, 0, sizeof(group_seen));
	memset(upgrade_ns, 0, sizeof(upgrade_ns));
	each(begin_twin);
	for (unsigned int i = 0; i < n; i++) {
		engine_event(e, &events[i]);
		happen(&events[i]);
	}
	end_ns = n ? events[n - 1].time_ns + 7 : 7;
	differences = 0;
	if (engine_end(e, end_ns))
		abort();
	each(end_twin);
	for (own = twins; own < twins + nr_policies; own++) {
		const struct policy_result *r = engine_result(e, (unsigned int)(own - twins));

		whose = own->given->policy->name;
		same_flushes(r, &own->r);
		same_staleness(r, &own->r);
		for (unsigned int k = 0; k < NR_STALENESS; k++)
			for (unsigned int i = 0; i < NR_ENDED; i++)
				compared += own->r.possible[k][i].entries > 0;
	}
	engine_free(e);
	return differences;
}

/* ---- making streams ---- */

static uint64_t random_state;

static unsigned int below(unsigned int n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned int)((random_state * UINT64_C(0x2545F4914F6CDD1D) >> 33) % n);
}

struct making {
	struct tlb_event events[MAX_EVENTS];
	unsigned int n;
	uint64_t ns;
	unsigned int mms[3], next_mm, runs[CPUS]; /* runs: the mm loaded there */
};

static struct tlb_event *put(struct making *m, unsigned int kind, unsigned int cpu, unsigned int mm)
{
	static const unsigned int steps[] = {0, 1, 3, 50, 50, 700, 300000};
	struct tlb_event *event = &m->events[m->n++];

	m->ns += steps[below(sizeof(steps) / sizeof(steps[0]))];
	*event = (struct tlb_event){.time_ns = m->ns, .began_ns = m->ns, .mm = mm, .cpu = cpu,
				    .kind = (uint8_t)kind, .users = below(3), .sure = {1, 1, 1}};
	return event;
}

static struct tlb_event *put_point(struct making *m, unsigned int cpu, unsigned int mm,
				   unsigned int point, unsigned int level)
{
	struct tlb_event *event = put(m, EVENT_DECISION, cpu, mm);

	event->point = (uint8_t)point;
	event->level = (uint8_t)level;
	return event;
}

static void at_page(struct tlb_event *event)
{
	/* Few pages are used often, so that something happens to them. */
	event->addr = (uint64_t)(FIRST_PAGE + (below(3) ? 4 + below(3) : below(PAGES - FIRST_PAGE)))
		      << 12;
	event->pages = event->level == LEVEL_CONTPTE ? 2 : 1;
}

static void at_range(struct tlb_event *event)
{
	unsigned int first = below(PAGES - FIRST_PAGE);

	event->addr = (uint64_t)(FIRST_PAGE + first) << 12;
	event->pages = below(6) ? 1 + below(PAGES - FIRST_PAGE - first) : 1000;
}

static void put_run(struct making *m, unsigned int cpu, unsigned int mm)
{
	put_point(m, cpu, mm, POINT_SWITCH, LEVEL_MM);
	put(m, EVENT_LOAD, cpu, mm);
	m->runs[cpu] = mm;
}

static void put_end(struct making *m, unsigned int cpu, unsigned int slot)
{
	unsigned int mm = m->mms[slot];

	if (m->next_mm == MMS)
		return;
	put_point(m, cpu, mm, POINT_EXIT, LEVEL_MM);
	put(m, EVENT_MM_END, cpu, mm);
	for (unsigned int i = 0; i < CPUS; i++)
		if (m->runs[i] == mm)
			m->runs[i] = 0;
	m->mms[slot] = m->next_mm++;
}

/* The recording does not show which of these it was. */
static void put_unsure(struct making *m, unsigned int cpu, unsigned int mm)
{
	static const unsigned int points[] = {POINT_WP_REUSE, POINT_COW, POINT_SPURIOUS};
	unsigned int likely = below(4);
	struct tlb_event *event = put(m, EVENT_PRESENT, cpu, mm);

	at_page(event);
	event->flags = EVENT_WRITE;
	for (unsigned int i = 0; i < 3; i++) {
		struct tlb_event *one = put_point(m, cpu, mm, points[i], LEVEL_PTE);

		one->addr = event->addr;
		one->pages = 1;
		one->sure = (struct event_sureness){0, i == likely, 1};
	}
}

static void put_page_point(struct making *m, unsigned int cpu, unsigned int mm)
{
	static const unsigned int points[] = {
		POINT_WP_REUSE, POINT_WP_REUSE, POINT_WP_REUSE, POINT_DIRTY_UP,
		POINT_COW,      POINT_COW,      POINT_YOUNG,    POINT_MIGRATE,
		POINT_RECLAIM,  POINT_AGE,      POINT_CLEAN,    POINT_HUGETLB_REUSE,
		POINT_SPURIOUS, POINT_SPURIOUS, POINT_SPURIOUS, POINT_SPURIOUS};
	static const unsigned int levels[] = {LEVEL_PTE, LEVEL_PTE,     LEVEL_PTE,
					      LEVEL_PTE, LEVEL_CONTPTE, LEVEL_PMD};
	unsigned int point = points[below(sizeof(points) / sizeof(points[0]))];
	struct tlb_event *event = put_point(m, cpu, mm, point, levels[below(6)]);

	if (point == POINT_RECLAIM || point == POINT_MIGRATE)
		event->tid = below(2);
	if (point == POINT_HUGETLB_REUSE)
		event->level = LEVEL_HUGETLB;
	if (!below(10))
		event->flags |= EVENT_REMOTE;
	if (!below(20))
		event->flags |= EVENT_MAYBE;
	if (below(2))
		event->began_ns -= event->began_ns < 400 ? event->began_ns : below(400);
	at_page(event);
}

static void put_range(struct making *m, unsigned int cpu, unsigned int mm)
{
	static const unsigned int points[] = {
		POINT_UNMAP,    POINT_UNMAP, POINT_TABLES_FREED, POINT_PROTECT,      POINT_PROTECT,
		POINT_PROTECT,  POINT_NUMA,  POINT_MREMAP,       POINT_PROT_NONE_RW, POINT_SPLIT,
		POINT_COLLAPSE, POINT_FOLD,  POINT_UNFOLD};
	unsigned int point = points[below(sizeof(points) / sizeof(points[0]))];
	struct tlb_event *event = put_point(m, cpu, mm, point, below(4) ? LEVEL_PTE : LEVEL_PMD);

	if (point == POINT_SPLIT || point == POINT_COLLAPSE)
		event->level = LEVEL_PMD;
	if (point == POINT_FOLD || point == POINT_UNFOLD)
		event->level = LEVEL_CONTPTE;
	if (point == POINT_PROTECT && below(2))
		event->flags |= EVENT_UP;
	if (!below(6))
		event->flags |= EVENT_MAYBE;
	at_range(event);
}

static void put_mm(struct making *m, unsigned int cpu, unsigned int mm)
{
	struct tlb_event *event;

	switch (below(6)) {
	case 0:
		put_point(m, cpu, mm, POINT_NESTED, LEVEL_MM);
		break;
	case 1:
		put_point(m, cpu, mm, POINT_BATCH_PENDING, LEVEL_MM);
		break;
	case 2:
		event = put_point(m, cpu, 0, POINT_KERNEL, LEVEL_ALL);
		event->addr = UINT64_C(0xffff000000000000);
		event->pages = below(2) ? 3 : 2000;
		break;
	default:
		at_range(put(m, EVENT_PROTECTED, cpu, mm));
		if (below(2))
			at_range(put(m, EVENT_PROTECTED, cpu, mm));
		put_point(m, cpu, mm, POINT_FORK, LEVEL_MM);
	}
}

static void make(struct making *m, unsigned int seed)
{
	unsigned int length;

	memset(m, 0, sizeof(*m));
	random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 88172645463325252u;
	for (unsigned int i = 0; i < 8; i++)
		below(2);
	for (unsigned int i = 0; i < 3; i++)
		m->mms[i] = ++m->next_mm;
	m->next_mm++;
	m->ns = below(2) ? 0 : 999990;
	for (unsigned int i = 0; seed % 3 == 0 && i < 2; i++)
		put(m, EVENT_OLDER, 0, m->mms[i]);
	length = 30 + below(30);
	while (m->n < length) {
		unsigned int cpu = below(CPUS), slot = below(2) ? 0 : below(3), dice = below(100);
		unsigned int mm = m->runs[cpu] && below(5) ? m->runs[cpu] : m->mms[slot];
		struct tlb_event *event;

		if (dice < 22 || m->n < 6) {
			put_run(m, cpu, m->mms[slot]);
		} else if (dice < 28) {
			put(m, EVENT_IDLE, cpu, m->runs[cpu]);
		} else if (dice < 42) {
			event = put(m, EVENT_PRESENT, cpu, mm);
			at_page(event);
			event->flags = below(2) ? EVENT_WRITE : 0;
		} else if (dice < 75) {
			put_page_point(m, cpu, mm);
		} else if (dice < 86) {
			put_range(m, cpu, mm);
		} else if (dice < 92) {
			put_mm(m, cpu, mm);
		} else if (dice < 95) {
			put_unsure(m, cpu, mm);
		} else if (dice < 96) {
			put_end(m, cpu, slot);
		} else if (dice < 98) {
			put(m, EVENT_BATCH_END, cpu, 0)->tid = below(2);
		} else if (seed % 2) { /* half of the streams lose nothing */
			put(m, EVENT_LOST, cpu, 0);
		}
	}
}

/* Drops events for as long as a difference stays. */
static void reduce(struct making *m)
{
	for (unsigned int i = m->n; i-- > 0;) {
		struct tlb_event shorter[MAX_EVENTS];

		memcpy(shorter, m->events, i * sizeof(shorter[0]));
		memcpy(shorter + i, m->events + i + 1, (m->n - i - 1) * sizeof(shorter[0]));
		if (!differ(shorter, m->n - 1))
			continue;
		memcpy(m->events, shorter, --m->n * sizeof(shorter[0]));
		i = m->n;
	}
}

static void print_stream(const struct making *m)
{
	static const char *const kinds[] = {"decision", "present",  "access", "protected",
					    "load",     "idle",     "mm end", "lost",
					    "older",    "batch end"};

	for (unsigned int i = 0; i < m->n; i++) {
		const struct tlb_event *e = &m->events[i];

		printf("  %" PRIu64 " ns: CPU %u, mm %u: %s", e->time_ns, e->cpu, e->mm,
		       kinds[e->kind]);
		if (e->kind == EVENT_DECISION)
			printf(" %s %s", point_name(e->point), level_name(e->level));
		printf(", page %" PRIu64 " + %" PRIu64, e->addr >> 12, e->pages);
		if (e->kind == EVENT_DECISION)
			printf(", began %" PRIu64 ", users %u, sure %u %u %u", e->began_ns,
			       e->users, e->sure.low, e->sure.estimate, e->sure.high);
		printf("%s%s%s%s\n", e->flags & EVENT_WRITE ? ", write" : "",
		       e->flags & EVENT_REMOTE ? ", remote" : "", e->flags & EVENT_UP ? ", up" : "",
		       e->flags & EVENT_MAYBE ? ", maybe" : "");
	}
}

int main(int argc, char **argv)
{
	unsigned int streams = argc > 1 ? (unsigned int)atoi(argv[1]) : 10000, bad = 0;
	unsigned int first = argc > 3 ? (unsigned int)atoi(argv[3]) : 1;
	struct making m;

	if (argc > 2)
		coarse = (unsigned int)atoi(argv[2]);
	for (; policies[nr_policies]; nr_policies++) {
		struct policy_instance *in = &instances[nr_policies];

		if (nr_policies == MAX_POLICIES) {
			printf("more than %d policies\n", MAX_POLICIES);
			return 1;
		}
		*in = (struct policy_instance){.policy = policies[nr_policies], .given = "",
					       .spec = policies[nr_policies]->name};
		in->params = in->policy->params_size ? calloc(1, in->policy->params_size) : NULL;
		param_defaults(in->policy->params, in->params);
		param_defaults(common_params, &in->common);
	}
	for (unsigned int seed = first; seed < first + streams && bad < 3; seed++) {
		make(&m, seed);
		batches = seed % 4 != 0;
		if (!differ(m.events, m.n))
			continue;
		bad++;
		reduce(&m);
		printf("stream %u:\n", seed);
		print_stream(&m);
		tell = true;
		differ(m.events, m.n);
		tell = false;
	}
	if (streams >= 1000 && !bad && compared < streams) {
		printf("hardly anything was stale: nothing was tested\n");
		bad++;
	}
	for (unsigned int i = 0; i < nr_policies; i++)
		free(instances[i].params);
	return bad ? 1 : 0;
}
