/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a node and the jobs that were on it, with what the viewer may know of each. */
#include "index/node_lanes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/room.h"
#include "index/nodes_heat.h"

#define LOOK_BACK_S (30 * 86400.0) /* jobs that began earlier are not looked for */

static char *copy(const struct db_value *v)
{
	return v->type == DB_TEXT ? strdup(v->text) : NULL;
}

/* ---- which node */

void node_lanes__query(struct query *q, const char *columns, const char *more, const char *node,
		       const char *cluster, const struct job_filter *f, const struct viewer *v)
{
	struct job_filter of;

	job_filter__init(&of);
	of.cluster = cluster;
	of.since = f->since - LOOK_BACK_S;
	of.until = f->until;
	query__init(q);
	query__add(q, "SELECT ");
	query__add(q, columns);
	query__add(q, " FROM job_node n JOIN job j ON j.id = n.job");
	query__add(q, more);
	query__where(q, &of, v);
	query__add(q, " AND n.node = ? AND n.start >= ? AND n.start < ?");
	query__arg(q, db_value__text(node));
	query__arg(q, db_value__int((int64_t)of.since));
	query__arg(q, db_value__int((int64_t)ceil(of.until)));
}

/* -EEXIST: another one was taken before. */
static int take_cluster(void *arg, const struct db_value *v)
{
	struct node_page *p = arg;

	if (p->about.cluster)
		return strcmp(p->about.cluster, v[0].text) ? -EEXIST : 0;
	p->about.cluster = copy(&v[0]);
	return p->about.cluster ? 0 : -ENOMEM;
}

/* Whether a list as n[1-4] has the node. */
static bool is_on(const struct node_page *p, const struct db_value *list)
{
	struct string_list names = {0};
	bool is_it = false;

	if (list->type == DB_TEXT && !hostlist__parse(&names, list->text, NULL, 0))
		for (unsigned i = 0; i < names.n && !is_it; i++)
			is_it = !strcmp(names.v[i], p->about.node);
	string_list__free(&names);
	return is_it;
}

/* Of a node on which no job has ended yet: that of a job that runs. */
static int take_running(void *arg, const struct db_value *v)
{
	return is_on(arg, &v[1]) ? take_cluster(arg, v) : 0;
}

static int find_cluster(struct node_page *p, struct index *ix, const char *node,
			const struct job_filter *f, const struct viewer *v)
{
	struct query q;
	int err;

	p->about.node = strdup(node);
	if (!p->about.node)
		return -ENOMEM;
	node_lanes__query(&q, "DISTINCT j.cluster", "", node, f->cluster, f, v);
	query__add(&q, " ORDER BY j.cluster LIMIT 2");
	err = query__each(&q, ix->db, take_cluster, p);
	if (!err && !p->about.cluster)
		err = nodes_heat__running(ix, f, v, take_running, p);
	return err ? err : p->about.cluster ? 0 : -ENOENT;
}

static int read_about(struct node_page *p, struct index *ix, const char *node)
{
	struct node_about *a = &p->about;
	const struct db_value args[] = {db_value__text(a->cluster), db_value__text(node)};
	struct db_rows r;
	int err =
		db__ask(&r, ix->db,
			"SELECT n.model, n.cores, n.cpus, n.memory_mb, (SELECT count(*) FROM node "
			"o WHERE o.cluster = n.cluster AND o.cores = n.cores AND o.cpus = n.cpus "
			"AND COALESCE(o.model, '') = COALESCE(n.model, '')) "
			"FROM node n WHERE n.cluster = ? AND n.name = ?",
			args, 2);

	a->cores = a->cpus = a->memory_mb = NAN;
	if (!err && db_rows__next(&r)) {
		a->model = copy(&r.v[0]);
		a->cores = db_value__number(&r.v[1]);
		a->cpus = db_value__number(&r.v[2]);
		a->memory_mb = db_value__number(&r.v[3]);
		a->alike = (unsigned)r.v[4].i;
	}
	return db_rows__end(&r, err);
}

/* ---- its jobs */

/* Of a job whose nodes nobody counted, those that are named count. */
#define LANE_COLUMNS                                                                         \
	"j.id, COALESCE(j.cores, j.cpus * 1.0) / NULLIF(COALESCE(j.nodes, (SELECT count(*) " \
	"FROM job_node m WHERE m.job = j.id)), 0), j.start, COALESCE(j.\"end\", j.start + "  \
	"j.elapsed_s), j.job_id, j.array_id, j.array_task, j.lost_core_s, j.findings, "      \
	"j.worst_severity, j.\"user\", j.account, j.name, j.program, j.partition, j.state, " \
	"j.worst_rule, j.worst_text, CASE WHEN j.sources IN (1, 3) THEN 1 ELSE 0 END"

