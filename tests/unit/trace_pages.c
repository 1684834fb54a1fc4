// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages and files written by hand, and what must come out of them. Every expected number stands
 * here as a constant that was worked out from the layout of the ring buffer, next to the bytes it
 * is for.
 */
#include <errno.h>
#include <inttypes.h>

#include "replay/trace.h"
#include "tests/unit/craft.h"

#define MISSED (1ULL << 31)
#define STORED (1ULL << 30)

struct expected {
	uint64_t time_ns;
	unsigned int cpu;
	int pid;
	int id;
	uint32_t size;
	bool missed;
	uint64_t missed_events;
};

static const char *current; /* what is being tested */

static struct trace *open_file(const struct craft *c)
{
	char *name = craft_save(c);
	struct trace_error err = {""};
	struct trace *t = trace_open(name, &err);

	if (!t) {
		printf("%s: %s\n", current, err.text);
		failures++;
	}
	unlink(name);
	free(name);
	return t;
}

/* Opens C, compares its events with WANT[N], and returns it open, after its end. */
static struct trace *expect(const struct craft *c, const struct expected *want, size_t n)
{
	struct trace *t = open_file(c);
	struct trace_record rec;
	struct trace_error err = {""};
	size_t i;
	int ret;

	for (i = 0; t && (ret = trace_next(t, &rec, &err)) > 0; i++) {
		if (i >= n) {
			printf("%s: more than %zu events\n", current, n);
			failures++;
			break;
		}
		if (rec.time_ns == want[i].time_ns && rec.cpu == want[i].cpu &&
		    rec.pid == want[i].pid && rec.id == want[i].id && rec.size == want[i].size &&
		    rec.missed == want[i].missed && rec.missed_events == want[i].missed_events)
			continue;
		printf("%s: event %zu: %" PRIu64 " cpu %u pid %d id %d size %u missed %d %" PRIu64
		       ", not %" PRIu64 " cpu %u pid %d id %d size %u missed %d %" PRIu64 "\n",
		       current, i, rec.time_ns, rec.cpu, rec.pid, rec.id, rec.size, rec.missed,
		       rec.missed_events, want[i].time_ns, want[i].cpu, want[i].pid, want[i].id,
		       want[i].size, want[i].missed, want[i].missed_events);
		failures++;
	}
	if (!t)
		return NULL;
	if (ret < 0 || i < n) {
		printf("%s: %zu of %zu events, then %d: %s\n", current, i, n, ret, err.text);
		failures++;
	}
	/* The end is an end however often one asks. */
	CHECK(ret < 0 || i > n || trace_next(t, &rec, &err) == 0);
	return t;
}

/* Opens and reads C, which must fail with CODE and a reason that has WORD and an offset. */
static void refuse(const struct craft *c, int code, const char *word)
{
	char *name = craft_save(c);
	struct trace_error err = {""};
	struct trace *t = trace_open(name, &err);
	struct trace_record rec;
	int ret = t ? 1 : -errno, limit = 1000;

	while (t && (ret = trace_next(t, &rec, &err)) > 0 && --limit)
		;
	if (ret != code || !strstr(err.text, word) || !strstr(err.text, "offset ") ||
	    strncmp(err.text, name, strlen(name))) {
		printf("%s: %d \"%s\", not %d \"... %s ...\"\n", current, ret, err.text, code,
		       word);
		failures++;
	}
	if (t && ret < 0) { /* the error stays */
		struct trace_error again = {""};

		CHECK(trace_next(t, &rec, &again) == ret && !strcmp(again.text, err.text));
	}
	trace_close(t);
	unlink(name);
	free(name);
}

/* The four ways a file may write its numbers. */
static const struct craft variants[] = {
	{.long_size = 8},
	{.long_size = 4},
	{.long_size = 8, .big_endian = true},
	{.long_size = 4, .big_endian = true, .long_header = true, .page_size = 512},
	{.long_size = 8, .long_header = true, .page_size = 65536},
};

static struct craft_cpu new_cpu(const struct craft *v)
{
	return (struct craft_cpu){.pages = craft_like(v)};
}

