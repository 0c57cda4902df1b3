/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof usage --io: the I/O of a site. */
#ifndef JP_CMD_JOBPROF_USAGE_IO_H
#define JP_CMD_JOBPROF_USAGE_IO_H

#include "cmd/jobprof/site_args.h"

/* Runs the verb after its options were read. Returns the exit status. */
int usage_io__run(struct site_args *a);

#endif
