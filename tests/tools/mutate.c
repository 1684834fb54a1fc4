// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mutate [--records N] [--no-formats] [--list] FILE.dat
 *
 * Changes one number of a trace.dat at a time, to 0, 1, its largest value, one more, one less, and
 * with its highest bit turned, and reads the file each time in a process of its own. The numbers
 * are found by a walk of its own through the file, which shares nothing with the reader: every
 * field of the headers, sizes of sections, lengths of options, the tables of CPUs, chunk and page
 * sizes, times and commits of pages, type, time delta and length of records, ids, offsets and sizes
 * in event formats.
 *
 * What comes of it must be one of
 *
 *	same    the events and their fields are those of the file as it was
 *	other   they are not, and libtracecmd (trace-cmd-dump) reads the same others: a number was
 *	        changed into another true one
 *	lost    events are missing, and the reader counts a loss or records that were too short
 *	named   an error that names the file and a reason
 *
 * and never a crash, more than 2 seconds, more than 256 MiB, or other events without a word; for
 * the last there are the exceptions in explained(), each with its reason. Fields of events are
 * compared with what stands at the format's own offset, found by sscanf().
 *
 * Prints a line per kind of number with how many changes came to what (--list: a line for each
 * change). Ends with 1 if there is one that must not be. N records of each CPU are changed
 * (default 12); the tools it compares with lie in its own folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/decode.h"
#include "replay/trace.h"

#define LIMIT_S     2
#define LIMIT_KIB   (256 * 1024)
#define ADDRESSES   (UINT64_C(2) << 30) /* RLIMIT_AS: so that a mistake does not hurt the host */
#define PAGES_MOST  3                   /* of each CPU */
#define FIELDS_MOST 65536
#define HASH_START  UINT64_C(14695981039346656037)
#define HASH_PRIME  UINT64_C(1099511628211)

/* ---- the file, and where its numbers lie ---- */

struct number {
	const char *kind;
	size_t at;
	unsigned int bytes;       /* 0: text, TEXT_SIZE characters of it */
	unsigned int shift, bits; /* of a part of those bytes; bits 0: all */
	size_t text_size;
	size_t pad; /* text: a place in the same format that may shrink or grow; 0: none */
};

static uint8_t *file;
static size_t file_size;
static bool big, sanitized, no_formats;
static unsigned int long_size, page_size, records_most = 12;
static struct number numbers[FIELDS_MOST];
static size_t nr_numbers;
static const char *self_path, *copy_path;

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "mutate: %s\n", why);
	exit(2);
}

static uint64_t get(size_t at, unsigned int bytes)
{
	uint64_t v = 0;

	if (at + bytes > file_size)
		die("the walk left the file");
	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)file[at + i] << 8 * (big ? bytes - 1 - i : i);
	return v;
}

static void set(uint8_t *p, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * (big ? bytes - 1 - i : i));
}

static uint64_t note(const char *kind, size_t at, unsigned int bytes)
{
	if (nr_numbers == FIELDS_MOST)
		die("too many numbers");
	numbers[nr_numbers++] = (struct number){.kind = kind, .at = at, .bytes = bytes};
	return get(at, bytes);
}

static void note_bits(const char *kind, size_t at, unsigned int bytes, unsigned int shift,
		      unsigned int bits)
{
	note(kind, at, bytes);
	numbers[nr_numbers - 1].shift = shift;
	numbers[nr_numbers - 1].bits = bits;
}

static size_t past_string(size_t at)
{
	const uint8_t *end = at < file_size ? memchr(file + at, 0, file_size - at) : NULL;

	if (!end)
		die("a string without an end");
	return (size_t)(end - file) + 1;
}

/* The decimal numbers behind KEY in [AT, END). */
static void note_texts(const char *kind, const char *key, size_t at, size_t end, size_t pad)
{
	size_t n = strlen(key);

	while (at + n < end) {
		const uint8_t *p = memmem(file + at, end - at, key, n);
		size_t digits = 0;

		if (!p)
			return;
		at = (size_t)(p - file) + n;
		while (at + digits < end && file[at + digits] >= '0' && file[at + digits] <= '9')
			digits++;
		if (!digits || nr_numbers == FIELDS_MOST)
			continue;
		numbers[nr_numbers++] =
			(struct number){.kind = kind, .at = at, .text_size = digits, .pad = pad};
	}
}

