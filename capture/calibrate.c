// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tlbcalibrate: measures what flushes and faults cost on this host, as an ordinary user, and writes
 * a cost preset (schema/costs.h).
 *
 *   calibrate.c           command line, table, preset
 *   calibrate-measure.c   the measurements
 *   calibrate-samples.c   medians and spreads
 *   calibrate-host.c      what machine this is, and whether it is emulated
 *
 * What cannot be seen from a program is not made up: it is taken over from the generic preset of
 * the architecture, with what that says of it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/calibrate-host.h"
#include "capture/calibrate-measure.h"
#include "common/msg.h"
#include "common/param.h"
#include "schema/costs.h"

#define ENOUGH 5 /* rounds without which nothing is said */

static const char help[] =
	"Usage: tlbcalibrate -o FILE.cost [OPTION]...\n"
	"       tlbcalibrate --dry-run [OPTION]...\n"
	"\n"
	"Measures what TLB flushes and page faults cost on this host, prints a table, and\n"
	"writes a cost preset for tlbreplay --cost. Needs no privileges and leaves the host as\n"
	"it was; takes seconds on an idle machine, longer on a busy one.\n"
	"\n"
	"  -o, --output FILE  the preset, replaced as a whole\n"
	"  -n, --dry-run      only the table\n"
	"      --name NAME    what the preset is called (default: calibrated)\n"
	"      --rounds N     rounds of each measurement, 10 to 4000 (default: 200)\n"
	"  -h, --help, -V, --version\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage, 3 done, but disturbed: the machine was\n"
	"too busy for some of it.\n";

struct table {
	struct measure *m;
	bool short_of; /* something could not be measured for being disturbed */
	struct spread local, further, shot[2], target, whole; /* of flushes */
	struct spread bystander, minor, reuse, spurious, refill;
	unsigned int most; /* CPUs */
};

static void row(struct table *t, const char *what, struct spread s)
{
	if (s.nr < ENOUGH) {
		printf("%-44s  %27s", what, s.missed > s.disturbed ? "does not happen here" : "not measured");
		t->short_of |= s.disturbed > s.missed;
	} else {
		printf("%-44s  %8.1f .. %7.1f .. %7.1f", what, s.low, s.median, s.high);
	}
	printf("  %6zu  %9zu\n", s.nr, s.disturbed);
	fflush(stdout);
}

/* 1, 2, 4 and so on, and all CPUs. */
static unsigned int next_cpus(unsigned int n, unsigned int all)
{
	return n == all ? all + 1 : n * 2 > all ? all : n * 2;
}

static void flush_rows(struct table *t)
{
	unsigned int all = measure_cpus(t->m);
	char what[64];

	for (enum measure_op op = 0; op < NR_OPS; op++)
		for (unsigned int i = 0; i < 4; i++) {
			unsigned int pages = measure_pages[i];
			struct spread alone = {0};

			for (unsigned int n = 1; n <= all; n = next_cpus(n, all)) {
				struct spread s = measure_flush(t->m, op, pages, n, 1);

				snprintf(what, sizeof(what), "%s, %u page%s, %u CPU%s", measure_ops[op],
					 pages, pages > 1 ? "s" : "", n, n > 1 ? "s" : "");
				row(t, what, s);
				if (n == 1)
					alone = s;
				if (op != OP_MPROTECT || s.nr < ENOUGH || alone.nr < ENOUGH)
					continue;
				if (pages == 1 && n == 1)
					t->local = s;
				else if (pages == 1 && n == 2)
					t->shot[0] = spread_less(s, alone);
				else if (pages == 1 && n == all)
					t->shot[1] = spread_less(s, alone);
				else if (pages == 33 && n == 1)
					t->further = s;
				else if (pages == 34 && n == 1)
					t->whole = s;
			}
		}
	t->most = all;
}

