// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One event format: the scan for its name and id, then every field that the catalogue may ask it
 * for, and what kinds of arrays they are. The first byte says which of the catalogue's
 * events the text claims to be (its own line "name:" may differ).
 */
#include <errno.h>

#include "replay/formats.h"
#include "schema/catalogue.h"
#include "tests/fuzz/fuzz.h"

static void find_all(struct formats *f, const struct source *src)
{
	struct trace_error err;
	struct trace_field field;

	for (const struct catalogue_row *row = catalogue; row->role != ROLE_SKIP; row++)
		for (size_t i = 0; i < 10 && row->fields[i].names[0]; i++)
			for (size_t n = 0; n < 3 && row->fields[i].names[n]; n++) {
				int ret = formats_find_field(src, &f->list[0],
							     row->fields[i].names[n], &field, &err);

				if (ret)
					fuzz_check_text(err.text, sizeof(err.text));
				if (ret == -EINVAL)
					return;
				FUZZ_CHECK(ret || (field.offset <= 0xffff && field.size <= 0xffff));
			}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "formats";
	struct source src = {.path = name, .fd = -1, .size = size};
	struct trace_error err = {""};
	struct formats f = {0};
	struct reader r;
	size_t rows = 0;

	if (!size)
		return 0;
	while (catalogue[rows].role != ROLE_SKIP)
		rows++;
	reader_memory(&r, &src, data + 1, size - 1, 0, false, &err);
	formats_add(&f, &r, catalogue[data[0] % rows].system, size - 1);
	if (r.error)
		fuzz_check_text(err.text, sizeof(err.text));
	if (!formats_finish(&f) && f.nr)
		find_all(&f, &src);
	formats_free(&f);
	return 0;
}
