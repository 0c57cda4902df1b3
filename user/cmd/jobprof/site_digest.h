/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a digest has: sums of the jobs of two times, the dearest lists, and whether mails helped. */
#ifndef JP_CMD_JOBPROF_SITE_DIGEST_H
#define JP_CMD_JOBPROF_SITE_DIGEST_H

#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/site_contact.h"

#define DIGEST_ROWS 10 /* of a list */

/* Begins zeroed but for the site, the index and the viewer. */
struct digest {
	const struct site_args *site;
	struct index ix;
	struct viewer viewer;
	bool has_before; /* else nothing is compared: the jobs are those that ran at an instant */
	struct job_filter before; /* as long a time before */
};

enum section {
	/* lists, the dearest rows first */
	ACCOUNTS,
	FINDINGS,
	ASK,
	APPS,
	NODES,
	SHOWN,
	/* a row each */
	TOTAL = SHOWN,
	BEFORE,
	/* what the others are compared with, and not shown */
	ACCOUNTS_BEFORE,
	FINDINGS_BEFORE,
	MOSTLY,
	/* of the last 8 weeks, the latest first */
	CONTACTS,
	SECTIONS
};

/* Columns of ACCOUNTS, TOTAL and BEFORE: what is asked for, then what is made of it. */
enum { JOBS = 1, HELD, PROFILED, LOST, HELD_GPU, LOST_GPU, ENERGY, LOST_SHARE, WAS_SHARE, TREND };
enum { KWH = TREND + 1, CO2, MONEY_ENERGY, MONEY_HELD, MONEY_LOST, MAINLY, N_ACCOUNTS };
/* Columns of FINDINGS. */
enum { COST = 3, SEVERITY, WAS_COST, COST_MONEY, DEAREST, OF_USER, N_FINDINGS };

struct digest_heads {
	char lost[32], cost[32];
	struct site_column accounts[N_ACCOUNTS], findings[N_FINDINGS];
};

/* Begins zeroed, and stays where it is. */
struct found {
	struct site_table t[SECTIONS];
	unsigned of[SECTIONS];	/* how many rows there are; of a list t has the first DIGEST_ROWS */
	struct advice_sum help; /* the contacts of the last 8 weeks */
	struct digest_heads heads;
};

/* 0 or -errno, said; site_digest__free() in both cases. */
int site_digest__find(struct digest *d, struct found *f);
void site_digest__free(struct found *f);

/* Of TOTAL or BEFORE; NaN: not known. */
double site_digest__total(const struct found *f, enum section s, unsigned column);

#endif