/* Every kind of record on one page. */
static void test_records(const struct craft *v)
{
	struct craft file = craft_like(v);
	struct craft_cpu cpu = new_cpu(v);
	uint32_t extra = v->long_header ? 4 : 0;
	const struct expected want[] = {
		/* 1000 + 0 */
		{1000, 0, 7, CRAFT_SMALL, 12 + extra, false, 0},
		/* + 5 */
		{1005, 0, -1, CRAFT_SMALL, 12 + extra, false, 0},
		/* extend by 3 << 27 | 9 = 402653193, then + 2 */
		{402654200, 0, 8, CRAFT_SMALL, 12 + extra, false, 0},
		/* absolute 1 << 27 | 100 = 134217828 (the clock had no bits above 58), then + 1 */
		{134217829, 0, 9, CRAFT_SMALL, 12 + extra, false, 0},
		/* a length word: 4 + 12 + extra + 120 bytes of payload; + 6 */
		{134217835, 0, 10, CRAFT_LARGE, 132 + extra, false, 0},
		/* a discarded event passes with its delta 4, then + 1 */
		{134217840, 0, 11, CRAFT_SMALL, 12 + extra, false, 0},
		/* only the fields that all events have; the size in the word, and behind it */
		{134217842, 0, 12, CRAFT_SMALL, 8 + extra, false, 0},
		{134217845, 0, 13, CRAFT_SMALL, 8 + extra, false, 0},
	};
	unsigned int i;

	page_begin(&cpu, 1000);
	page_small(&cpu, 0, 7, 1);
	page_small(&cpu, 5, -1, 2);
	page_word(&cpu, 30, 9);
	page_u32(&cpu, 3);
	page_small(&cpu, 2, 8, 3);
	page_word(&cpu, 31, 100);
	page_u32(&cpu, 1);
	page_small(&cpu, 1, 9, 4);
	page_word(&cpu, 0, 6);
	page_u32(&cpu, 4 + 12 + extra + 120);
	page_common(&cpu, CRAFT_LARGE, 10);
	for (i = 0; i < 31; i++)
		page_u32(&cpu, 0xffffffff);
	page_word(&cpu, 29, 4);
	page_u32(&cpu, 4 + 8); /* itself and 8 bytes of what was an event */
	page_u32(&cpu, 0xffffffff);
	page_u32(&cpu, 0xffffffff);
	page_small(&cpu, 1, 11, 5);
	page_word(&cpu, (8 + extra) / 4, 2);
	page_common(&cpu, CRAFT_SMALL, 12);
	page_word(&cpu, 0, 3);
	page_u32(&cpu, 4 + 8 + extra);
	page_common(&cpu, CRAFT_SMALL, 13);
	/* Padding without a delta: the rest of the page, whatever is in it. */
	page_word(&cpu, 29, 0);
	page_u32(&cpu, 0xffffffff);
	page_u32(&cpu, 0xffffffff);
	page_end(&cpu, 0);
	craft_v6(&file, NULL, &cpu, 1);
	trace_close(expect(&file, want, 8));
	craft_free(&file);
	craft_free(&cpu.pages);
}

/* An absolute time has 59 bits; the five above stay those of the clock before. */
static void test_absolute(const struct craft *v)
{
	struct craft file = craft_like(v);
	struct craft_cpu cpu = new_cpu(v);
	uint32_t size = v->long_header ? 16 : 12;
	const struct expected want[] = {
		/* 0x1800000000000000 = 1729382256910270464, 5 << 27 = 671088640, 3; then + 0 */
		{1729382257581359107ULL, 0, 1, CRAFT_SMALL, size, false, 0},
		/* the largest: word 0xffffffff, delta 0x7ffffff: 0x1fffffffffffffff */
		{2305843009213693951ULL, 0, 2, CRAFT_SMALL, size, false, 0},
	};

	page_begin(&cpu, 0x1800000000000001ULL);
	page_word(&cpu, 31, 3);
	page_u32(&cpu, 5);
	page_small(&cpu, 0, 1, 1);
	page_word(&cpu, 31, 0x7ffffff);
	page_u32(&cpu, 0xffffffff);
	page_small(&cpu, 0, 2, 1);
	page_end(&cpu, 0);
	craft_v6(&file, NULL, &cpu, 1);
	trace_close(expect(&file, want, 2));
	craft_free(&file);
	craft_free(&cpu.pages);
}

/* Zeros that were committed end the page: at its start, in its middle, one word of them. */
static void test_zero_tail(const struct craft *v)
{
	struct craft file = craft_like(v);
	struct craft_cpu cpu = new_cpu(v);
	uint32_t size = v->long_header ? 16 : 12;
	const struct expected want[] = {
		{11, 0, 1, CRAFT_SMALL, size, false, 0},
		{21, 0, 2, CRAFT_SMALL, size, false, 0},
		{41, 0, 3, CRAFT_SMALL, size, false, 0},
	};

	page_begin(&cpu, 10);
	page_small(&cpu, 1, 1, 1);
	craft_zero(&cpu.pages, 200);
	page_end(&cpu, 0);
	page_begin(&cpu, 20);
	page_small(&cpu, 1, 2, 1);
	craft_zero(&cpu.pages, 4);
	page_end(&cpu, 0);
	page_begin(&cpu, 30); /* nothing but zeros */
	craft_zero(&cpu.pages, 300);
	page_end(&cpu, 0);
	page_begin(&cpu, 35); /* no data at all */
	page_end(&cpu, 0);
	page_begin(&cpu, 40);
	page_small(&cpu, 1, 3, 1);
	page_end(&cpu, 0);
	craft_v6(&file, NULL, &cpu, 1);
	trace_close(expect(&file, want, 3));
	craft_free(&file);
	craft_free(&cpu.pages);
}

