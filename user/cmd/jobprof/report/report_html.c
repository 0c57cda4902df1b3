/* SPDX-License-Identifier: GPL-2.0-only */
/* The report as one file for a browser. */
#include "cmd/jobprof/report/report_html.h"

#include <stdlib.h>

#include "cmd/jobprof/html_page.h"
#include "view/report/report_series.h"

/* The report's JSON without what is of every unit and every bin: `page` has what is drawn of it. */
static json_t *page_json(const struct report *r)
{
	json_t *o = report__json(r);

	json_object_del(o, "units");
	json_object_del(o, "bins");
	json_object_set_new(o, "page", report_series__json(r));
	return o;
}

int report_html__write(const struct report *r, const char *path, const struct job_input *inputs,
		       unsigned n)
{
	char *template = html_page__template();
	int status = template ? html_page__write(path, template, page_json(r), inputs, n) : 1;

	free(template);
	return status;
}
