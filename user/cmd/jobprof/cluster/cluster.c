/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof cluster: which kinds of bursts the threads of a job have. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cluster/burst_clusters.h"
#include "analysis/cluster/cluster_code.h"
#include "analysis/cluster/cluster_regions.h"
#include "analysis/counters/burst_counters.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/cluster/cluster_args.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/verbs.h"
#include "hdf5/hdf5.h"
#include "jobfile/select.h"
#include "model/bursts.h"
#include "model/title.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_reason.h"
#include "view/report/spark.h"

struct cluster_code;

#define CLUSTER_CODES 26 /* those with most run time */

/* ---- bursts that were not kept are read once more, and each is in the cluster of its nearest one
 */

#define BLOCK (1u << 18) /* bursts that are classified at once */

struct labelling {
	const struct burst_clusters *c;
	void (*fn)(void *arg, const struct burst_row *row, unsigned label);
	void *arg;
	size_t n; /* so far; of those that were not kept: in the block */
	struct burst_row *rows;
	double *v;
	unsigned *labels;
};

static int put_kept(void *arg, const struct burst_row *row)
{
	struct labelling *l = arg;

	l->fn(l->arg, row, l->c->labels[l->n++]);
	return 0;
}

static int end_block(struct labelling *l)
{
	enum analysis_status s = burst_model__classify(&l->c->model, l->v, l->n, l->labels);

	for (size_t i = 0; s == ANALYSIS_OK && i < l->n; i++)
		l->fn(l->arg, &l->rows[i], l->labels[i]);
	l->n = 0;
	return s == ANALYSIS_OK ? 0 : -ENOMEM;
}

static int put_read(void *arg, const struct burst_row *row)
{
	struct labelling *l = arg;
	const struct burst_model *m = &l->c->model;
	const struct burst_times t = {row->run, row->wall, row->on_cpu, row->gap};

	for (unsigned d = 0; d < m->dims; d++)
		l->v[l->n * m->dims + d] = burst_times__feature(&t, m->by[d]);
	l->rows[l->n++] = *row;
	return l->n == BLOCK ? end_block(l) : 0;
}

/* Calls fn with every burst, in the order of the file, and its cluster; CLUSTER_UNUSED: in none. 0,
 * or as model_bursts__each(). */
static int all_each(const struct model_bursts *b, const struct burst_clusters *c,
		    void (*fn)(void *arg, const struct burst_row *row, unsigned label), void *arg)
{
	struct labelling l = {.c = c, .fn = fn, .arg = arg};
	_cleanup_free_ struct burst_row *rows = NULL;
	_cleanup_free_ double *v = NULL;
	_cleanup_free_ unsigned *labels = NULL;
	int err;

	if (b->n == b->all)
		return model_bursts__each(b, put_kept, &l);
	rows = l.rows = malloc(BLOCK * sizeof(*rows));
	v = l.v = malloc(BLOCK * c->model.dims * sizeof(*v));
	labels = l.labels = malloc(BLOCK * sizeof(*labels));
	if (!rows || !v || !labels)
		return -ENOMEM;
	err = model_bursts__each(b, put_read, &l);
	return err ? err : end_block(&l);
}

struct settling {
	struct burst_sums *sums;
	size_t unused;
};

static void add_burst(void *arg, const struct burst_row *row, unsigned label)
{
	struct settling *s = arg;

	if (label == CLUSTER_UNUSED)
		s->unused++;
	else
		burst_sums__add(&s->sums[label],
				&(struct burst_times){row->run, row->wall, row->on_cpu, row->gap});
}

/* Where bursts were not kept, what adds up in the table becomes that of all. 0, or as above. */
static int all_settle(const struct model_bursts *b, struct burst_clusters *c)
{
	struct settling s = {0};
	int err;

	if (b->n == b->all || c->verdict.status != ANALYSIS_OK)
		return 0;
	s.sums = calloc((size_t)c->k + 1, sizeof(*s.sums));
	err = s.sums ? all_each(b, c, add_burst, &s) : -ENOMEM;
	if (!err) {
		c->unused = s.unused;
		burst_clusters__settle(c, s.sums);
	}
	free(s.sums);
	return err;
}

/* ---- puts the code that bursts execute in the place of clusters */

/* A burst with its code, then a code with the run time of its bursts. */
struct code {
	char *name;
	double run;
};

static int by_name(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return ((uintptr_t)x->name > (uintptr_t)y->name) -
	       ((uintptr_t)x->name < (uintptr_t)y->name);
}

static int by_run(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return (x->run < y->run) - (x->run > y->run);
}

