/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that appears whole or not at all. It is written under a hidden name beside its target,
 * ".NAME.XXXXXX.tmp", which nobody can guess and no link can lead astray, and moved over the target
 * when it is done; until then the target stays what it was. What a killed process left behind under
 * such a name is removed by the next one that writes the same target.
 */
#ifndef COMMON_NEWFILE_H
#define COMMON_NEWFILE_H

struct newfile {
	char *target, *path; /* path: the hidden name */
	int fd;              /* of the hidden file, locked as long as it is in use */
};

/* Creates the hidden file for TARGET. Returns 0 or a negative errno; newfile_drop() either way. */
int newfile_begin(struct newfile *f, const char *target);

/*
 * Puts the file into place: its bytes are on the disk before its name is. Returns 0 or a negative
 * errno.
 */
int newfile_commit(struct newfile *f);

/* Frees F; what was not committed is removed. A zeroed F is fine. */
void newfile_drop(struct newfile *f);

#endif