static size_t walk_header_info(size_t at)
{
	for (int i = 0; i < 2; i++) {
		at = past_string(at);
		size_t size = note("header_page, header_event: size", at, 8);

		at += 8;
		if (!i) {
			note_texts("header_page: offset", "offset:", at, at + size, 0);
			note_texts("header_page: size of a field", "size:", at, at + size, 0);
		}
		at += size;
	}
	return at;
}

/* Of the formats that have a meaning here; the others are one like the other. */
static size_t walk_format(size_t at)
{
	size_t size = note("format: size", at, 8), start = at + 8, end = start + size;
	const uint8_t *print = memmem(file + start, size, "\nprint fmt:", 11);
	size_t fields = print ? (size_t)(print - file) : end;

	/* The print format gives up as many characters as a longer number takes. */
	size_t pad = print && end - fields > 60 ? end - 2 : 0;
	if (no_formats)
		return end;
	note_texts("format: ID", "\nID: ", start, fields, pad);
	note_texts("format: offset of a field", "offset:", start, fields, pad);
	note_texts("format: size of a field", "size:", start, fields, pad);
	note_texts("format: signed", "signed:", start, fields, pad);
	return end;
}

static size_t walk_format_list(size_t at)
{
	uint64_t n = note("number of formats", at, 4);

	at += 4;
	while (n--)
		at = walk_format(at);
	return at;
}

static size_t walk_systems(size_t at)
{
	uint64_t n = note("number of systems", at, 4);

	at += 4;
	while (n--)
		at = walk_format_list(past_string(at));
	return at;
}

/* One page; the numbers of its first records, of which *RECORDS are left. */
static void walk_page(size_t at, unsigned int *records)
{
	size_t data = at + 8 + long_size, end;

	note("page: time", at, 8);
	uint64_t commit = note("page: commit", at + 8, long_size);
	end = data + (commit & 0x7ffffff);
	while (data + 4 <= end && *records) {
		uint32_t word = (uint32_t)get(data, 4);
		unsigned int type = big ? word >> 27 : word & 31;

		--*records;
		note_bits("record: type_len", data, 4, big ? 27 : 0, 5);
		note_bits("record: time delta", data, 4, big ? 0 : 5, 27);
		if (type >= 1 && type <= 28) {
			note("record: common_type", data + 4, 2);
			data += 4 + 4 * (size_t)type;
		} else if (!type || (type == 29 && word >> 5)) {
			data += 4 + (size_t)((note("record: length word", data + 4, 4) + 3) & ~3U);
		} else if (type == 29) {
			break;
		} else {
			note("record: time word", data + 4, 4);
			data += 8;
		}
	}
}

static void walk_pages(size_t at, size_t size, unsigned int page)
{
	unsigned int records = records_most;

	for (unsigned int i = 0; i < PAGES_MOST && (i + 1) * (size_t)page <= size; i++)
		walk_page(at + i * (size_t)page, &records);
}

static void walk_chunks(size_t at)
{
	uint64_t n = note("zstd: number of chunks", at, 4);

	at += 4;
	for (uint64_t i = 0; i < n && i < PAGES_MOST; i++) {
		uint64_t packed = note("zstd: compressed size of a chunk", at, 4);

		note("zstd: size of a chunk", at + 4, 4);
		at += 8 + packed;
	}
}

static void walk_cpu_table_v6(size_t at, uint64_t cpus)
{
	for (uint64_t i = 0; i < cpus; i++, at += 16) {
		uint64_t offset = note("CPU's data: offset", at, 8);
		uint64_t size = note("CPU's data: size", at + 8, 8);

		walk_pages(offset, size, page_size);
	}
}

