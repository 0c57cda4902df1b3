/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job over time, the clusters of bursts, and the folded region. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "analysis/status.h"
#include "base/escape.h"
#include "base/json.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

#define COLUMNS	 44
#define MB_LEAST 1 /* MB in all; less has no row without --all, for a row has its own scale */

/* Computes a fact per column: amounts per second, gauges as means. A bin counts by the part of it
 * that the column covers. */
static void resample(const struct facts *f, enum fact fact, bool amount, double *columns)
{
	const double *start = f->values[FACT_BIN_start_s], *span = f->values[FACT_BIN_span_s];
	size_t n = f->count[SCOPE_BIN];
	double wall = start[n - 1] + span[n - 1];

	for (int c = 0; c < COLUMNS; c++) {
		double from = wall * c / COLUMNS, to = wall * (c + 1) / COLUMNS, sum = 0,
		       weight = 0;

		for (size_t k = 0; k < n; k++) {
			double v = f->values[fact][k],
			       s = fmin(to, start[k] + span[k]) - fmax(from, start[k]);

			if (s <= 0 || isnan(v))
				continue;
			sum += (amount ? v / span[k] : v) * s;
			weight += s;
		}
		columns[c] = weight > 0 ? sum / weight : NAN;
	}
}

static double max_of(const double *v, double *sum)
{
	double max = 0;

	*sum = 0;
	for (int c = 0; c < COLUMNS; c++) {
		max = fmax(max, v[c]);
		*sum += isnan(v[c]) ? 0 : v[c];
	}
	return max;
}

/* Prints a row; scale: the value at its top, NaN: the highest value. */
static void print_row(const struct report *r, const char *name, enum fact fact, bool amount,
		      double scale, const char *detail, FILE *out)
{
	double columns[COLUMNS], max, sum, wall = facts__job(r->facts, FACT_JOB_wall_s);
	report_number text;

	resample(r->facts, fact, amount, columns);
	max = max_of(columns, &sum);
	if (!(max > 0) || (!detail && !r->all && sum * wall / COLUMNS < MB_LEAST))
		return;
	fprintf(out, "  %-10s ", name);
	spark__print(out, columns, COLUMNS, isnan(scale) ? max : scale, r->utf8);
	if (detail)
		fprintf(out, "  %s\n", detail);
	else
		fprintf(out, "  max %s\n", report_text__rate(max, text));
}

static void print_cpu(const struct report *r, FILE *out)
{
	double cores = facts__job(r->facts, FACT_JOB_cores), columns[COLUMNS], sum;
	char detail[64];

	if (isnan(cores)) {
		resample(r->facts, FACT_BIN_cpu_s, true, columns);
		snprintf(detail, sizeof(detail), "max %.1f cores", max_of(columns, &sum));
	} else {
		snprintf(detail, sizeof(detail), "of %.0f %s%s", cores, report_head__core(r),
			 report_text__s(cores));
	}
	print_row(r, "CPU", FACT_BIN_cpu_s, true, cores, detail, out);
}

/* Writes an instant: the time of day where the start is known and the run is not short, with the
 * day if there are several; else the time since the start. */
static void print_instant(const struct facts *f, double s, char *text, size_t size)
{
	double wall = facts__job(f, FACT_JOB_wall_s);
	time_t t = (time_t)(f->start_ns / 1e9 + s);
	struct tm tm;
	report_number buf;

	if (wall >= 600 && f->start_ns > 0 && f->start_ns < 1e19 && localtime_r(&t, &tm))
		strftime(text, size, wall < 86400 ? "%H:%M" : "%b %-d %H:%M", &tm);
	else
		snprintf(text, size, "%s", report_text__time(s, buf));
}

static void print_axis(const struct facts *f, FILE *out)
{
	double wall = facts__job(f, FACT_JOB_wall_s);
	char first[REPORT_NUMBER], middle[REPORT_NUMBER], last[REPORT_NUMBER];
	int gap;

	print_instant(f, 0, first, sizeof(first));
	print_instant(f, wall / 2, middle, sizeof(middle));
	print_instant(f, wall, last, sizeof(last));
	gap = COLUMNS / 2 - (int)strlen(first) - (int)strlen(middle) / 2;
	fprintf(out, "\n%-13s%s%*s%s%*s\n", "Over time", first, gap > 1 ? gap : 1, "", middle,
		COLUMNS - COLUMNS / 2 - (int)strlen(middle) / 2, last);
}

void report_time__print(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	double limit = facts__job(f, FACT_JOB_limit_mb), nodes = facts__job(f, FACT_JOB_nodes);
	double gpus = facts__job(f, FACT_JOB_gpus);
	char memory[96];
	report_number size;

	if (f->count[SCOPE_BIN] < 2)
		return;
	print_axis(f, out);
	print_cpu(r, out);
	if (isnan(limit))
		snprintf(memory, sizeof(memory), "without files");
	else
		snprintf(memory, sizeof(memory), "of %s", report_text__mb(limit * nodes, size));
	print_row(r, "memory", FACT_BIN_own_mb, false, isnan(limit) ? NAN : limit * nodes, memory,
		  out);
	if (gpus > 0)
		print_row(r, "GPU", FACT_BIN_gpu, false, 1, "of its use", out);
	print_row(r, "parallel", FACT_BIN_parallel_efficiency, false, 1, "efficiency", out);
	if (r->is_run)
		return;
	print_row(r, "read", FACT_BIN_read_mb, true, NAN, NULL, out);
	print_row(r, "written", FACT_BIN_write_mb, true, NAN, NULL, out);
	print_row(r, "block", FACT_BIN_blk_mb, true, NAN, NULL, out);
	print_row(r, "network", FACT_BIN_net_mb, true, NAN, NULL, out);
	print_row(r, "fabric", FACT_BIN_port_mb, true, NAN, NULL, out);
}

