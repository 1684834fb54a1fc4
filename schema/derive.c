// SPDX-License-Identifier: GPL-2.0-or-later
#include "schema/derive.h"

#include <string.h>

#define BY_LEVEL(field, real)                                                                    \
	{                                                                                        \
		.name = "spurious_" #field,                                                      \
		.offset = offsetof(struct policy_counts, spurious[0].field),                     \
		.stride = sizeof(struct spurious_count), .nr = NR_LEVELS, .subject = level_name, \
		.is_double = real, .adds = true                                                  \
	}
#define BY_SCOPE(what, field)                                                                \
	{                                                                               \
		.name = #what "_" #field,                                                \
		.offset = offsetof(struct policy_counts, what[0].field),             \
		.stride = sizeof(struct bound), .nr = NR_SCOPES, .subject = scope_name, \
		.adds = true                                                            \
	}
#define ONE(field)                                                                        \
	{                                                                                 \
		.name = #field, .offset = offsetof(struct policy_counts, field), .nr = 1, \
		.adds = true                                                              \
	}
#define SAME(field)                                                                       \
	{                                                                                 \
		.name = #field, .offset = offsetof(struct policy_counts, field), .nr = 1, \
		.is_double = true                                                         \
	}

const struct counts_field counts_fields[] = {
	BY_LEVEL(proven, false),
	BY_LEVEL(possible, false),
	BY_LEVEL(predicted, false),
	BY_LEVEL(held, false),
	BY_LEVEL(unsure, false),
	BY_LEVEL(likely, true),
	BY_LEVEL(maybe.estimate, false),
	BY_LEVEL(maybe.high, false),
	{.name = "fix_scope",
	 .offset = offsetof(struct policy_counts, fix_scope),
	 .stride = sizeof(uint64_t),
	 .nr = NR_LEVELS,
	 .subject = level_name},
	BY_SCOPE(flushes, low),
	BY_SCOPE(flushes, estimate),
	BY_SCOPE(flushes, high),
	BY_SCOPE(whole, low),
	BY_SCOPE(whole, estimate),
	BY_SCOPE(whole, high),
	BY_SCOPE(further, low),
	BY_SCOPE(further, estimate),
	BY_SCOPE(further, high),
	ONE(targets.low),
	ONE(targets.estimate),
	ONE(targets.high),
	ONE(target_pages.low),
	ONE(target_pages.estimate),
	ONE(target_pages.high),
	ONE(refills),
	ONE(notifies),
	ONE(rewalks),
	SAME(queue_ns.low),
	SAME(queue_ns.estimate),
	SAME(queue_ns.high),
	SAME(share),
	SAME(write_share),
	{.name = NULL},
};

void exposure_add(struct exposure_sum *sum, double entries, uint64_t ns)
{
	sum->entries += entries;
	sum->entry_units += (unsigned __int128)(uint64_t)(entries * EXPOSURE_UNIT) * ns;
	if (entries > 0 && ns > sum->max_ns)
		sum->max_ns = ns;
}

void exposure_merge(struct exposure_sum *sum, const struct exposure_sum *more)
{
	sum->entries += more->entries;
	sum->entry_units += more->entry_units;
	if (more->max_ns > sum->max_ns)
		sum->max_ns = more->max_ns;
}

double exposure_ns(const struct exposure_sum *sum)
{
	return (double)sum->entry_units / EXPOSURE_UNIT;
}

static double positive(double x)
{
	return x > 0 ? x : 0;
}

void derive_exposure(const struct exposure_sum *proven, const struct exposure_sum *held,
		     const struct exposure_sum *likely, const struct exposure_sum *possible,
		     double share, struct real_bound *entries, struct real_bound *entry_ns)
{
	double low_ns = exposure_ns(proven);

	/* What is proven is likely, too, as far as it is not held by evidence already. */
	*entries = (struct real_bound){
		.low = proven->entries,
		.estimate = proven->entries + held->entries +
			    share * positive(likely->entries - proven->entries),
		.high = possible->entries,
	};
	*entry_ns = (struct real_bound){
		.low = low_ns,
		.estimate =
			low_ns + exposure_ns(held) + share * positive(exposure_ns(likely) - low_ns),
		.high = exposure_ns(possible),
	};
}

struct real_bound derive_spurious(const struct spurious_count *c, double share, double write_share,
				  bool kernels)
{
	double proven = (double)c->proven;
	struct real_bound b = {
		.low = proven,
		.estimate = proven + (double)(c->unsure + c->maybe.estimate),
		.high = (double)(c->proven + c->possible + c->unsure + c->maybe.high),
	};

	if (!kernels)
		b.estimate +=
			(double)c->predicted + write_share * ((double)c->held + share * c->likely);
	return b;
}

#define AS_TEXT(id, text) [PART_##id] = text,
static const char *const part_names[] = {COST_PARTS(AS_TEXT)};
#undef AS_TEXT

const char *cost_part_name(unsigned int part)
{
	return part < NR_PARTS ? part_names[part] : "?";
}

static struct real_bound real(const struct bound *b)
{
	return (struct real_bound){(double)b->low, (double)b->estimate, (double)b->high};
}

static struct real_bound times(struct real_bound b, double n)
{
	return (struct real_bound){b.low * n, b.estimate * n, b.high * n};
}

/* Every shootdown has a first target; what is left are further ones. */
static struct real_bound beyond_first(const struct bound *targets, const struct bound *shootdowns)
{
	struct real_bound all = real(targets), first = real(shootdowns);

	return (struct real_bound){positive(all.low - first.low),
				   positive(all.estimate - first.estimate),
				   positive(all.high - first.high)};
}

