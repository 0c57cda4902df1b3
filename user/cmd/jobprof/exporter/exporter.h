/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of jobprof exporter. */
#ifndef JP_CMD_JOBPROF_EXPORTER_EXPORTER_H
#define JP_CMD_JOBPROF_EXPORTER_EXPORTER_H

#include "base/outbuf.h"

/* The metrics of an index. 0 or -errno, logged: it cannot be asked. */
int exporter_index__print(const char *where, struct outbuf *o);

#endif
