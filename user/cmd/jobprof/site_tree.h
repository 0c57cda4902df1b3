/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of small files that is made again and again: a file whose contents are the same stays as
 * it is, another one takes the old one's place as a whole, and what is no longer made goes. Only a
 * directory of root or of this user is touched that nobody else may write to, and that was empty or
 * has a mark from the last time. Files are 0640, folders 0750; a set-group-ID directory gives its
 * group to all.
 */
#ifndef JP_CMD_JOBPROF_SITE_TREE_H
#define JP_CMD_JOBPROF_SITE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/string_list.h"

/* In memory that child processes share. */
struct site_count {
	_Atomic uint64_t written, kept, removed, failed;
};

/* Opens the directory, which is made if it is not there, and locks it. 0 or -errno, logged; *fd. */
int site_tree__open(const char *path, int *fd);
/* A folder in it, which is made if it is not there; no link is followed. Its file descriptor, or
 * -errno, logged. */
int site_tree__folder(int at, const char *name);
/* The time in "now" may differ in contents that are the same. 0 or -errno, logged and counted. */
int site_tree__put(struct site_count *count, int at, const char *name, const char *text, size_t n);
/* Removes what is not in the list, which is sorted here, with all inside. 0 or -errno, logged. */
int site_tree__keep(struct site_count *count, int at, struct string_list *names);

#endif
