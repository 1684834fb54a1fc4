/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What machine this is, as far as a figure's place of origin goes. */
#ifndef CAPTURE_CALIBRATE_HOST_H
#define CAPTURE_CALIBRATE_HOST_H

#include <stdbool.h>

struct host {
	bool arm64;
	char cpu[160];    /* its name; "..., in a virtual machine" */
	char cores[16];   /* CPUs to use */
	char kernel[128]; /* release */
	/*
	 * Why nothing that is measured here holds for a machine; NULL: it does, as far as can be
	 * told. A guest whose instructions an emulator carries out has a TLB of software.
	 */
	const char *emulated;
};

void host_read(struct host *host, unsigned int cpus);

#endif
