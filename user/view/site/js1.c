/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job in the form of jobstats. */
#include "view/site/js1.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/room.h"

#define MIB	  1048576.0
#define NODES_MAX 100000
#define GPUS_MAX  256 /* per node */
#define LEVEL	  9

void js1__free(struct js1 *s)
{
	for (unsigned i = 0; i < s->nnodes; i++) {
		for (unsigned k = 0; k < s->nodes[i].ngpus; k++)
			free(s->nodes[i].gpus[k].name);
		free(s->nodes[i].gpus);
		free(s->nodes[i].name);
	}
	free(s->nodes);
	*s = (struct js1){0};
}

static struct js1_node *add_node(struct js1 *s, const char *name)
{
	struct js1_node *n;

	if (room__grow(&s->nodes, s->nnodes, 1, sizeof(*s->nodes)))
		return NULL;
	n = &s->nodes[s->nnodes++];
	*n = (struct js1_node){.name = strdup(name)};
	return n->name ? n : NULL;
}

int js1__of_row(struct js1 *s, const struct row *r)
{
	const double *v = r->number;
	const char *list = r->text[INDEX_node_list];
	const char *name = r->nodes.n == 1 ? r->nodes.v[0] : list;
	struct js1_node *n;

	*s = (struct js1){.elapsed_s = v[INDEX_elapsed_s], .gpus = v[INDEX_gpus]};
	if (v[INDEX_nodes] != 1 || !name || strpbrk(name, "[,"))
		return -ENODATA;
	n = add_node(s, name);
	if (!n)
		return -ENOMEM;
	n->cpus = v[INDEX_cpus];
	n->cpu_s = v[INDEX_cpu_s];
	n->memory_mb = isnan(v[INDEX_limit_mb]) ? v[INDEX_mem_asked_mb] : v[INDEX_limit_mb];
	n->used_mb = v[INDEX_own_peak_mb];
	return isnan(n->cpus + n->cpu_s + n->memory_mb + n->used_mb) ? -ENODATA : 0;
}

/* ---- from a report, which a child reads, to this process */

static void put_node(const struct report *r, unsigned i, struct message *m)
{
	const struct job_node *n = &r->job->nodes[i];
	const double limit = r->facts->values[FACT_NODE_limit_mb][i];
	const double granted = !isnan(limit)	       ? limit
			       : !isnan(n->request_mb) ? n->request_mb
						       : n->memory_in_all_mb;
	const double values[] = {n->cpus, n->unit.total[Q_CPU], granted,
				 r->facts->values[FACT_NODE_own_peak_mb][i]};

	message__put(m, values, sizeof(values));
	message__put_text(m, n->unit.name);
}

static void put_gpu(const struct report *r, unsigned i, struct message *m)
{
	const struct job_unit *u = &r->job->gpus[i];
	const double values[] = {r->facts->values[FACT_GPU_util][i], u->total[Q_GPU_MEM],
				 u->total[Q_GPU_MEM_TOTAL]};

	message__put(m, &u->node, sizeof(u->node));
	message__put(m, values, sizeof(values));
	message__put_text(m, u->name);
}

int js1__put(const struct report *r, struct message *m)
{
	const double elapsed = facts__job(r->facts, FACT_JOB_job_elapsed_s);
	const double own[] = {isnan(elapsed) ? facts__job(r->facts, FACT_JOB_wall_s) : elapsed,
			      facts__job(r->facts, FACT_JOB_gpus)};

	message__put(m, own, sizeof(own));
	message__put(m, &r->job->nnodes, sizeof(r->job->nnodes));
	for (unsigned i = 0; i < r->job->nnodes; i++)
		put_node(r, i, m);
	message__put(m, &r->job->ngpus, sizeof(r->job->ngpus));
	for (unsigned i = 0; i < r->job->ngpus; i++)
		put_gpu(r, i, m);
	return m->bad ? -ENOMEM : 0;
}

static int take_node(struct js1 *s, struct message *m)
{
	const double *v = message__take(m, 4 * sizeof(*v));
	struct js1_node *n;

	if (!v)
		return -EBADMSG;
	n = add_node(s, message__take_text(m));
	if (!n)
		return -ENOMEM;
	n->cpus = v[0];
	n->cpu_s = v[1];
	n->memory_mb = v[2];
	n->used_mb = v[3];
	return 0;
}

static int take_gpu(struct js1 *s, struct message *m)
{
	const unsigned *node = message__take(m, sizeof(*node));
	const double *v = node ? message__take(m, 3 * sizeof(*v)) : NULL;
	struct js1_node *n;

	if (!v || *node >= s->nnodes || s->nodes[*node].ngpus >= GPUS_MAX)
		return -EBADMSG;
	n = &s->nodes[*node];
	if (room__grow(&n->gpus, n->ngpus, 1, sizeof(*n->gpus)))
		return -ENOMEM;
	n->gpus[n->ngpus] = (struct js1_gpu){strdup(message__take_text(m)), v[0], v[1], v[2]};
	return n->gpus[n->ngpus++].name ? 0 : -ENOMEM;
}