static void walk_v6(size_t at)
{
	uint64_t cpus;

	at = walk_systems(walk_format_list(walk_header_info(at)));
	at += 4 + note("kallsyms: size", at, 4);
	at += 4 + note("printk formats: size", at, 4);
	at += 8 + note("command lines: size", at, 8);
	cpus = note("number of CPUs", at, 4);
	at += 4;
	if (!memcmp(file + at, "options  ", 10)) {
		at += 10;
		while (note("option: id", at, 2)) {
			uint64_t size = note("option: length", at + 2, 4);

			if (get(at, 2) == 8)
				note("option CPUCOUNT", at + 6, 4);
			if (get(at, 2) == 3)
				note("option BUFFER: offset", at + 6, 8);
			at += 6 + size;
		}
		at += 2;
	}
	walk_cpu_table_v6(past_string(at), cpus);
}

static void walk_buffer_v7(size_t at, bool packed)
{
	note("option BUFFER: section", at, 8);
	at = past_string(past_string(at + 8));
	uint64_t page = note("option BUFFER: page size", at, 4);
	uint64_t cpus = note("option BUFFER: CPU count", at + 4, 4);
	at += 8;
	for (uint64_t i = 0; i < cpus; i++, at += 20) {
		uint64_t offset, size;

		note("CPU's number", at, 4);
		offset = note("CPU's data: offset", at + 4, 8);
		size = note("CPU's data: size", at + 12, 8);
		if (packed && size)
			walk_chunks(offset);
		else if (size)
			walk_pages(offset, size, (unsigned int)page);
	}
}

static void walk_section_v7(size_t at)
{
	uint64_t id = note("section: id", at, 2), flags = note("section: flags", at + 2, 2);

	note("section: name", at + 4, 4);
	note("section: size", at + 8, 8);
	at += 16;
	if (flags & 1) {
		note("section: compressed size", at, 4);
		note("section: uncompressed size", at + 4, 4);
		return;
	}
	if (id == 16)
		walk_header_info(at);
	else if (id == 17)
		walk_format_list(at);
	else if (id == 18)
		walk_systems(at);
}

static void walk_options_v7(size_t at)
{
	uint64_t next = 0;

	for (;;) {
		note("section: id", at, 2);
		note("section: flags", at + 2, 2);
		note("section: size", at + 8, 8);
		at += 16;
		for (;;) {
			uint64_t id = note("option: id", at, 2);
			uint64_t size = note("option: length", at + 2, 4);

			at += 6;
			if (id == 0) {
				next = note("option DONE: next", at, 8);
				break;
			}
			if (id == 3)
				walk_buffer_v7(at, get(get(at, 8) + 2, 2) & 1);
			else if (id == 8)
				note("option CPUCOUNT", at, 4);
			else if (id == 16 || id == 17 || id == 18)
				walk_section_v7(note("option: section", at, 8));
			at += size;
		}
		if (!next)
			break;
		at = next;
	}
}

static void walk(void)
{
	size_t at = 10;
	bool v7;

	if (file_size < 20 || memcmp(file, "\x17\x08\x44tracing", 10))
		die("not a trace.dat");
	v7 = file[at] == '7';
	note("version", at, 1);
	at = past_string(at);
	big = file[at] == 1;
	note("byte order", at, 1);
	long_size = (unsigned int)note("size of long", at + 1, 1);
	page_size = (unsigned int)note("page size", at + 2, 4);
	at += 6;
	if (!v7) {
		walk_v6(at);
		return;
	}
	at = past_string(past_string(at));
	walk_options_v7(note("offset of the options", at, 8));
}

/* ---- reading it in a process of its own ---- */

struct answer {
	uint64_t records, hash, hash_fields;
	uint64_t loss, too_short;
	bool wrong_field; /* a field is not what stands at the format's offset */
	int error;
	char text[768];
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	for (unsigned int i = 0; i < 8; i++, v >>= 8)
		h = (h ^ (v & 0xff)) * HASH_PRIME;
	return h;
}

/* What the format's text says of the field that a plan reads as SLOT, by sscanf(). */
static bool field_by_text(const struct decode_plan *plan, unsigned int slot, unsigned int *offset,
			  unsigned int *size, unsigned int *is_signed)
{
	static char text[65536];
	const char *const *names = NULL;
	static const char *const op[] = {"op", NULL};

	if (!plan->row)
		names = op;
	for (size_t i = 0; plan->row && i < 10 && plan->row->fields[i].names[0]; i++)
		if (plan->row->fields[i].slot == slot)
			names = plan->row->fields[i].names;
	if (!names || plan->format->text_size >= sizeof(text))
		return false;
	memcpy(text, plan->format->text, plan->format->text_size);
	text[plan->format->text_size] = '\0';
	for (size_t i = 0; i < 3 && names[i]; i++) {
		char mark[80];
		const char *at;

		snprintf(mark, sizeof(mark), " %s;\toffset:", names[i]);
		at = strstr(text, mark);
		if (at && sscanf(at + strlen(mark), "%u;\tsize:%u;\tsigned:%u", offset, size,
				 is_signed) == 3)
			return true;
	}
	return false;
}

