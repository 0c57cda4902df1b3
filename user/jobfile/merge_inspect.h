/* SPDX-License-Identifier: GPL-2.0-only */
/* What a reader does with one item; merge_readers.c runs it in a process of its own. */
#ifndef JP_JOBFILE_MERGE_INSPECT_H
#define JP_JOBFILE_MERGE_INSPECT_H

#include "jobfile/merge_internal.h"

struct merge_looker;
struct message;

/* 0 or -errno. The set must outlive it. */
int merge_looker__new(struct merge_looker **out, const struct merge_set *set, int old_fd,
		      enum merge_look look);
void merge_looker__free(struct merge_looker *l);
/* The file it has just looked at, open until the next; invalid if there is none. */
hid_t merge_looker__file(const struct merge_looker *l);
/* Of this process, from now on: enough for a file of that size. */
void merge_looker__limit_cpu(uint64_t file_size);
/* Leaves a message as merge_readers.c takes it, also of what cannot be read. */
void merge_looker__look(struct merge_looker *l, const struct merge_item *item, struct message *w);

#endif
