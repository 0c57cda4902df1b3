/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up rows of five minutes by node and hour. */
#include "index/nodes_heat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/known.h"
#include "base/room.h"
#include "index/node_row.h"

#define LOOK_BACK_S  (7 * 86400.0) /* jobs that began earlier are known by their rows alone */
#define ROWS_OF_STEP (HEAT_STEP_S / NODE_ROW_S)

const char *const heat_names[N_HEATS] = {"busy", "wait", "memory", "power"};

static char *copy(const struct db_value *v)
{
	return strdup(v->type == DB_TEXT ? v->text : "");
}

/* ---- nodes and kinds */

static uint64_t id_of_number(uint64_t hash, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return id__mix(hash, bits);
}

/* The kind of a node of this cluster, model and size; makes it. */
static int find_kind(struct nodes_heat *h, const struct heat_kind *like, unsigned *kind)
{
	uint64_t id = id__mix(id__of_text(like->cluster), id__of_text(like->model));
	const uint32_t *at;
	struct heat_kind *k;

	id = id_of_number(id_of_number(id_of_number(id, like->cores), like->cpus), like->memory_mb);
	at = id_table__find(&h->kind_of, id);
	*kind = at ? *at : h->nkinds;
	if (at)
		return 0;
	if (room__grow(&h->kinds, h->nkinds, 1, sizeof(*h->kinds)))
		return -ENOMEM;
	k = &h->kinds[h->nkinds++];
	*k = *like;
	k->cluster = strdup(like->cluster);
	k->model = strdup(like->model);
	return k->cluster && k->model && id_table__add(&h->kind_of, id, *kind) ? 0 : -ENOMEM;
}

/* Whether the node is to be left out; sure ones come first. */
static bool is_left_out(struct nodes_heat *h, const char *cluster, bool is_sure)
{
	const uint64_t id = id__of_text(cluster);
	const bool has_sure = id_table__find(&h->sure, id);

	if (is_sure && !has_sure)
		id_table__add(&h->sure, id, 1);
	return !is_sure && has_sure;
}

#define MEMORY_STEP 1024.0 /* nodes of a kind differ by some MiB */

/* A row: name, cluster, id, model, cores, cpus, memory, whether Slurm knows of a job there. */
static int add_node(void *arg, const struct db_value *v)
{
	struct nodes_heat *h = arg;
	char empty[] = "";
	struct heat_kind like = {
		.cluster = v[1].type == DB_TEXT ? (char *)v[1].text : empty,
		.model = v[3].type == DB_TEXT ? (char *)v[3].text : empty,
		.cores = db_value__number(&v[4]),
		.cpus = db_value__number(&v[5]),
		.memory_mb = rint(db_value__number(&v[6]) / MEMORY_STEP) * MEMORY_STEP,
	};
	struct heat_node *n;
	int err;

	if (is_left_out(h, like.cluster, v[7].i))
		return 0;
	if (room__grow(&h->nodes, h->nnodes, 1, sizeof(*h->nodes)))
		return -ENOMEM;
	n = &h->nodes[h->nnodes++];
	*n = (struct heat_node){.name = copy(&v[0]),
				.cluster = copy(&v[1]),
				.id = (int64_t)v[2].i,
				.is_sure = v[7].i};
	err = find_kind(h, &like, &n->kind);
	if (!err)
		h->kinds[n->kind].nodes++;
	return err ? err : n->name && n->cluster ? 0 : -ENOMEM;
}

static void add_times(struct query *q, const struct nodes_heat *h)
{
	query__arg(q, db_value__int(h->from / NODE_ROW_S));
	query__arg(q, db_value__int(h->from / NODE_ROW_S + (int64_t)h->steps * ROWS_OF_STEP));
}

