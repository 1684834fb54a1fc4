// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dlopen(), and then distrust. What a plug-in exports is meant well but may come from other
 * headers: a struct of another size, a table that is not terminated. So every pointer is looked up
 * in the loaded segments before it is followed. That guards against mistakes; it is no sandbox.
 */
#include "replay/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A stretch of loaded memory around an address. */
struct stretch {
	uintptr_t at;      /* looked for */
	uintptr_t end;     /* of the segment that holds it; 0: none does */
	unsigned int want; /* PF_R or PF_X */
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *data)
{
	struct stretch *s = data;

	(void)size;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && ph->p_flags & s->want && s->at >= start &&
		    s->at - start < ph->p_memsz) {
			s->end = start + ph->p_memsz;
			return 1;
		}
	}
	return 0;
}

/* Bytes that can be read (PF_R) or run (PF_X) from P on. */
static size_t room_at(const void *p, unsigned int want)
{
	struct stretch s = {.at = (uintptr_t)p, .want = want};

	dl_iterate_phdr(find_segment, &s);
	return s.end ? s.end - s.at : 0;
}

static bool is_text(const char *text)
{
	size_t room = text ? room_at(text, PF_R) : 0;

	return room && memchr(text, 0, room);
}

static bool is_code(const void *p)
{
	return !p || room_at(p, PF_X);
}

static const char *text_fault(const struct policy *policy)
{
	const char *const texts[] = {policy->name, policy->summary, policy->source, policy->omits};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i] && !is_text(texts[i]))
			return "one of its texts";
	if (policy->beyond && !is_text(policy->beyond))
		return "one of its texts";
	for (const struct param *p = policy->params; p; p++) {
		if (room_at(p, PF_R) < sizeof(*p))
			return "its table of parameters (is there a PARAM_END?)";
		if (!p->name)
			break;
		if (!is_text(p->name) || (p->unit && !is_text(p->unit)) ||
		    (p->help && !is_text(p->help)))
			return "a text of its parameters (is there a PARAM_END?)";
	}
	if (!is_code((const void *)(uintptr_t)policy->decide) ||
	    !is_code((const void *)(uintptr_t)policy->defer_ns) ||
	    !is_code((const void *)(uintptr_t)policy->forget))
		return "one of its functions";
	return NULL;
}

/* The size of what is at the symbol, or 0 if the file does not say. */
static size_t symbol_size(const void *symbol)
{
	const ElfW(Sym) *entry = NULL;
	Dl_info info;

	if (!dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) || !entry ||
	    info.dli_saddr != symbol)
		return 0;
	return entry->st_size;
}

static int check(const struct policy *policy, char *err, size_t err_size)
{
	size_t size = symbol_size(policy), room = room_at(policy, PF_R);
	const char *fault;

	if (room < sizeof(policy->api) || (uintptr_t)policy % _Alignof(struct policy)) {
		snprintf(err, err_size, "its symbol %s is no struct policy", POLICY_SYMBOL);
		return -EINVAL;
	}
	/* The version comes first: all else may look different in another one. */
	if (policy->api != POLICY_API)
		return policy_check(policy, err, err_size);
	if (room < sizeof(*policy) || (size && size != sizeof(*policy))) {
		snprintf(err, err_size,
			 "its symbol %s has %zu bytes instead of %zu: it was not built with the "
			 "headers of this version",
			 POLICY_SYMBOL, size, sizeof(*policy));
		return -EINVAL;
	}
	fault = text_fault(policy);
	if (fault) {
		snprintf(err, err_size, "%s lies outside of the file", fault);
		return -EINVAL;
	}
	if (policy_check(policy, err, err_size))
		return -EINVAL;
	if (policy_find(policy->name)) {
		snprintf(err, err_size, "its name, %s, is that of a built-in policy", policy->name);
		return -EINVAL;
	}
	return 0;
}

/*
 * A file that was cut off would be mapped beyond its end, and the loader killed by the first access
 * there. NULL if it is whole and made for this machine, else what is wrong.
 */
static const char *elf_fault(int fd, uint64_t size)
{
	ElfW(Ehdr) eh, own;
	ElfW(Phdr) ph;
	int self;

	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return "no ELF file";
	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (self >= 0) {
		bool same = pread(self, &own, sizeof(own), 0) != sizeof(own) ||
			    (own.e_ident[EI_CLASS] == eh.e_ident[EI_CLASS] &&
			     own.e_ident[EI_DATA] == eh.e_ident[EI_DATA] &&
			     own.e_machine == eh.e_machine);

		close(self);
		if (!same)
			return "made for another kind of machine";
	}
	if (eh.e_type != ET_DYN || eh.e_phentsize != sizeof(ph))
		return "an ELF file of another type";
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		if (pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))) != sizeof(ph))
			return "cut off";
		if (ph.p_type == PT_LOAD &&
		    (ph.p_offset > size || ph.p_filesz > size - ph.p_offset))
			return "cut off";
	}
	return NULL;
}

/* Can PATH be loaded without harm? Returns 0, or errno with the reason in ERR. */
static int check_file(const char *path, char *err, size_t err_size)
{
	const char *fault = NULL;
	struct stat st;
	int fd, ret;

	/* Opening something else than a file may wait for ever. */
	if (stat(path, &st)) {
		ret = errno;
		snprintf(err, err_size, "%s: %s", path, strerror(ret));
		return ret;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(err, err_size, "%s: not a regular file", path);
		return ENOEXEC;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		ret = errno;
		snprintf(err, err_size, "%s: %s", path, strerror(ret));
	} else {
		fault = elf_fault(fd, (uint64_t)st.st_size);
		ret = fault ? ENOEXEC : 0;
	}
	if (fd >= 0)
		close(fd);
	if (fault)
		snprintf(err, err_size, "%s: not a shared object that can be loaded: %s", path,
			 fault);
	return ret;
}

const struct policy *plugin_load(const char *path, char *err, size_t err_size)
{
	const struct policy *policy;
	char reason[300];
	void *handle;
	int ret = check_file(path, err, err_size);

	if (ret) {
		errno = ret;
		return NULL;
	}
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		const char *text = dlerror();
		size_t n = strlen(path);

		/* It usually begins with the file's name. */
		if (!strncmp(text, path, n) && !strncmp(text + n, ": ", 2))
			text += n + 2;
		snprintf(err, err_size, "%s: not a shared object that can be loaded: %s", path,
			 text);
		errno = ENOEXEC;
		return NULL;
	}
	policy = dlsym(handle, POLICY_SYMBOL);
	if (!policy) {
		snprintf(err, err_size, "%s: not a policy: it has no symbol %s", path,
			 POLICY_SYMBOL);
		errno = ENOEXEC;
		dlclose(handle);
		return NULL;
	}
	if (check(policy, reason, sizeof(reason))) {
		snprintf(err, err_size, "%s: %s", path, reason);
		errno = ENOEXEC;
		dlclose(handle);
		return NULL;
	}
	return policy;
}
