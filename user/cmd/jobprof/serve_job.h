/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of jobs that serve makes of their profiles. */
#ifndef JP_CMD_JOBPROF_SERVE_JOB_H
#define JP_CMD_JOBPROF_SERVE_JOB_H

#include "cmd/jobprof/serve_page.h"

/* /job/ID: the page of report --html; of a job without a profile that can be read, what the index
 * has. Returns the status, as serve_page__answer(). */
int serve_job__one(const struct serve_site *s, const struct http_request *r, const char *id,
		   enum http_type *type);
/* As Open OnDemand asks a Grafana: /d/UID/NAME/ is the job's page, /d-solo/UID/NAME/ a panel. */
int serve_job__grafana(const struct serve_site *s, const struct http_request *r, bool is_panel,
		       enum http_type *type);
/* /compare?jobs=A,B: the page of compare --html; with more jobs, of the first two. */
int serve_job__compare(const struct serve_site *s, const struct http_request *r,
		       enum http_type *type);

#endif
