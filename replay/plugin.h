/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policies from shared objects. Loading one runs code of its file with all rights of the user,
 * before anything in it can be looked at: it must be trusted like a program.
 */
#ifndef REPLAY_PLUGIN_H
#define REPLAY_PLUGIN_H

#include <stddef.h>

#include "replay/policy.h"

/*
 * The policy that the shared object PATH exports as POLICY_SYMBOL, checked like policy_check() does
 * and more: that its texts and tables lie within its file. It stays loaded until the program ends.
 * NULL and errno on failure, with file and reason in ERR: ENOENT and the like if the file cannot be
 * read, ENOEXEC if it is no shared object, or what it exports cannot be used here.
 */
const struct policy *plugin_load(const char *path, char *err, size_t err_size);

#endif