static void test_lost(const struct craft *v)
{
	struct craft file = craft_like(v);
	struct craft_cpu cpus[3] = {new_cpu(v), new_cpu(v), new_cpu(v)};
	uint32_t size = v->long_header ? 16 : 12;
	const struct expected want[] = {
		{100, 0, 1, CRAFT_SMALL, size, true, 0},  /* its first page: lost, not counted */
		{101, 0, 2, CRAFT_SMALL, size, false, 0}, /* only the first event of a page */
		{200, 1, 3, CRAFT_SMALL, size, true, 77}, /* its first page: 77 lost */
		{300, 0, 4, CRAFT_SMALL, size, true, 5},  /* a later page */
		{400, 1, 5, CRAFT_SMALL, size, true, 42}, /* 40 + 2, one page had no event */
		{500, 1, 6, CRAFT_SMALL, size, true, 0},  /* 9 and an unknown number: unknown */
		{600, 2, 7, CRAFT_LARGE, craft_page_size(v) - 8 - v->long_size - 8, true, 0},
		{700, 2, 8, CRAFT_SMALL, size, false, 0}, /* bit 30 without bit 31 says nothing */
	};
	const struct trace_info *info;
	struct trace *t;
	uint32_t room = craft_page_size(v) - 8 - v->long_size;

	page_begin(&cpus[0], 100);
	page_small(&cpus[0], 0, 1, 1);
	page_small(&cpus[0], 1, 2, 1);
	page_end(&cpus[0], MISSED);
	page_begin(&cpus[0], 300);
	page_small(&cpus[0], 0, 4, 1);
	craft_number(&cpus[0].pages, 5, v->long_size);
	page_end_raw(&cpus[0], (4 + size) | MISSED | STORED);

	page_begin(&cpus[1], 200);
	page_small(&cpus[1], 0, 3, 1);
	craft_number(&cpus[1].pages, 77, v->long_size);
	page_end_raw(&cpus[1], (4 + size) | MISSED | STORED);
	page_begin(&cpus[1], 390);
	craft_number(&cpus[1].pages, 40, v->long_size);
	page_end_raw(&cpus[1], 0 | MISSED | STORED);
	page_begin(&cpus[1], 400);
	page_small(&cpus[1], 0, 5, 1);
	craft_number(&cpus[1].pages, 2, v->long_size);
	page_end_raw(&cpus[1], (4 + size) | MISSED | STORED);
	page_begin(&cpus[1], 490);
	craft_number(&cpus[1].pages, 9, v->long_size);
	page_end_raw(&cpus[1], 0 | MISSED | STORED);
	page_begin(&cpus[1], 500);
	page_small(&cpus[1], 0, 6, 1);
	page_end(&cpus[1], MISSED);

	/* A page that is full to its end has no room for the count that it claims. */
	page_begin(&cpus[2], 600);
	page_word(&cpus[2], 0, 0);
	page_u32(&cpus[2], room - 4);
	page_common(&cpus[2], CRAFT_LARGE, 7);
	craft_zero(&cpus[2].pages, room - 8 - (v->long_header ? 12 : 8));
	page_end(&cpus[2], MISSED | STORED);
	page_begin(&cpus[2], 700);
	page_small(&cpus[2], 0, 8, 1);
	craft_number(&cpus[2].pages, 3, v->long_size);
	page_end_raw(&cpus[2], (4 + size) | STORED);

	craft_v6(&file, NULL, cpus, 3);
	t = expect(&file, want, 8);
	if (t) {
		info = trace_info(t);
		CHECK_U64(info->cpus[0].loss.events, 5);
		CHECK_U64(info->cpus[0].loss.unknown, 1);
		CHECK_U64(info->cpus[1].loss.events, 77 + 40 + 2 + 9);
		CHECK_U64(info->cpus[1].loss.unknown, 1);
		CHECK_U64(info->cpus[2].loss.events, 0);
		CHECK_U64(info->cpus[2].loss.unknown, 1);
	}
	trace_close(t);
	craft_free(&file);
	craft_free(&cpus[0].pages);
	craft_free(&cpus[1].pages);
	craft_free(&cpus[2].pages);
}

/* Each damage on a page of its own: an error that names it, and the events before it. */
static void test_cut(const struct craft *v)
{
	static const struct {
		const char *what;
		unsigned int type, delta;
		uint32_t next;      /* the word after the record's; 0xdead: none */
		unsigned int zeros; /* bytes after it */
	} cut[] = {
		{"payload over the commit", 28, 1, 0xffffffff, 4},
		{"length word is missing", 0, 1, 0xdead, 0},
		{"length below itself", 0, 1, 3, 8},
		{"length over the commit", 0, 1, 13, 8},
		{"length far over the commit", 0, 1, 0xffffffff, 8},
		{"payload too short for the common fields", 1, 1, 0xffffffff, 0},
		{"length word, payload too short", 0, 1, 8, 4},
		{"zeros, then something", 0, 0, 0, 9},
		{"discarded event over the commit", 29, 1, 16, 8},
		{"discarded event of nothing", 29, 1, 0, 8},
		{"extend is missing", 30, 1, 0xdead, 0},
		{"absolute time is missing", 31, 1, 0xdead, 0},
	};
	size_t i;

	for (i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		struct craft file = craft_like(v);
		struct craft_cpu cpu = new_cpu(v);

		current = cut[i].what;
		page_begin(&cpu, 10);
		page_small(&cpu, 0, 1, 1);
		page_word(&cpu, cut[i].type, cut[i].delta);
		if (cut[i].next != 0xdead)
			page_u32(&cpu, cut[i].next);
		craft_zero(&cpu.pages, cut[i].zeros & ~1U);
		if (cut[i].zeros & 1)
			page_u32(&cpu, 1);
		page_end(&cpu, 0);
		craft_v6(&file, NULL, &cpu, 1);
		refuse(&file, -EBADMSG, "malformed");
		craft_free(&file);
		craft_free(&cpu.pages);
	}
}

