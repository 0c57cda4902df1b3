/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sh5util's options: they are read, and each value is checked. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/user_name.h"
#include "cmd/sh5util/sh5util.h"

static void print_help(void)
{
	printf("Usage: sh5util [OPTION]... -j JOB[.STEP][,JOB[.STEP]]...\n\n"
	       "Merges the node-step files of a job into one file, which is the default, or\n"
	       "makes text of such a file. This is jobprof under Slurm's name; \"man sh5util\"\n"
	       "lists the differences from Slurm's own.\n\n"
	       "  -j, --jobs=LIST        the job, or steps of it: 42, 42.0,42.batch; needed\n"
	       "  -u, --user=USER        whose node-step files; a name or a number\n"
	       "  -p, --profiledir=DIR   where the users' directories are; else\n"
	       "                         ProfileHDF5Dir of acct_gather.conf\n"
	       "  -S, --savefiles        leaves the node-step files where they are\n"
	       "  -E, --extract          a series as CSV\n"
	       "  -I, --item-extract     one item of a series, all nodes side by side, as CSV\n"
	       "  -L, --list             the items of a series\n"
	       "  -i, --input=FILE       for -E, -I and -L; else ./job_JOB.h5\n"
	       "  -o, --output=FILE      else ./job_JOB.h5, ./extract_JOB.csv or\n"
	       "                         ./SERIES_ITEM_JOB.csv\n"
	       "  -s, --series=SERIES    Energy, Filesystem, Network, Tasks; Tasks/3 and Task_3\n"
	       "                         are one task\n"
	       "  -d, --data=ITEM        the item for -I\n"
	       "  -l, --level=LEVEL      Node:Totals, which is the default, or Node:TimeSeries\n"
	       "  -N, --node=NODES       only these: n1, n[1-3,7]\n"
	       "  -v, --verbose          says more\n"
	       "  -V, --version          says which version this is\n"
	       "  -h, --help, --usage    says this\n");
}

/* What was typed, before any of it is looked at. */
struct typed {
	const char *jobs, *node, *user, *level;
	unsigned verbose;
	bool help, version;
};

static const struct option longs[] = {
	{"extract", no_argument, NULL, 'E'},
	{"item-extract", no_argument, NULL, 'I'},
	{"list", no_argument, NULL, 'L'},
	{"jobs", required_argument, NULL, 'j'},
	{"input", required_argument, NULL, 'i'},
	{"output", required_argument, NULL, 'o'},
	{"profiledir", required_argument, NULL, 'p'},
	{"user", required_argument, NULL, 'u'},
	{"savefiles", no_argument, NULL, 'S'},
	{"node", required_argument, NULL, 'N'},
	{"level", required_argument, NULL, 'l'},
	{"series", required_argument, NULL, 's'},
	{"data", required_argument, NULL, 'd'},
	{"verbose", no_argument, NULL, 'v'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{"usage", no_argument, NULL, 'U'},
	{0},
};

/* False: the option has no argument. */
static bool set_text(struct sh5_options *o, struct typed *t, int c)
{
	const struct {
		char c;
		const char **to;
	} texts[] = {
		{'j', &t->jobs},  {'i', &o->input},	  {'o', &o->output},
		{'p', &o->dir},	  {'u', &t->user},	  {'N', &t->node},
		{'l', &t->level}, {'s', &o->series_text}, {'d', &o->item},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].c != c)
			continue;
		*texts[i].to = optarg;
		return true;
	}
	return false;
}

static void set_flag(struct sh5_options *o, struct typed *t, int c)
{
	if (c == 'E')
		o->mode = SH5_EXTRACT;
	else if (c == 'I')
		o->mode = SH5_ITEMS;
	else if (c == 'L')
		o->mode = SH5_LIST;
	t->verbose += c == 'v';
	o->keep |= c == 'S';
	t->version |= c == 'V';
	t->help |= c == 'h' || c == 'U';
}

static int read_options(int argc, char **argv, struct sh5_options *o, struct typed *t)
{
	int c;

	while ((c = getopt_long(argc, argv, "d:Ehi:Ij:l:LN:o:p:s:Su:UvV", longs, NULL)) != -1) {
		if (c == '?')
			return SH5_USAGE;
		if (!set_text(o, t, c))
			set_flag(o, t, c);
	}
	for (; optind < argc; optind++)
		log_warn("\"%s\" is no option and means nothing here", argv[optind]);
	return 0;
}

