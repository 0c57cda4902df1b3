/* SPDX-License-Identifier: GPL-2.0-only */
/* PIKA's footprint, tags and issues as JSON and on the page. */
#include "view/report/report_pika.h"
#include "view/report/report_reason.h"

#include <math.h>

#include "base/escape.h"
#include "base/json.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

void report_pika__put_verdict(json_t *o, struct analysis_verdict v)
{
	json_object_set_new(o, "status", json__text(analysis_status__name(v.status)));
	json_object_set_new(o, "reason",
			    v.reason && *v.reason ? json__text(v.reason) : json_null());
}

void report_pika__put_numbers(json_t *o, const struct named_number *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_object_set_new(o, v[i].name, json__number(v[i].value));
}

void report_pika__put_basis(json_t *o, const struct analysis_param *params, double used,
			    double missing)
{
	json_t *all = json_object();

	for (; params && params->name; params++)
		json_object_set_new(all, params->name, json__number(params->value));
	json_object_set_new(o, "params", all);
	NAMED_NUMBERS(o, {"n_used", used}, {"n_missing", missing});
}

static json_t *begin_object(struct analysis_verdict v)
{
	json_t *o = json_object();

	report_pika__put_verdict(o, v);
	return o;
}

/* Begins the object of an analysis that judges by the bins of units' loads. */
static json_t *begin_loads(const struct pika_job *p, struct analysis_verdict v,
			   const struct analysis_param *params)
{
	json_t *o = begin_object(v);

	report_pika__put_basis(o, params, (double)p->bins * p->units - p->missing_bins,
			       p->missing_bins);
	return o;
}

static json_t *footprint_json(const struct pika_job *p)
{
	const struct footprint *f = &p->footprint;
	bool ok = p->verdict.status == ANALYSIS_OK;
	json_t *o = begin_loads(p, ok ? f->verdict : p->verdict, NULL);

	if (!ok)
		return o;
	NAMED_NUMBERS(o, {"cpu_usage", f->cpu_usage}, {"gpu_usage", f->gpu_usage}, {"ipc", f->ipc},
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
	NAMED_NUMBERS(o, {"value", t->metric.value}, {"peak", t->metric.peak});
	json_object_set_new(o, "missing", *t->missing ? json__text(t->missing) : json_null());
	return o;
}

/* Where none can be judged the job is not unrestrained either. */
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
			NAMED_NUMBERS(one, {"ipc", p->ipc.value}, {"ipc_peak", p->ipc.peak});
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

	report_pika__put_basis(o, idle__params, i->known, i->missing);
	if (i->verdict.status != ANALYSIS_OK)
		return o;
	NAMED_NUMBERS(o, {"idle_s", i->idle_s}, {"total_s", i->total_s},
		      {"idle_ratio", i->idle_ratio}, {"unused_units", i->unused_units},
		      {"unused_ratio", i->unused_ratio}, {"unused_to_used", i->unused_to_used});
	return o;
}

static json_t *imbalance_json(const struct imbalance *i)
{
	json_t *o = begin_object(i->verdict);

	report_pika__put_basis(o, imbalance__params, i->known, i->missing);
	if (i->verdict.status != ANALYSIS_OK)
		return o;
	NAMED_NUMBERS(o, {"mean_sd", i->mean_sd}, {"mean_sd_population", i->mean_sd_population});
	json_object_set_new(o, "attributed", json_boolean(i->is_attributed));
	return o;
}

static json_t *congestion_json(const struct io_congestion *c)
{
	json_t *o = begin_object(c->verdict);

	report_pika__put_basis(o, io_congestion__params, c->known, c->missing);
	if (c->verdict.status != ANALYSIS_OK)
		return o;
	NAMED_NUMBERS(o, {"ioc", c->ioc}, {"max_rate", c->max_rate},
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

	report_pika__put_basis(o, periodic__params, c->known, c->missing);
	if (c->verdict.status != ANALYSIS_OK)
		return o;
	json_object_set_new(o, "detected", json_boolean(c->is_detected));
	json_object_set_new(o, "dominant", json_boolean(c->is_dominant));
	json_object_set_new(o, "undetected",
			    c->undetected && *c->undetected ? json__text(c->undetected)
							    : json_null());
	NAMED_NUMBERS(o, {"k", c->k ? c->k : NAN}, {"freq_hz", c->freq_hz}, {"sum_max", c->sum_max},
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
	NAMED_NUMBERS(o, {"iob", p->strongest ? p->strongest->period_num : 0},
		      {"so", p->offload.is_detected ? p->offload.period_num : 0});
	json_object_set_new(o, "iob_vector",
			    p->strongest ? json__text(p->strongest_vector) : json_null());
	json_object_set_new(o, "iob_mount",
			    p->strongest_mount ? json__text(p->strongest_mount) : json_null());
	return o;
}

static json_t *memleak_json(const struct pika_job *p)
{
	const struct memleak *l = &p->leak;
	bool ok = p->issues.status == ANALYSIS_OK;
	json_t *o = begin_object(ok ? l->verdict : p->issues);

	report_pika__put_basis(o, memleak__params, l->known, l->missing);
	if (!ok || l->verdict.status != ANALYSIS_OK)
		return o;
	json_object_set_new(o, "suspected", json_boolean(l->is_suspected));
	NAMED_NUMBERS(o, {"ml", l->ml}, {"m", l->m}, {"n", l->n}, {"max_dis", l->max_dis},
		      {"max_distance", l->max_distance}, {"rate", l->rate},
		      {"nodes_suspected", p->leaking_nodes});
	return o;
}

json_t *report_pika__json(const struct pika_job *p)
{
	json_t *o = begin_loads(p, p->verdict, NULL);

	NAMED_NUMBERS(o, {"bins", p->bins}, {"bin_s", p->dt_s}, {"duration_s", p->duration_s},
		      {"units", p->units}, {"missing_bins", p->missing_bins});
	json_object_set_new(o, "unit", *p->unit ? json__text(p->unit) : json_null());
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