static void refuse_commit(const struct craft *v, const char *what, uint64_t commit)
{
	struct craft file = craft_like(v);
	struct craft_cpu cpu = new_cpu(v);

	current = what;
	page_begin(&cpu, 10);
	page_small(&cpu, 0, 1, 1);
	page_end_raw(&cpu, commit);
	craft_v6(&file, NULL, &cpu, 1);
	refuse(&file, -EBADMSG, "malformed");
	craft_free(&file);
	craft_free(&cpu.pages);
}

static void test_commit(const struct craft *v)
{
	uint32_t size = 4 + (v->long_header ? 16 : 12);

	refuse_commit(v, "commit ends in a record", size - 1);
	refuse_commit(v, "commit ends in a word", size + 2);
	refuse_commit(v, "commit over the page", craft_page_size(v) - 8 - v->long_size + 1);
	refuse_commit(v, "commit of all ones", 0xffffffff);
}

/* Ties by CPU; CPUs with gaps and without data; a CPU whose time runs backwards. */
static void test_merge(const struct craft *v)
{
	static const unsigned int ids[] = {4000, 3, 7, 0}, sorted[] = {0, 3, 7, 4000};
	struct craft file = craft_like(v), options = craft_like(v);
	struct craft_cpu cpus[4] = {new_cpu(v), new_cpu(v), new_cpu(v), new_cpu(v)};
	struct craft_buffer buffer = {"", cpus, ids, 4};
	uint32_t size = v->long_header ? 16 : 12;
	const struct expected want[] = {
		{10, 0, 1, CRAFT_SMALL, size, false, 0},
		{10, 3, 2, CRAFT_SMALL, size, false, 0},
		{10, 4000, 3, CRAFT_SMALL, size, false, 0},
		{10, 4000, 4, CRAFT_SMALL, size, false, 0},
		{15, 3, 5, CRAFT_SMALL, size, false, 0},
		/* CPU 0 goes back: its events come as soon as they can, in their order. */
		{20, 0, 6, CRAFT_SMALL, size, false, 0},
		{5, 0, 7, CRAFT_SMALL, size, false, 0},
		{6, 0, 8, CRAFT_SMALL, size, false, 0},
		{30, 4000, 9, CRAFT_SMALL, size, false, 0},
	};
	const struct trace_info *info;
	struct trace *t;
	int i;

	page_begin(&cpus[0], 10); /* CPU 4000 */
	page_small(&cpus[0], 0, 3, 1);
	page_small(&cpus[0], 0, 4, 1);
	page_small(&cpus[0], 20, 9, 1);
	page_end(&cpus[0], 0);
	page_begin(&cpus[1], 10); /* CPU 3 */
	page_small(&cpus[1], 0, 2, 1);
	page_small(&cpus[1], 5, 5, 1);
	page_end(&cpus[1], 0);
	page_begin(&cpus[3], 10); /* CPU 0; CPU 7 is empty */
	page_small(&cpus[3], 0, 1, 1);
	page_small(&cpus[3], 10, 6, 1);
	page_end(&cpus[3], 0);
	page_begin(&cpus[3], 5);
	page_small(&cpus[3], 0, 7, 1);
	page_small(&cpus[3], 1, 8, 1);
	page_end(&cpus[3], 0);

	craft_option_text(&options, 2,
			  "CPU: 3\nentries: 9\noverrun: 12\ncommit overrun: 3\nbytes: 1\n"
			  "dropped events: 4\nread events: 2\n");
	craft_option_text(&options, 4, "local [mono_raw] global\n");
	craft_option_text(&options, 5, "Linux a host 6.1.0-rt x86_64");
	craft_option_text(&options, 9, "3.1.6");
	craft_v7(&file, &options, &buffer, 1);
	t = expect(&file, want, 9);
	if (t) {
		info = trace_info(t);
		CHECK_U64(info->version, 7);
		CHECK_U64(info->nr_buffers, 1);
		CHECK_U64(info->nr_entries, 4);
		CHECK_U64(info->nr_cpus, 4001);
		CHECK_U64(info->long_size, v->long_size);
		CHECK_U64(info->page_size, craft_page_size(v));
		CHECK(info->big_endian == v->big_endian);
		CHECK(!strcmp(info->buffers[0].clock, "mono"));
		CHECK(!strcmp(info->kernel, "6.1.0-rt") && !strcmp(info->machine, "x86_64"));
		CHECK(!strcmp(info->uname, "Linux a host 6.1.0-rt x86_64"));
		CHECK(!strcmp(info->trace_cmd, "3.1.6"));
		for (i = 0; i < 4; i++) {
			CHECK_U64(info->cpus[i].cpu, sorted[i]);
			CHECK(info->cpus[i].stat.present == (i == 1));
		}
		CHECK_U64(info->cpus[1].stat.overrun, 12);
		CHECK_U64(info->cpus[1].stat.commit_overrun, 3);
		CHECK_U64(info->cpus[1].stat.dropped, 4);
	}
	trace_close(t);
	craft_free(&file);
	craft_free(&options);
	for (i = 0; i < 4; i++)
		craft_free(&cpus[i].pages);
}

