/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a job, one line each: the first page about a job file. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/escape.h"
#include "base/json.h"
#include "identity/stepname.h"
#include "view/view.h"

static void print_cell(double v, const char *fmt, int width, FILE *out)
{
	char buf[32] = "?";

	if (!isnan(v))
		snprintf(buf, sizeof(buf), fmt, v);
	fprintf(out, " %*s", width, buf);
}

void step_line__print_head(FILE *out)
{
	fprintf(out, "%-12s %7s %7s %10s %12s %6s %11s %12s %12s\n", "step", "nodes", "tasks",
		"wall s", "CPU s", "CPU %", "max RSS MiB", "read MiB", "write MiB");
}

void step_line__print(const struct model_step *s, FILE *out)
{
	const char *name = stepname__human(s->name);

	print__escaped(out, name);
	for (size_t n = strlen(name); n < 12; n++)
		putc(' ', out);
	fprintf(out, " %7u", s->nodes);
	print_cell(s->tasks, "%.0f", 7, out);
	print_cell(s->wall_s, "%.1f", 10, out);
	print_cell(s->cpu_s, "%.2f", 12, out);
	print_cell(100 * step_efficiency__of(s), "%.1f", 6, out);
	print_cell(s->max_rss_mb, "%.1f", 11, out);
	print_cell(s->read_mb, "%.1f", 12, out);
	print_cell(s->write_mb, "%.1f", 12, out);
	if (s->damaged)
		fprintf(out, "  (%u damaged)", s->damaged);
	putc('\n', out);
}

json_t *step_line__json(const struct model_step *s)
{
	json_t *obj = json_object();

	json_object_set_new(obj, "step", json__text(stepname__human(s->name)));
	json_object_set_new(obj, "nodes", json_integer(s->nodes));
	json_object_set_new(obj, "damaged_nodes", json_integer(s->damaged));
	JSON_NUMBERS(obj, {"tasks", s->tasks}, {"wall_s", s->wall_s}, {"cpu_s", s->cpu_s});
	JSON_NUMBERS(obj, {"cpu_efficiency", step_efficiency__of(s)}, {"max_rss_mb", s->max_rss_mb},
		     {"read_mb", s->read_mb}, {"write_mb", s->write_mb});
	return obj;
}
