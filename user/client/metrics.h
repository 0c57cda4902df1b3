/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks jobprofd for the metrics of this node. */
#ifndef JP_CLIENT_METRICS_H
#define JP_CLIENT_METRICS_H

#include <stddef.h>

struct metrics_answer {
	int file; /* see struct jpc_metrics; the caller closes it; -1: none came */
	double job_cpu_s, job_wait_s;
};

/* 0 or -errno, with the reason, as jobprof_live(). */
int metrics__ask(struct metrics_answer *a, unsigned timeout_ms, char *reason, size_t len);

#endif