/* Several buffers, as version 7 and as version 6 have them. Ties: CPU, then buffer. */
static void test_buffers(const struct craft *v, bool v7)
{
	struct craft file = craft_like(v), options = craft_like(v);
	struct craft_cpu cpus[4] = {new_cpu(v), new_cpu(v), new_cpu(v), new_cpu(v)};
	struct craft_buffer buffers[] = {{"", cpus, NULL, 2}, {"foo", cpus + 2, NULL, 2}};
	uint32_t size = v->long_header ? 16 : 12;
	const struct expected want[] = {
		{10, 0, 1, CRAFT_SMALL, size, false, 0}, /* top */
		{10, 0, 3, CRAFT_SMALL, size, false, 0}, /* foo */
		{10, 1, 2, CRAFT_SMALL, size, false, 0}, /* top */
		{10, 1, 4, CRAFT_SMALL, size, false, 0}, /* foo */
	};
	struct craft pointer = craft_like(v);
	const struct trace_info *info;
	struct trace *t;
	int i;

	for (i = 0; i < 4; i++) {
		page_begin(&cpus[i], 10);
		page_small(&cpus[i], 0, i + 1, 1);
		page_end(&cpus[i], 0);
	}
	craft_option_text(&options, 2, "CPU: 0\noverrun: 1\n");
	craft_option_text(&options, 2, "\nBuffer: foo\n\n");
	craft_option_text(&options, 2, "CPU: 0\noverrun: 2\n");
	if (v7) {
		craft_v7(&file, &options, buffers, 2);
	} else {
		size_t at;

		craft_number(&pointer, 0, 8);
		craft_text(&pointer, "foo");
		at = options.n + 6;
		craft_option(&options, 3, pointer.p, pointer.n);
		craft_head_v6(&file, 2);
		craft_bytes(&file, "options  ", 10);
		at += file.n;
		craft_bytes(&file, options.p, options.n);
		craft_number(&file, 0, 2);
		craft_flyrecord_v6(&file, cpus, 2);
		craft_put(&file, at, file.n, 8);
		craft_flyrecord_v6(&file, cpus + 2, 2);
	}
	t = expect(&file, want, 4);
	if (t) {
		info = trace_info(t);
		CHECK_U64(info->nr_buffers, 2);
		CHECK(!strcmp(info->buffers[0].name, "") && !strcmp(info->buffers[1].name, "foo"));
		CHECK_U64(info->nr_entries, 4);
		CHECK_U64(info->cpus[0].stat.overrun, 1);
		CHECK_U64(info->cpus[1].stat.overrun, 2);
		CHECK(info->cpus[1].buffer == 1 && info->cpus[1].cpu == 0);
		CHECK(!info->cpus[2].stat.present && !info->cpus[3].stat.present);
	}
	trace_close(t);
	craft_free(&file);
	craft_free(&options);
	craft_free(&pointer);
	for (i = 0; i < 4; i++)
		craft_free(&cpus[i].pages);
}

/* More CPUs than anybody's blocks fit in the cache for: each has three pages. */
static void test_many_cpus(const struct craft *v, unsigned int n)
{
	struct craft_cpu *cpus = calloc(n, sizeof(*cpus));
	struct craft file = craft_like(v);
	struct trace_record rec;
	struct trace_error err;
	unsigned int i, page;
	uint64_t last = 0, nr = 0;
	struct trace *t;
	int ret = 0;

	for (i = 0; i < n; i++) {
		cpus[i] = new_cpu(v);
		for (page = 0; page < 3; page++) {
			page_begin(&cpus[i], 4ULL * n * page + (i * 7919) % n);
			page_small(&cpus[i], 0, i, page);
			page_small(&cpus[i], n, i, page);
			page_end(&cpus[i], 0);
		}
	}
	craft_v6(&file, NULL, cpus, n);
	t = open_file(&file);
	while (t && (ret = trace_next(t, &rec, &err)) > 0) {
		CHECK(rec.time_ns >= last);
		CHECK((unsigned int)rec.pid == rec.cpu);
		last = rec.time_ns;
		nr++;
	}
	CHECK(!ret);
	CHECK_U64(nr, 6 * n);
	trace_close(t);
	for (i = 0; i < n; i++)
		craft_free(&cpus[i].pages);
	free(cpus);
	craft_free(&file);
}

