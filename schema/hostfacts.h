/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host was and what could not be recorded: lines that tlbcapture writes into the trace
 * through trace_marker, beside the task snapshot (snapshot.h) and in the same way: whole lines, the
 * header line first in every marker, the end line in a marker of its own.
 *
 *   tlbr.host 1
 *   KEY VALUE
 *   ...
 *   tlbr.host.end COUNT
 *
 * A key has no blanks, and may come more than once ("missing" does); the value goes to the end of
 * the line. Readers skip keys that they do not know. The keys:
 *
 *   kernel, machine            release; x86_64 or aarch64
 *   cpu                        model, or implementer and part
 *   cpus, memory_kb, page_size
 *   clock                      mono: nanoseconds of CLOCK_MONOTONIC
 *   cache                      LEVEL TYPE SIZE shared CPUs
 *   tlb                        NAME ENTRIES WAYS, or "not readable"
 *   thp, thp.NAME              transparent huge pages: the setting in brackets among all
 *   contpte                    yes or no: this kernel makes contiguous blocks by itself (arm64)
 *   kpti                       what the kernel says of Meltdown
 *   swap_kb, numa_nodes, hypervisor, lockdown
 *   recorder, profile, filter, buffer_kb
 *   tlbi                       sites probed of sites found, and those left out
 *   probe                      EVENT how it was made, where that was not the best way; why
 *   missing                    EVENT why; what the analysis cannot tell without it
 *   access                     GROUP EVENT FIELD r|w|?: tells an access of the user's program
 *   anonymised                 what was replaced
 *   until                      WHAT RATE a second over SECONDS: would end the recording
 *
 * and, in a block of its own at the end of the recording:
 *
 *   ended                      why it ends there
 */
#ifndef SCHEMA_HOSTFACTS_H
#define SCHEMA_HOSTFACTS_H

#define HOSTFACTS_HEADER "tlbr.host 1"
#define HOSTFACTS_END    "tlbr.host.end"

#endif
