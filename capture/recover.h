/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording whose recorder was killed: what is left of it, and how to make a file of that.
 *
 *   .FILE.PID.part/                          a folder of its own, for nobody else
 *   .FILE.PID.part/recording                 the file, once trace-cmd finishes it
 *   .FILE.PID.part/recording.INSTANCE.cpuN   what the recorder of one CPU has read so far
 *   instances/tlbcapture-PID          with its events on; the recorders may still run
 */
#ifndef CAPTURE_RECOVER_H
#define CAPTURE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RECOVER_INSTANCE "tlbcapture-"
#define RECOVER_PART     "recording"

/* Has the recorders of process group GROUP read the rest and end; at most a few seconds. */
void recover_end_recorders(pid_t group);

/*
 * Makes the file "recording" of the pieces "recording.*.cpuN" in FOLDER, with trace-cmd. The events
 * must still be there. Returns 0, -ENODATA (nothing to make it of) or a negative errno.
 */
int recover_parts(int folder);

/* What recover_all() found and did, one call each. WHAT: a sentence. */
typedef void recover_note(const char *what, bool good, void *context);

/*
 * Cleans up after every recording on this host whose tlbcapture is gone, and makes readable files
 * of what it left in DIRECTORIES. Touches nothing of recordings that run, or of others. Returns the
 * number of things that could not be done.
 */
int recover_all(char *const directories[], recover_note *note, void *context);

#endif
