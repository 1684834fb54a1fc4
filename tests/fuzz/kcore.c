// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An ELF core as /proc/kcore is one, and the search for TLBI instructions in the text of a kernel.
 * The text is the input itself.
 */
#include <errno.h>
#include <fcntl.h>

#include "capture/kernel.h"
#include "capture/sites.h"
#include "tests/fuzz/fuzz.h"

#define TEXT 0xffff800080010000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kernel_symbol functions[] = {
		{TEXT + 16, "tlb_flush"}, {TEXT + 64, "__kvm_tlb_flush"}, {TEXT + 128, "copy_mm"}};
	struct kernel kernel = {.functions = functions, .function_count = 3};
	struct site_list list;
	uint64_t offset = 0;
	int fd = open(fuzz_file(data, size), O_RDONLY | O_CLOEXEC);

	FUZZ_CHECK(fd >= 0);
	int rc = kernel_find_segment(fd, TEXT, 4096, &offset);
	FUZZ_CHECK(rc <= 0);
	close(fd);

	uint32_t *text = malloc(size + 4);
	memcpy(text, data, size);
	if (!sites_scan(&kernel, text, size, TEXT, &list)) {
		FUZZ_CHECK(list.count <= size / 4);
		for (size_t i = 0; i < list.count; i++)
			FUZZ_CHECK(list.sites[i].function && strlen(list.sites[i].op) < 12);
		sites_free(&list);
	}
	free(text);
	return 0;
}