#define LANE_TEXTS 8
/* Those of a lane, as LANE_COLUMNS has them from the 10th on. */
static void list_texts(char **texts[static LANE_TEXTS], struct node_lane *l)
{
	char **const all[LANE_TEXTS] = {&l->user,      &l->account, &l->name,	    &l->program,
					&l->partition, &l->state,   &l->worst_rule, &l->worst_text};

	memcpy(texts, all, sizeof(all));
}

static int add_lane(void *arg, const struct db_value *v)
{
	struct node_page *p = arg;
	struct node_lane *l;
	char **texts[LANE_TEXTS];

	if (room__grow(&p->lanes, p->nlanes, 1, sizeof(*p->lanes)))
		return -ENOMEM;
	l = &p->lanes[p->nlanes++];
	*l = (struct node_lane){
		.id = v[0].i,
		.is_visible = true,
		.cores = db_value__number(&v[1]),
		.start = db_value__number(&v[2]),
		.end = db_value__number(&v[3]),
		.job_id = db_value__number(&v[4]),
		.array_id = db_value__number(&v[5]),
		.array_task = db_value__number(&v[6]),
		.lost_core_s = db_value__number(&v[7]),
		.findings = db_value__number(&v[8]),
		.worst_severity = db_value__number(&v[9]),
		.cpu_s = NAN,
		.wait_s = NAN,
		.span_s = NAN,
		.memory_mb = NAN,
		.energy_j = NAN,
		.own_s = NAN,
		.others_s = NAN,
		.system_s = NAN,
		.wakeup_s = NAN,
		.quota_s = NAN,
		.no_owner_s = NAN,
	};
	list_texts(texts, l);
	for (int i = 0; i < LANE_TEXTS; i++)
		*texts[i] = copy(&v[10 + i]);
	l->has_profile = !isnan(l->findings);
	l->is_sure = v[18].i;
	return 0;
}

