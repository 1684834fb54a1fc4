// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * toucher READS WRITES: a program that tells its accesses, so that a recording of them can be
 * counted. Reads go through a function that a uprobe can be set on (touch_read), writes past a USDT
 * probe (toucher:write, if the compiler had <sys/sdt.h>). Page N of the region is touched by read N
 * and write N.
 *
 * Output: "toucher pid=... region=0x... page_size=... reads=... writes=... usdt=yes|no"
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define USDT "yes"
#else
#define STAP_PROBE1(provider, name, argument) (void)(argument)
#define USDT "no"
#endif

/* A probe is set on them: there must be one of each. */
#ifdef __clang__
#define WHOLE __attribute__((noinline))
#else
#define WHOLE __attribute__((noinline, noclone))
#endif
WHOLE void touch_read(volatile char *address);
WHOLE void touch_write(volatile char *address);

void touch_read(volatile char *address)
{
	(void)*address;
}

void touch_write(volatile char *address)
{
	STAP_PROBE1(toucher, write, address);
	*address = 1;
}

int main(int argc, char **argv)
{
	long reads = argc == 3 ? atol(argv[1]) : -1, writes = argc == 3 ? atol(argv[2]) : -1;
	long most = reads > writes ? reads : writes, page_size = sysconf(_SC_PAGESIZE);

	if (reads < 0 || writes < 0 || most < 1) {
		fputs("usage: toucher READS WRITES\n", stderr);
		return 2;
	}
	volatile char *region = mmap(NULL, (size_t)(most * page_size), PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED) {
		perror("toucher");
		return 1;
	}
	for (long i = 0; i < reads; i++)
		touch_read(region + i * page_size);
	for (long i = 0; i < writes; i++)
		touch_write(region + i * page_size);
	printf("toucher pid=%d region=0x%llx page_size=%ld reads=%ld writes=%ld usdt=" USDT "\n",
	       getpid(), (unsigned long long)(uintptr_t)region, page_size, reads, writes);
	return 0;
}