/* A code has one name, at one place. */
static unsigned find_codes(char *names[CLUSTER_CODES], const struct burst_code *of,
			   const struct model_bursts *b, struct code *v)
{
	size_t n = 0, codes = 0;

	for (size_t i = 0; i < b->n; i++)
		if (of[i].name)
			v[n++] = (struct code){(char *)of[i].name, b->run[i]};
	qsort(v, n, sizeof(*v), by_name);
	for (size_t i = 0; i < n; i++) {
		if (codes && v[codes - 1].name == v[i].name)
			v[codes - 1].run += v[i].run;
		else
			v[codes++] = v[i];
	}
	qsort(v, codes, sizeof(*v), by_run);
	codes = codes < CLUSTER_CODES ? codes : CLUSTER_CODES;
	for (size_t k = 0; k < codes; k++)
		names[k] = v[k].name;
	return (unsigned)codes;
}

static unsigned label_of(char *const names[CLUSTER_CODES], unsigned n, const char *name)
{
	for (unsigned k = 0; name && k < n; k++)
		if (names[k] == name)
			return k + 1;
	return 0;
}

static int label_bursts(char *names[CLUSTER_CODES], const struct burst_code *of,
			struct burst_clusters *c, const struct model_bursts *b,
			const struct burst_columns *columns)
{
	_cleanup_free_ struct code *v = malloc((b->n + 1) * sizeof(*v));
	_cleanup_free_ size_t *at = malloc((b->n + 1) * sizeof(*at));

	if (!v || !at)
		return -ENOMEM;
	c->k = find_codes(names, of, b, v);
	for (size_t i = 0; i < b->n; i++) {
		at[i] = i;
		c->labels[i] = label_of(names, c->k, of[i].name);
	}
	return burst_table__make(c, columns, at, c->labels, b->n) == ANALYSIS_OK ? 0 : -ENOMEM;
}

/*
 * A burst is of the function or kind of library that most of its samples are in; label 0: it has
 * none, or it is of one beyond CLUSTER_CODES. names gets c->k of them, by their run time, which are
 * good until cluster_code__free(). 0; -ENOMSG: the file has no samples; -EMSGSIZE: it has more
 * bursts than are kept; or as cluster_code__of().
 */
static int by_code_of(char *names[CLUSTER_CODES], struct cluster_code *code,
		      struct burst_clusters *c, const struct model_bursts *b,
		      const struct burst_columns *columns)
{
	int err;

	*c = (struct burst_clusters){.n = b->n, .used = b->n, .verdict = {ANALYSIS_OK, ""}};
	c->labels = calloc(b->n + 1, sizeof(*c->labels));
	if (!c->labels)
		return -ENOMEM;
	err = b->n < b->all ? -EMSGSIZE : cluster_code__of(code, b, c);
	if (!err && !code->singles)
		err = -ENOMSG;
	return err ? err : label_bursts(names, code->singles, c, b, columns);
}

/* ---- the counters of a file's bursts, by cluster */

/* The bursts that are in a cluster or noise, one after the other. */
struct used {
	unsigned *cluster;
	double *run;
	double **counts;
	size_t n;
};

static void free_used(struct used *u, unsigned nevents)
{
	for (unsigned e = 0; u->counts && e < nevents; e++)
		free(u->counts[e]);
	free(u->counts);
	free(u->cluster);
	free(u->run);
}

static int take_used(struct used *u, const struct model_bursts *b, const struct burst_clusters *c)
{
	u->cluster = malloc((b->n + 1) * sizeof(*u->cluster));
	u->run = malloc((b->n + 1) * sizeof(*u->run));
	u->counts = calloc(b->nevents + 1, sizeof(*u->counts));
	for (unsigned e = 0; u->counts && e < b->nevents; e++)
		if (!(u->counts[e] = malloc((b->n + 1) * sizeof(double))))
			return -ENOMEM;
	if (!u->cluster || !u->run || !u->counts)
		return -ENOMEM;
	for (size_t i = 0; i < b->n; i++) {
		if (c->labels[i] == CLUSTER_UNUSED)
			continue;
		u->cluster[u->n] = c->labels[i];
		u->run[u->n] = b->run[i];
		for (unsigned e = 0; e < b->nevents; e++)
			u->counts[e][u->n] = b->counts[e][i];
		u->n++;
	}
	return 0;
}

static int find_instructions(const struct model_bursts *b)
{
	for (unsigned e = 0; e < b->nevents; e++)
		if (!strcmp(b->events[e], "Instructions"))
			return (int)e;
	return -1;
}

static int events_of(const struct model_bursts *b, const struct burst_clusters *c,
		     struct burst_counter **out)
{
	struct used u = {0};
	struct counted_bursts counted;
	int err;

