/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cost presets: what one invalidation, one interrupt, one fault costs on a kind of machine. A
 * preset is a text file (schema/costs/NAME.cost, carried in the programs, or one of your own):
 *
 *	# a comment
 *	name = my-machine
 *	summary = one line
 *	arch = arm64
 *	cpus = 32
 *
 *	[flush_local]
 *	value = 50
 *	low = 10
 *	high = 300
 *	unit = ns per invalidation
 *	cpu = Neoverse N1
 *	cores = 32
 *	kernel = 6.12
 *	trust = measured
 *	source = tlbcalibrate, median of 200 rounds;
 *	  a line that begins with a blank goes on with the one before
 *
 * Every item has to be there with all of its keys: what nobody has measured is stated, too, as
 * "trust = uncalibrated", and is shown so wherever it was used.
 */
#ifndef SCHEMA_COSTS_H
#define SCHEMA_COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum cost_trust {
	COST_MEASURED,     /* in the source named */
	COST_DERIVED,      /* from figures of the source named */
	COST_UNCALIBRATED, /* by nobody: assumed */
	COST_GIVEN,        /* on the command line */
	NR_COST_TRUSTS
};

/* The text of a trust; "?" for a number out of range. */
const char *cost_trust_name(enum cost_trust trust);

enum cost_item_id {
	COST_FLUSH_LOCAL,       /* on this CPU, of one page, its barrier included */
	COST_FLUSH_PAGE,        /* each page after the first of such a flush */
	COST_FLUSH_MM,          /* on this CPU, of a whole address space */
	COST_FLUSH_BROADCAST,   /* on the CPU issuing it, barrier included, with nobody else at it */
	COST_BROADCAST_CPU,     /* the same, more of it for each further CPU of the machine */
	COST_BROADCAST_PAGE,    /* the same, each page after the first */
	COST_BROADCAST_MM,      /* in place of flush_broadcast where a whole address space is meant */
	COST_BROADCAST_SERVICE, /* for so long the fabric serves one broadcast; others wait */
	COST_SERVICE_WAITER,    /* so much longer for each CPU that waits at its begin */
	COST_VICTIM_BROADCAST,  /* what each other CPU stalls */
	COST_IPI_SEND,          /* on the CPU asking for a shootdown: to send it */
	COST_IPI_WAIT,          /* the same: until the first target has answered */
	COST_IPI_TARGET,        /* the same: each further target */
	COST_VICTIM_IPI,        /* on the target, flush of one page included */
	COST_VICTIM_PAGE,       /* on the target, each page after the first */
	COST_SPURIOUS_FAULT,    /* entry and exit of the CPU included, without the flush in it */
	COST_REFILL,            /* the walk for one entry that a flush by page took needlessly */
	COST_REFILL_MM,         /* all walks that a flush of a whole address space causes on a CPU */
	COST_NOTIFY,            /* telling secondary TLBs */
	NR_COSTS
};

struct cost_item_info {
	const char *name, *unit;
	const char *help; /* what it is paid for, one line */
};

/* By enum cost_item_id. */
extern const struct cost_item_info cost_infos[NR_COSTS];

/* The item of that name, or -1. */
int cost_item_find(const char *name);

struct cost_item {
	const char *name, *unit;
	double low, value, high; /* ns; 0 <= low <= value <= high */
	enum cost_trust trust;
	const char *cpu, *cores, *kernel; /* of the machine that the figure is from, as its source says */
	const char *source;
};

/* The reason not to use what was timed in QEMU without KVM. */
#define COST_NOT_FOR_USE_TCG "QEMU emulates this CPU (TCG): its TLB is software"

struct cost_preset {
	const char *name;
	char *changes;       /* ":item=value,..." of the command line; NULL: none */
	const char *summary;
	const char *arch;    /* arm64, x86 or any */
	const char *cpus;    /* of the machine it stands for: a number or any */
	const char *not_for_use; /* why it must not be used; NULL: it may be */
	unsigned int use_cpus;   /* price it for a machine of so many CPUs; 0: as many as recorded */
	struct cost_item items[NR_COSTS];
	char *text;          /* that the strings point into */
};

/* A preset that the program carries. */
struct cost_file {
	const char *name, *text;
};

/* Ends with a NULL name. */
extern const struct cost_file cost_files[];

/*
 * Reads a preset from TEXT of SIZE bytes; WHERE is what errors call it. Free with cost_free().
 * NULL: ERR says "WHERE:LINE: reason".
 */
struct cost_preset *cost_parse(const char *where, const char *text, size_t size, char *err,
			       size_t err_size);

/*
 * "PRESET[:item=value,...]": the preset of that name, or the file if there is a '/' in PRESET or it
 * ends with ".cost". value: "50", all three of low..value..high, or "5..50..300"; "cpus=32" prices
 * it for a machine of 32 CPUs instead of as many as were recorded. NULL: ERR says why; ERRNO is
 * EINVAL if the words are wrong, anything else if the file is.
 */
struct cost_preset *cost_open(const char *spec, char *err, size_t err_size);
void cost_free(struct cost_preset *preset);

/* What results call it: its name, or NAME and what the command line changes, "NAME:item=value". */
void cost_label(const struct cost_preset *preset, char *out, size_t size);

/* Writes PRESET as a file that cost_parse() reads. */
void cost_write(FILE *out, const struct cost_preset *preset);

/* One line per preset that the program carries: name and summary. */
void cost_list(FILE *out);

#endif
