// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of perf script. */
#include "replay/samples.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[512] = "";
	struct samples *s = samples_open(fuzz_file(data, size), err, sizeof(err));
	struct sample sample;
	uint64_t before = 0;
	int ret;

	FUZZ_CHECK(s);
	while ((ret = samples_next(s, &sample, err, sizeof(err))) == 1) {
		FUZZ_CHECK(sample.tid >= 0 && sample.time_ns >= before);
		before = sample.time_ns;
	}
	if (ret)
		fuzz_check_text(err, sizeof(err));
	samples_close(s);
	return 0;
}
