// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events without regard for what a kernel would do: the decoder, the interpreter, and the engine
 * with every policy. The recording's head is made once, from the catalogue; the input is the
 *events.
 *
 *	byte 0         bit 0 without TLBs of a stated size, bits 1-2 which part of the catalogue
 *	then, each:
 *	  kind         which event; 254 events were lost, 255 a sample
 *	  place        bits 0-1 CPU, 2-3 how long after the last one, 4-7 task
 *	  per number   one byte: a choice among likely values, or 255: 8 bytes follow
 *	  per text     one byte of length and so many bytes
 *
 * What must hold: every low bound is at most the estimate, and that at most the high bound; nothing
 * takes longer or more memory than libFuzzer allows.
 */
#include <unistd.h>

#include "replay/engine.h"
#include "replay/interpret.h"
#include "replay/latency.h"
#include "replay/policy.h"
#include "replay/replay.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/craft.h"

enum {
	CPUS = 4,
	HEADS = 4,
	EVENTS_MOST = 3000,
	TEXT_AT_MOST = 64,
	FORMATS_MOST = 128
};

/* What one format of ours has in it, in this order, 8 bytes each behind the common 8. */
struct shape {
	unsigned int id, numbers;
	bool comm, text;
};

struct head {
	struct trace *trace;
	struct decoder *decoder;
	unsigned int arch, page_shift;
	struct shape shapes[FORMATS_MOST];
	size_t nr;
};

static struct head heads[HEADS];
static struct replay_options all;

static void add_field(struct craft *text, const char *type, const char *name, const char *array,
		      unsigned int offset, unsigned int size)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "\tfield:%s %s%s;\toffset:%u;\tsize:%u;\tsigned:0;\n",
			 type, name, array, offset, size);

	craft_bytes(text, line, (size_t)n);
}

/* Writes the format of ROW (NULL: a TLBI called NAME) and notes its shape. */
static void add_format(struct craft *list, struct head *h, const struct catalogue_row *row,
		       const char *name, bool is_return)
{
	struct shape *s = &h->shapes[h->nr];
	struct craft text = {0};
	unsigned int at = 8;
	char first[128];

	*s = (struct shape){.id = 100 + (unsigned int)h->nr};
	h->nr++;
	craft_bytes(&text, first,
		    (size_t)snprintf(first, sizeof(first), "name: %s%s\nID: %u\nformat:\n", name,
				     is_return ? "_ret" : "", s->id));
	add_field(&text, "unsigned short", "common_type", "", 0, 2);
	add_field(&text, "unsigned char", "common_flags", "", 2, 1);
	add_field(&text, "unsigned char", "common_preempt_count", "", 3, 1);
	add_field(&text, "int", "common_pid", "", 4, 4);
	craft_bytes(&text, "\n", 1);
	if (row && row->source == SOURCE_FUNCTION) {
		add_field(&text, "unsigned long", is_return ? "__probe_ret_ip" : "__probe_ip", "",
			  at, 8);
		at += 8;
		s->numbers++;
	}
	if (!row) {
		add_field(&text, "u64", "op", "", at, 8);
		s->numbers++;
	}
	for (size_t i = 0; row && i < 10 && row->fields[i].names[0]; i++) {
		if (row->fields[i].slot == SLOT_COMM || row->fields[i].slot == SLOT_TEXT)
			continue;
		add_field(&text, "u64", row->fields[i].names[0], "", at, 8);
		at += 8;
		s->numbers++;
	}
	for (size_t i = 0; row && i < 10 && row->fields[i].names[0]; i++) {
		if (row->fields[i].slot == SLOT_COMM) {
			add_field(&text, "char", row->fields[i].names[0], "[16]", at, 16);
			at += 16;
			s->comm = true;
		} else if (row->fields[i].slot == SLOT_TEXT) {
			add_field(&text, "char", row->fields[i].names[0], "[]", at, 0);
			s->text = true;
		}
	}
	craft_bytes(&text, "\nprint fmt: \"\"\n", 15);
	craft_number(list, text.n, 8);
	craft_bytes(list, text.p, text.n);
	craft_free(&text);
}

/* Whether recording number WHICH has ROW: all, arm64's minimal, x86's tracepoints, x86's all. */
static bool wanted(const struct catalogue_row *row, unsigned int which)
{
	switch (which) {
	case 0:
		return true;
	case 1:
		return row->arch & ARCH_ARM64 && row->profiles & PROFILE_MINIMAL;
	case 2:
		return row->arch & ARCH_X86 && row->source == SOURCE_TRACEPOINT;
	default:
		return row->arch & ARCH_X86;
	}
}

