// SPDX-License-Identifier: GPL-2.0-or-later
/* The file that tlbcapture --anonymise rewrites in place: of version 6, as trace-cmd left it. */
#include <errno.h>

#include "capture/anonymise.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct anonymiser *anonymiser;
	uint64_t bytes = size, blanked;

	if (!anonymiser)
		anonymiser = anonymiser_new(true, NULL);
	int rc = anonymise_file(anonymiser, fuzz_file(data, size), "none", &bytes, &blanked);
	FUZZ_CHECK(rc <= 0 && bytes == size);
	return 0;
}
