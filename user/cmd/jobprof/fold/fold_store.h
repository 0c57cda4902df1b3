/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof fold --store: a folded region goes into the job file. */
#ifndef JP_CMD_JOBPROF_FOLD_STORE_H
#define JP_CMD_JOBPROF_FOLD_STORE_H

#include "view/fold/fold_view.h"

/* As /analysis/fold and /analysis/fold_curve of the job file. 0, or 1 and it has said why. */
int fold_store__write(const struct folded *f, const char *path);

#endif