static void measure_all(struct table *t)
{
	struct spread empty;

	printf("%-44s  %27s  %6s  %9s\n", "", "ns, 5% .. median .. 95%", "rounds", "disturbed");
	flush_rows(t);
	empty = measure_flush(t->m, OP_MPROTECT, 1, 1, 0);
	row(t, "mprotect, 1 page that is not there, 1 CPU", empty);
	/* What is left beside the call: the entry's change and its flush. */
	if (t->local.nr >= ENOUGH && t->further.nr >= ENOUGH)
		t->further = spread_by(spread_less(t->further, t->local), 32);
	else
		t->further = (struct spread){0};
	t->local = t->local.nr >= ENOUGH && empty.nr >= ENOUGH ? spread_less(t->local, empty)
								: (struct spread){0};
	if (t->most > 2 && t->shot[0].nr >= ENOUGH && t->shot[1].nr >= ENOUGH)
		t->target = spread_by(spread_less(t->shot[1], t->shot[0]), t->most - 2);
	t->bystander = measure_bystander(t->m);
	row(t, "another CPU loses, for each mprotect", t->bystander);
	t->minor = measure_minor_fault(t->m);
	row(t, "minor fault, anonymous page", t->minor);
	t->reuse = measure_reuse_fault(t->m);
	row(t, "write-protect fault, page reused", t->reuse);
	t->spurious = measure_spurious_fault(t->m);
	row(t, "spurious fault, entry stale", t->spurious);
	t->refill = measure_refill(t->m);
	row(t, "TLB refill, page in the caches", t->refill);
}

/* ---- the preset ---- */

/* Strings of the preset that is written. */
struct words {
	char *all[64];
	size_t nr;
};

