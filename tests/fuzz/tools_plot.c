/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws columns of one fuzzed file, and compares its job with itself. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/job/compare_job.h"
#include "tests/fuzz/tools.h"
#include "view/compare/compare.h"
#include "view/plot/plot.h"

static void draw(const struct plot *p)
{
	const struct plot_text forms[] = {{80, 24, true, true}, {40, 12, false, false}};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; out && i < sizeof(forms) / sizeof(*forms); i++)
		plot__print(p, &forms[i], out);
	if (out)
		plot__svg(p, out);
	json_decref(plot__json(p));
	if (out)
		fclose(out);
	free(text);
}

void tools__plot(const struct model_file *f)
{
	static const char *const series[] = {"Tasks", "Step", "Energy", "Network"};
	static const char *const columns[] = {"RSS", "CPUTime", "Power", "TimeNS"};
	const struct selection all = {0};

	for (size_t i = 0; i < 16; i++) {
		const struct column_query q = {
			.series = series[i / 4], .column = columns[i % 4], .sel = &all};
		struct curve curve;
		const struct plot_curve plotted = {&curve, "a file"};
		const struct plot p = {series[i / 4], &plotted, 1};

		if (!curve__read(&curve, f, &q, 100))
			draw(&p);
		curve__free(&curve);
	}
}

static void print(const struct compared_job *a, const struct comparison *c)
{
	static const char *const notes[] = {NULL};
	static const char why[N_TERMS][160];
	const struct compare_page p = {.a = a, .b = a, .c = c, .why = why, .notes = notes};
	json_t *json = compare__json(&p);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	json_decref(json);
	if (!out)
		return;
	compare__print(&p, out);
	fclose(out);
	free(text);
}

void tools__compare(const struct model_job *j)
{
	const struct model_job *jobs[] = {j};
	struct compare_how how;
	struct compared_job a;
	struct comparison c;

	if (compare_job__refuse(j))
		return;
	how = compare_job__how(jobs, 1);
	if (!compare_job__of(&a, j, &how)) {
		compare__of(&c, &a.run, &a.run);
		print(&a, &c);
	}
	compared_job__free(&a);
}
