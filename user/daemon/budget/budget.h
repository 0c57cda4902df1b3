/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The budget of the whole collector (OverheadBudget): what rests when it costs more than so many
 * percent of the CPU time that the node is busy, in which order, and when it works again. Nothing
 * here measures or attaches anything: budget/overhead.h does.
 */
#ifndef JP_DAEMON_BUDGET_BUDGET_H
#define JP_DAEMON_BUDGET_BUDGET_H

#include <stdbool.h>

/* In the order in which they rest. */
enum budget_part {
	BUDGET_STACKS,
	BUDGET_CULPRITS,
	BUDGET_WAITS,
	BUDGET_HISTOGRAMS,
	BUDGET_BIRTHS,	/* of processes: they are counted when they end */
	BUDGET_NETWORK, /* counters, from here on: exact, then in one of BUDGET_EVERY rows, then not
			 */
	BUDGET_DISKS,
	BUDGET_FILES,
	BUDGET_SWITCHES,
	BUDGET_ROWS, /* seldomer, by a factor of 2 each time; its cost is that of the daemon */
	BUDGET_PARTS
};
#define BUDGET_EVERY 10u /* rows */

struct budget_info {
	const char *name;  /* in logs, marks, the status */
	const char *label; /* of metrics */
	unsigned families; /* enum family: they rest */
	unsigned levels;   /* how often it can step down */
};
extern const struct budget_info budget_infos[BUDGET_PARTS];

/* What was used in a time, CPU seconds. */
struct budget_use {
	double s;		     /* how long */
	double busy_s;		     /* by all CPUs of the node */
	double now_s[BUDGET_PARTS];  /* by the parts as they are */
	double full_s[BUDGET_PARTS]; /* what each would have used at level 0; NAN: not known */
	double fixed_s;		     /* by what never rests */
};

struct budget {
	double percent;
	unsigned level[BUDGET_PARTS];
	double cost, allowed;	     /* of late: CPUs */
	double debt_s, probe_debt_s; /* of all, and of programs alone, that was not paid yet */
	double calm_s;		     /* how long it has had room for the part that rests last */
	double wait_s;		     /* how long it must have */
	double since_up_s, since_down_s;
	bool short_of; /* it is exceeded, and nothing is left to rest */
};

/* percent: 0: there is no budget. */
void budget__init(struct budget *b, double percent);
/* Takes what was used since the last call. True: levels have changed. */
bool budget__take(struct budget *b, const struct budget_use *u);
/* The families that rest. on: those that are sampled work at present. */
unsigned budget__resting(const struct budget *b, bool on);
/* Whether some counters are sampled. */
bool budget__samples(const struct budget *b);

#endif
