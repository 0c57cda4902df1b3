/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room findings: what held a job back. Rules, written in Lua (rules.lua, and a site's own in
 * /etc/jobprof/rules.lua), judge the facts of a report (analysis/job/facts.h); each finding has its
 * cost, what was observed, how to read that and what to change. live.h judges jobs that run.
 * Nothing here reads a profile.
 */
#ifndef JP_FINDINGS_FINDINGS_H
#define JP_FINDINGS_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/job/facts.h"
#include "base/string_list.h"

#define FINDING_TIMES 8 /* at most */

enum severity { SEVERITY_NOTE, SEVERITY_WARN, SEVERITY_BAD };

const char *severity__name(enum severity s); /* "note" */

/* What a remedy is: words; words and a line of a job script; words and a command of a shell. */
enum remedy_kind { REMEDY_SENTENCE, REMEDY_LINE, REMEDY_COMMAND };

const char *remedy_kind__name(enum remedy_kind k); /* "line" */

struct finding {
	char *id; /* "cpu.stacked" */
	enum severity severity;
	double cost_core_s; /* core-seconds lost; NaN: a finding that costs none of these */
	double saving;	    /* share of the wall time that could be saved at best; NaN: not known */
	bool at_least;	    /* both are lower bounds, because a part cannot be known from outside */
	char *text;	    /* what was observed and how to read that, one paragraph */
	char *remedy;	    /* what to change; "": nothing in the job */
	enum remedy_kind kind;
	char *code; /* the end of the remedy that is a line or a command, to be copied; "": none */
	/* Of the number that this sets: the least (or most) that this job needs, what it used and
	 * what it had asked for, in the unit of the rule's many; NaN: there is none. */
	double needs, used, asked;
	char *where; /* "ranks 0-15 on n1"; "": the whole job */
	double times[FINDING_TIMES]
		    [2]; /* from and to, s since the start, ascending; none: all the time */
	size_t ntimes;
	char *source; /* where the threshold is from */
};

/* The begin of the first and the end of the last of its times; NaN: all the time. */
double finding__from_s(const struct finding *f);
double finding__to_s(const struct finding *f);

/* A rule that gave no finding. */
struct rule_verdict {
	char *id;
	bool judged;  /* else something that it needs is not known */
	char *reason; /* "cpu_share 0.93 is not below 0.8", "needs wait_s: no family sched" */
};

struct verdict {
	/* Ordered by cost, the highest first, then notes without a cost. Costs add up to the core
	 * time at most. */
	struct finding *findings;
	size_t nfindings;
	struct rule_verdict *others;
	size_t nothers;
	unsigned nrules;	   /* all that are not switched off */
	struct string_list errors; /* of broken rules: "FILE:LINE: what"; one line each */
};

/* A site's rules as they were read. */
struct rules_text {
	char *text; /* NULL: there are none */
	size_t len;
	int err; /* why */
};
/* Reads a site's rules, for a process that gives up its rights before it judges. site: as in
 * rules_options. */
void rules_text__read(struct rules_text *t, const char *site);
void rules_text__free(struct rules_text *t);
/* Of the site's rules and the built-in ones: another one where one of them is another one. */
uint64_t rules_text__digest(const struct rules_text *t);
/* Whether rules with these texts can have given this to be copied: its words, up to their "=",
 * stand in them. */
bool rules_text__has_code(const struct rules_text *t, const char *code);

struct rules_options {
	const char *builtin; /* a file; NULL: rules.lua as it was when the program was built */
	const char *site;    /* NULL: /etc/jobprof/rules.lua where it is; "": none */
	const struct rules_text *text; /* the site's rules; NULL: the file is read */
};

/* Judges the facts. 0; -ENOMEM; -errno: a file named in the options cannot be read. A broken rule
 * is an error of the verdict and hides no other. verdict__free() in all cases. */
int rules__judge(struct verdict *out, const struct facts *f, const struct rules_options *o);
/* How findings of one rule in many jobs are one. */
struct rule_many {
	const char *id;
	enum remedy_kind kind;
	const char *unit;     /* "MiB", "s" or a noun; NULL: it sets no number */
	bool highest_is_safe; /* of what the jobs need; else the lowest */
	const char *column;   /* of the index: what a job without this finding used; or NULL */
};

/* Returns 0 to go on. The texts are there during the call. */
typedef int rule_many_take(void *arg, const struct rule_many *m);
/* Of each rule, of the site's, too. 0, -errno, or what take returned below 0. */
int rules__each_many(rule_many_take *take, void *arg);

/* How many rules were judged; the others lacked a value. */
unsigned verdict__judged(const struct verdict *v);
/* For people: why a file of rules was not read. */
const char *rules_file__reason(int err);
void verdict__free(struct verdict *v);

#endif