/* ---- prints the clusters of bursts, and the region that was folded */

#define CLUSTERS   5 /* clusters on a page without --all */
#define PHASES	   6 /* phases of a folded region */
#define PHASE_TEXT 1024
#define CODE	   60	  /* columns for the code of a phase */
#define LEAST	   0.0005 /* share of the run time from which a cluster has a line */

static bool has_status(const json_t *o, enum analysis_status status)
{
	return o && !strcmp(json__text_of(o, "status"), analysis_status__name(status));
}

static void print_cluster(const json_t *c, FILE *out)
{
	const json_t *code = json_object_get(c, "most_samples");
	cluster_time run, least, most, gap;
	const double gap_s = json__number_of(c, "gap_s");
	report_number n, share, part;
	report_line name;

	fprintf(out, "  %-7.7s %10s %8s  %10s  %s to %s, after %s", json__text_of(c, "name"),
		report_text__count(json__number_of(c, "bursts"), n),
		report_text__share(json__number_of(c, "share"), share),
		cluster_time__of(json__number_of(c, "run_s"), run),
		cluster_time__of(json__number_of(c, "least_run_s"), least),
		cluster_time__of(json__number_of(c, "most_run_s"), most),
		isnan(gap_s) ? "none" : cluster_time__of(gap_s, gap));
	if (json_is_object(code))
		fprintf(out, "; %s in %s",
			report_text__share(json__number_of(code, "samples") /
						   json__number_of(code, "of"),
					   part),
			report_text__cut(json__text_of(code, "name"), CODE, name));
	fputs("\n", out);
}

static void print_clusters(const struct report *r, const json_t *o, FILE *out)
{
	const json_t *list = json_object_get(o, "clusters");
	const json_t *hint = json_object_get(o, "hint");
	size_t shown = 0, n = json_array_size(list);

	if (n < 2 && !json_is_string(hint))
		return;
	fprintf(out, "\n%-10s%10s %8s  %10s  %s\n", "Bursts", "number", "of time", "run time",
		"least to most, after a wait of");
	for (size_t i = 1; i <= n; i++) { /* noise is the first one, and printed last */
		const json_t *c = json_array_get(list, i % n);

		if (!(json__number_of(c, "share") >= LEAST))
			continue;
		if (shown++ < CLUSTERS || r->all)
			print_cluster(c, out);
	}
	if (shown > CLUSTERS && !r->all)
		fprintf(out, "  and %zu more (--all)\n", shown - CLUSTERS);
	if (json_is_string(hint))
		fprintf(out, "  %s\n", json_string_value(hint));
}

/* The code of a phase; of one that mostly does not run, also what it executes otherwise. */
static const char *code_of(const json_t *phase, char text[static PHASE_TEXT])
{
	const json_t *runs = json_object_get(phase, "runs");

	snprintf(text, PHASE_TEXT, "%s%s%s", json__text_of(phase, "code"),
		 json_is_string(runs) ? "; when it runs: " : "",
		 json_is_string(runs) ? json_string_value(runs) : "");
	return text;
}

static void print_phases(const json_t *fold, FILE *out)
{
	const json_t *phases = json_object_get(fold, "phases"), *p;
	char text[PHASE_TEXT];
	report_line code;
	size_t i;

	json_array_foreach (phases, i, p) {
		if (i >= PHASES)
			break;
		fprintf(out, "  %3.0f to %3.0f %%  ", 100 * json__number_of(p, "from"),
			100 * json__number_of(p, "to"));
		fprintf(out, "%s\n", report_text__cut(code_of(p, text), CODE, code));
	}
}

static void print_fold(const json_t *fold, FILE *out)
{
	const json_t *region = json_object_get(fold, "region");
	report_number period, n;

	fputs("\nFolded     ", out);
	if (json_is_string(region))
		print__escaped(out, json_string_value(region));
	else
		fputs("iterations that were found", out);
	fprintf(out, ": %s executions of %s, %s\n",
		report_text__count(json__number_of(fold, "executions"), n),
		report_text__time(json__number_of(fold, "period_s"), period),
		json__text_of(json_object_get(fold, "validity"), "status"));
	print_phases(fold, out);
}

/* Prints why samples were not folded. */
static void print_unfolded(const json_t *fold, FILE *out)
{
	fprintf(out, "\nFolded     %s\n", json__text_of(fold, "reason"));
}

void report_clusters__print(const struct report *r, FILE *out)
{
	const struct report_besides *b = r->besides;

	if (b && has_status(b->clusters, ANALYSIS_OK))
		print_clusters(r, b->clusters, out);
	if (b && has_status(b->fold, ANALYSIS_OK))
		print_fold(b->fold, out);
	else if (b && has_status(b->fold, ANALYSIS_UNSUITABLE))
		print_unfolded(b->fold, out);
}
