// SPDX-License-Identifier: GPL-2.0-only
/* The report on the window of a step in which a command ran, of the rows that the step's journal
 * has of that time. */
#include "cmd/jobprof/report/report.h"
#include "cmd/jobprof/run/run_window.h"

static struct report_opts how_of(const struct window *w)
{
	return (struct report_opts){
		.is_run = true,
		.name = w->command ? w->command : w->argv[0],
		.more = "run it with --json FILE",
		.lines_after = 2,
	};
}

int window_report__rows(const struct window *w, struct journal_file *rows)
{
	const struct nodestep_window window = {w->before.time_ns, w->after.time_ns};

	return journal_file__make(rows, w->journal, &window);
}

int window_report__print(const struct window *w, const struct journal_file *rows)
{
	const struct report_opts how = how_of(w);

	return report__on_stderr(rows->path, &how);
}

static int take_json(const struct report *r, void *json)
{
	*(json_t **)json = report__json(r);
	return 0;
}

json_t *window_report__json(const struct window *w, const struct journal_file *rows)
{
	const struct report_opts how = how_of(w);
	json_t *json = NULL;

	report__judge(&(struct job_input){.path = rows->path}, 1, &how, take_json, &json);
	return json;
}
