/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PIKA's footprint, tags and issues, and the character of the I/O: as JSON and on the page. */
#include "view/report/report_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "view/report/report.h"
#include "view/report/report_text.h"

/* Sets "status" and "reason" of an object; the reason is null for OK. */
static void put_verdict(json_t *o, struct analysis_verdict v)
{
	json_object_set_new(o, "status", json__text(analysis_status__name(v.status)));
	json_object_set_new(o, "reason", json__nonempty(v.reason));
}

/* Sets "params", the thresholds of the analysis, and "n_used" and "n_missing", the numbers of
 * values. */
static void put_basis(json_t *o, const struct analysis_param *params, double used, double missing)
{
	json_t *all = json_object();

	for (; params && params->name; params++)
		json_object_set_new(all, params->name, json__number(params->value));
	json_object_set_new(o, "params", all);
	JSON_NUMBERS(o, {"n_used", used}, {"n_missing", missing});
}

static json_t *begin_object(struct analysis_verdict v)
{
	json_t *o = json_object();

	put_verdict(o, v);
	return o;
}

/* Begins the object of an analysis that judges by the bins of units' loads. */
static json_t *begin_loads(const struct pika_job *p, struct analysis_verdict v,
			   const struct analysis_param *params)
{
	json_t *o = begin_object(v);

	put_basis(o, params, (double)p->bins * p->units - p->missing_bins, p->missing_bins);
	return o;
}

static json_t *footprint_json(const struct pika_job *p)
{
	const struct footprint *f = &p->footprint;
	bool ok = p->verdict.status == ANALYSIS_OK;
	json_t *o = begin_loads(p, ok ? f->verdict : p->verdict, NULL);

	if (!ok)
		return o;
	JSON_NUMBERS(o, {"cpu_usage", f->cpu_usage}, {"gpu_usage", f->gpu_usage}, {"ipc", f->ipc},
		     {"flops", f->flops}, {"mem_bw", f->mem_bw}, {"net_bw", f->net_bw},
		     {"cpu_power", f->cpu_power}, {"gpu_power", f->gpu_power},
		     {"read_bytes", f->read_bytes}, {"write_bytes", f->write_bytes},
		     {"mem_used_max_unit", f->mem_used_max_unit},
		     {"mem_used_max_total", f->mem_used_max_total},
		     {"gpu_mem_used_max_unit", f->gpu_mem_used_max_unit},
		     {"gpu_mem_used_max_total", f->gpu_mem_used_max_total});
	return o;
}

static json_t *tag_json(const struct pika_tag *t, bool given)
{
	enum analysis_status status = *t->missing ? ANALYSIS_UNAVAILABLE : ANALYSIS_OK;
	json_t *o = begin_object((struct analysis_verdict){status, t->missing});

	json_object_set_new(o, "given", json_boolean(given));
	JSON_NUMBERS(o, {"value", t->metric.value}, {"peak", t->metric.peak});
	json_object_set_new(o, "missing", json__nonempty(t->missing));
	return o;
}

/* Whether any tag can be judged: else the job cannot be called unrestrained either. */
static bool is_any_judged(const struct pika_job *p)
{
	for (int i = 0; i < JOB_TAGS; i++)
		if (i != JOB_TAG_UNRESTRAINED && !*p->tag[i].missing)
			return true;
	return false;
}

static json_t *tags_json(const struct pika_job *p)
{
	json_t *o = begin_loads(p, p->verdict, job_tags__params), *given = json_array(), *one;

	for (int i = 0; p->verdict.status == ANALYSIS_OK && i < JOB_TAGS; i++) {
		bool is_given = p->tags & 1u << i;

		if (is_given && is_any_judged(p))
			json_array_append_new(given, json__text(job_tag__name(i)));
		if (i == JOB_TAG_UNRESTRAINED)
			continue;
		one = tag_json(&p->tag[i], is_given);
		if (i == JOB_TAG_COMPUTE)
			JSON_NUMBERS(one, {"ipc", p->ipc.value}, {"ipc_peak", p->ipc.peak});
		json_object_set_new(o, job_tag__name(i), one);
	}
	if (p->verdict.status == ANALYSIS_OK)
		json_object_set_new(o, "bits", json_integer(p->tags));
	json_object_set_new(o, "given", given);
	return o;
}

