// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * anonymise FILE [shift]: does to a trace.dat of version 6 what tlbcapture --anonymise does to what
 * it has just recorded, and says how many TLBI operands lost their address.
 */
#include "capture/anonymise.c"
#include "capture/child.c"
#include "capture/shift.c"

int main(int argc, char **argv)
{
	bool shifts = argc == 3 && !strcmp(argv[2], "shift");
	uint64_t bytes, blanked;

	if (argc < 2 || (argc > 2 && !shifts)) {
		fputs("usage: anonymise FILE [shift]\n", stderr);
		return 2;
	}
	struct anonymiser *anonymiser = anonymiser_new(shifts, NULL);
	int rc = anonymiser ? anonymise_file(anonymiser, argv[1], "none", &bytes, &blanked) : -ENOMEM;

	anonymiser_free(anonymiser);
	if (rc)
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-rc));
	else
		printf("blanked %llu\n", (unsigned long long)blanked);
	return rc != 0;
}
