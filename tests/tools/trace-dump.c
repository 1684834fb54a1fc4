// SPDX-License-Identifier: GPL-2.0-or-later
/* trace-dump FILE: what "tlbreplay --dump FILE" prints, without the rest of the program. */
#include <stdio.h>

#include "common/msg.h"
#include "replay/dump.h"
#include "replay/trace.h"

int main(int argc, char **argv)
{
	struct trace_error err;
	bool incomplete = false;

	msg_program = "trace-dump";
	if (argc != 2) {
		msg_error("usage: trace-dump FILE");
		return EXIT_USAGE;
	}
	if (dump_trace(argv[1], stdout, &err, &incomplete)) {
		fflush(stdout);
		msg_error("%s", err.text);
		return EXIT_FAILED;
	}
	return incomplete ? EXIT_INCOMPLETE : EXIT_FINE;
}
