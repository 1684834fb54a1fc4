// SPDX-License-Identifier: GPL-2.0-or-later
/* A kernel's types, and what the catalogue and some paths of our own ask them for. */
#include <errno.h>

#include "capture/btf.h"
#include "schema/catalogue.h"
#include "tests/fuzz/fuzz.h"

static void fetch(const struct btf *btf, const char *function, const char *text)
{
	for (int names = 0; names < 2; names++) {
		char out[128] = "";
		int rc = btf_fetch(btf, function, text, names, out, sizeof(out));

		FUZZ_CHECK(rc == 0 || rc == -ENOENT || rc == -ENAMETOOLONG);
		FUZZ_CHECK(rc || strnlen(out, sizeof(out)) < sizeof(out));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct btf *btf = btf_open(fuzz_file(data, size));

	if (!btf)
		return 0;
	fetch(btf, "f", "a->b.c->d:x64|a->b:x64");
	fetch(btf, "f", "+8(a->b):x64");
	fetch(btf, "f", "bits(a->b):x32");
	for (const struct catalogue_row *row = catalogue; row->role != ROLE_SKIP; row++)
		for (size_t i = 0; i < 10 && row->fields[i].names[0]; i++)
			if (row->fields[i].fetch)
				fetch(btf, row->name, row->fields[i].fetch);
	btf_close(btf);
	return 0;
}