void derive_add(struct real_bound *to, struct real_bound more)
{
	to->low += more.low;
	to->estimate += more.estimate;
	to->high += more.high;
}

struct real_bound derive_spurious_at(const struct policy_counts *c, unsigned int level)
{
	struct real_bound all = {0};

	for (unsigned int l = 0; l < NR_LEVELS; l++)
		if (level == NR_LEVELS || l == level)
			derive_add(&all, derive_spurious(&c->spurious[l], c->share, c->write_share,
							 c->kernels));
	return all;
}

/* Of the flushes of SCOPE, those of pages. */
static struct real_bound of_pages(const struct policy_counts *c, enum scope scope)
{
	struct real_bound all = real(&c->flushes[scope]), whole = real(&c->whole[scope]);

	return (struct real_bound){positive(all.low - whole.low),
				   positive(all.estimate - whole.estimate),
				   positive(all.high - whole.high)};
}

struct real_bound derive_quantity(const struct policy_counts *c, unsigned int cpus,
				  enum cost_item_id item)
{
	double refills = (double)c->refills, notifies = (double)c->notifies;
	double rewalks = (double)c->rewalks, others = cpus ? cpus - 1 : 0;
	struct real_bound b;

	switch (item) {
	case COST_FLUSH_LOCAL: /* a spurious fault flushes too, where the policy says so */
		b = of_pages(c, SCOPE_LOCAL);
		for (unsigned int level = 0; level < NR_LEVELS; level++)
			if (c->fix_scope[level] == SCOPE_LOCAL)
				derive_add(&b, derive_spurious_at(c, level));
		return b;
	case COST_FLUSH_PAGE:
		return real(&c->further[SCOPE_LOCAL]);
	case COST_FLUSH_MM:
		return real(&c->whole[SCOPE_LOCAL]);
	case COST_FLUSH_BROADCAST:
		return of_pages(c, SCOPE_BROADCAST);
	case COST_BROADCAST_PAGE:
		return real(&c->further[SCOPE_BROADCAST]);
	case COST_BROADCAST_MM:
		return real(&c->whole[SCOPE_BROADCAST]);
	case COST_BROADCAST_CPU:
	case COST_VICTIM_BROADCAST:
		return times(real(&c->flushes[SCOPE_BROADCAST]), others);
	case COST_BROADCAST_SERVICE: /* is paid as queue_ns */
	case COST_SERVICE_WAITER:
		break;
	case COST_IPI_SEND:
	case COST_IPI_WAIT:
		return real(&c->flushes[SCOPE_MASK]);
	case COST_IPI_TARGET:
		return beyond_first(&c->targets, &c->flushes[SCOPE_MASK]);
	case COST_VICTIM_IPI:
		return real(&c->targets);
	case COST_VICTIM_PAGE:
		return real(&c->target_pages);
	case COST_SPURIOUS_FAULT:
		return derive_spurious_at(c, NR_LEVELS);
	case COST_REFILL:
		return (struct real_bound){0, refills * c->share, refills};
	case COST_REFILL_MM: /* on at least one CPU, on all at most */
		return (struct real_bound){0, rewalks, rewalks * (others + 1)};
	case COST_NOTIFY:
		return (struct real_bound){notifies, notifies, notifies};
	case NR_COSTS:
		break;
	}
	return (struct real_bound){0};
}

enum cost_part derive_part(enum cost_item_id item)
{
	switch (item) {
	case COST_VICTIM_BROADCAST:
	case COST_VICTIM_IPI:
	case COST_VICTIM_PAGE:
		return PART_VICTIMS;
	case COST_BROADCAST_SERVICE:
	case COST_SERVICE_WAITER:
		return PART_QUEUE;
	case COST_SPURIOUS_FAULT:
		return PART_SPURIOUS;
	case COST_REFILL:
	case COST_REFILL_MM:
		return PART_REFILL;
	case COST_NOTIFY:
		return PART_NOTIFY;
	default:
		return PART_INITIATOR;
	}
}

void derive_costs(const struct policy_counts *c, unsigned int cpus,
		  const struct cost_preset *preset, struct derived_cost parts[NR_PARTS])
{
	memset(parts, 0, NR_PARTS * sizeof(*parts));
	for (unsigned int i = 0; i < NR_COSTS; i++) {
		const struct cost_item *item = &preset->items[i];
		struct real_bound n = derive_quantity(c, cpus, i);
		struct derived_cost *part = &parts[derive_part(i)];

		derive_add(&part->ns, (struct real_bound){n.low * item->low, n.estimate * item->value,
							  n.high * item->high});
		part->uncalibrated |= n.high * item->high > 0 && item->trust == COST_UNCALIBRATED;
	}
	derive_add(&parts[PART_QUEUE].ns, c->queue_ns);
	parts[PART_QUEUE].uncalibrated =
		c->queue_ns.high > 0 &&
		(preset->items[COST_BROADCAST_SERVICE].trust == COST_UNCALIBRATED ||
		 (preset->items[COST_SERVICE_WAITER].high > 0 &&
		  preset->items[COST_SERVICE_WAITER].trust == COST_UNCALIBRATED));
}

bool derive_check_row(const struct check_counts *c, unsigned int point)
{
	if (point == POINT_YOUNG || (!c->decisions && !c->recorded))
		return false;
	return point != POINT_SWITCH || c->recorded || c->replayed;
}

bool derive_check_silent(const struct check_counts *c, unsigned int point)
{
	return c->seen && !c->recorded && c->replayed && point != POINT_WP_REUSE;
}

int64_t derive_rounded(double x)
{
	return (int64_t)(x + 0.5);
}
