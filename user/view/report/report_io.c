/* SPDX-License-Identifier: GPL-2.0-only */
/* The character of a job's I/O as JSON and on the page. */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "view/report/report_page.h"
#include "view/report/report_reason.h"
#include "view/report/report_pika.h"
#include "view/report/report_text.h"

static const char *const cutoff_names[IO_CUTOFFS] = {"c0", "c128k", "c1m"};
static const char *const direction_names[IO_DIRECTIONS] = {"read", "write"};

/* Intervals of servers. */
struct counts {
	double used, missing;
};

static struct counts counts_of(const struct io_job *io, unsigned servers, enum io_direction d)
{
	double missing = io->missing[d];

	return (struct counts){(double)servers * io->intervals - missing, missing};
}

/* In both directions. */
static struct counts counts_of_job(const struct io_job *io, unsigned servers)
{
	struct counts r = counts_of(io, servers, IO_READ), w = counts_of(io, servers, IO_WRITE);

	return (struct counts){r.used + w.used, r.missing + w.missing};
}

static void put_head(json_t *o, struct analysis_verdict v, const struct analysis_param *params,
		     struct counts n)
{
	report_pika__put_verdict(o, v);
	report_pika__put_basis(o, params, n.used, n.missing);
}

static json_t *character_json(const struct io_job *io, unsigned servers, enum io_direction d, int i)
{
	const struct io_character *c = &io->of[d][i];
	const struct analysis_param params[] = {
		{"c", io_cutoffs[i]}, {"dt_s", io->dt_s}, {NULL, 0}};
	json_t *o = json_object();

	put_head(o, c->verdict, params, counts_of(io, servers, d));
	NAMED_NUMBERS(o, {"c", io_cutoffs[i]}, {"dt_s", io->dt_s});
	if (c->verdict.status != ANALYSIS_OK)
		return o;
	json_object_set_new(o, "io_active", json_boolean(c->is_active));
	NAMED_NUMBERS(o, {"volume", c->volume}, {"bw_max", c->bw_max}, {"bw_mean", c->bw_mean},
		      {"bw_max_server", c->bw_max_server}, {"iops_max", c->iops_max},
		      {"intensity", c->intensity}, {"l_io", c->l_io}, {"l_noio", c->l_noio},
		      {"burstiness", c->burstiness}, {"parallel", c->parallel},
		      {"parallel_norm", c->parallel_norm});
	return o;
}

static json_t *job_json(const struct io_job *io, unsigned servers)
{
	const struct analysis_param params[] = {{"dt_s", io->dt_s}, {NULL, 0}};
	json_t *o = json_object(), *one;

	put_head(o, (struct analysis_verdict){ANALYSIS_OK, ""}, params, counts_of_job(io, servers));
	NAMED_NUMBERS(o, {"dt_s", io->dt_s}, {"servers", servers}, {"intervals", io->intervals});
	for (int d = 0; d < IO_DIRECTIONS; d++) {
		one = json_object();
		put_head(one, io->of[d][0].verdict, params, counts_of(io, servers, d));
		NAMED_NUMBERS(one, {"missing", io->missing[d]});
		for (int c = 0; c < IO_CUTOFFS; c++)
			json_object_set_new(one, cutoff_names[c],
					    character_json(io, servers, d, c));
		json_object_set_new(o, direction_names[d], one);
	}
	return o;
}

/* Kinds are of the shortest intervals; of those that are not OK, nothing is used. */
static void put_all(json_t *o, const struct io_jobs *io)
{
	struct analysis_verdict v = io->of[0].verdict;
	struct counts all = {0, 0};

	for (int k = 0; k < IO_KINDS; k++) {
		struct counts n = counts_of_job(&io->of[k].of[0], io->of[k].servers);

		all = (struct counts){all.used + n.used, all.missing + n.missing};
		if (io->of[k].verdict.status == ANALYSIS_OK)
			v = io->of[k].verdict;
	}
	put_head(o, v, NULL, all);
}

json_t *report_io__json(const struct io_jobs *io)
{
	json_t *o = json_object(), *one;
	char name[32];

	put_all(o, io);
	for (int k = 0; k < IO_KINDS; k++) {
		const struct io_of_kind *kind = &io->of[k];

		one = json_object();
		put_head(one, kind->verdict, NULL, counts_of_job(&kind->of[0], kind->servers));
		json_object_set_new(one, "level", json__text(io_kinds[k].level));
		for (unsigned i = 0; i < io->n && kind->verdict.status == ANALYSIS_OK; i++) {
			snprintf(name, sizeof(name), "%g", kind->of[i].dt_s);
			json_object_set_new(one, name, job_json(&kind->of[i], kind->servers));
		}
		json_object_set_new(o, io_kinds[k].name, one);
	}
	return o;
}

/* ---- the page */

enum share { SHARE_ACTIVE, SHARE_BURSTY, SHARE_PARALLEL };

/* A share of each cut-off, as ".28 .15 1.0"; "-" where it is not known, or says nothing. */
static void print_shares(const struct io_character *c, enum share share, FILE *out)
{
	for (int i = 0; i < IO_CUTOFFS; i++) {
		double v = share == SHARE_ACTIVE   ? c[i].intensity
			   : share == SHARE_BURSTY ? c[i].burstiness
						   : c[i].parallel;
		char text[16];

		if (isnan(v) || (!c[i].is_active && v > 0))
			snprintf(text, sizeof(text), "-");
		else
			snprintf(text, sizeof(text), v < 0.995 ? "%.2f" : "%.1f", v);
		fprintf(out, " %3s", text[1] == '.' && *text == '0' ? text + 1 : text);
	}
}

static void print_direction(const struct io_job *io, enum io_direction d, FILE *out)
{
	const struct io_character *c = io->of[d];
	report_number volume, peak, length;

	if (c->verdict.status != ANALYSIS_OK)
		return;
	snprintf(length, sizeof(length), "%.3g s", io->dt_s);
	fprintf(out, "    %-5s %5s  %8s %10s ", direction_names[d], length,
		report_text__mb(c->volume / 1048576, volume),
		report_text__rate(c->bw_max / 1048576, peak));
	print_shares(c, SHARE_ACTIVE, out);
	putc(' ', out);
	print_shares(c, SHARE_BURSTY, out);
	putc(' ', out);
	print_shares(c, SHARE_PARALLEL, out);
	putc('\n', out);
}

void report_io__print(const struct report *r, FILE *out)
{
	static const char *const servers[IO_KINDS] = {"node", "file system", "disk"};

	if (!r->all || r->is_run)
		return;
	fputs("\nIntervals with I/O above 0, 128 KiB and 1 MiB\n"
	      "                   volume     highest     active       bursty      parallel\n",
	      out);
	for (int k = 0; k < IO_KINDS; k++) {
		const struct io_of_kind *kind = &r->io->of[k];

		if (kind->verdict.status == ANALYSIS_OK)
			fprintf(out, "  %u %s%s\n", kind->servers, servers[k],
				report_text__s(kind->servers));
		else
			fprintf(out, "  %ss not judged: %s\n", servers[k],
				report_reason__words(&kind->verdict));
		for (unsigned i = 0; kind->verdict.status == ANALYSIS_OK && i < r->io->n; i++)
			for (int d = 0; d < IO_DIRECTIONS; d++)
				print_direction(&kind->of[i], d, out);
	}
}