#define TWIN_CPUS   9
#define TWIN_EVENTS 300 /* of a CPU */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A CPU's events, on pages of a few; times in TIMES. KIND of clock: how far pages lie apart. */
static void random_cpu(struct craft_cpu *cpu, unsigned int kind, uint64_t *random, uint64_t *times)
{
	uint64_t clock = kind == 2 ? UINT64_MAX - 20000 : 1000000;

	for (size_t n = 0; n < TWIN_EVENTS;) {
		size_t end = n + 1 + next_random(random) % 20;
		uint64_t r = next_random(random);

		if (kind == 1 && r % 8 == 0)
			clock -= 300; /* backwards, a little */
		/* Too far for keys, from the start or on the way. */
		if (kind >= 3 && r % 16 == 0 && (kind == 3 || n > TWIN_EVENTS / 2))
			clock = next_random(random) >> r / 16 % 8;
		page_begin(cpu, clock);
		for (; n < end && n < TWIN_EVENTS; n++) {
			/* Bursts, so that a CPU keeps its turn; and many at one time. */
			uint64_t step = next_random(random);

			step = step % 4 ? step / 4 % 8 : step / 4 % 2000;
			clock += step;
			times[n] = clock;
			page_small(cpu, (unsigned int)step, (int)n, 1);
		}
		page_end(cpu, 0);
	}
}

/* Reads FILE in batches of at most MAX events. */
static void expect_batches(const struct craft *file, const struct expected *want, size_t n,
			   size_t max)
{
	struct trace *t = open_file(file);
	struct trace_batch batch = {0};
	struct trace_error err;
	size_t at = 0;
	int ret = 0;

	while (t && (ret = trace_fill(t, &batch, max, &err)) > 0) {
		uint64_t first = UINT64_MAX, last = 0;

		CHECK(batch.nr && batch.nr <= max);
		CHECK_U64(batch.seen, batch.nr);
		for (size_t i = 0; i < batch.nr && at < n; i++, at++) {
			const struct trace_event *e = &batch.events[i];

			CHECK(e->time_ns == want[at].time_ns && e->entry == want[at].cpu &&
			      e->pid == want[at].pid && e->kind == CRAFT_SMALL && !e->missed);
			first = e->time_ns < first ? e->time_ns : first;
			last = e->time_ns > last ? e->time_ns : last;
		}
		CHECK_U64(batch.first_ns, first);
		CHECK_U64(batch.last_ns, last);
	}
	CHECK(!ret && at == n);
	for (size_t i = 0; t && i < trace_info(t)->nr_entries; i++)
		CHECK_U64(trace_entry_count(t, i), TWIN_EVENTS);
	if (t)
		trace_batch_free(t, &batch);
	trace_close(t);
}

/* Against a slow twin: look at all CPUs, take the one whose next event is earliest. */
static void test_twin(const struct craft *v, unsigned int kind, unsigned int nr, uint64_t random)
{
	static uint64_t times[TWIN_CPUS][TWIN_EVENTS];
	static struct expected want[TWIN_CPUS * TWIN_EVENTS];
	struct craft file = craft_like(v);
	struct craft_cpu cpus[TWIN_CPUS];
	size_t next[TWIN_CPUS] = {0}, n;

	for (unsigned int i = 0; i < nr; i++) {
		cpus[i] = new_cpu(v);
		random_cpu(&cpus[i], kind, &random, times[i]);
	}
	for (n = 0; n < (size_t)nr * TWIN_EVENTS; n++) {
		unsigned int best = nr;

		for (unsigned int i = 0; i < nr; i++)
			if (next[i] < TWIN_EVENTS &&
			    (best == nr || times[i][next[i]] < times[best][next[best]]))
				best = i;
		want[n] = (struct expected){times[best][next[best]],
					    best,
					    (int)next[best],
					    CRAFT_SMALL,
					    v->long_header ? 16 : 12,
					    false,
					    0};
		next[best]++;
	}
	craft_v6(&file, NULL, cpus, nr);
	trace_close(expect(&file, want, n));
	expect_batches(&file, want, n, 1);
	expect_batches(&file, want, n, 7);
	expect_batches(&file, want, n, 1000);
	craft_free(&file);
	for (unsigned int i = 0; i < nr; i++)
		craft_free(&cpus[i].pages);
}

/* What the options make of a raw time of 1000000. */
static void test_time(const struct craft *v, unsigned int id, const char *text, uint64_t wanted)
{
	struct craft file = craft_like(v), options = craft_like(v);
	struct craft_cpu cpu = new_cpu(v);
	const struct expected want[] = {
		{wanted, 0, 1, CRAFT_SMALL, v->long_header ? 16 : 12, false, 0},
	};

	page_begin(&cpu, 1000000);
	page_small(&cpu, 0, 1, 1);
	page_end(&cpu, 0);
	if (id == 14) {
		struct craft tsc = craft_like(v);

		craft_number(&tsc, 3000000000U, 4);
		craft_number(&tsc, 31, 4);
		craft_number(&tsc, 12345, 8);
		craft_option(&options, 14, tsc.p, tsc.n);
		craft_free(&tsc);
	}
	if (text)
		craft_option_text(&options, id == 14 ? 7 : id, text);
	craft_v6(&file, &options, &cpu, 1);
	trace_close(expect(&file, want, 1));
	craft_free(&file);
	craft_free(&options);
	craft_free(&cpu.pages);
}