static json_t *idle_json(const struct idle *i)
{
	json_t *o = begin_object(i->verdict);

	put_basis(o, idle__params, i->known, i->missing);
	if (i->verdict.status != ANALYSIS_OK)
		return o;
	JSON_NUMBERS(o, {"idle_s", i->idle_s}, {"total_s", i->total_s},
		     {"idle_ratio", i->idle_ratio}, {"unused_units", i->unused_units},
		     {"unused_ratio", i->unused_ratio}, {"unused_to_used", i->unused_to_used});
	return o;
}

static json_t *imbalance_json(const struct imbalance *i)
{
	json_t *o = begin_object(i->verdict);

	put_basis(o, imbalance__params, i->known, i->missing);
	if (i->verdict.status != ANALYSIS_OK)
		return o;
	JSON_NUMBERS(o, {"mean_sd", i->mean_sd}, {"mean_sd_population", i->mean_sd_population});
	json_object_set_new(o, "attributed", json_boolean(i->is_attributed));
	return o;
}

static json_t *congestion_json(const struct io_congestion *c)
{
	json_t *o = begin_object(c->verdict);

	put_basis(o, io_congestion__params, c->known, c->missing);
	if (c->verdict.status != ANALYSIS_OK)
		return o;
	JSON_NUMBERS(o, {"ioc", c->ioc}, {"max_rate", c->max_rate},
		     {"max_rate_node", c->max_rate_unit}, {"bin", c->bin});
	json_object_set_new(o, "attributed", json_boolean(c->is_attributed));
	return o;
}

static json_t *failed_json(const struct pika_job *p)
{
	json_t *a = json_array();

	for (int i = 0; i < INELIGIBLE_REASONS; i++)
		if (p->ineligible & 1u << i)
			json_array_append_new(a, json__text(ineligible__name(i)));
	return a;
}

static json_t *issues_json(const struct pika_job *p)
{
	json_t *o = begin_loads(p, p->issues, eligibility__params);

	json_object_set_new(o, "eligible", json_boolean(!p->ineligible));
	json_object_set_new(o, "failed", failed_json(p));
	if (p->issues.status != ANALYSIS_OK)
		return o;
	json_object_set_new(o, "cpu_idle", idle_json(&p->cpu_idle));
	json_object_set_new(o, "gpu_idle", idle_json(&p->gpu_idle));
	json_object_set_new(o, "cpu_imbalance", imbalance_json(&p->cpu_imbalance));
	json_object_set_new(o, "gpu_imbalance", imbalance_json(&p->gpu_imbalance));
	json_object_set_new(o, "io_congestion", congestion_json(&p->congestion));
	return o;
}

static json_t *pair_json(const struct periodic *c)
{
	json_t *o = begin_object(c->verdict);

	put_basis(o, periodic__params, c->known, c->missing);
	if (c->verdict.status != ANALYSIS_OK)
		return o;
	json_object_set_new(o, "detected", json_boolean(c->is_detected));
	json_object_set_new(o, "dominant", json_boolean(c->is_dominant));
	json_object_set_new(o, "undetected", json__nonempty(c->undetected));
	JSON_NUMBERS(o, {"k", c->k ? c->k : NAN}, {"freq_hz", c->freq_hz}, {"sum_max", c->sum_max},
		     {"sum_median", c->sum_median}, {"corr", c->corr},
		     {"period_num", c->period_num});
	return o;
}

static json_t *mount_json(const struct pika_mount *m)
{
	json_t *o = json_object();

	for (int i = 0; i < PIKA_IO_VECTORS; i++)
		json_object_set_new(o, pika_vector_names[i], pair_json(&m->io[i]));
	return o;
}

