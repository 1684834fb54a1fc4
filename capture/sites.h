/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLBI instructions in arm64 kernel text.
 */
#ifndef CAPTURE_SITES_H
#define CAPTURE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/kernel.h"

#define SITE_NO_REGISTER 31

struct site {
	uint64_t address;
	const struct kernel_symbol *function; /* that holds it */
	char op[12];                          /* "vale1is" */
	unsigned int reg;                     /* operand register, SITE_NO_REGISTER: none */
	uint64_t twin;      /* an instruction to watch instead if this one is refused; 0: none (flow.h) */
	bool twin_has_operand; /* the register still holds it there */
};

struct site_list {
	struct site *sites; /* by address */
	size_t count;
	/* left out: no operand where one is due, or the repetition of the one before */
	size_t dummies;
	size_t elsewhere; /* left out: boot, hypervisor and the like */
};

/* True and OP, REG filled if INSTRUCTION is a TLBI of EL1&0. */
bool site_decode(uint32_t instruction, char op[12], unsigned int *reg);

/*
 * Finds them in SIZE bytes of text that lie at ADDRESS. Returns 0 or -ENOMEM. Free with
 * sites_free().
 */
int sites_scan(const struct kernel *kernel, const void *text, size_t size, uint64_t address,
	       struct site_list *list);
void sites_free(struct site_list *list);

#endif
