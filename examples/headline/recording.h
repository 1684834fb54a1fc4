/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a trace.dat (version 6, little-endian, 64-bit, pages of 4 KiB) as it would be had from a
 * host, in one pass and in constant memory: the events of one CPU after those of another, those of
 * a CPU in the order of time. trace-cmd.dat.v6(5) is the format.
 *
 * For generators of workloads whose CPUs do not have to wait for each other. Any error ends the
 * program with a message: a file that is not whole is of no use to anybody.
 */
#ifndef HEADLINE_RECORDING_H
#define HEADLINE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

/* Probes as tlbcapture makes them on arm64, and the kernel's tracepoints; schema/catalogue.c. */
enum recording_event {
	REC_MARKER,       /* text: use recording_marker() */
	REC_SWITCH,       /* prev pid, next pid */
	REC_EXEC,         /* pid */
	REC_EXIT,         /* pid */
	REC_NEWTASK,      /* pid, clone flags */
	REC_FAULT,        /* mm, addr, FAULT_FLAG_*, user pc */
	REC_FAULT_RET,    /* addr, VM_FAULT_* */
	REC_WP,           /* mm, addr, flags, old PTE */
	REC_SET_FLAGS_RET, /* mm, addr, PTE, new PTE, dirty, changed */
	REC_COPY_RANGE,   /* child's mm, parent's mm, start, end */
	REC_LOAD,         /* mm */
	REC_EXIT_MMAP,    /* mm */
	REC_FINISH,       /* mm, start, end, mmu_gather's bits */
	REC_SWAP_IN_RET,  /* mm, addr, PTE made, VM_FAULT_* */
	REC_UNMAP_ONE_RET, /* mm, addr, folio, mapping, done */
	REC_SWAP_ADD,     /* folio */
	REC_SWAP_WRITE,   /* folio */
	REC_TLBI_SET_FLAGS, /* operand */
	REC_TLBI_FORK,    /* operand */
	REC_TLBI_MM,      /* operand */
	REC_PROTECT,      /* mm, start, end, cp_flags */
	NR_REC_EVENTS
};

struct recording;

/* Begins PATH for CPUs 0 to CPUS - 1. WANTED: the events it may hold, by 1 << REC_*. */
struct recording *recording_create(const char *path, unsigned int cpus, uint32_t wanted);

/* The events that follow are those of the next CPU; once for each, CPU 0 first. */
void recording_next_cpu(struct recording *r);

/*
 * Adds an event at TIME_NS, not before the last one of this CPU, by task PID. The values come in
 * the order that enum recording_event states; each is cut to its field.
 */
void recording_add(struct recording *r, enum recording_event event, uint64_t time_ns, int pid,
		   const uint64_t *values);
#define RECORD(r, event, time_ns, pid, ...) \
	recording_add(r, event, time_ns, pid, (const uint64_t[]){__VA_ARGS__})

/* Text of up to 900 bytes, as written into trace_marker. */
void recording_marker(struct recording *r, uint64_t time_ns, int pid, const char *text);

/* Writes what is left. Returns the number of events. */
uint64_t recording_finish(struct recording *r);

/* The next pseudo-random number from *STATE, which is not 0. */
static inline uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

/* Prints "PROGRAM: ..." and ends with status 1. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/*
 * Takes "--NAME VALUE" options apart: a number with k, M, G (powers of 1024 for sizes, of 1000 with
 * DECIMAL), or ns, us, ms, s behind it. Ends the program with status 2 if it is none, or not within
 * MIN and MAX.
 */
uint64_t read_number(const char *name, const char *text, bool decimal, uint64_t min, uint64_t max);

extern const char *program;

#endif