static unsigned take_count(struct message *m)
{
	const unsigned *n = message__take(m, sizeof(*n));

	return n && *n <= NODES_MAX ? *n : 0;
}

int js1__take(struct js1 *s, struct message *m)
{
	const double *own = message__take(m, 2 * sizeof(*own));
	unsigned n;
	int err = 0;

	*s = (struct js1){0};
	if (!own)
		return -EBADMSG;
	s->elapsed_s = own[0];
	s->gpus = own[1];
	n = take_count(m);
	for (unsigned i = 0; !err && i < n; i++)
		err = take_node(s, m);
	n = err ? 0 : take_count(m);
	for (unsigned i = 0; !err && i < n; i++)
		err = take_gpu(s, m);
	return err ? err : m->bad ? -EBADMSG : 0;
}

/* ---- as text */

#define WHOLE_MAX 4e15 /* bytes; integers of JSON are exact up to 2^53 */

/* Bounds v by 0 and `most`, which may be NaN; an unknown v becomes 0. */
static double within(double v, double most)
{
	if (!(v > 0))
		return 0;
	v = fmin(v, WHOLE_MAX / MIB);
	return most >= 0 && v > most ? most : v;
}

/* A number with one decimal, which is enough and short. */
static json_t *short_number(double v)
{
	return json__number(round(v * 10) / 10);
}

static void set_mib(json_t *o, const char *key, double mib)
{
	json__set(o, key, json_integer(llround(mib * MIB)));
}

static void set_gpus(json_t *o, const struct js1_node *n)
{
	json_t *use = json_object(), *used = json_object(), *in_all = json_object();

	for (unsigned i = 0; i < n->ngpus; i++) {
		const struct js1_gpu *g = &n->gpus[i];

		if (!isnan(g->use))
			json__set(use, g->name, short_number(within(100 * g->use, 100)));
		if (!isnan(g->used_mb + g->in_all_mb)) {
			set_mib(used, g->name, within(g->used_mb, g->in_all_mb));
			set_mib(in_all, g->name, within(g->in_all_mb, NAN));
		}
	}
	json__set(o, "gpu_utilization", use);
	json__set(o, "gpu_used_memory", used);
	json__set(o, "gpu_total_memory", in_all);
}

/* CPU time is at most whole seconds x CPUs, as readers compute. */
static json_t *node_json(const struct js1 *s, const struct js1_node *n)
{
	json_t *o = json_object();

	json__set(o, "cpus", json_integer(llround(within(n->cpus, NAN))));
	json__set(o, "total_time", short_number(within(n->cpu_s, floor(s->elapsed_s) * n->cpus)));
	set_mib(o, "total_memory", within(n->memory_mb, NAN));
	set_mib(o, "used_memory", within(n->used_mb, n->memory_mb));
	if (n->ngpus)
		set_gpus(o, n);
	return o;
}

static json_t *json_of(const struct js1 *s)
{
	json_t *o = json_object(), *nodes = json_object();

	for (unsigned i = 0; i < s->nnodes; i++)
		json__set(nodes, s->nodes[i].name, node_json(s, &s->nodes[i]));
	json__set(o, "nodes", nodes);
	json__set(o, "total_time", json_integer((json_int_t)floor(within(s->elapsed_s, NAN))));
	json__set(o, "gpus", json_integer(llround(within(s->gpus, NAN))));
	return o;
}

static size_t gzip(const char *text, void *to, size_t room)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
	size_t n = c ? libdeflate_gzip_compress(c, text, strlen(text), to, room) : 0;

	libdeflate_free_compressor(c);
	return n;
}

/* "JS1:" and base64; NULL: no memory. */
static char *packed(const char *json)
{
	const size_t room = strlen(json) + 256;
	void *bytes = malloc(room);
	const size_t n = bytes ? gzip(json, bytes, room) : 0;
	char *digits = n ? base64__of(bytes, n, 0) : NULL, *text = NULL;

	if (digits && asprintf(&text, JS1_PREFIX "%s", digits) < 0)
		text = NULL;
	free(digits);
	free(bytes);
	return text;
}

/* Whether all values are known: readers take an absent one for 0. */
static bool is_known(const struct js1 *s)
{
	for (unsigned i = 0; i < s->nnodes; i++) {
		const struct js1_node *n = &s->nodes[i];

		if (isnan(n->cpus + n->cpu_s + n->memory_mb + n->used_mb))
			return false;
	}
	return s->nnodes && !isnan(s->elapsed_s);
}

char *js1__text(const struct js1 *s)
{
	char *json = NULL, *text;
	json_t *o;
	size_t len;
	FILE *f;

	if (s->elapsed_s < JS1_SHORT_S)
		return strdup(JS1_SHORT);
	if (!is_known(s))
		return strdup(JS1_NONE);
	o = json_of(s);
	f = open_memstream(&json, &len);
	if (f)
		json__dump(o, f, JSON_COMPACT);
	json_decref(o);
	text = !f || fclose(f) ? NULL : packed(json);
	free(json);
	return text;
}
