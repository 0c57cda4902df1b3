/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of jobprof, one file each. argv[0] is the verb; they return the exit status:
 * 0 done, 1 failed, 2 wrong usage. */
#ifndef JP_CMD_JOBPROF_VERBS_H
#define JP_CMD_JOBPROF_VERBS_H

#include "base/options.h"

int verb_run(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_items(int argc, char **argv);
int verb_list(int argc, char **argv);
int verb_merge(int argc, char **argv);
int verb_expire(int argc, char **argv);
int verb_extract(int argc, char **argv);
int verb_mark(int argc, char **argv);
int verb_emit(int argc, char **argv);
int verb_exporter(int argc, char **argv);
int verb_live(int argc, char **argv);
int verb_sensors(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_calibrate(int argc, char **argv);
int verb_compare(int argc, char **argv);
int verb_plot(int argc, char **argv);
int verb_reduce(int argc, char **argv);
int verb_flame(int argc, char **argv);
int verb_cluster(int argc, char **argv);
int verb_track(int argc, char **argv);
int verb_find(int argc, char **argv);
int verb_fold(int argc, char **argv);
int verb_advice(int argc, char **argv);
int verb_apps(int argc, char **argv);
int verb_contacted(int argc, char **argv);
int verb_digest(int argc, char **argv);
int verb_index(int argc, char **argv);
int verb_findings(int argc, char **argv);
int verb_issues(int argc, char **argv);
int verb_jobs(int argc, char **argv);
int verb_node(int argc, char **argv);
int verb_nodes(int argc, char **argv);
int verb_running(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_usage(int argc, char **argv);
int verb_site(int argc, char **argv);
int verb_serve(int argc, char **argv);
int verb_seff(int argc, char **argv);
int verb_js1(int argc, char **argv);
int verb_mail(int argc, char **argv);
/* Slurm's program under whose name jobprof may be called. */
int seff__main(int argc, char **argv);

extern const struct command cmd_run, cmd_show, cmd_items, cmd_list, cmd_merge, cmd_extract,
	cmd_mark, cmd_emit, cmd_expire, cmd_live, cmd_sensors, cmd_report, cmd_calibrate,
	cmd_compare, cmd_plot, cmd_reduce, cmd_flame, cmd_find, cmd_fold, cmd_cluster, cmd_track,
	cmd_advice, cmd_apps, cmd_contacted, cmd_digest, cmd_findings, cmd_index, cmd_issues,
	cmd_jobs, cmd_node, cmd_nodes, cmd_running, cmd_usage, cmd_seff, cmd_serve, cmd_site,
	cmd_js1, cmd_mail;
extern const struct command cmd_exporter, cmd_top;

#endif