static json_t *periodic_json(const struct pika_job *p)
{
	json_t *o = begin_loads(p, p->issues, periodic__params);
	json_t *mounts, *name;

	if (p->issues.status != ANALYSIS_OK)
		return o;
	for (int i = 0; i < PIKA_IO_VECTORS; i++)
		json_object_set_new(o, pika_vector_names[i], pair_json(&p->io[i]));
	json_object_set_new(o, "gpu", pair_json(&p->offload));
	mounts = json_object();
	for (unsigned i = 0; i < p->nmounts; i++) {
		name = json__text(p->mounts[i].name);
		json_object_set_new(mounts, json_string_value(name), mount_json(&p->mounts[i]));
		json_decref(name);
	}
	json_object_set_new(o, "mounts", mounts);
	JSON_NUMBERS(o, {"iob", p->strongest ? p->strongest->period_num : 0},
		     {"so", p->offload.is_detected ? p->offload.period_num : 0});
	json_object_set_new(o, "iob_vector",
			    p->strongest ? json__text(p->strongest_vector) : json_null());
	json_object_set_new(o, "iob_mount", json__text(p->strongest_mount));
	return o;
}

static json_t *memleak_json(const struct pika_job *p)
{
	const struct memleak *l = &p->leak;
	bool ok = p->issues.status == ANALYSIS_OK;
	json_t *o = begin_object(ok ? l->verdict : p->issues);

	put_basis(o, memleak__params, l->known, l->missing);
	if (!ok || l->verdict.status != ANALYSIS_OK)
		return o;
	json_object_set_new(o, "suspected", json_boolean(l->is_suspected));
	JSON_NUMBERS(o, {"ml", l->ml}, {"m", l->m}, {"n", l->n}, {"max_dis", l->max_dis},
		     {"max_distance", l->max_distance}, {"rate", l->rate},
		     {"nodes_suspected", p->leaking_nodes});
	return o;
}

json_t *report_pika__json(const struct pika_job *p)
{
	json_t *o = begin_loads(p, p->verdict, NULL);

	JSON_NUMBERS(o, {"bins", p->bins}, {"bin_s", p->dt_s}, {"duration_s", p->duration_s},
		     {"units", p->units}, {"missing_bins", p->missing_bins});
	json_object_set_new(o, "unit", json__nonempty(p->unit));
	json_object_set_new(o, "footprint", footprint_json(p));
	json_object_set_new(o, "tags", tags_json(p));
	json_object_set_new(o, "issues", issues_json(p));
	json_object_set_new(o, "periodic", periodic_json(p));
	json_object_set_new(o, "memleak", memleak_json(p));
	return o;
}

/* ---- the page */

static void print_tags(const struct pika_job *p, FILE *out)
{
	const char *before = "  tags       ";

	if (!is_any_judged(p))
		fprintf(out, "%snone", before);
	for (int i = 0; i < JOB_TAGS; i++)
		if (is_any_judged(p) && p->tags & 1u << i) {
			fprintf(out, "%s%s", before, job_tag__name(i));
			before = ", ";
		}
	putc('\n', out);
	before = "  not judged ";
	for (int i = 0; i < JOB_TAGS; i++)
		if (*p->tag[i].missing) {
			fprintf(out, "%s%s", before, job_tag__name(i));
			before = ", ";
		}
	fputs(*before == ',' ? "\n             (--why TAG)\n" : "", out);
}

static void print_issues(const struct pika_job *p, FILE *out)
{
	report_number idle, unused;
	double iob = p->strongest ? p->strongest->period_num : 0;

	fprintf(out, "  idle       %s of the time of %u %s%s; unused: %s of them\n",
		report_text__share(p->cpu_idle.idle_ratio, idle), p->units, p->unit,
		report_text__s(p->units), report_text__share(p->cpu_idle.unused_ratio, unused));
	fprintf(out, "  imbalance  %.2f%s\n", p->cpu_imbalance.mean_sd,
		p->cpu_imbalance.is_attributed ? ", much" : "");
	fprintf(out, "  periodic   %.0f stops for I/O", floor(iob + 0.5));
	if (p->strongest_mount) {
		fputs(" on ", out);
		print__escaped(out, p->strongest_mount);
	}
	fprintf(out, ", %.0f for GPUs\n",
		floor((p->offload.is_detected ? p->offload.period_num : 0) + 0.5));
	if (p->congestion.verdict.status == ANALYSIS_OK)
		fprintf(out, "  metadata   at most %.1f opens and closes/s%s\n",
			p->congestion.max_rate, p->congestion.is_attributed ? ", many" : "");
	fprintf(out, "  leak       %s\n",
		p->leak.verdict.status != ANALYSIS_OK ? "not known"
		: p->leak.is_suspected		      ? "suspected"
						      : "not suspected");
}