/* Nodes on which jobs of the time were, and those that have rows. */
static int read_nodes(struct nodes_heat *h, struct index *ix, const struct job_filter *f,
		      const struct viewer *v)
{
	struct query q;

	query__init(&q);
	query__add(&q, "SELECT o.node, o.cluster, k.id, k.model, k.cores, k.cpus, k.memory_mb, "
		       "o.sure FROM (SELECT a.node AS node, a.cluster AS cluster, MAX(a.sure) AS "
		       "sure FROM (SELECT n.node AS node, j.cluster AS cluster, MAX(CASE WHEN "
		       "j.sources IN (1, 3) THEN 1 ELSE 0 END) AS sure FROM job j CROSS JOIN "
		       "job_node n");
	query__where(&q, f, v);
	query__add(&q, " AND n.job = j.id AND COALESCE(j.\"end\", j.start) >= ? GROUP BY n.node, "
		       "j.cluster UNION ALL SELECT m.name, m.cluster, CASE WHEN EXISTS (SELECT 1 "
		       "FROM node_row r JOIN job y ON y.id = r.job WHERE r.node = m.id AND r.t >= "
		       "? AND r.t < ? AND y.sources IN (1, 3)) THEN 1 ELSE 0 END FROM node m WHERE "
		       "EXISTS (SELECT 1 FROM node_row r WHERE r.node = m.id AND r.t >= ? AND r.t "
		       "< ?)) a GROUP BY a.node, a.cluster) o LEFT JOIN node k ON k.cluster = "
		       "o.cluster AND k.name = o.node");
	query__arg(&q, db_value__int(h->from));
	add_times(&q, h);
	add_times(&q, h);
	if (f->cluster) {
		query__add(&q, " WHERE o.cluster = ?");
		query__arg(&q, db_value__text(f->cluster));
	}
	query__add(&q,
		   " ORDER BY o.sure DESC, k.cores DESC NULLS LAST, k.model, o.cluster, o.node");
	return query__each(&q, ix->db, add_node, h);
}