	*out = NULL;
	if (!b->nevents || c->verdict.status != ANALYSIS_OK)
		return 0;
	err = take_used(&u, b, c);
	counted = (struct counted_bursts){
		u.cluster,	     u.run, (const double *const *)u.counts, u.n, b->nevents, c->k,
		find_instructions(b)};
	if (!err)
		*out = calloc(((size_t)c->k + 1) * b->nevents, sizeof(**out));
	if (!err && (!*out || burst_counters__of(&counted, *out) == ANALYSIS_NO_MEMORY))
		err = -ENOMEM;
	free_used(&u, b->nevents);
	return err;
}

/* ---- the verb */

struct options {
	struct cluster_args args;
	struct select_words words;
	const char *svg, *html;
	bool json, csv, regions, code;
};

static const struct opt opts[] = {
	OPT_JOBS(struct options),
	OPT_INPUT(struct options),
	OPTS_CLUSTER(struct options),
	{0, "window", "S", "follows the clusters over windows of S seconds, too",
	 OPT_CALL_AT(cluster_args__window, struct options, args)},
	{0, "regions", NULL, "by the regions of the programs, in the place of clusters",
	 OPT_FLAG(struct options, regions)},
	{0, "code", NULL, "by the code that most of their samples are in, in the place of clusters",
	 OPT_FLAG(struct options, code)},
	{0, "whole", NULL, "clusters all bursts, not a part of very many, however long that takes",
	 OPT_FLAG(struct options, args.request.whole)},
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, json)},
	{0, "csv", NULL, "as CSV, a line per burst with its cluster",
	 OPT_FLAG(struct options, csv)},
	{0, "svg", "FILE", "writes a scatter plot there; \"-\": standard output",
	 OPT_TEXT(struct options, svg)},
	{0, "html", "FILE", "writes plot and table as a page; \"-\": standard output",
	 OPT_TEXT(struct options, html)},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_cluster = {
	.name = "jobprof cluster",
	.usage = "[OPTION]... " USAGE_INPUT,
	.about = "Finds which kinds of bursts the threads of a job have: a burst is what a thread\n"
		 "does between two waits. Prints a table of the kinds, called clusters, and which\n"
		 "of them each task had over time. The profile must have the family burst.",
	.opts = opts,
};

struct work {
	const struct options *o;
	const char *path;
	struct selection sel; /* of steps */
};

/* ---- in a limited child */

struct printing {
	const struct options *o;
	const struct cluster_view *v;
	FILE *out;
};

static int follow(const struct options *o, const struct model_bursts *b, FILE *out, json_t *json)
{
	struct cluster_pieces p = {0};
	struct burst_track t;
	int err = cluster_pieces__windows(&p, b, &o->args.request, o->args.window);
	struct track_view v = {&t, p.v, p.labels, p.n, b->all, b->n};

	if (!err && burst_track__of(&t, p.v, p.n, o->args.request.dims) != ANALYSIS_OK)
		err = -ENOMEM;
	if (!err && json)
		json__set(json, "windows", track_view__json(&v));
	else if (!err) {
		fputs("\nWindows\n", out);
		track_view__print(&v, out);
	}
	cluster_pieces__free(&p);
	return err;
}

static void put_csv(void *arg, const struct burst_row *row, unsigned label)
{
	const struct printing *p = arg;

	cluster_csv__row(p->v->bursts, row, label, p->out);
}

static int print_text(const struct printing *p)
{
	const struct options *o = p->o;

	cluster_view__print(p->v, spark__width(p->out), p->out);
	return o->args.window > 0 ? follow(o, p->v->bursts, p->out, NULL) : 0;
}

static int print_json(const struct printing *p)
{
	json_t *json = cluster_view__json(p->v);
	int err = !json			  ? -ENOMEM
		  : p->o->args.window > 0 ? follow(p->o, p->v->bursts, p->out, json)
					  : 0;

	if (!err)
		return json__print(json, p->out, JSON_INDENT(2));
	json_decref(json);
	return err;
}

static int print_clusters(void *arg, FILE *out)
{
	struct printing *p = arg;

	p->out = out;
	if (p->o->json)
		return print_json(p);
	if (p->o->csv) {
		cluster_csv__head(p->v->bursts, out);
		return all_each(p->v->bursts, p->v->clusters, put_csv, p);
	}
	if (p->o->svg)
		cluster_view__svg(p->v, out);
	else if (p->o->html)
		cluster_view__html(p->v, out);
	else
		return print_text(p);
	return 0;
}

static const char *output_of(const struct options *o)
{
	return o->svg ? o->svg : o->html ? o->html : "-";
}

static int write_out(const struct work *w, const struct cluster_view *v, int fd)
{
	struct printing p = {w->o, v, NULL};
	int err = child_output__stream(fd, print_clusters, &p);

	if (err == -E2BIG)
		log_error("%s: there are more than 1000 windows: give longer ones", w->path);
	else if (err)
		log_error("%s: cannot be written: %s", output_of(w->o), strerror(-err));
	return err ? 1 : 0;
}