static uint64_t read_plainly(const struct trace_record *rec, unsigned int offset, unsigned int size,
			     bool is_signed)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < size; i++)
		v |= (uint64_t)rec->data[offset + i] << 8 * (big ? size - 1 - i : i);
	if (is_signed && size < 8 && v >> (8 * size - 1))
		v |= UINT64_MAX << 8 * size;
	return v;
}

static void read_fields(struct decoder *d, const struct trace_record *rec, struct answer *a)
{
	struct raw_event raw;

	if (!decode(d, rec, &raw))
		return;
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++) {
		unsigned int offset, size, is_signed;
		uint64_t v;

		if (!(raw.has & 1u << slot) || slot == SLOT_COMM || slot == SLOT_TEXT)
			continue;
		v = raw_number(&raw, slot);
		a->hash_fields = mix(a->hash_fields, v);
		if (!field_by_text(raw.plan, slot, &offset, &size, &is_signed))
			continue;
		if ((uint64_t)offset + size > rec->size ||
		    v != read_plainly(rec, offset, size, is_signed))
			a->wrong_field = true;
	}
}

static void read_file(struct answer *a)
{
	struct trace_error err = {""};
	struct trace *t = trace_open(copy_path, &err);
	struct decoder *d = t ? decoder_new(t, &err) : NULL;
	struct trace_record rec;
	int ret = d ? 0 : -1;

	*a = (struct answer){.hash = HASH_START, .hash_fields = HASH_START};
	while (d && (ret = trace_next(t, &rec, &err)) > 0) {
		a->records++;
		a->hash = mix(mix(a->hash, rec.time_ns), rec.cpu);
		a->hash = mix(mix(a->hash, (uint32_t)rec.id), (uint32_t)rec.pid);
		for (uint32_t i = 0; i < rec.size; i++)
			a->hash = (a->hash ^ rec.data[i]) * HASH_PRIME;
		read_fields(d, &rec, a);
	}
	if (ret) {
		a->error = 1;
		memcpy(a->text, err.text, sizeof(a->text));
	} else {
		const struct trace_info *info = trace_info(t);
		uint64_t unknown;
		size_t plans;

		for (size_t i = 0; i < info->nr_entries; i++)
			a->loss += info->cpus[i].loss.events + info->cpus[i].loss.unknown;
		a->too_short = decoder_short(d);
		decoder_plans(d, &plans, &unknown);
		a->too_short += unknown;
	}
	decoder_free(d);
	trace_close(t);
}

/* Returns NULL with ANSWER, or what happened instead of one. */
static const char *read_apart(struct answer *answer)
{
	static char how[64];
	struct rusage usage;
	int status, pipes[2];

	if (pipe(pipes))
		die("pipe");
	pid_t pid = fork();
	if (!pid) {
		struct rlimit limit = {ADDRESSES, ADDRESSES}, none = {0, 0};

		setrlimit(RLIMIT_CORE, &none);
		if (!sanitized)
			setrlimit(RLIMIT_AS, &limit);
		alarm(sanitized ? 20 : LIMIT_S);
		read_file(answer);
		_exit(write(pipes[1], answer, sizeof(*answer)) != sizeof(*answer));
	}
	close(pipes[1]);
	ssize_t got = read(pipes[0], answer, sizeof(*answer));
	close(pipes[0]);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		die("fork");
	if (WIFSIGNALED(status)) {
		snprintf(how, sizeof(how), WTERMSIG(status) == SIGALRM ? "hang" : "signal %d",
			 WTERMSIG(status));
		return how;
	}
	if (status || got != sizeof(*answer))
		return "crash";
	if (!sanitized && usage.ru_maxrss > LIMIT_KIB)
		return "more than 256 MiB";
	return NULL;
}