/* The series that jobprof and Slurm's gatherers write: a typing error is found before a file is
 * opened. */
static bool known_series(const char *name)
{
	static const char *const more[] = {"Events", "Totals"};

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (!strcmp(name, more[i]))
			return true;
	/* As with the stock tool: whether a name that begins so exists is seen in the file. */
	return series__find(name) || str__starts(name, "Task");
}

static int check_series(struct sh5_options *o)
{
	const char *table = NULL;
	int64_t task = -1;

	if (!o->series_text)
		return 0;
	if (select__series(o->series_text, o->series, sizeof(o->series), &task, &table) || table ||
	    !known_series(o->series)) {
		log_error("error: Bad value for --series=\"%s\"", o->series_text);
		return SH5_USAGE;
	}
	if (task >= 0) {
		o->task = (struct number_range){(uint64_t)task, (uint64_t)task};
		o->sel.tasks = &o->task;
		o->sel.ntasks = 1;
	}
	return 0;
}

static int check_level(struct sh5_options *o, const char *level)
{
	o->totals = !level || !strcasecmp(level, "Node:Totals");
	if (o->totals || !strcasecmp(level, "Node:TimeSeries"))
		return 0;
	log_error("error: Bad value for --level=\"%s\": it is Node:Totals or Node:TimeSeries",
		  level);
	return SH5_USAGE;
}

static int check_node(struct sh5_options *o, const char *node)
{
	char bad[128];
	int err;

	if (!node || !strcmp(node, "*"))
		return 0;
	err = hostlist__parse(&o->nodes, node, bad, sizeof(bad));
	if (err) {
		log_error("error: Bad value for --node=\"%s\"", node);
		return SH5_USAGE;
	}
	o->sel.nodes = &o->nodes;
	return 0;
}

/* A name or a number, which must be a user's: it is part of a path. */
static int check_user(struct sh5_options *o, const char *text)
{
	uint32_t uid;
	int err = text ? user_name__check(text, &o->user) : user_name__of_uid(getuid(), &o->user);

	if (err == -ENOENT && text && !parse_u32(text, &uid))
		err = user_name__of_uid(uid, &o->user);
	if (err == -ENOENT && text) {
		log_error("error: No such user --uid=\"%s\"", text);
		return SH5_USAGE;
	}
	return 0;
}

static int check_jobs(struct sh5_options *o, const char *jobs)
{
	char reason[256];
	int err;

	if (!jobs) {
		log_error("error: JobID must be specified.");
		return SH5_USAGE;
	}
	err = jobspec__parse(&o->specs, &o->nspecs, jobs, reason, sizeof(reason));
	if (!err)
		return 0;
	if (err == -EINVAL)
		log_error("error: Failed to parse job ID %s", reason);
	return SH5_USAGE;
}

static int require(const char *value, const char *option)
{
	if (value)
		return 0;
	log_error("fatal: Must specify %s", option);
	return SH5_FAILED;
}

static int check_mode(const struct sh5_options *o)
{
	int status = 0;

	if (o->mode == SH5_ITEMS)
		status = require(o->item, "data option --data");
	if (!status && o->mode != SH5_MERGE)
		status = require(o->series_text, "series option --series");
	return status;
}

static int check_all(struct sh5_options *o, const struct typed *t)
{
	int status = check_series(o);

	if (!status)
		status = check_level(o, t->level);
	if (!status)
		status = check_user(o, t->user);
	if (!status)
		status = check_jobs(o, t->jobs);
	if (!status)
		status = check_mode(o);
	if (!status)
		status = check_node(o, t->node);
	return status;
}

bool sh5__options(int argc, char **argv, struct sh5_options *o, int *status)
{
	struct typed t = {0};

	*status = read_options(argc, argv, o, &t);
	if (*status)
		return false;
	if (t.verbose)
		log__set_level(LOGL_DEBUG);
	if (t.help)
		print_help();
	else if (t.version)
		printf("jobprof %s\n", JOBPROF_VERSION);
	else
		*status = check_all(o, &t);
	return !*status && !t.help && !t.version;
}