/* What clusters, or what is in their place, are called. */
struct naming {
	struct cluster_regions regions;
	struct cluster_code code;
	char *codes[CLUSTER_CODES];
};

/* The clusters of the file's bursts, or what is in their place. */
static int find_clusters(struct burst_clusters *c, struct naming *names, const struct options *o,
			 const struct model_bursts *b)
{
	struct burst_columns columns = burst_columns__of(b);

	if (o->regions)
		return cluster_regions__of(&names->regions, c, b, &columns);
	if (o->code)
		return by_code_of(names->codes, &names->code, c, b, &columns);
	if (burst_clusters__of(c, &columns, &o->args.request) == ANALYSIS_NO_MEMORY)
		return -ENOMEM;
	return all_settle(b, c);
}

/* Clusters are good without. */
static void find_code(struct cluster_code *code, const struct work *w, const struct model_bursts *b,
		      const struct burst_clusters *c)
{
	int err = 0;

	if (!w->o->regions && !w->o->code && c->verdict.status == ANALYSIS_OK)
		err = cluster_code__of(code, b, c);
	if (err == -EMSGSIZE)
		log_error("%s: more than %u samples: which code bursts execute is left out",
			  w->path, CLUSTER_CODE_ROWS);
	else if (err)
		log_error("%s: its samples cannot be read: which code bursts execute is left out",
			  w->path);
}

static void find_title(const char *path, char title[static MODEL_TITLE])
{
	struct model_file f;

	*title = 0;
	if (!model_file__open(&f, path))
		model_title__of(&f, title);
	model_file__close(&f);
}

static int cluster_file(void *arg, int fd, bool *keep)
{
	const struct work *w = arg;
	struct model_bursts b;
	struct burst_clusters c = {0};
	struct naming names = {0};
	char title[MODEL_TITLE];
	struct cluster_view v = {.path = w->path,
				 .title = title,
				 .bursts = &b,
				 .clusters = &c,
				 .request = &w->o->args.request};
	struct burst_counter *counters = NULL;
	struct model_files files;
	int err, status = 1;

	model_files__open(&files, &(struct job_input){.path = w->path}, 1);
	err = model_bursts__read(&b, w->path, &w->sel);
	find_title(w->path, title);
	if (!err)
		err = find_clusters(&c, &names, w->o, &b);
	if (err)
		cluster_args__cannot(w->path, err);
	else if (c.verdict.status != ANALYSIS_OK && (w->o->svg || w->o->html))
		log_error("%s: %s: %s", w->path, analysis_status__name(c.verdict.status),
			  report_reason__words(&c.verdict));
	else if (events_of(&b, &c, &counters))
		cluster_args__cannot(w->path, -ENOMEM);
	else {
		find_code(&names.code, w, &b, &c);
		v.counters = counters;
		v.codes = w->o->code ? NULL : names.code.clusters;
		v.single_codes = names.code.singles;
		v.regions = w->o->code ? names.codes : names.regions.names;
		v.of = w->o->code ? "code" : "region";
		status = write_out(w, &v, fd);
	}
	*keep = !status;
	free(counters);
	cluster_code__free(&names.code);
	cluster_regions__free(&names.regions);
	burst_clusters__free(&c);
	model_bursts__free(&b);
	model_files__close(&files);
	return status;
}

/* ---- the verb */

int verb_cluster(int argc, char **argv)
{
	struct options o = {0};
	struct profiles in;
	struct work w = {.o = &o};
	int status;

	cluster_args__init(&o.args);
	status = options__read(&cmd_cluster, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (!!o.svg + !!o.html + o.json + o.csv > 1)
		return options__wrong(&cmd_cluster, "one of --json, --csv, --svg and --html");
	if (o.regions && o.code)
		return options__wrong(&cmd_cluster, "one of --regions and --code");
	if ((o.regions || o.code) && (o.svg || o.html || o.csv || o.args.window > 0))
		return options__wrong(&cmd_cluster, "--regions and --code as text or --json only");
	if ((o.regions || o.code) && (o.args.given || o.args.request.whole))
		return options__wrong(&cmd_cluster, "--by, --eps, --min-pts and --whole for "
						    "clusters, not for --regions and --code");
	status = input_args__choose(&in, &cmd_cluster, argc, argv, &o.words);
	if (!status) {
		w.path = in.files->path;
		w.sel = (struct selection){.steps = in.files->steps, .nsteps = in.files->nsteps};
		status = child_output__write(output_of(&o), w.path, &POOL_STREAM, cluster_file, &w);
	}
	profiles__free(&in);
	return status < 0 ? 1 : status;
}
