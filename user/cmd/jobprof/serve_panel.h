/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of one job: its profile as far as who asks may see it, and what Open OnDemand asks a
 * Grafana for, a picture of one quantity over time. */
#ifndef JP_CMD_JOBPROF_SERVE_PANEL_H
#define JP_CMD_JOBPROF_SERVE_PANEL_H

#include "base/string_list.h"
#include "http/http.h"

/* The files of the job's profile, or of a running job those of its steps so far. From then on this
 * process opens only files of the job's user. 0; -EACCES: there is no such job, or none that who
 * asks may see; -ENOENT: it has no profile here. */
int serve_panel__files(struct string_list *files, const char *job);

/* Prints the report of these files as a page, with this shell. 0, or the exit status. */
int serve_panel__report(const struct string_list *files, const char *shell);

/* Of an address that begins as Grafana's do, /d/ or /d-solo/: the job in its arguments. NULL: it
 * has none, or an argument that is none of Grafana's. */
const char *serve_panel__of_grafana(const struct http_address *a);
/* Prints the page of the panel that the address asks for; style: the address of the style. 0, or
 * the exit status. */
int serve_panel__panel(const struct http_address *a, const struct string_list *files,
		       const char *style);

#endif
