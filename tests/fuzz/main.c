// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A harness without a fuzzer: runs it once for each FILE, or each file of a FOLDER, in order.
 *
 *	NAME [FILE|FOLDER]...
 */
#include <dirent.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static unsigned int files;

static void run_file(const char *path)
{
	FILE *f = fopen(path, "re");
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		perror(path);
		exit(1);
	}
	/* As large as the input, so that a sanitizer sees the first byte behind it. */
	uint8_t *data = malloc((size_t)size ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	files++;
}

static void run(const char *path)
{
	struct dirent **names;
	struct stat st;
	int n;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char *full = NULL;

		if (names[i]->d_name[0] != '.' &&
		    asprintf(&full, "%s/%s", path, names[i]->d_name) >= 0)
			run_file(full);
		free(full);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	printf("%u inputs\n", files);
	return 0;
}