static const struct head *get_head(unsigned int which)
{
	static const char *const sites[] = {"__ptep_set_access_flags__vale1is__1",
					    "ptep_clear_flush__vale1is__68",
					    "copy_mm__aside1is__16",
					    "tlb_flush__rvale1is__50",
					    "flush_tlb_range__rvae1is__7",
					    "somewhere__vmalle1is__3",
					    "contpte_set__vae1__9"};
	struct head *h = &heads[which];
	struct craft c = {.long_size = 8, .page_size = which == 3 ? 65536 : 4096};
	struct craft_cpu cpus[CPUS];
	struct trace_error err;

	if (h->trace)
		return h;
	h->arch = which < 2 ? ARCH_ARM64 : ARCH_X86;
	h->page_shift = which == 3 ? 16 : 12;
	craft_start(&c, "6");
	craft_header_info(&c);
	craft_number(&c, 0, 4);
	size_t count_at = c.n;
	unsigned int systems = 0;
	craft_number(&c, 0, 4);
	/* One "system" per event keeps this simple, and is legal. */
	for (const struct catalogue_row *row = catalogue; row->role != ROLE_SKIP; row++) {
		if (!wanted(row, which))
			continue;
		bool twice = row->source == SOURCE_FUNCTION;
		craft_text(&c, row->system);
		craft_number(&c, twice ? 2 : 1, 4);
		add_format(&c, h, row, row->name, false);
		if (twice)
			add_format(&c, h, row, row->name, true);
		systems++;
		FUZZ_CHECK(h->nr + 10 < FORMATS_MOST);
	}
	if (which < 2) {
		craft_text(&c, CATALOGUE_GROUP_TLBI);
		craft_number(&c, sizeof(sites) / sizeof(*sites), 4);
		for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
			add_format(&c, h, NULL, sites[i], false);
		systems++;
	}
	craft_put(&c, count_at, systems, 4);
	craft_number(&c, 0, 4);
	craft_number(&c, 0, 4);
	craft_number(&c, 0, 8);
	craft_number(&c, CPUS, 4);
	for (unsigned int i = 0; i < CPUS; i++)
		cpus[i] = (struct craft_cpu){.pages = craft_like(&c)};
	craft_flyrecord_v6(&c, cpus, CPUS);
	h->trace = trace_open(fuzz_file(c.p, c.n), &err);
	if (!h->trace)
		fprintf(stderr, "%s\n", err.text);
	FUZZ_CHECK(h->trace);
	h->decoder = decoder_new(h->trace, &err);
	FUZZ_CHECK(h->decoder);
	craft_free(&c);
	if (!all.nr_policies)
		for (size_t i = 0; policies[i]; i++) {
			char why[512];

			FUZZ_CHECK(!replay_add_policy(&all, policies[i]->name, why, sizeof(why)));
		}
	return h;
}

/* A value that events hold: a small number, a page among a few, a pointer, a border. */
static uint64_t likely(struct fuzz_input *in)
{
	static const uint64_t borders[] = {0,
					   1,
					   0x7fffffff,
					   0x80000000,
					   0xffffffff,
					   1ULL << 47,
					   (1ULL << 47) - 4096,
					   1ULL << 52,
					   0x000fffffffff0000,
					   0xffff000000000000,
					   0xffff800080010000,
					   INT64_MAX,
					   1ULL << 63,
					   UINT64_MAX - 4095,
					   UINT64_MAX,
					   0x200000};
	unsigned int code = (unsigned int)fuzz_take(in, 1);

	if (code == 255)
		return fuzz_take(in, 8);
	switch (code >> 5) {
	case 0:
		return code;
	case 1:
		return 0x100ULL << (code & 31);
	case 2:
	case 3:
		return 0x7f0000000000 + (code & 63) * 4096ULL;
	case 4:
		return 0x7f0000000000 + (code & 31) * 0x200000ULL;
	case 5:
		return 0xffff000012340000 + (code & 3) * 0x1000ULL;
	case 6:
		return borders[code & 15];
	default:
		return 100 + (code & 7);
	}
}

static void check_bound(const struct bound *b)
{
	FUZZ_CHECK(b->low <= b->estimate && b->estimate <= b->high);
}

static void check_results(const struct engine *e)
{
	for (unsigned int i = 0; i < all.nr_policies; i++) {
		const struct policy_result *r = engine_result(e, i);

		for (unsigned int p = 0; p < NR_POINTS; p++)
			for (unsigned int l = 0; l < NR_LEVELS; l++)
				for (unsigned int s = 0; s < NR_SCOPES; s++)
					check_bound(&r->flush[p][l][s].flushes);
		for (unsigned int s = 0; s < NR_SCOPES; s++)
			check_bound(&r->scope[s]);
		check_bound(&r->targets);
		check_bound(&r->avoided);
	}
}

static void ignore_page(void *context, uint32_t mm, uint64_t page, unsigned int point,
			unsigned int level, uint64_t decisions)
{
	(void)context, (void)mm, (void)page, (void)level;
	FUZZ_CHECK(point < NR_POINTS && decisions);
}

static struct latency *latency;

