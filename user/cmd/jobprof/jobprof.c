/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof: the verbs of users and analysts. */
#include <stdbool.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/program.h"
#include "base/read_note.h"
#include "base/str.h"
#include "cmd/sh5util/sh5util.h"
#include "cmd/jobprof/verbs.h"

struct verb {
	const char *name;
	int (*fn)(int argc, char **argv);
	const struct command *command;
	const char *help;
};

static const struct verb verbs[] = {
	{"advice", verb_advice, &cmd_advice, "what to change in many jobs, and whether it helped"},
	{"apps", verb_apps, &cmd_apps, "applications: how long they run, and what has changed"},
	{"calibrate", verb_calibrate, &cmd_calibrate,
	 "the most that this node can do: memory, arithmetic, disk, network"},
	{"cluster", verb_cluster, &cmd_cluster, "which kinds of bursts of computation there are"},
	{"compare", verb_compare, &cmd_compare, "why one run took longer than another"},
	{"contacted", verb_contacted, &cmd_contacted, "note that support has written to a user"},
	{"digest", verb_digest, &cmd_digest, "what the jobs of a week lost, and whom to write to"},
	{"emit", verb_emit, &cmd_emit, "values of your own into the profile of this step"},
	{"expire", verb_expire, &cmd_expire,
	 "removes profiles by age, and by a quota of each user"},
	{"exporter", verb_exporter, &cmd_exporter, "metrics of this node's jobs, for Prometheus"},
	{"extract", verb_extract, &cmd_extract, "tables of a profile as CSV, JSON or text"},
	{"find", verb_find, &cmd_find, "what a word is: a job, user, project, node or name"},
	{"flame", verb_flame, &cmd_flame,
	 "the functions that a profile's tasks were in, as a flame graph"},
	{"fold", verb_fold, &cmd_fold,
	 "what happens inside of a region that is executed many times"},
	{"index", verb_index, &cmd_index, "the database of all jobs: scan, check, remake"},
	{"issues", verb_issues, &cmd_issues, "PIKA's issues of users, projects and programs"},
	{"items", verb_items, &cmd_items, "one column over all nodes, side by side and by time"},
	{"jobs", verb_jobs, &cmd_jobs, "a table of jobs: what each held, lost, and why"},
	{"js1", verb_js1, &cmd_js1, "a job as jobstats has it in Slurm's AdminComment"},
	{"list", verb_list, &cmd_list, "the columns of a profile, and what each does not see"},
	{"live", verb_live, &cmd_live, "the last rows of steps that run on this node"},
	{"mail", verb_mail, &cmd_mail, "Slurm's MailProg: mails on jobs, with what they used"},
	{"mark", verb_mark, &cmd_mark, "a named instant into the profile of this step"},
	{"merge", verb_merge, &cmd_merge, "the node-step files of a job into one job file"},
	{"node", verb_node, &cmd_node, "who was on a node with whom, and who waited for whom"},
	{"nodes", verb_nodes, &cmd_nodes,
	 "all nodes by the hour: how busy, how fast, what changed"},
	{"plot", verb_plot, &cmd_plot, "a column over time, in the terminal, as SVG or HTML"},
	{"reduce", verb_reduce, &cmd_reduce,
	 "a series of all nodes as moments, histograms and a sample"},
	{"report", verb_report, &cmd_report,
	 "what held a job back, what that cost, what to change"},
	{"run", verb_run, &cmd_run, "run a command and profile it"},
	{"running", verb_running, &cmd_running, "the jobs that run: what holds each back now"},
	{"seff", verb_seff, &cmd_seff, "what a job used, in the lines of Slurm's seff"},
	{"sensors", verb_sensors, &cmd_sensors,
	 "what this node measures of energy, power and the like"},
	{"serve", verb_serve, &cmd_serve, "all jobs as pages for a browser"},
	{"show", verb_show, &cmd_show, "one page about a node-step or job file"},
	{"site", verb_site, &cmd_site, "the pages of serve as files, for a web server alone"},
	{"top", verb_top, &cmd_top, "what jobs on this node do now, as top shows processes"},
	{"track", verb_track, &cmd_track, "kinds of bursts over windows of time or over runs"},
	{"usage", verb_usage, &cmd_usage, "what users, projects and programs held and lost"},
	{"findings", verb_findings, &cmd_findings,
	 "which findings cost most, and who was written to"},
};

#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int help(FILE *out)
{
	fprintf(out, "usage: jobprof VERB [OPTION]... [ARGUMENT]...\n\n");
	for (size_t i = 0; i < N_VERBS; i++)
		fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	fprintf(out, "\nTo begin with: jobprof run CMD. \"jobprof help VERB\" tells more.\n");
	return out == stdout ? 0 : 2;
}

