/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of one job: its profile as far as who asks may see it, and what Open OnDemand asks a
 * Grafana for, a picture of one quantity over time. */
#ifndef JP_CMD_JOBPROF_SERVE_PANEL_H
#define JP_CMD_JOBPROF_SERVE_PANEL_H

#include "base/string_list.h"
#include "http/http.h"

/* The files of the job's profile; of a running job those of its steps so far. user: who asks; NULL:
 * the user of this process, about own jobs. 0; -ENOENT: there is no such job, or none that the user
 * may see, or no profile. */
int serve_panel__files(struct string_list *files, const char *user, const char *job);

/* Prints the report of these files as a page, with this shell. 0, or the exit status. */
int serve_panel__report(const struct string_list *files, const char *shell);

/* Of an address that begins as Grafana's do, /d/ or /d-solo/: the job in its arguments. NULL: it
 * has none, or an argument that is none of Grafana's. */
const char *serve_panel__of_grafana(const struct http_address *a);
/* Prints the page of the panel that the address asks for; style: the address of the style. 0, or
 * the exit status. */
int serve_panel__panel(const struct http_address *a, const struct string_list *files,
		       const char *style);

/* Runs a verb with its output in a file of its own. Its exit status; *fd: the output, or -1. */
int serve_panel__run(int (*verb)(int argc, char **argv), int argc, char **argv, int *fd);

#endif
