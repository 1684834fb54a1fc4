// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bytesum [--unpack] FILE: adds up all bytes of a file, as 64-bit words. For the benchmark: the
 * limit.
 *
 * No reader can do less than look at every byte once. --unpack is the limit for a compressed
 * recording: every zstd frame in the file is unpacked and the bytes of its content are added up.
 * Frames are found by their magic number, without knowing the container.
 *
 * Reads in blocks of 1 MiB like the reader it is compared with, so that the page cache costs both
 * the same. Frames of a recording are far smaller than that (ten pages).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define BLOCK (1 << 20)

/* Eight bytes at a time, in four sums: it should wait for memory and for nothing else. */
static uint64_t add(const uint8_t *p, size_t n)
{
	uint64_t sum[4] = {0}, word[4];

	for (; n >= 32; n -= 32, p += 32) {
		memcpy(word, p, 32);
		sum[0] += word[0];
		sum[1] += word[1];
		sum[2] += word[2];
		sum[3] += word[3];
	}
	while (n--)
		sum[0] += *p++;
	return sum[0] + sum[1] + sum[2] + sum[3];
}

int main(int argc, char **argv)
{
	int unpack = argc > 2 && !strcmp(argv[1], "--unpack");
	uint8_t *block = malloc(BLOCK), *content = malloc(BLOCK);
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	uint64_t sum = 0, bytes = 0;
	size_t have = 0;
	ssize_t n;
	int fd;

	if (argc != 2 + unpack) {
		fprintf(stderr, "usage: bytesum [--unpack] FILE\n");
		return 2;
	}
	fd = open(argv[1 + unpack], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !block || !content || !zstd) {
		perror(argv[1 + unpack]);
		return 1;
	}
	while ((n = read(fd, block + have, BLOCK - have)) > 0) {
		size_t at = 0;

		if (!unpack) {
			sum += add(block, n);
			bytes += n;
			continue;
		}
		have += n;
		while (at + 4 <= have) {
			static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
			const uint8_t *p = memmem(block + at, have - at, magic, 4);
			size_t packed, size;

			if (!p) {
				at = have - 3;
				break;
			}
			at = p - block;
			packed = ZSTD_findFrameCompressedSize(p, have - at);
			if (ZSTD_isError(packed)) {
				/* It goes on in the next block, unless it began this one. */
				if (at)
					break;
				at = 1;
				continue;
			}
			size = ZSTD_decompressDCtx(zstd, content, BLOCK, p, packed);
			if (ZSTD_isError(size)) {
				at++;
				continue;
			}
			sum += add(content, size);
			bytes += size;
			at += packed;
		}
		memmove(block, block + at, have - at);
		have -= at;
	}
	if (n < 0) {
		perror(argv[1 + unpack]);
		return 1;
	}
	printf("%" PRIu64 " bytes, sum %" PRIu64 "\n", bytes, sum);
	ZSTD_freeDCtx(zstd);
	free(block);
	free(content);
	close(fd);
	return 0;
}