static void free_texts(struct node_lane *l)
{
	char **texts[LANE_TEXTS];

	list_texts(texts, l);
	for (int i = 0; i < LANE_TEXTS; i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
}

typedef int take_row_of(void *page, const struct db_value *v);

/* Asks for jobs of the node that ran in the time of the page, in the order of their begin. */
static int ask_jobs(struct node_page *p, struct index *ix, const char *columns,
		    const struct job_filter *f, const struct viewer *v, take_row_of *take)
{
	struct query q;

	node_lanes__query(&q, columns, "", p->about.node, NULL, f, v);
	query__add(&q, " AND j.cluster = ? AND COALESCE(j.\"end\", j.start + j.elapsed_s, j.start) "
		       ">= ? ORDER BY j.start, j.job_id, j.id");
	query__arg(&q, db_value__text(p->about.cluster));
	query__arg(&q, db_value__int((int64_t)f->since));
	return query__each(&q, ix->db, take, p);
}

/* Jobs that run, of whose queue the index knows. Their numbers are below 0 here. */
#define RUNNING_COLUMNS                                                                    \
	"-j.id, COALESCE(j.cores, j.cpus * 1.0) / NULLIF(j.nodes, 0), j.start, "           \
	"CAST(NULL AS {real}), j.job_id, j.array_id, j.array_task, CAST(NULL AS {real}), " \
	"j.findings, j.severity, j.\"user\", j.account, j.name, j.program, j.partition, "  \
	"j.state, j.rule, j.text, CASE WHEN j.queued_at IS NULL THEN 0 ELSE 1 END, j.node_list"
#define NODE_LIST 19

static int ask_running(struct node_page *p, struct index *ix, const char *columns,
		       const struct job_filter *f, const struct viewer *v, take_row_of *take)
{
	struct job_filter of;
	struct query q;

	job_filter__init(&of);
	query__init(&q);
	query__add(&q, "SELECT ");
	query__add(&q, columns);
	query__add(&q, " FROM running j");
	query__where(&q, &of, v);
	query__add(&q, " AND j.state <> 'PENDING' AND j.cluster = ? AND j.start < ? ORDER BY j.id");
	query__arg(&q, db_value__text(p->about.cluster));
	query__arg(&q, db_value__int((int64_t)ceil(f->until)));
	return query__each(&q, ix->db, take, p);
}

#define SAME_S 60 /* clocks of the queue and of a profile */

static int add_running(void *arg, const struct db_value *v)
{
	struct node_page *p = arg;
	int err;

	for (unsigned i = 0; i < p->nlanes; i++) /* it has just ended */
		if (p->lanes[i].job_id == db_value__number(&v[4]) &&
		    fabs(p->lanes[i].start - db_value__number(&v[2])) < SAME_S)
			return 0;
	if (!is_on(p, &v[NODE_LIST]))
		return 0;
	err = add_lane(p, v);
	if (!err)
		p->lanes[p->nlanes - 1].has_profile = false;
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct node_lane *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static uint64_t id_of_lane(int64_t id)
{
	return id__mix(1, (uint64_t)id);
}

struct node_lane *node_lanes__of(const struct node_page *p, int64_t id)
{
	const uint32_t *at = id_table__find(&p->lane_of, id_of_lane(id));

	return at ? &p->lanes[*at] : NULL;
}

/* After lanes have come to other places. */
static int list_lanes(struct node_page *p)
{
	bool ok = true;

	id_table__free(&p->lane_of);
	for (unsigned i = 0; i < p->nlanes && ok; i++)
		ok = id_table__add(&p->lane_of, id_of_lane(p->lanes[i].id), i);
	return ok ? 0 : -ENOMEM;
}

static int mark_visible(void *page, const struct db_value *v)
{
	struct node_lane *l = node_lanes__of(page, v[0].i);

	if (l)
		l->is_visible = true;
	return 0;
}

/* Cuts a lane of somebody else to the time in which a visible one ran, by Slurm's word: anybody can
 * write a profile of a job that was on any node. False: there was none. */
static bool cut(struct node_page *p, struct node_lane *l)
{
	double start = INFINITY, end = -INFINITY;

	for (unsigned i = 0; i < p->nlanes; i++) {
		const struct node_lane *o = &p->lanes[i];
		const double from = fmax(l->start, o->start);
		const double to = fmin(isnan(l->end) ? INFINITY : l->end, o->end);

		if (!o->is_visible || !o->is_sure || !(from < to))
			continue;
		start = fmin(start, from);
		end = fmax(end, to);
	}
	l->start = start;
	l->end = isinf(end) ? NAN : end; /* both run */
	return start < end;
}

/* Removes what the viewer must not know: names and numbers of others. */
static int hide(struct node_page *p, struct index *ix, const struct job_filter *f,
		const struct viewer *v)
{
	unsigned kept = 0;
	int err;

	for (unsigned i = 0; i < p->nlanes; i++)
		p->lanes[i].is_visible = false;
	err = ask_jobs(p, ix, "j.id", f, v, mark_visible);
	if (!err)
		err = ask_running(p, ix, "-j.id", f, v, mark_visible);
	for (unsigned i = 0; i < p->nlanes; i++) {
		struct node_lane *l = &p->lanes[i];

		if (l->is_visible)
			continue;
		free_texts(l);
		l->job_id = l->array_id = l->array_task = l->lost_core_s = NAN;
		l->findings = l->worst_severity = NAN;
		l->has_profile = false;
	}
	for (unsigned i = 0; i < p->nlanes; i++)
		if (p->lanes[i].is_visible || cut(p, &p->lanes[i]))
			p->lanes[kept++] = p->lanes[i];
	p->nlanes = kept;
	return err ? err : list_lanes(p);
}

static int read_lanes(struct node_page *p, struct index *ix, const struct job_filter *f,
		      const struct viewer *v)
{
	const struct viewer all = {.sees_all = true};
	int err = ask_jobs(p, ix, LANE_COLUMNS, f, &all, add_lane);
	bool is_visible = v->sees_all;

	if (!err)
		err = ask_running(p, ix, RUNNING_COLUMNS, f, &all, add_running);
	if (!err && p->nlanes)
		qsort(p->lanes, p->nlanes, sizeof(*p->lanes), by_start);
	if (!err)
		err = list_lanes(p);
	if (!err && !v->sees_all)
		err = hide(p, ix, f, v);
	for (unsigned i = 0; i < p->nlanes; i++)
		is_visible |= p->lanes[i].is_visible;
	return !err && !is_visible ? -ENOENT : err;
}

/* ---- all of it */

int node_lanes__read(struct node_page *p, struct index *ix, const char *node,
		     const struct job_filter *f, const struct viewer *v)
{
	int err = find_cluster(p, ix, node, f, v);

	if (!err)
		err = read_about(p, ix, node);
	return err ? err : read_lanes(p, ix, f, v);
}

void node_lanes__free(struct node_page *p)
{
	free(p->about.node);
	free(p->about.cluster);
	free(p->about.model);
	for (unsigned i = 0; i < p->nlanes; i++)
		free_texts(&p->lanes[i]);
	free(p->lanes);
	id_table__free(&p->lane_of);
}