/* Whether libtracecmd reads the file as we do: the same lines, in any order among equal times. */
static bool oracle_agrees(void)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "d=$(dirname '%s'); a=$(\"$d\"/trace-dump '%s' 2>/dev/null | grep -v '^lost ' | "
		 "sort "
		 "| cksum); b=$(ulimit -c 0; timeout 5 \"$d\"/tracecmd-dump '%s' 2>/dev/null | "
		 "sort | "
		 "cksum); test \"$a\" = \"$b\"",
		 self_path, copy_path, copy_path);
	return system(command) == 0;
}

/* ---- one change at a time ---- */

enum outcome {
	SAME,
	OTHER,
	LOST,
	NAMED,
	EXPLAINED,
	BAD,
	NR_OUTCOMES
};
static const char *const outcome_names[] = {"same", "other", "lost", "named", "explained", "BAD"};

/*
 * Other events without a word that are right all the same, though libtracecmd does not read them
 * like this. NULL: they are not.
 */
static const char *explained(const char *kind, const struct answer *was, const struct answer *is)
{
	/* ring_buffer.c, rb_null_event(): padding without a delta is the rest of a page. */
	if (!strcmp(kind, "record: time delta") && is->records < was->records)
		return "padding of a whole page";
	if (!strcmp(kind, "page: time") || !strcmp(kind, "record: time delta") ||
	    !strcmp(kind, "record: time word"))
		return is->records == was->records ? "the time that the file states" : NULL;
	return NULL;
}

static enum outcome judge(const char *kind, const struct answer *was, const struct answer *is)
{
	if (is->error)
		return strstr(is->text, copy_path) && strstr(is->text, ": ") ? NAMED : BAD;
	if (is->wrong_field)
		return BAD;
	if (is->records == was->records && is->hash == was->hash &&
	    is->hash_fields == was->hash_fields)
		return SAME;
	if (is->loss > was->loss || is->too_short > was->too_short)
		return LOST;
	/* The events are the same and their fields stand where the format says (checked above). */
	if (is->records == was->records && is->hash == was->hash)
		return OTHER;
	if (oracle_agrees())
		return OTHER;
	return explained(kind, was, is) ? EXPLAINED : BAD;
}

static struct row {
	const char *kind;
	unsigned int count[NR_OUTCOMES];
} rows[128];
static size_t nr_rows;

static void count(const char *kind, enum outcome outcome)
{
	size_t i = 0;

	while (i < nr_rows && strcmp(rows[i].kind, kind))
		i++;
	if (i == nr_rows)
		rows[nr_rows++].kind = kind;
	rows[i].count[outcome]++;
}

static void write_copy(int fd, const void *data, size_t size, size_t at)
{
	if (pwrite(fd, data, size, (off_t)at) != (ssize_t)size)
		die("the copy cannot be written");
}

/* Writes the number V as text; the print format of the same format shrinks or grows. */
static bool write_text(int fd, const struct number *n, const char *v)
{
	size_t size = strlen(v), end = n->pad ? n->pad : n->at + n->text_size;
	size_t old = end - n->at;
	static char buffer[1 << 16];

	if (!n->pad && size != n->text_size)
		return false;
	if (old + size > sizeof(buffer) || (n->pad && old + n->text_size < size + 20))
		return false;
	memcpy(buffer, v, size);
	memset(buffer + size, ' ', old > size ? old - size : 0);
	memcpy(buffer + size, file + n->at + n->text_size,
	       old > size ? (old - size < old - n->text_size ? old - size : old - n->text_size)
			  : 0);
	write_copy(fd, buffer, old, n->at);
	return true;
}