static int unknown_verb(const char *word)
{
	const char *names[N_VERBS + 1] = {"help"};
	const char *near;

	for (size_t i = 0; i < N_VERBS; i++)
		names[i + 1] = verbs[i].name;
	near = str__nearest(word, names, N_VERBS + 1);
	if (near)
		log_error("unknown verb \"%s\"; did you mean \"%s\"?", word, near);
	else
		log_error("unknown verb \"%s\"; \"jobprof help\" lists them", word);
	return 2;
}

/* The program also answers to other names: of Slurm's tools, and of what slurm.conf calls. */
static bool is_called(const char *path, const char *name)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return path && !strcmp(slash ? slash + 1 : path, name);
}

static int start_verb(const struct verb *v, int argc, char **argv)
{
	static char name[32];
	int status;

	snprintf(name, sizeof(name), "jobprof %s", v->name);
	log__init(name, LOGL_INFO);
	status = v->fn(argc, argv);
	read_note__say_doubts();
	return status;
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < N_VERBS; i++)
		if (!strcmp(name, verbs[i].name))
			return &verbs[i];
	return NULL;
}

/* jobprof help VERB */
static int help_verb(const char *name)
{
	char *args[] = {(char *)name, "--help", NULL};
	const struct verb *v = find_verb(name);

	return v ? start_verb(v, 2, args) : unknown_verb(name);
}

/* What an option takes, after it and after "=", and behind the last comma of a list. */
static void print_value_completion(void)
{
	printf("\t[ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD-2]}\n"
	       "\t[ \"$word\" != = ] || word=\n"
	       "\tcase \"${COMP_WORDS[1]} $before\" in\n");
	for (size_t i = 0; i < N_VERBS; i++)
		options__value_cases(verbs[i].command, verbs[i].name, stdout);
	printf("\tesac\n"
	       "\tcase $word in *,*) list=${word%%,*}, ;; esac\n"
	       "\tif [ -n \"$values\" ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -P \"$list\" -W \"$values\" -- \"${word##*,}\"))\n"
	       "\t\treturn\n"
	       "\tfi\n");
}

/* Prints a script for bash with all verbs and their options. */
static int print_completion(void)
{
	printf("_jobprof()\n{\n"
	       "\tlocal words values before=$3 word=$2 list=\n\n"
	       "\tCOMPREPLY=()\n"
	       "\tcase \" ${COMP_WORDS[*]:1:COMP_CWORD-1} \" in *' -- '*) return ;; esac\n");
	print_value_completion();
	printf("\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < N_VERBS; i++) {
		printf("\t%s) words='", verbs[i].name);
		options__words(verbs[i].command, stdout);
		printf("' ;;\n");
	}
	printf("\tesac\n"
	       "\t[ \"$COMP_CWORD\" -gt 1 ] || words='help --help --version");
	for (size_t i = 0; i < N_VERBS; i++)
		printf(" %s", verbs[i].name);
	printf("'\n"
	       "\t[ \"${COMP_WORDS[1]}\" != help ] || words='");
	for (size_t i = 0; i < N_VERBS; i++)
		printf("%s ", verbs[i].name);
	printf("'\n"
	       "\tcase $2 in\n"
	       "\t-*) COMPREPLY=($(compgen -W \"$words\" -- \"$2\")) ;;\n"
	       "\t*) [ \"$COMP_CWORD\" -gt 1 ] && [ \"${COMP_WORDS[1]}\" != help ] ||\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$2\")) ;;\n"
	       "\tesac\n}\n"
	       "complete -o default -F _jobprof jobprof\n");
	return 0;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int run_verb(int argc, char **argv)
{
	const struct verb *v;

	if (is_called(argv[0], "sh5util"))
		return sh5util__main(argc, argv);
	if (is_called(argv[0], "seff"))
		return seff__main(argc, argv);
	if (is_called(argv[0], "jobprof-mail"))
		return start_verb(find_verb("mail"), argc, argv);
	log__init("jobprof", LOGL_INFO);
	if (argc < 2)
		return help(stderr);
	if (!strcmp(argv[1], "help") && argc > 2 && !is_help(argv[2]))
		return help_verb(argv[2]);
	if (is_help(argv[1]))
		return help(stdout);
	if (!strcmp(argv[1], "--completion"))
		return print_completion();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("jobprof %s\n", JOBPROF_VERSION);
		return 0;
	}
	v = find_verb(argv[1]);
	return v ? start_verb(v, argc - 1, argv + 1) : unknown_verb(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

	/* jobprofd starts a merge as the job's user: by tracing the merge, that user could get into
	 * the cgroup of jobprofd */
	program__close_to_user();
	status = run_verb(argc, argv);

	if (!fflush(stdout) && !ferror(stdout))
		return status;
	log_error("cannot write the output: %s", strerror(errno));
	return status ? status : 1;
}
