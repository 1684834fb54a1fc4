// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A whole trace.dat as tlbexport and the SQLite extension read it: in windows of time, every field
 * of every event as JSON, the names of tasks. The last 8 bytes of the input choose the window.
 */
#include "analysis/rawtrace.h"
#include "tests/fuzz/fuzz.h"

#define RECORDS_MOST 2000

static void scan(struct raw_file *f, const struct raw_window *window)
{
	struct trace_error err = {""};
	struct raw_scan *s = raw_scan_new(f, window, &err);
	struct trace_record rec;
	int64_t place;
	int ret = 0;

	for (unsigned int n = 0; s && (ret = raw_scan_next(s, &rec, &place, &err)) > 0; n++) {
		const struct raw_format *format = raw_format(f, rec.id);
		const char *comm;
		uint64_t address;

		FUZZ_CHECK(rec.time_ns >= window->from_ns && rec.time_ns <= window->to_ns);
		if (n >= RECORDS_MOST)
			break;
		if (n < 4 && !raw_comm(f, rec.pid, rec.cpu, rec.time_ns, &comm, &err) && comm)
			FUZZ_CHECK(strlen(comm) < 64);
		if (format) {
			size_t size = 0;
			char *json = raw_json(f, format, &rec, &size);

			if (json)
				FUZZ_CHECK(size >= 2 && json[0] == '{' && json[size - 1] == '}');
			free(json);
			raw_address(f, format, &rec, &address);
		}
	}
	if (!s || ret < 0)
		fuzz_check_text(err.text, sizeof(err.text));
	raw_scan_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_error err = {""};
	struct raw_stats stats = {0};
	struct raw_window window = {.to_ns = UINT64_MAX};

	struct raw_file *f = raw_open(fuzz_file(data, size), &stats, &err);
	if (!f) {
		fuzz_check_text(err.text, sizeof(err.text));
		return 0;
	}
	scan(f, &window);
	if (size >= 8) {
		struct fuzz_input in = {data + size - 8, data + size};

		window.from_ns = 10000000000ULL + (fuzz_take(&in, 3) << 8);
		window.to_ns = window.from_ns + (fuzz_take(&in, 4) << 4);
		window.one_cpu = size & 1;
		window.cpu = (unsigned int)fuzz_take(&in, 1) & 3;
		scan(f, &window);
	}
	raw_close(f);
	return 0;
}
