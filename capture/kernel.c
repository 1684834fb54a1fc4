// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/kernel.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "common/grow.h"
#include "schema/catalogue.h"

#define TEXT_MOST (UINT64_C(256) << 20) /* no kernel's text is that large */

char *read_line(const char *path)
{
	char *line = NULL;
	size_t size = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return NULL;
	if (getline(&line, &size, file) < 0) {
		free(line);
		line = NULL;
	} else {
		line[strcspn(line, "\n")] = '\0';
	}
	fclose(file);
	return line;
}

static char *read_whole(const char *path)
{
	size_t capacity = 1 << 20, used = 0, got;
	FILE *file = fopen(path, "re");
	char *text = file ? malloc(capacity) : NULL;

	while (text && (got = fread(text + used, 1, capacity - used - 1, file)) > 0) {
		used += got;
		if (used + 1 == capacity) {
			char *grown = realloc(text, capacity *= 2);

			if (!grown)
				free(text);
			text = grown;
		}
	}
	if (text)
		text[used] = '\0';
	if (file)
		fclose(file);
	return text;
}

static int by_address(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int by_symbol_name(const void *a, const void *b)
{
	return strcmp(((const struct kernel_symbol *)a)->name,
		      ((const struct kernel_symbol *)b)->name);
}

/* "ffffffff81000000 T _stext" a line; a module's name behind a tab. */
static int read_symbols(struct kernel *kernel)
{
	size_t capacity = 0;

	kernel->text = read_whole("/proc/kallsyms");
	if (!kernel->text)
		return errno ? -errno : -ENOMEM;
	kernel->addresses_hidden = true;
	for (char *line = kernel->text, *next; *line; line = next) {
		char *end, *type;
		size_t size = strcspn(line, "\n");

		next = line + size + (line[size] != '\0');
		line[size] = '\0';
		uint64_t address = strtoull(line, &end, 16);
		type = end + (*end == ' ');
		/* Not functions, by some kernels' tables. */
		if (*type && !strcmp(type + 2, "_stext"))
			kernel->text_start = address;
		else if (*type && !strcmp(type + 2, "_etext"))
			kernel->text_end = address;
		if (!*type || type[1] != ' ' || !strchr("tTwW", *type) || strchr(type, '\t'))
			continue;
		struct kernel_symbol *functions = grow_list(
			kernel->functions, kernel->function_count, &capacity, sizeof(*functions));
		if (!functions)
			return -ENOMEM;
		kernel->functions = functions;
		if (address)
			kernel->addresses_hidden = false;
		kernel->functions[kernel->function_count++] =
			(struct kernel_symbol){address, type + 2};
	}
	size_t bytes = kernel->function_count * sizeof(*kernel->functions);
	kernel->by_name = malloc(bytes ? bytes : 1);
	if (!kernel->by_name)
		return -ENOMEM;
	if (bytes)
		memcpy(kernel->by_name, kernel->functions, bytes);
	qsort(kernel->functions, kernel->function_count, sizeof(*kernel->functions), by_address);
	qsort(kernel->by_name, kernel->function_count, sizeof(*kernel->by_name), by_symbol_name);
	return 0;
}

/* "none [integrity] confidentiality": the one in brackets. */
static char *read_lockdown(void)
{
	char *line = read_line("/sys/kernel/security/lockdown");
	char *open = line ? strchr(line, '[') : NULL, *close = open ? strchr(open, ']') : NULL;
	char *word = close ? strndup(open + 1, (size_t)(close - open - 1)) : NULL;

	free(line);
	return word;
}

static bool configured(const struct kernel *kernel, const char *option)
{
	char path[128];
	bool found = false;
	snprintf(path, sizeof(path), "/boot/config-%s", kernel->name.release);
	char *config = read_whole(path);

	if (config) {
		char line[96];

		snprintf(line, sizeof(line), "\n%s=y\n", option);
		found = strstr(config, line);
	}
	free(config);
	return found;
}

int kernel_read(struct kernel *kernel)
{
	unsigned int major = 0, minor = 0;

	*kernel = (struct kernel){0};
	if (uname(&kernel->name))
		return -errno;
	if (!strcmp(kernel->name.machine, "x86_64"))
		kernel->arch = ARCH_X86;
	else if (!strncmp(kernel->name.machine, "aarch64", 7))
		kernel->arch = ARCH_ARM64;
	sscanf(kernel->name.release, "%u.%u", &major, &minor);
	kernel->version = KERNEL_VERSION_OF(major, minor);

	char *readme = tracefs_instance_file_read(NULL, "README", NULL);
	kernel->function_probes = tracefs_file_exists(NULL, "kprobe_events") &&
				  tracefs_file_exists(NULL, "dynamic_events");
	kernel->btf = btf_open(BTF_KERNEL);
	kernel->probe_names = readme && kernel->btf && strstr(readme, "<argname>");
	/* Nothing but the version tells; making the probe has the last word. */
	kernel->return_arguments = kernel->version >= KERNEL_VERSION_OF(6, 9);
	free(readme);
	kernel->lockdown = read_lockdown();
	kernel->notrace_probes = configured(kernel, "CONFIG_KPROBE_EVENTS_ON_NOTRACE");
	if (kernel->function_probes)
		kernel->traceable =
			tracefs_instance_file_read(NULL, "available_filter_functions", NULL);
	return read_symbols(kernel);
}

void kernel_free(struct kernel *kernel)
{
	btf_close(kernel->btf);
	free(kernel->functions);
	free(kernel->by_name);
	free(kernel->text);
	free(kernel->traceable);
	free(kernel->lockdown);
	*kernel = (struct kernel){0};
}

size_t kernel_find_function(const struct kernel *kernel, const char *name,
			    const struct kernel_symbol **first)
{
	size_t low = 0, high = kernel->function_count, count = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(kernel->by_name[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (first && low < kernel->function_count)
		*first = &kernel->by_name[low];
	for (; low < kernel->function_count && !strcmp(kernel->by_name[low].name, name); low++)
		count++;
	return count;
}

const struct kernel_symbol *kernel_function_at(const struct kernel *kernel, uint64_t address)
{
	size_t low = 0, high = kernel->function_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kernel->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &kernel->functions[low - 1] : NULL;
}

bool kernel_is_traceable(const struct kernel *kernel, const char *name)
{
	size_t size = strlen(name);

	if (!kernel->traceable || !*kernel->traceable)
		return true;
	for (const char *at = kernel->traceable; (at = strstr(at, name)); at += size) {
		if ((at == kernel->traceable || at[-1] == '\n') && (!at[size] || at[size] == '\n'))
			return true;
	}
	return false;
}

static bool read_at(int fd, void *data, size_t size, uint64_t offset)
{
	char *out = data;

	while (size) {
		ssize_t got = pread(fd, out, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (!got)
				errno = ENODATA;
			return false;
		}
		out += got;
		size -= (size_t)got;
		offset += (uint64_t)got;
	}
	return true;
}

int kernel_find_segment(int fd, uint64_t address, uint64_t size, uint64_t *offset)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (!read_at(fd, &header, sizeof(header), 0))
		return -errno;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_phentsize != sizeof(segment))
		return -EINVAL;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		if (!read_at(fd, &segment, sizeof(segment), header.e_phoff + i * sizeof(segment)))
			return -errno;
		if (segment.p_type != PT_LOAD || address < segment.p_vaddr)
			continue;
		uint64_t skip = address - segment.p_vaddr;

		if (skip <= segment.p_memsz && size <= segment.p_memsz - skip) {
			*offset = segment.p_offset + skip;
			return 0;
		}
	}
	return -ENOENT;
}

int kernel_read_text(const struct kernel *kernel, void **text, size_t *size, uint64_t *address)
{
	uint64_t offset = 0;
	int rc;

	*text = NULL;
	if (kernel->addresses_hidden)
		return -EACCES;
	if (!kernel->text_start || kernel->text_end <= kernel->text_start ||
	    kernel->text_end - kernel->text_start > TEXT_MOST)
		return -ENOENT;
	*address = kernel->text_start;
	*size = kernel->text_end - kernel->text_start;
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = kernel_find_segment(fd, *address, *size, &offset);
	if (!rc) {
		*text = malloc(*size);
		if (!*text)
			rc = -ENOMEM;
		else if (!read_at(fd, *text, *size, offset))
			rc = -errno;
	}
	close(fd);
	if (rc) {
		free(*text);
		*text = NULL;
	}
	return rc;
}