static void print_ineligible(const struct pika_job *p, FILE *out)
{
	const char *before = "  issues     not judged: ";

	for (int i = 0; i < INELIGIBLE_REASONS; i++)
		if (p->ineligible & 1u << i) {
			fprintf(out, "%s%s", before, ineligible__name(i));
			before = ", ";
		}
	fputs(" (--force)\n", out);
}

void report_pika__print(const struct report *r, FILE *out)
{
	const struct pika_job *p = r->pika;

	if (!r->all || r->is_run)
		return;
	fputs("\nPIKA\n", out);
	if (p->verdict.status != ANALYSIS_OK) {
		fprintf(out, "  not judged: %s\n", report_reason__words(&p->verdict));
		return;
	}
	print_tags(p, out);
	if (p->issues.status == ANALYSIS_OK)
		print_issues(p, out);
	else
		print_ineligible(p, out);
}

/* ---- why one of PIKA's tags was given or not, in a line */

/* The measurement that is missing where the metric of a tag, or its peak, is unknown. */
static const struct {
	const char *of, *metric, *peak;
} needs[JOB_TAGS] = {
	[JOB_TAG_MEMORY] =
		{"memory bandwidth",
		 "MemReadMB and MemWriteMB of CPU are not known (they take a PMU of the "
		 "memory controllers on every node), or other jobs may have used the nodes",
		 "MemBandwidthPeak is not known: jobprof calibrate measures it"},
	[JOB_TAG_COMPUTE] =
		{"floating-point operations",
		 "FLOP/s are not known (PerfEvents=@flops, on Intel's processors), nor are "
		 "Cycles and Instructions, which would do: they take hardware counters",
		 "FlopsPeak is not known: jobprof calibrate measures it"},
	[JOB_TAG_GPU] = {"GPU use", "GPUUtilization is not known: no GPU of the job was seen", ""},
	[JOB_TAG_IO] = {"reading and writing", "ReadMB and WriteMB are not known",
			"DiskReadPeak and DiskWritePeak are not known: jobprof calibrate measures "
			"them"},
	[JOB_TAG_NETWORK] = {"network traffic",
			     "neither TxMB and RxMB of Port nor NetTxMB and NetRxMB are known",
			     "NetworkPeak is not known: jobprof calibrate finds it"},
};

static void describe(const struct pika_job *p, enum job_tag tag, char *text, size_t size)
{
	const struct pika_tag *t = &p->tag[tag];
	const struct tag_metric m =
		tag == JOB_TAG_COMPUTE && isnan(t->metric.value / t->metric.peak) ? p->ipc
										  : t->metric;
	report_number share;

	if (p->verdict.status != ANALYSIS_OK)
		snprintf(text, size, "the job was not judged, as %s",
			 report_reason__words(&p->verdict));
	else if (*t->missing)
		snprintf(text, size, "%s",
			 strcmp(t->missing, "no_peak") ? needs[tag].metric : needs[tag].peak);
	else
		snprintf(text, size, "%s was %s of the peak",
			 m.peak == p->ipc.peak ? "instructions per cycle" : needs[tag].of,
			 report_text__share(m.value / m.peak, share));
}

