/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations whose cost is measured. */
#ifndef JP_BENCH_WORKLOAD_H
#define JP_BENCH_WORKLOAD_H

/* What a workload has open. */
struct workload_state {
	const char *path;
	int to_echo, from_echo; /* bytes come back from the other process of the pair */
	int fd[2];
	char *buf;
	unsigned long aio; /* context of reads in flight */
	unsigned long blocks;
	unsigned long seed;
};

struct workload {
	const char *name;
	unsigned batch;			       /* calls of op() between two looks at the clock */
	unsigned per_op;		       /* operations in one call */
	unsigned max_batches;		       /* 0: as many as there is time for */
	int (*open)(struct workload_state *s); /* 0 or -errno; NULL: nothing to do */
	int (*op)(struct workload_state *s);
};

const struct workload *workload__find(const char *name); /* NULL: no such */
void workload__close(struct workload_state *s);

#endif
