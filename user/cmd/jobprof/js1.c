/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof js1: a job in the form that jobstats stores in Slurm's AdminComment. */
#include "cmd/jobprof/js1.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/jobprof/report.h"
#include "cmd/jobprof/verbs.h"
#include "view/site/js1.h"

struct options {
	struct site_args site;
};

static const struct opt opts[] = {
	{'M', "cluster", "NAME", "the job of this cluster",
	 OPT_TEXT(struct options, site.filter.cluster)},
	OPTS_DATABASE(struct options),
	{0},
};

const struct command cmd_js1 = {
	.name = "jobprof js1",
	.usage = "[OPTION]... JOB",
	.about = "A job as jobstats stores it in Slurm's AdminComment: \"JS1:\" and JSON, "
		 "compressed\nby gzip, in base64. jobstats, Job Defense Shield and reportseff read "
		 "that.",
	.opts = opts,
};

static int put_in_child(const struct report *r, struct message *m, void *ctx)
{
	return js1__put(r, m) ? 1 : 0;
}

static int take(struct message *m, void *ctx)
{
	return js1__take(ctx, m) ? 1 : 0;
}

char *js1__of_job(const struct site_job *j, const struct site_args *a)
{
	static const struct report_opts how = {0};
	const struct profile *profile;
	struct js1 s = {0};
	const struct report_question q = {put_in_child, take, &s};
	struct profiles found;
	char *text = NULL;
	int err = site_job__profile(j, a, &found, &profile);

	if (!err && report__ask(profile->files, profile->n, &how, &q))
		err = -EIO;
	if (err) {
		js1__free(&s);
		err = js1__of_row(&s, &j->row);
	}
	if (err == -ENODATA)
		text = strdup(j->row.number[INDEX_elapsed_s] < JS1_SHORT_S ? JS1_SHORT : JS1_NONE);
	else if (!err)
		text = js1__text(&s);
	js1__free(&s);
	profiles__free(&found);
	return text;
}

static int print_job(const struct options *o, const char *job)
{
	struct site_job j;
	char *text = NULL;
	int err = site_job__find(&j, &o->site, job);

	if (err == -ENOENT)
		log_error("%s: neither the index nor a profile has this job", job);
	if (!err) {
		text = js1__of_job(&j, &o->site);
		err = text ? 0 : -ENOMEM;
	}
	if (text)
		puts(text);
	free(text);
	site_job__free(&j);
	return !err ? 0 : err == -EINVAL ? 2 : 1;
}

int verb_js1(int argc, char **argv)
{
	struct options o = {0};
	int status;

	site_args__init(&o.site, "all");
	status = options__read(&cmd_js1, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (argc - optind != 1)
		return options__wrong(&cmd_js1, "%s",
				      optind < argc ? "one job at a time" : "give a job");
	return print_job(&o, argv[optind]);
}