static void try(int fd, const struct number *n, uint64_t v, const char *text,
		const struct answer *was, bool list)
{
	struct answer is = {0};
	const char *failure;
	enum outcome outcome;
	char shown[32];

	if (text) {
		if (!write_text(fd, n, text))
			return;
		snprintf(shown, sizeof(shown), "%s", text);
	} else {
		uint8_t bytes[8];
		uint64_t mask = n->bits ? (((uint64_t)1 << n->bits) - 1) << n->shift : UINT64_MAX;
		uint64_t whole = get(n->at, n->bytes);

		set(bytes, (whole & ~mask) | (v << n->shift & mask), n->bytes);
		if (!memcmp(bytes, file + n->at, n->bytes))
			return;
		write_copy(fd, bytes, n->bytes, n->at);
		snprintf(shown, sizeof(shown), "%" PRIu64, v);
	}
	failure = read_apart(&is);
	outcome = failure ? BAD : judge(n->kind, was, &is);
	count(n->kind, outcome);
	if (list || outcome == BAD)
		printf("%s\t%s at %zu to %s: %s%s\n", outcome_names[outcome], n->kind, n->at, shown,
		       failure ? failure : is.text, is.wrong_field ? " (a field is wrong)" : "");
	write_copy(fd, file + n->at,
		   n->pad     ? n->pad - n->at
		   : n->bytes ? n->bytes
			      : n->text_size,
		   n->at);
}

static void try_all(int fd, const struct number *n, const struct answer *was, bool list)
{
	if (n->bytes) {
		unsigned int bits = n->bits ? n->bits : n->bytes * 8;
		uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
		uint64_t v = get(n->at, n->bytes) >> n->shift & most;
		const uint64_t values[] = {0,     1,     most,
					   v + 1, v - 1, v ^ ((uint64_t)1 << (bits - 1))};

		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			bool twice = false;

			for (size_t j = 0; j < i; j++)
				twice |= (values[j] & most) == (values[i] & most);
			if (!twice)
				try(fd, n, values[i] & most, NULL, was, list);
		}
	} else {
		static const char *const fixed[] = {
			"0", "1", "9", "65535", "4294967295", "18446744073709551615", "-1"};
		unsigned long v = strtoul((const char *)file + n->at, NULL, 10);
		char near[24];

		for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
			if (strtoul(fixed[i], NULL, 10) != v || *fixed[i] == '-')
				try(fd, n, 0, fixed[i], was, list);
		for (int i = -1; i <= 1; i += 2) {
			snprintf(near, sizeof(near), "%lu", v + (unsigned long)i);
			if (v || i > 0)
				try(fd, n, 0, near, was, list);
		}
	}
}

int main(int argc, char **argv)
{
	char name[256];
	bool list = false;
	struct answer was;
	const char *failure;
	int bad = 0, fd;
	FILE *f;

	self_path = argv[0];
	sanitized = getenv("ASAN_OPTIONS") || getenv("UBSAN_OPTIONS");
	for (argc--, argv++; argc > 1; argc--, argv++) {
		if (!strcmp(*argv, "--list"))
			list = true;
		else if (!strcmp(*argv, "--no-formats"))
			no_formats = true;
		else if (!strcmp(*argv, "--records") && argc-- > 2)
			records_most = (unsigned int)atoi(*++argv);
	}
	if (argc != 1 || !(f = fopen(*argv, "re")))
		die("a recording is wanted");
	fseek(f, 0, SEEK_END);
	file_size = (size_t)ftell(f);
	rewind(f);
	file = malloc(file_size + 1);
	if (!file || fread(file, 1, file_size, f) != file_size)
		die("it cannot be read");
	fclose(f);
	walk();

	snprintf(name, sizeof(name), "%s/mutate-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	fd = mkstemp(name);
	if (fd < 0)
		die("no temporary file");
	copy_path = name;
	write_copy(fd, file, file_size, 0);
	failure = read_apart(&was);
	if (failure || was.error || was.wrong_field || !was.records) {
		fprintf(stderr, "mutate: the file itself: %s\n", failure ? failure : was.text);
		bad = 1;
	} else if (!oracle_agrees()) {
		fprintf(stderr, "mutate: libtracecmd reads the file itself differently\n");
		bad = 1;
	}
	for (size_t i = 0; i < nr_numbers && !bad; i++)
		try_all(fd, &numbers[i], &was, list);
	unlink(name);
	for (size_t i = 0; i < nr_rows; i++) {
		printf("%-34s", rows[i].kind);
		for (unsigned int o = 0; o < NR_OUTCOMES; o++)
			printf(" %6u", rows[i].count[o]);
		printf("\n");
		bad |= rows[i].count[BAD] > 0;
	}
	return bad;
}