static void test_fields(const struct craft *v)
{
	struct craft file = craft_like(v);
	struct craft_cpu cpu = new_cpu(v);
	uint32_t at = v->long_header ? 12 : 8;
	const struct trace_format *f;
	struct trace_error err = {""};
	struct trace_record rec;
	struct trace_field field;
	struct trace *t;
	uint64_t value;
	size_t nr;

	page_begin(&cpu, 1);
	page_small(&cpu, 0, -5, 0xfffffffe);
	page_end(&cpu, 0);
	craft_v6(&file, NULL, &cpu, 1);
	t = open_file(&file);
	if (!t)
		goto out;
	f = trace_formats(t, &nr);
	CHECK_U64(nr, 2);
	CHECK(!strcmp(f[1].name, "large") && !strcmp(f[1].system, "test") &&
	      f[1].id == CRAFT_LARGE);
	CHECK(!trace_format_by_id(t, 99) && !trace_format_by_id(t, -1) &&
	      !trace_format_by_id(t, 1 << 30) && !trace_format_by_id(t, 102));
	f = trace_format_by_id(t, CRAFT_SMALL);
	CHECK(f && !strcmp(f->name, "small") && f->text_size > 100 && !memcmp(f->text, "name:", 5));
	if (!f || trace_next(t, &rec, &err) != 1)
		goto out;
	CHECK(!trace_find_field(t, f, "value", &field, &err));
	CHECK(field.offset == at && field.size == 4 && !field.is_signed && !field.is_array);
	CHECK(trace_read(&rec, &field, trace_swap(t), &value) && value == 0xfffffffe);
	CHECK(!trace_find_field(t, f, "common_pid", &field, &err));
	CHECK(field.offset == 4 && field.size == 4 && field.is_signed);
	CHECK(trace_read(&rec, &field, trace_swap(t), &value) && (int64_t)value == -5);
	CHECK(!trace_find_field(t, f, "comm", &field, &err));
	CHECK(field.offset == at + 4 && field.size == 16 && field.is_array && !field.is_dynamic);
	CHECK(!trace_find_field(t, f, "path", &field, &err));
	CHECK(field.offset == at + 20 && field.size == 4 && field.is_dynamic);
	CHECK(!trace_find_field(t, f, "ret", &field, &err));
	CHECK(field.offset == at + 24 && field.size == 8 && field.is_signed && !field.is_array);
	CHECK(!trace_read(&rec, &field, trace_swap(t), &value)); /* the record is shorter */
	CHECK(trace_find_field(t, f, "nonesuch", &field, &err) == -ENOENT);
	CHECK(strstr(err.text, "test:small has no field nonesuch"));
out:
	trace_close(t);
	craft_free(&file);
	craft_free(&cpu.pages);
}

