/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobprofd does when it is not to serve: checks. Each function prints, and returns the exit
 * status. */
#ifndef JP_CMD_JOBPROFD_JOBPROFD_H
#define JP_CMD_JOBPROFD_JOBPROFD_H

#include "base/config/config.h"

int jobprofd__check(const char *btf);
int jobprofd__check_bpf(const struct config *c);

#endif
