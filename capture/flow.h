/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64: where else in a function an instruction can be watched that must not be probed itself.
 *
 * Linux refuses a kprobe where one of the 32 instructions before it is a load-exclusive without its
 * store (arch/arm64/kernel/probes/decode-insn.c), and takes CAS for one, which is encoded alike. An
 * instruction further on will do if it is executed exactly as often.
 */
#ifndef CAPTURE_FLOW_H
#define CAPTURE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether Linux takes the instruction WORDS[AT] for one between a load-exclusive and its store. */
bool flow_is_exclusive(const uint32_t *words, size_t at);

/*
 * The index of an instruction behind AT, in the function WORDS[0..COUNT), that is executed once for
 * each time that AT is and at no other time, and may be probed by the rule above. *SAME is set if
 * nothing but barriers lies between the two: registers are then what they were. Returns 0 if there
 * is none, or if that cannot be told (a computed branch).
 *
 * The text is taken as it is: a static key that is switched later may lead around it.
 */
size_t flow_twin(const uint32_t *words, size_t count, size_t at, bool *same);

#endif
