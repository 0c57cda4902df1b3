/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof seff, and the program seff: what a job or an array used, in the lines of Slurm's seff. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/site_job.h"
#include "cmd/jobprof/verbs.h"
#include "view/site/seff.h"

/* Exit statuses of Slurm's seff. */
enum { DONE, WRONG_USAGE, NOT_FOUND, BAD_ARRAY };

struct options {
	struct site_args site;
	const char *ignored;
	bool array, debug, version;
};

static const struct opt opts[] = {
	{'a', "array", NULL, "the sum of all tasks of the array", OPT_FLAG(struct options, array)},
	{'d', "debug", NULL, "first a line of the values that the others are made of",
	 OPT_FLAG(struct options, debug)},
	{'v', "version", NULL, "the version of seff whose lines these are",
	 OPT_FLAG(struct options, version)},
	{'f', "f", "FILE", NULL,
	 OPT_TEXT(struct options, ignored)}, /* ignored, as by Slurm's seff */
	{'M', "cluster", "NAME", "the job of this cluster",
	 OPT_TEXT(struct options, site.filter.cluster)},
	OPTS_DATABASE(struct options),
	{0},
};

const struct command cmd_seff = {
	.name = "jobprof seff",
	.usage = "[OPTION]... JOB",
	.about = "What a job used of its cores and memory, line by line as Slurm's seff prints "
		 "it,\nits use of GPUs, its waits for a CPU and its worst finding. Also of a "
		 "job\nthat runs. The status is 1 for wrong usage, 2 where there is no such "
		 "job, 3 for\na task of an array without a number.",
	.opts = opts,
};

static int not_found(void)
{
	fputs("Job not found.\n", stderr);
	return NOT_FOUND;
}

/* The number of an array is that of one of its tasks, too, which is what Slurm's seff prints. */
static void hint(const struct row *r, const char *job)
{
	uint32_t id;

	if (!parse_u32(job, &id) && r->number[INDEX_array_id] == id)
		log_info("%u is an array, and this its task %.0f: -a adds up all tasks", id,
			 r->number[INDEX_array_task]);
}

static int print_job(const struct options *o, const char *job)
{
	struct site_job j;
	int err = site_job__find(&j, &o->site, job), status = NOT_FOUND;
	const struct seff_job seff = {&j.row, site_job__group(j.row.text[INDEX_user]), j.is_running,
				      j.is_live};

	if (err == -EINVAL)
		status = WRONG_USAGE;
	else if (err == -ENOENT)
		not_found();
	if (!err && j.row.number[INDEX_array_id] > 0 && isnan(j.row.number[INDEX_array_task])) {
		fprintf(stderr, "Badly formatted array jobid %.0f with task_id = -2\n",
			j.row.number[INDEX_array_id]);
		status = BAD_ARRAY;
	} else if (!err) {
		hint(&j.row, job);
		if (o->debug)
			seff__print_raw(&seff, stdout);
		seff__print(&seff, stdout);
		status = DONE;
	}
	site_job__free(&j);
	return status;
}

/* ---- arrays, whose tasks only an index knows */

static unsigned tasks_of_cluster(const struct row *rows, unsigned n)
{
	unsigned k = 1;

	while (k < n && !strcmp(rows[k].text[INDEX_cluster], rows[0].text[INDEX_cluster]))
		k++;
	return k;
}

static int print_rows(const struct row_list *rows)
{
	unsigned n;

	for (unsigned i = 0; i < rows->n; i += n) {
		const struct row *first = &rows->v[i];

		n = tasks_of_cluster(first, rows->n - i);
		if (i)
			putchar('\n');
		seff__print_array(first, n, site_job__group(first->text[INDEX_user]), stdout);
	}
	return DONE;
}

/* Opens the index; the user's own is made if there is none, and brought up to date. */
static int print_array(struct options *o, const char *array)
{
	struct row_list rows = {0};
	struct viewer viewer;
	struct index ix;
	uint32_t id;
	int status = NOT_FOUND, err;

	if (parse_u32(array, &id)) {
		log_error("%s: give the number of an array", array);
		return WRONG_USAGE;
	}
	if (site_args__open(&o->site, &ix, &viewer))
		return NOT_FOUND;
	err = index__find_array(&ix, id, o->site.filter.cluster, &viewer, &rows);
	if (!err)
		err = site_job__check_user(&rows, true, array);
	if (!err)
		status = rows.n ? print_rows(&rows) : not_found();
	row_list__free(&rows);
	index__close(&ix);
	return status;
}

/* ---- the verb and the program */

int verb_seff(int argc, char **argv)
{
	struct options o = {0};
	int status;

	site_args__init(&o.site, "all");
	status = options__read(&cmd_seff, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status ? WRONG_USAGE : DONE;
	if (o.version) {
		printf("seff Version 2.1 (jobprof %s)\n", JOBPROF_VERSION);
		return WRONG_USAGE; /* as Slurm's */
	}
	if (argc - optind != 1) {
		options__wrong(&cmd_seff, "%s", optind < argc ? "one job at a time" : "give a job");
		return WRONG_USAGE;
	}
	return o.array ? print_array(&o, argv[optind]) : print_job(&o, argv[optind]);
}

static int print_usage(void)
{
	puts("Usage: seff [Options] <Jobid>\n"
	     "       Options:\n"
	     "       -h    Help menu\n"
	     "       -v    Version\n"
	     "       -d    Debug mode: display raw Slurm data\n"
	     "       -a    Sum of a job array");
	return WRONG_USAGE;
}

int seff__main(int argc, char **argv)
{
	log__init("seff", LOGL_INFO);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			return print_usage();
	if (argc < 2)
		return print_usage();
	return verb_seff(argc, argv);
}
