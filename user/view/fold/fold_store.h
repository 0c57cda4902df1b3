/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof fold --store: a folded region goes into the job file. */
#ifndef JP_VIEW_FOLD_STORE_H
#define JP_VIEW_FOLD_STORE_H

#include "jobfile/store.h"
#include "view/fold/fold_view.h"

/* What is stored: the group /analysis/fold, and the table /analysis/fold_curve. */
struct fold_stored {
	json_t *figures; /* NULL: no memory */
	struct store_table curve;
};
struct fold_stored fold_store__of(const struct folded *f);
void fold_stored__free(const struct fold_stored *s);

/* What reads the profile may not be what writes to it: the one puts the region into a file, and the
 * other writes /analysis/fold and /analysis/fold_curve of the job file by that. 0, or 1 and it has
 * said why. */
int fold_store__put(const struct folded *f, int fd);
int fold_store__write(int fd, const char *path);

#endif
