/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the collector costs the node, and what comes of it: the kernel's statistics say now and then
 * for a moment what a run of each BPF program takes, and how often it runs; between these looks the
 * node's counts of switches and forks do. The daemon and its children are a slot of their own. The
 * budget (budget/budget.h) decides, and each of its decisions is in the log and in the files of the
 * steps that run.
 */
#ifndef JP_DAEMON_BUDGET_OVERHEAD_H
#define JP_DAEMON_BUDGET_OVERHEAD_H

#include <stdint.h>

#include "daemon/budget/budget.h"
#include "daemon/step/step.h"

#define OVERHEAD_EVENTS	  64
#define OVERHEAD_PROGRAMS 64

struct overhead_event {
	uint64_t boot_ns;
	enum budget_part part;
	unsigned level;
	double percent; /* what all cost before, of the busy cores */
};

struct overhead_program {
	double per_s, ns; /* runs; what one takes; 0: not known */
};

struct overhead {
	struct budget budget;
	struct overhead_event event[OVERHEAD_EVENTS]; /* a ring */
	unsigned nevents;
	uint64_t since_ns[BUDGET_PARTS];      /* when its level changed last */
	uint64_t last_ns, next_ns;	      /* looks at the node's counts; 0: none yet */
	uint64_t busy_ticks, switches, forks; /* as of the last look */
	double switches_s, forks_s;	      /* a second */
	/* statistics of the programs */
	int stats; /* holds them on; 0: they are off */
	uint64_t stats_ns, next_stats_ns;
	double wait_stats_s; /* between two looks */
	struct kern_prog before[OVERHEAD_PROGRAMS];
	unsigned nbefore;
	struct overhead_program program[OVERHEAD_PROGRAMS];
	double stats_switches_s, stats_forks_s; /* at the last one */
	double switch_ns; /* a run of the program of switches while nothing of it rested */
	double fork_ns;	  /* a run of the program of forks */
	/* the daemon's own */
	uint64_t own_boot_ns, own_ns, stack_ns;
	double own, stack; /* CPUs */
	unsigned rows;	   /* samples taken, which count the rows that are sampled */
	bool on;	   /* what is sampled works at present */
	double percent;	   /* what all cost of late, of the busy cores; NAN: not known */
	uint64_t short_ns; /* since when nothing is left to rest */
};

/* percent: OverheadBudget; 0: nothing is measured, and nothing rests. */
void overhead__init(struct overhead *o, double percent);
/* A new budget: all works again. */
void overhead__set(struct overhead *o, struct step_env *env, double percent);
/* Does what is due. */
void overhead__turn(struct overhead *o, struct step_env *env, uint64_t now_ns);
/* When overhead__turn() is due; UINT64_MAX: never. */
uint64_t overhead__due(const struct overhead *o);
/* Called before and after the rows of a snapshot are written. */
void overhead__before_rows(struct overhead *o, const struct step_env *env);
void overhead__after_rows(struct overhead *o, const struct step_env *env);

#define OVERHEAD_PHRASE 48
/* What the level of a part means, as in "culprits rest". */
void overhead__phrase(enum budget_part part, unsigned level, char text[OVERHEAD_PHRASE]);
/* Writes what rested from since_ns on, and why; "": nothing. */
void overhead__text(const struct overhead *o, uint64_t since_ns, char *text, size_t len);

#endif