/* "n2" before "n10": numbers in names by their value. */
static int by_name(const char *a, const char *b)
{
	while (*a && *b) {
		if (*a >= '0' && *a <= '9' && *b >= '0' && *b <= '9') {
			char *end_a, *end_b;
			const unsigned long long x = strtoull(a, &end_a, 10);
			const unsigned long long y = strtoull(b, &end_b, 10);

			if (x != y)
				return x < y ? -1 : 1;
			a = end_a;
			b = end_b;
		} else if (*a != *b) {
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	return *a ? 1 : *b ? -1 : 0;
}

static int by_kind(const void *a, const void *b)
{
	const struct heat_node *x = a, *y = b;
	int order = (x->kind > y->kind) - (x->kind < y->kind);

	order = order ? order : by_name(x->name, y->name);
	order = order ? order : strcmp(x->name, y->name);
	return order ? order : strcmp(x->cluster, y->cluster);
}

/* ---- rows */

/* Sums over the rows of one node in one step; NaN: not known. */
struct sums {
	double cpu_s, wait_s, jobs_mb, slots; /* slots: five minutes that have rows */
	double busy_s, busy_of_s, used_mb, used_slots, energy_j, energy_of_s;
};

enum {
	R_NODE,
	R_T,
	R_SPAN,
	R_CPU,
	R_WAIT,
	R_MEMORY,
	R_IDLE,
	R_USED,
	R_NODE_J,
	R_JOBS_J,
	R_LOW_J,
	R_HIGH_J,
	R_SYSTEM_J,
	R_UNALLOCATED_J,
	R_COLUMNS,
	R_JOB = R_COLUMNS
};

/* In the order of the table's key: sums made here take half of the time that GROUP BY takes. */
static const char rows_sql[] =
	"SELECT n.id, r.t, r.span_s, r.cpu_ms, r.wait_ms, r.memory_mb, r.node_idle_ms, "
	"r.node_memory_mb, r.node_energy_j, r.energy_j, r.energy_low_j, r.energy_high_j, "
	"r.node_system_j, r.node_unallocated_j, r.job FROM node n CROSS JOIN node_row r WHERE "
	"r.node = n.id AND r.t >= ? AND r.t < ? ORDER BY n.id, r.t, r.job";

/* The rows of one node in the same five minutes: sums of what is of jobs. What the node did is in
 * each of them: the greatest counts, as that of most time. NaN: not known. */
struct slot {
	int64_t node, t;
	double v[R_COLUMNS];
	double idle_span_s;
};

static void begin_slot(struct slot *s, const struct db_value *v)
{
	s->node = v[R_NODE].i;
	s->t = v[R_T].i;
	s->idle_span_s = NAN;
	for (int i = 0; i < R_COLUMNS; i++)
		s->v[i] = NAN;
}

static void add_to_slot(struct slot *s, const struct db_value *v)
{
	static const bool is_sum[R_COLUMNS] = {
		[R_CPU] = true,	   [R_WAIT] = true,  [R_MEMORY] = true,
		[R_JOBS_J] = true, [R_LOW_J] = true, [R_HIGH_J] = true};

	for (int i = R_SPAN; i < R_COLUMNS; i++) {
		const double one = db_value__number(&v[i]);

		s->v[i] = is_sum[i] ? known__sum(s->v[i], one) : fmax(s->v[i], one);
	}
	if (v[R_IDLE].type == DB_INT)
		s->idle_span_s = fmax(s->idle_span_s, db_value__number(&v[R_SPAN]));
}

static void add_energy(struct heat_energy *e, const double *v)
{
	e->jobs_j = known__sum(e->jobs_j, v[R_JOBS_J]);
	e->low_j = known__sum(e->low_j, v[R_LOW_J]);
	e->high_j = known__sum(e->high_j, v[R_HIGH_J]);
	e->idle_j = known__sum(e->idle_j, v[R_UNALLOCATED_J]);
	e->no_owner_j = known__sum(e->no_owner_j, v[R_SYSTEM_J]);
	e->all_j = known__sum(e->all_j, isnan(v[R_NODE_J]) ? v[R_JOBS_J] : v[R_NODE_J]);
	if (!isnan(v[R_NODE_J]) || !isnan(v[R_JOBS_J]))
		e->known_s = known__sum(e->known_s, v[R_SPAN]);
}

static void add_slot(struct sums *s, const struct slot *slot, double cpus)
{
	const double *v = slot->v;

	s->slots++;
	s->cpu_s = known__sum(s->cpu_s, v[R_CPU] / 1000);
	s->wait_s = known__sum(s->wait_s, v[R_WAIT] / 1000);
	s->jobs_mb = known__sum(s->jobs_mb, v[R_MEMORY]);
	if (!isnan(v[R_IDLE]) && cpus > 0) {
		const double all_s = cpus * slot->idle_span_s;

		s->busy_s = known__sum(s->busy_s, known__not_negative(all_s - v[R_IDLE] / 1000));
		s->busy_of_s = known__sum(s->busy_of_s, all_s);
	}
	if (!isnan(v[R_USED])) {
		s->used_mb = known__sum(s->used_mb, v[R_USED]);
		s->used_slots++;
	}
	if (!isnan(v[R_NODE_J])) {
		s->energy_j = known__sum(s->energy_j, v[R_NODE_J]);
		s->energy_of_s = known__sum(s->energy_of_s, v[R_SPAN]);
	}
}

static struct sums no_sums(void)
{
	return (struct sums){.cpu_s = NAN,
			     .wait_s = NAN,
			     .jobs_mb = NAN,
			     .busy_s = NAN,
			     .busy_of_s = NAN,
			     .used_mb = NAN,
			     .energy_j = NAN,
			     .energy_of_s = NAN};
}

static void end_step(struct nodes_heat *h, const struct sums *s, unsigned node, unsigned step)
{
	const struct heat_kind *k = &h->kinds[h->nodes[node].kind];
	const size_t at = (size_t)node * h->steps + step;

	h->v[HEAT_busy][at] = isnan(s->busy_s) ? s->cpu_s / (k->cpus * s->slots * NODE_ROW_S)
					       : s->busy_s / s->busy_of_s;
	h->v[HEAT_wait][at] = s->wait_s / (s->cpu_s + s->wait_s);
	h->v[HEAT_memory][at] = isnan(s->used_mb) ? s->jobs_mb / s->slots / k->memory_mb
						  : s->used_mb / s->used_slots / k->memory_mb;
	h->v[HEAT_power][at] = s->energy_j / s->energy_of_s;
}

static int compare_ids(const void *a, const void *b)
{
	const struct heat_node *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* Finds nodes by the numbers of their rows. */
static struct heat_node **sort_ids(struct nodes_heat *h)
{
	struct heat_node **ids = calloc(h->nnodes + 1, sizeof(struct heat_node *));

	for (unsigned i = 0; ids && i < h->nnodes; i++)
		ids[i] = &h->nodes[i];
	if (ids && h->nnodes)
		qsort(ids, h->nnodes, sizeof(struct heat_node *), compare_ids);
	return ids;
}

/* The step whose slots are being added up. */
struct step {
	int64_t id;
	int node; /* index; -1: it is not wanted */
	unsigned step;
	struct sums sums;
};

static int node_of_id(const struct nodes_heat *h, struct heat_node **ids, int64_t id)
{
	struct heat_node key = {.id = id}, *want = &key;
	struct heat_node **found =
		bsearch(&want, ids, h->nnodes, sizeof(struct heat_node *), compare_ids);

	return found ? (int)(*found - h->nodes) : -1;
}

static void begin_step(struct step *p, const struct nodes_heat *h, struct heat_node **ids,
		       const struct slot *s, unsigned step)
{
	if (p->id != s->node) {
		p->id = s->node;
		p->node = node_of_id(h, ids, s->node);
	}
	p->step = step;
	p->sums = no_sums();
}

static void take_slot(struct nodes_heat *h, struct step *p, struct heat_node **ids,
		      const struct slot *s)
{
	const unsigned step = (unsigned)((s->t * NODE_ROW_S - h->from) / HEAT_STEP_S);

	if (p->id != s->node || p->step != step) {
		if (p->node >= 0)
			end_step(h, &p->sums, (unsigned)p->node, p->step);
		begin_step(p, h, ids, s, step);
	}
	if (p->node < 0 || step >= h->steps)
		return;
	add_slot(&p->sums, s, h->kinds[h->nodes[p->node].kind].cpus);
	add_energy(&h->energy[step], s->v);
}

static uint64_t id_of_job(int64_t job)
{
	return id__mix(1, (uint64_t)job);
}

static bool is_doubted(const struct nodes_heat *h, struct heat_node **ids, const struct db_value *v)
{
	int node;

	if (!h->doubted.n || !id_table__find(&h->doubted, id_of_job(v[R_JOB].i)))
		return false;
	node = node_of_id(h, ids, v[R_NODE].i);
	return node >= 0 && h->nodes[node].is_sure;
}

static int take_rows(struct nodes_heat *h, struct db_rows *r, struct heat_node **ids)
{
	struct step p = {.id = -1, .node = -1};
	struct slot s = {.node = -1};

	while (db_rows__next(r)) {
		if (is_doubted(h, ids, r->v))
			continue;
		if (s.node != r->v[R_NODE].i || s.t != r->v[R_T].i) {
			if (s.node >= 0)
				take_slot(h, &p, ids, &s);
			begin_slot(&s, r->v);
		}
		add_to_slot(&s, r->v);
	}
	if (s.node >= 0)
		take_slot(h, &p, ids, &s);
	if (p.node >= 0)
		end_step(h, &p.sums, (unsigned)p.node, p.step);
	return r->err;
}

static int add_doubted(void *arg, const struct db_value *v)
{
	struct nodes_heat *h = arg;

	return id_table__add(&h->doubted, id_of_job(v[0].i), 1) ? 0 : -ENOMEM;
}

/* Lists the jobs with rows of which Slurm does not know. */
static int read_doubted(struct nodes_heat *h, struct index *ix)
{
	struct query q;

	query__init(&q);
	query__add(&q, "SELECT j.id FROM job j WHERE j.sources = 2 AND j.id IN (SELECT DISTINCT "
		       "r.job FROM node_row r WHERE r.t >= ? AND r.t < ?)");
	add_times(&q, h);
	return query__each(&q, ix->db, add_doubted, h);
}

static int read_rows(struct nodes_heat *h, struct index *ix)
{
	const struct db_value args[] = {
		db_value__int(h->from / NODE_ROW_S),
		db_value__int(h->from / NODE_ROW_S + (int64_t)h->steps * ROWS_OF_STEP)};
	struct heat_node **ids = sort_ids(h);
	struct db_rows r = {0};
	int err = ids ? db__ask(&r, ix->db, rows_sql, args, 2) : -ENOMEM;

	if (!err)
		err = take_rows(h, &r, ids);
	err = db_rows__end(&r, err);
	free(ids);
	return err;
}

/* ---- when jobs were there */

static uint64_t id_of_node(const char *name, const char *cluster)
{
	return id__mix(id__of_text(name), id__of_text(cluster));
}

static int list_nodes(struct nodes_heat *h)
{
	bool ok = true;

	for (unsigned i = 0; i < h->nnodes && ok; i++)
		ok = id_table__add(&h->node_of, id_of_node(h->nodes[i].name, h->nodes[i].cluster),
				   i);
	return ok ? 0 : -ENOMEM;
}

static int find_node(const struct nodes_heat *h, const char *name, const char *cluster)
{
	const uint32_t *at = id_table__find(&h->node_of, id_of_node(name, cluster));

	return at ? (int)*at : -1;
}

static void mark_job(struct nodes_heat *h, int node, double start, double end)
{
	const double first = floor((start - (double)h->from) / HEAT_STEP_S);
	const double last = (end - (double)h->from) / HEAT_STEP_S;

	for (double k = fmax(0, first); k < h->steps && k <= last; k++)
		h->had_job[(size_t)node * h->steps + (size_t)k] = true;
}

static int read_jobs(struct nodes_heat *h, struct index *ix, const struct job_filter *f,
		     const struct viewer *v)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT n.node, j.cluster, j.start, COALESCE(j.\"end\", j.start + "
		       "j.elapsed_s, j.start), j.sources FROM job j CROSS JOIN job_node n");
	if (!err)
		err = query__where(&q, f, v);
	query__add(&q, " AND n.job = j.id AND COALESCE(j.\"end\", j.start) >= ? ORDER BY n.node, "
		       "j.cluster");
	query__arg(&q, db_value__int(h->from));
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		const int node = find_node(h, r.v[0].text, r.v[1].text);

		if (node >= 0 && (!h->nodes[node].is_sure || r.v[4].i & ROW_SOURCE_SLURM))
			mark_job(h, node, db_value__number(&r.v[2]), db_value__number(&r.v[3]));
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

int nodes_heat__running(struct index *ix, const struct job_filter *f, const struct viewer *v,
			int (*take)(void *arg, const struct db_value *v), void *arg)
{
	struct job_filter of;
	struct query q;

	job_filter__init(&of);
	of.cluster = f->cluster;
	query__init(&q);
	query__add(&q, "SELECT j.cluster, j.node_list, j.start FROM running j");
	query__where(&q, &of, v);
	query__add(&q, " AND j.state <> 'PENDING' AND j.start < ?");
	query__arg(&q, db_value__int((int64_t)ceil(f->until)));
	return query__each(&q, ix->db, take, arg);
}

/* A row of nodes_heat__running(): it has no rows yet. */
static int mark_running(void *arg, const struct db_value *v)
{
	struct nodes_heat *h = arg;
	struct string_list names = {0};

	if (v[1].type == DB_TEXT && !hostlist__parse(&names, v[1].text, NULL, 0))
		for (unsigned i = 0; i < names.n; i++) {
			const int node = find_node(h, names.v[i], v[0].text);

			if (node >= 0)
				mark_job(h, node, db_value__number(&v[2]), INFINITY);
		}
	string_list__free(&names);
	return 0;
}

/* ---- all of it */

static int make_room(struct nodes_heat *h)
{
	const size_t n = (size_t)h->nnodes * h->steps;

	h->energy = calloc(h->steps + 1, sizeof(*h->energy));
	h->had_job = calloc(n + 1, sizeof(*h->had_job));
	if (!h->energy || !h->had_job)
		return -ENOMEM;
	for (unsigned i = 0; i < h->steps; i++)
		h->energy[i] = (struct heat_energy){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	for (int i = 0; i < N_HEATS; i++) {
		h->v[i] = malloc((n + 1) * sizeof(double));
		if (!h->v[i])
			return -ENOMEM;
		for (size_t k = 0; k < n; k++)
			h->v[i][k] = NAN;
	}
	return 0;
}

int nodes_heat__read(struct nodes_heat *h, struct index *ix, const struct job_filter *f,
		     const struct viewer *v)
{
	struct job_filter of;
	int err;

	job_filter__init(&of);
	of.cluster = f->cluster;
	of.since = f->since - LOOK_BACK_S;
	of.until = f->until;
	*h = (struct nodes_heat){.from = (int64_t)floor(f->since / HEAT_STEP_S) * HEAT_STEP_S};
	h->steps = (unsigned)ceil((f->until - (double)h->from) / HEAT_STEP_S);
	if (!v->sees_all)
		return 0;
	err = read_nodes(h, ix, &of, v);
	if (!err && h->nnodes)
		qsort(h->nodes, h->nnodes, sizeof(*h->nodes), by_kind);
	if (!err)
		err = list_nodes(h);
	if (!err)
		err = make_room(h);
	if (!err && h->sure.n)
		err = read_doubted(h, ix);
	if (!err)
		err = read_rows(h, ix);
	if (!err)
		err = read_jobs(h, ix, &of, v);
	return err ? err : nodes_heat__running(ix, &of, v, mark_running, h);
}

void nodes_heat__free(struct nodes_heat *h)
{
	for (unsigned i = 0; i < h->nkinds; i++) {
		free(h->kinds[i].cluster);
		free(h->kinds[i].model);
	}
	free(h->kinds);
	for (unsigned i = 0; i < h->nnodes; i++) {
		free(h->nodes[i].name);
		free(h->nodes[i].cluster);
	}
	free(h->nodes);
	for (int i = 0; i < N_HEATS; i++)
		free(h->v[i]);
	free(h->had_job);
	free(h->energy);
	id_table__free(&h->kind_of);
	id_table__free(&h->node_of);
	id_table__free(&h->sure);
	id_table__free(&h->doubted);
	*h = (struct nodes_heat){0};
}