bool report__print_tag_why(const struct pika_job *p, const char *name, FILE *out)
{
	char text[320];

	for (int i = 0; i < JOB_TAGS; i++) {
		bool given = p->tags & 1u << i;
		int at;

		if (strcmp(job_tag__name(i), name))
			continue;
		if (i == JOB_TAG_UNRESTRAINED)
			snprintf(text, sizeof(text), "%s",
				 given				    ? "no other tag was"
				 : p->verdict.status != ANALYSIS_OK ? "the job was not judged"
								    : "another tag was");
		else
			describe(p, i, text, sizeof(text));
		at = fprintf(out, "%s was %sgiven: ", name, given ? "" : "not ");
		report_text__paragraph(out, text, at, 4);
		return true;
	}
	return false;
}

/* ---- the character of a job's I/O as JSON and on the page */

static const char *const cutoff_names[IO_CUTOFFS] = {"c0", "c128k", "c1m"};
static const char *const direction_names[IO_DIRECTIONS] = {"read", "write"};

/* Numbers of intervals, summed over servers. */
struct counts {
	double used, missing;
};

static struct counts counts_of(const struct io_job *io, unsigned servers, enum io_direction d)
{
	double missing = io->missing[d];

	return (struct counts){(double)servers * io->intervals - missing, missing};
}

/* Counts the intervals of both directions. */
static struct counts counts_of_job(const struct io_job *io, unsigned servers)
{
	struct counts r = counts_of(io, servers, IO_READ), w = counts_of(io, servers, IO_WRITE);

	return (struct counts){r.used + w.used, r.missing + w.missing};
}

static void put_head(json_t *o, struct analysis_verdict v, const struct analysis_param *params,
		     struct counts n)
{
	put_verdict(o, v);
	put_basis(o, params, n.used, n.missing);
}

static json_t *character_json(const struct io_job *io, unsigned servers, enum io_direction d, int i)
{
	const struct io_character *c = &io->of[d][i];
	const struct analysis_param params[] = {
		{"c", io_cutoffs[i]}, {"dt_s", io->dt_s}, {NULL, 0}};
	json_t *o = json_object();

	put_head(o, c->verdict, params, counts_of(io, servers, d));
	JSON_NUMBERS(o, {"c", io_cutoffs[i]}, {"dt_s", io->dt_s});
	if (c->verdict.status != ANALYSIS_OK)
		return o;
	json_object_set_new(o, "io_active", json_boolean(c->is_active));
	JSON_NUMBERS(o, {"volume", c->volume}, {"bw_max", c->bw_max}, {"bw_mean", c->bw_mean},
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
	JSON_NUMBERS(o, {"dt_s", io->dt_s}, {"servers", servers}, {"intervals", io->intervals});
	for (int d = 0; d < IO_DIRECTIONS; d++) {
		one = json_object();
		put_head(one, io->of[d][0].verdict, params, counts_of(io, servers, d));
		JSON_NUMBERS(one, {"missing", io->missing[d]});
		for (int c = 0; c < IO_CUTOFFS; c++)
			json_object_set_new(one, cutoff_names[c],
					    character_json(io, servers, d, c));
		json_object_set_new(o, direction_names[d], one);
	}
	return o;
}

/* An array with an object per network file system. */
static json_t *mounts_json(const struct io_jobs *io)
{
	json_t *a = json_array(), *one;

	for (unsigned i = 0; i < io->nmounts; i++) {
		const struct io_mount *m = &io->mounts[i];

		one = json_object();
		json_object_set_new(one, "name", json__text(m->name));
		JSON_NUMBERS(one, {"read_bytes", m->volume[IO_READ]},
			     {"write_bytes", m->volume[IO_WRITE]},
			     {"read_bw_max", m->bw_max[IO_READ]},
			     {"write_bw_max", m->bw_max[IO_WRITE]});
		json_array_append_new(a, one);
	}
	return a;
}

/* Kinds are those at the shortest interval; where its status is not OK, no value is used. */
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
		if (k == IO_MOUNT && io->nmounts)
			json_object_set_new(one, "each", mounts_json(io));
		json_object_set_new(o, io_kinds[k].name, one);
	}
	return o;
}

/* ---- the page */

enum share { SHARE_ACTIVE, SHARE_BURSTY, SHARE_PARALLEL };

/* Prints a share per cut-off, as ".28 .15 1.0"; "-" where it is unknown or has no meaning. */
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