static const char *word(struct words *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static const char *word(struct words *w, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	w->all[w->nr++] = text;
	return text;
}

static void put(struct cost_preset *p, struct words *w, const struct host *host,
		enum cost_item_id id, struct spread s, enum cost_trust trust, const char *how)
{
	struct cost_item *item = &p->items[id];

	/* A difference of calls that others' load has drowned says nothing. */
	if (s.nr < ENOUGH || s.median <= 0)
		return;
	item->low = s.low;
	item->value = s.median;
	item->high = s.high;
	item->trust = trust;
	item->cpu = host->cpu;
	item->cores = host->cores;
	item->kernel = host->kernel;
	item->source =
		word(w,
		     "tlbcalibrate " TLBREPLAY_VERSION ": %s; median, 5%% and 95%% of %zu rounds, "
		     "%zu more were disturbed",
		     how, s.nr, s.disturbed);
}

static void fill(struct cost_preset *p, struct words *w, const struct host *host,
		 const struct table *t)
{
	bool arm = !strcmp(p->arch, "arm64");

	/* Every flush of arm64 that a program can cause is a broadcast. */
	put(p, w, host, arm ? COST_FLUSH_BROADCAST : COST_FLUSH_LOCAL, t->local, COST_DERIVED,
	    "mprotect of one page that is there, less one that is not; the change of the entry is in it");
	put(p, w, host, arm ? COST_BROADCAST_PAGE : COST_FLUSH_PAGE, t->further, COST_DERIVED,
	    "mprotect of 33 pages less one, by 32; the change of the entries is in it");
	if (!arm) {
		put(p, w, host, COST_IPI_SEND, t->shot[0], COST_DERIVED,
		    "mprotect of one page with two CPUs in the address space, less with one; waiting "
		    "for the answer is in it");
		if (t->shot[0].nr >= ENOUGH && t->shot[0].median > 0) {
			struct cost_item *wait = &p->items[COST_IPI_WAIT];

			wait->low = wait->value = wait->high = 0;
			wait->trust = COST_DERIVED;
			wait->source = "part of ipi_send, which tlbcalibrate measured";
		}
		put(p, w, host, COST_IPI_TARGET, t->target, COST_DERIVED,
		    "the same with all CPUs, less with two, for each further one");
	}
	put(p, w, host, arm ? COST_VICTIM_BROADCAST : COST_VICTIM_IPI, t->bystander, COST_DERIVED,
	    "share that a counting thread loses while another CPU calls mprotect, by the calls");
	put(p, w, host, COST_SPURIOUS_FAULT, t->spurious, COST_MEASURED,
	    "writes through read-only entries of pages that another CPU made writable after a fork");
	put(p, w, host, COST_REFILL, t->refill, COST_MEASURED,
	    "reads of one line in each of 4096 pages, less of as many lines side by side");
}

static int write_preset(const char *path, const struct cost_preset *p)
{
	char err[512], *text = NULL, *temp = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct cost_preset *again;
	int status = EXIT_FAILED;

	cost_write(out, p);
	fclose(out);
	/* What is written is what tlbreplay will read. */
	again = cost_parse(path, text, size, err, sizeof(err));
	if (!again) {
		msg_error("%s", err);
		goto out;
	}
	if (asprintf(&temp, "%s.%d.tmp", path, (int)getpid()) < 0)
		temp = NULL;
	out = temp ? fopen(temp, "wxe") : NULL;
	if (!out || fwrite(text, 1, size, out) != size || fclose(out) || rename(temp, path)) {
		msg_error("%s: %s", path, strerror(errno));
		if (out)
			unlink(temp);
		goto out;
	}
	status = EXIT_FINE;
out:
	cost_free(again);
	free(temp);
	free(text);
	return status;
}

static int calibrate(const char *path, const char *name, unsigned int rounds)
{
	struct table *t = calloc(1, sizeof(*t));
	struct words words = {.nr = 0};
	struct cost_preset *p = NULL;
	struct host host;
	char err[512];
	int ret, status = EXIT_FAILED;

	ret = t ? measure_new(&t->m, rounds) : -ENOMEM;
	if (ret) {
		msg_error("cannot measure: %s", strerror(-ret));
		free(t);
		return EXIT_FAILED;
	}
	host_read(&host, measure_cpus(t->m));
	p = cost_open(host.arm64 ? "arm64-generic" : "x86-generic", err, sizeof(err));
	if (!p) {
		msg_error("%s", err);
		goto out;
	}
	printf("%s, %u CPUs to use, kernel %s\n", host.cpu, measure_cpus(t->m), host.kernel);
	if (host.emulated)
		printf("NOT FOR USE: %s\n", host.emulated);
	if (measure_cpus(t->m) < 2)
		msg_warn("one CPU to use: nothing that takes two is measured");
	measure_all(t);
	if (t->short_of)
		msg_warn("the machine was too busy for some of it: what is not measured is as in %s",
			 p->name);
	status = t->short_of ? EXIT_INCOMPLETE : EXIT_FINE;
	if (path) {
		fill(p, &words, &host, t);
		p->name = name;
		p->summary = word(&words, "%s, %s CPUs, measured by tlbcalibrate; the rest is as in "
				  "%s-generic", host.cpu, host.cores, p->arch);
		p->cpus = host.cores;
		p->not_for_use = host.emulated;
		if (write_preset(path, p))
			status = EXIT_FAILED;
	}
out:
	for (size_t i = 0; i < words.nr; i++)
		free(words.all[i]);
	cost_free(p);
	measure_free(t->m);
	free(t);
	return status;
}

int main(int argc, char **argv)
{
	enum { OPT_NAME = 256, OPT_ROUNDS };
	static const struct option longs[] = {
		{"output", required_argument, NULL, 'o'},
		{"dry-run", no_argument, NULL, 'n'},
		{"name", required_argument, NULL, OPT_NAME},
		{"rounds", required_argument, NULL, OPT_ROUNDS},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	const char *path = NULL, *name = "calibrated";
	int64_t rounds = 200;
	bool dry = false;
	int option;

	msg_program = "tlbcalibrate";
	while ((option = getopt_long(argc, argv, "o:nhV", longs, NULL)) != -1) {
		switch (option) {
		case 'o':
			path = optarg;
			break;
		case 'n':
			dry = true;
			break;
		case OPT_NAME:
			name = optarg;
			break;
		case OPT_ROUNDS:
			if (number_count(optarg, &rounds) || rounds < 10 || rounds > 4000) {
				msg_error("--rounds takes a number from 10 to 4000, not '%s'", optarg);
				return EXIT_USAGE;
			}
			break;
		case 'h':
			fputs(help, stdout);
			return msg_status(EXIT_FINE);
		case 'V':
			puts("tlbcalibrate " TLBREPLAY_VERSION);
			return msg_status(EXIT_FINE);
		default:
			fputs("Try 'tlbcalibrate --help'.\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc || !path == !dry) {
		msg_error(optind < argc ? "no argument is wanted" : "either -o FILE or --dry-run is wanted");
		fputs("Try 'tlbcalibrate --help'.\n", stderr);
		return EXIT_USAGE;
	}
	return msg_status(calibrate(dry ? NULL : path, name, (unsigned int)rounds));
}
