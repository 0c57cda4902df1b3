// SPDX-License-Identifier: GPL-2.0-only
/* The report on the window of a step in which a command ran, of the rows that the step's journal
 * has of that time. */
#include "cmd/jobprof/report/report.h"
#include "cmd/jobprof/run/journal_file.h"
#include "cmd/jobprof/run/run_window.h"

static struct report_opts how_of(const struct window *w)
{
	return (struct report_opts){
		.is_run = true,
		.name = w->command ? w->command : w->argv[0],
		.more = "run it with --json",
		.lines_after = 2,
	};
}

static int make_file(struct journal_file *f, const struct window *w)
{
	const struct nodestep_window rows = {w->before.time_ns, w->after.time_ns};

	return journal_file__make(f, w->journal, &rows);
}

int window_report__print(const struct window *w)
{
	const struct report_opts how = how_of(w);
	struct journal_file f;
	int err = make_file(&f, w);

	if (!err)
		err = report__on_stderr(f.path, &how);
	journal_file__remove(&f);
	return err;
}

static int take_json(const struct report *r, void *json)
{
	*(json_t **)json = report__json(r);
	return 0;
}

json_t *window_report__json(const struct window *w)
{
	const struct report_opts how = how_of(w);
	json_t *json = NULL;
	struct journal_file f;

	if (!make_file(&f, w))
		report__judge(&(struct job_input){.path = f.path}, 1, &how, take_json, &json);
	journal_file__remove(&f);
	return json;
}
