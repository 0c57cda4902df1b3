/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a job file that has been written is what was to be, before anything is deleted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "jobfile/merge_internal.h"

static int not_written(struct merge_check *c, int err)
{
	progress__clear(c->progress);
	log_error("%s: does not read back as it was written%s%s: given up; nothing was deleted",
		  c->place->path, err == -EIO ? "" : ": ", err == -EIO ? "" : strerror(-err));
	return -EIO;
}

/* Of all. Without a complete record, only comparing all nodes will do. */
static int check_bytes(struct merge_check *c)
{
	const unsigned n = c->set->nitems;

	if (!c->record->complete)
		return c->quick ? -EAGAIN : 0;
	for (unsigned i = 0; i < n; i++) {
		int err = h5record__check(c->record, c->place->fd, i, n);

		if (err)
			return not_written(c, err);
		if (c->quick)
			progress__at(c->progress, n + i + 1);
	}
	return 0;
}

static bool is_copy(const struct merge_item *i, const struct merge_found *f)
{
	return !f->err && f->facts.body == i->body && (!i->totals || f->facts.totals == i->totals);
}

static int not_copied(struct merge_check *c, const struct merge_item *i,
		      const struct merge_found *f)
{
	progress__clear(c->progress);
	if (i->file) {
		snprintf(c->set->suspect, MERGE_NAME_MAX + 1, "%s", i->file);
		return -EAGAIN;
	}
	log_error("%s: step %s, node %s is not what was copied%s%s: given up; nothing was deleted",
		  c->place->path, i->step, i->node, *f->trouble ? ": " : "", f->trouble);
	return -EIO;
}

static int compare_next(struct merge_check *c, struct merge_readers *r, const struct merge_item *i)
{
	const struct merge_found *f;
	int err = merge_readers__next(r, &f);

	if (err)
		return not_written(c, err);
	if (i->state != ITEM_COPIED || !i->whole)
		return 0;
	c->compared++;
	return is_copy(i, f) ? 0 : not_copied(c, i, f);
}

/* Nodes that were looked at as a whole, with their inputs. */
static int compare(struct merge_check *c)
{
	const unsigned n = c->set->nitems;
	struct merge_readers *r = NULL;
	int err = merge_readers__start(&r, c->set, c->place->fd, LOOK_DIGEST,
				       c->quick ? 0 : c->threads, false);

	if (err)
		return not_written(c, err);
	for (unsigned i = 0; !err && i < n; i++) {
		err = compare_next(c, r, &c->set->items[i]);
		if (!c->quick)
			progress__at(c->progress, n + i + 1);
	}
	merge_readers__free(r);
	return err;
}

int merge_check__run(struct merge_check *c)
{
	int err = check_bytes(c);

	return err ? err : compare(c);
}
