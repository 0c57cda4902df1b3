/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the nodes in a job file that has been written are those that were to be copied, before
 * anything is deleted. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "identity/stepname.h"
#include "jobfile/merge_internal.h"

static bool is_copy(const struct merge_item *i, const struct merge_result *r)
{
	return !r->err && r->info.body == i->body && (!i->totals || r->info.totals == i->totals);
}

int merge_check__run(const struct merge_set *set, const struct merge_place *place,
		     struct progress *p, unsigned nworkers)
{
	const struct merge_item *differs = NULL;
	struct merge_scan *scan = NULL;
	const struct merge_result *r;
	int err = merge_scan__start(&scan, set, place->fd, place->path, true, nworkers);

	for (unsigned i = 0; !err && !differs && i < set->nitems; i++) {
		const struct merge_item *item = &set->items[i];

		err = merge_scan__next(scan, &r);
		if (!err && item->state == ITEM_COPIED && !is_copy(item, r))
			differs = item;
		progress__at(p, set->nitems + i + 1);
	}
	merge_scan__free(scan);
	if (err || differs)
		progress__clear(p);
	if (err)
		log_error("%s: cannot be read back: %s; given up; nothing was deleted", place->path,
			  strerror(-err));
	else if (differs)
		log_error("%s: does not read back as it was written: given up; nothing was "
			  "deleted; step %s, node %s is not what it was",
			  place->path, stepname__human(differs->step), differs->node);
	return err || differs ? -EIO : 0;
}