/* A container that contradicts itself, by one number that was put wrong. */
static void test_container(const struct craft *v)
{
	struct craft_cpu cpu = new_cpu(v);
	struct craft_buffer buffer = {"", &cpu, NULL, 1};
	struct craft good = craft_like(v), bad = craft_like(v), options = craft_like(v);
	const size_t page_size_at = 14; /* magic 10, "6" and NUL, byte order, long */
	size_t head;                    /* where the tag is: after the number of CPUs */

	page_begin(&cpu, 10);
	page_small(&cpu, 0, 1, 1);
	page_end(&cpu, 0);

	craft_v6(&good, NULL, &cpu, 1);
#define WITH(what, at, value, size, code, word)    \
	do {                                       \
		current = what;                    \
		bad.n = 0;                         \
		craft_bytes(&bad, good.p, good.n); \
		craft_put(&bad, at, value, size);  \
		refuse(&bad, code, word);          \
	} while (0)
	WITH("magic", 3, 'T', 1, -EBADMSG, "magic");
	WITH("version", 10, '5', 1, -EOPNOTSUPP, "version");
	WITH("byte order", 12, 2, 1, -EBADMSG, "byte order");
	WITH("long", 13, 5, 1, -EBADMSG, "long");
	WITH("page size 0", page_size_at, 0, 4, -EBADMSG, "page size");
	WITH("page size 256", page_size_at, 256, 4, -EBADMSG, "page size");
	WITH("page size 4097", page_size_at, 4097, 4, -EBADMSG, "page size");
	WITH("page size 2^31", page_size_at, 1U << 31, 4, -EBADMSG, "page size");
	WITH("header_page", 18, 'x', 1, -EBADMSG, "header_page");
	WITH("header_page, its size", 30, UINT64_MAX, 8, -EBADMSG, "header_page");
	bad.n = 0;
	craft_head_v6(&bad, 1);
	head = bad.n;
	WITH("CPU's offset", head + 10, 1ULL << 62, 8, -EBADMSG, "truncated");
	WITH("CPU's size", head + 18, UINT64_MAX, 8, -EBADMSG, "truncated");
	WITH("number of CPUs", head - 4, 0xffffffff, 4, -EBADMSG, "truncated");
	WITH("tag", head, 'x', 1, -EBADMSG, "flyrecord");

	good.n = 0;
	craft_v7(&good, NULL, &buffer, 1);
	WITH("compression", 18, 'x', 1, -EOPNOTSUPP, "compression");
	WITH("no options", 27, 0, 8, -EBADMSG, "not finished");
	WITH("options outside", 27, 1ULL << 63, 8, -EBADMSG, "truncated");
	WITH("options that are none", 27, 35, 8, -EBADMSG, "section");
	/* The last DONE option points at the first options: its value is the file's last 8 bytes.
	 */
	bad.n = 0;
	craft_bytes(&bad, good.p + 27, 8);
	WITH("options in a loop", good.n - 8,
	     v->big_endian ? __builtin_bswap64(*(uint64_t *)bad.p) : *(uint64_t *)bad.p, 8,
	     -EBADMSG, "");
#undef WITH

	current = "no buffer";
	bad.n = 0;
	craft_v7(&bad, NULL, NULL, 0);
	refuse(&bad, -EBADMSG, "not finished");

	current = "TIME_SHIFT";
	bad.n = options.n = 0;
	{
		struct craft shift = craft_like(v);

		craft_number(&shift, 1, 8);
		craft_number(&shift, 0, 4);
		craft_number(&shift, 1, 4);
		craft_number(&shift, 0, 4);
		craft_option(&options, 12, shift.p, shift.n);
		craft_free(&shift);
	}
	craft_v6(&bad, &options, &cpu, 1);
	refuse(&bad, -EOPNOTSUPP, "TIME_SHIFT");

	current = "OFFSET";
	bad.n = options.n = 0;
	craft_option_text(&options, 7, "tomorrow");
	craft_v6(&bad, &options, &cpu, 1);
	refuse(&bad, -EBADMSG, "OFFSET");

	craft_free(&good);
	craft_free(&bad);
	craft_free(&options);
	craft_free(&cpu.pages);
}

/* Any prefix of a file is an error, at opening or while reading; never a shorter recording. */
static void test_prefixes(const struct craft *v, bool v7)
{
	struct craft_cpu cpu = new_cpu(v);
	struct craft_buffer buffer = {"", &cpu, NULL, 1};
	struct craft file = craft_like(v), part = craft_like(v);
	size_t n;

	page_begin(&cpu, 10);
	page_small(&cpu, 0, 1, 1);
	page_end(&cpu, 0);
	if (v7)
		craft_v7(&file, NULL, &buffer, 1);
	else
		craft_v6(&file, NULL, &cpu, 1);
	for (n = 0; n < file.n; n += n < file.n - 300 ? 13 : 1) {
		part.n = 0;
		craft_bytes(&part, file.p, n);
		refuse(&part, -EBADMSG, "");
	}
	craft_free(&file);
	craft_free(&part);
	craft_free(&cpu.pages);
}

int main(void)
{
	size_t i;

	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		const struct craft *v = &variants[i];

		current = "records";
		test_records(v);
		current = "absolute time";
		test_absolute(v);
		current = "zeros";
		test_zero_tail(v);
		current = "lost events";
		test_lost(v);
		test_cut(v);
		test_commit(v);
		current = "merge";
		test_merge(v);
		current = "twin";
		for (unsigned int kind = 0; kind < 5; kind++)
			for (unsigned int nr = 1; nr <= TWIN_CPUS; nr += nr < 2 ? 1 : 7)
				test_twin(v, kind, nr, 1 + kind * 100 + nr);
		current = "buffers, version 6";
		test_buffers(v, false);
		current = "buffers, version 7";
		test_buffers(v, true);
		current = "fields";
		test_fields(v);
		test_container(v);
		current = "no time option";
		test_time(v, 99, "an unknown option", 1000000);
		current = "OFFSET";
		test_time(v, 7, "-1000", 999000);
		current = "OFFSET, 0x";
		test_time(v, 7, "0x10\n", 1000016);
		current = "DATE";
		test_time(v, 1, "0x2", 1002000);
		current = "TSC2NSEC";
		/* 1000000 * 3000000000 >> 31 = 1396983.8...; its offset is not used */
		test_time(v, 14, NULL, 1396983);
		current = "TSC2NSEC and OFFSET";
		test_time(v, 14, "17", 1397000);
		current = "a prefix";
		test_prefixes(v, false);
		test_prefixes(v, true);
	}
	current = "many CPUs";
	test_many_cpus(&variants[0], 300);
	test_many_cpus(&variants[3], 5000);
	if (failures)
		printf("%d checks failed\n", failures);
	return failures != 0;
}