/* Calls and buckets agree, and so do the times of the calls. */
static void check_latency(const struct latency *l)
{
	for (size_t i = 0; i < latency_groups(l); i++) {
		struct latency_group g;
		size_t nr;
		struct latency_bucket *list = latency_group(l, i, &g, &nr);
		uint64_t calls = 0;

		FUZZ_CHECK(list && g.calls && g.min_ns <= g.max_ns && g.sum_ns >= g.max_ns);
		FUZZ_CHECK(g.cpus <= g.cpus_to && g.concurrent <= g.concurrent_to &&
			   g.cpus <= CPUS);
		for (size_t k = 0; k < nr; k++)
			calls += list[k].calls;
		FUZZ_CHECK(calls == g.calls && list[0].from_ns <= g.min_ns &&
			   list[0].to_ns >= g.min_ns);
		free(list);
	}
}

static void take_event(void *context, const struct tlb_event *event)
{
	FUZZ_CHECK(!latency_event(latency, event));
	engine_hint(context, event->mm, event->addr);
	engine_event(context, event);
}

static void ignore_mm(void *context, const struct mm_identity *mm)
{
	(void)context;
	FUZZ_CHECK(strnlen(mm->comm, sizeof(mm->comm)) < sizeof(mm->comm));
}

/* Feeds one event. Returns false at the end of the input or without memory. */
static bool feed(struct fuzz_input *in, const struct head *h, struct interpreter *interpreter,
		 uint64_t *now)
{
	static const uint64_t steps[] = {0, 40, 3000, 5000000};
	uint8_t data[8 + 12 * 8 + 16 + TEXT_AT_MOST + 8] = {0};
	struct trace_record rec = {.data = data};
	struct raw_event raw;
	size_t size = 8;

	if (in->at >= in->end)
		return false;
	unsigned int kind = (unsigned int)fuzz_take(in, 1), place = (unsigned int)fuzz_take(in, 1);
	*now += steps[place >> 2 & 3];
	rec.entry = rec.cpu = place & 3;
	rec.time_ns = *now;
	rec.pid = place >> 4 ? 100 + (int)(place >> 4) : 0;
	if (kind == 254) {
		interpret_lost(interpreter, rec.cpu, *now);
		return true;
	}
	if (kind == 255) {
		uint64_t addr = likely(in);

		interpret_sample(interpreter, *now, rec.cpu, rec.pid, addr, place & 16);
		return true;
	}
	const struct shape *s = &h->shapes[kind % h->nr];
	uint16_t id = (uint16_t)s->id;
	memcpy(data, &id, 2);
	memcpy(data + 4, &rec.pid, 4);
	rec.id = s->id;
	for (unsigned int i = 0; i < s->numbers; i++, size += 8) {
		uint64_t v = likely(in);

		memcpy(data + size, &v, 8);
	}
	if (s->comm || s->text) {
		size_t n = fuzz_take(in, 1) % (s->text ? TEXT_AT_MOST : 16);
		size_t left = (size_t)(in->end - in->at);

		if (n > left)
			n = left;
		memcpy(data + size, in->at, n);
		in->at += n;
		size += s->comm ? 16 : (n + 4) & ~(size_t)3;
	}
	rec.size = (uint32_t)size;
	if (!decode(h->decoder, &rec, &raw))
		return true;
	if (interpret(interpreter, &raw))
		return false;
	return !(LATENCY_ROLES >> raw.plan->role & 1) ||
	       !latency_raw(latency, &raw, interpret_mm(interpreter, &raw));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tlb_geometry tlb;
	struct fuzz_input in = {data, data + size};
	unsigned int flags = (unsigned int)fuzz_take(&in, 1);
	const struct head *h = get_head(flags >> 1 & 3);
	uint64_t now = 1000000000;
	char why[256];

	if (!tlb.nr_levels)
		FUZZ_CHECK(!tlb_parse("8/2+32/4", &tlb, why, sizeof(why)));
	struct engine *e = engine_new(&(struct engine_config){.nr_cpus = CPUS,
							      .page_shift = h->page_shift,
							      .policies = all.policies,
							      .nr_policies = all.nr_policies,
							      .max_rows = 100,
							      .tlb = flags & 1 ? NULL : &tlb,
							      .sink = {.page = ignore_page}});
	struct interpret_sink sink = {
		.context = e, .event = take_event, .mm_done = ignore_mm};
	struct interpreter *interpreter = interpreter_new(h->trace, h->decoder, h->arch, &sink);
	latency = latency_new(latency_timed(h->decoder), flags & 8, CPUS);
	FUZZ_CHECK(e && interpreter && latency);
	for (unsigned int n = 0; n < EVENTS_MOST && feed(&in, h, interpreter, &now); n++)
		;
	if (!interpret_end(interpreter, now) && !engine_end(e, now))
		check_results(e);
	latency_end(latency);
	check_latency(latency);
	latency_free(latency);
	interpreter_free(interpreter);
	engine_free(e);
	return 0;
}
