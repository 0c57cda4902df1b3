/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof usage --histograms: how well jobs used what they held. */
#ifndef JP_CMD_JOBPROF_USAGE_HIST_H
#define JP_CMD_JOBPROF_USAGE_HIST_H

#include "cmd/jobprof/site_args.h"

/* Runs the verb after its options were read. Returns the exit status. */
int usage_hist__run(struct site_args *a);

#endif
