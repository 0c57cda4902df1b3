/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the jobs and the rows of a node, and divides the waits of each job among the others. */
#include "index/node_page.h"

#include <errno.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/known.h"
#include "base/room.h"
#include "index/node_row.h"
#include "index/slower.h"

#define LOOK_BACK_S (30 * 86400.0) /* jobs that began earlier are not looked for */
#define AT_ONCE_MAX 1024	   /* jobs with a row of the same five minutes */
#define PAIRS_MAX   100000

const char *const node_line_names[N_NODE_LINES] = {
	"cpu_jobs_cores", "cpu_other_cores", "wait_threads", "memory_mb",
	"memory_jobs_mb", "power_w",	     "power_low_w",  "power_high_w",
};

static char *copy(const struct db_value *v)
{
	return v->type == DB_TEXT ? strdup(v->text) : NULL;
}

/* ---- which node */

/* Nodes of which there are rows, then those that jobs name. */
static int find_cluster(struct node_page *p, struct index *ix, const char *node,
			const struct job_filter *f, const struct viewer *v)
{
	struct job_filter filter;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	job_filter__init(&filter);
	filter.cluster = f->cluster;
	filter.since = f->since - LOOK_BACK_S;
	filter.until = f->until;
	query__add(&q, "SELECT DISTINCT j.cluster FROM job_node n JOIN job j ON j.id = n.job");
	if (!err)
		err = query__where(&q, &filter, v);
	query__add(&q, " AND n.node = ? AND n.start >= ? ORDER BY j.cluster LIMIT 2");
	query__arg(&q, db_value__text(node));
	query__arg(&q, db_value__int((int64_t)filter.since));
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		if (p->about.cluster)
			err = -EEXIST;
		else if (!(p->about.cluster = copy(&r.v[0])))
			err = -ENOMEM;
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
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

	a->node = strdup(node);
	a->cores = a->cpus = a->memory_mb = NAN;
	if (!err && db_rows__next(&r)) {
		a->model = copy(&r.v[0]);
		a->cores = db_value__number(&r.v[1]);
		a->cpus = db_value__number(&r.v[2]);
		a->memory_mb = db_value__number(&r.v[3]);
		a->alike = (unsigned)r.v[4].i;
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	return !err && !a->node ? -ENOMEM : err;
}

/* ---- its jobs */

/* Of a job whose nodes nobody counted, those that are named count. */
#define LANE_COLUMNS                                                                         \
	"j.id, COALESCE(j.cores, j.cpus * 1.0) / NULLIF(COALESCE(j.nodes, (SELECT count(*) " \
	"FROM job_node m WHERE m.job = j.id)), 0), j.start, COALESCE(j.\"end\", j.start + "  \
	"j.elapsed_s), j.job_id, j.array_id, j.array_task, j.lost_core_s, j.findings, "      \
	"j.worst_severity, j.\"user\", j.account, j.name, j.program, j.partition, j.state, " \
	"j.worst_rule, j.worst_text, CASE WHEN j.sources IN (1, 3) THEN 1 ELSE 0 END"

static int add_lane(struct node_page *p, const struct db_value *v)
{
	struct node_lane *l;

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
		.user = copy(&v[10]),
		.account = copy(&v[11]),
		.name = copy(&v[12]),
		.program = copy(&v[13]),
		.partition = copy(&v[14]),
		.state = copy(&v[15]),
		.worst_rule = copy(&v[16]),
		.worst_text = copy(&v[17]),
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
	l->has_profile = !isnan(l->findings);
	l->is_sure = v[18].i;
	return 0;
}

static void free_texts(struct node_lane *l)
{
	char **texts[] = {&l->user,	 &l->account, &l->name,	      &l->program,
			  &l->partition, &l->state,   &l->worst_rule, &l->worst_text};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
}

/* Asks for jobs of the node that ran in the time of the page, in the order of their begin. */
static int ask_jobs(struct index *ix, const struct node_page *p, const char *columns,
		    const struct job_filter *f, const struct viewer *v,
		    int (*take)(struct node_page *p, const struct db_value *v),
		    struct node_page *to)
{
	struct job_filter of;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	job_filter__init(&of);
	of.since = f->since - LOOK_BACK_S;
	of.until = f->until;
	query__add(&q, "SELECT ");
	query__add(&q, columns);
	query__add(&q, " FROM job_node n JOIN job j ON j.id = n.job");
	if (!err)
		err = query__where(&q, &of, v);
	query__add(&q, " AND n.node = ? AND n.start >= ? AND n.start < ? AND j.cluster = ? AND "
		       "COALESCE(j.\"end\", j.start + j.elapsed_s, j.start) >= ? "
		       "ORDER BY j.start, j.job_id, j.id");
	query__arg(&q, db_value__text(p->about.node));
	query__arg(&q, db_value__int((int64_t)of.since));
	query__arg(&q, db_value__int((int64_t)ceil(of.until)));
	query__arg(&q, db_value__text(p->about.cluster));
	query__arg(&q, db_value__int((int64_t)f->since));
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r))
		err = take(to, r.v);
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	return err;
}

/* Jobs that run, of whose queue the index knows. Their numbers are below 0 here. */
#define RUNNING_COLUMNS                                                                    \
	"-j.id, COALESCE(j.cores, j.cpus * 1.0) / NULLIF(j.nodes, 0), j.start, "           \
	"CAST(NULL AS {real}), j.job_id, j.array_id, j.array_task, CAST(NULL AS {real}), " \
	"j.findings, j.severity, j.\"user\", j.account, j.name, j.program, j.partition, "  \
	"j.state, j.rule, j.text, CASE WHEN j.queued_at IS NULL THEN 0 ELSE 1 END, j.node_list"
#define NODE_LIST 19

static int ask_running(struct index *ix, const struct node_page *p, const char *columns,
		       const struct job_filter *f, const struct viewer *v,
		       int (*take)(struct node_page *p, const struct db_value *v),
		       struct node_page *to)
{
	struct job_filter of;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	job_filter__init(&of);
	query__add(&q, "SELECT ");
	query__add(&q, columns);
	query__add(&q, " FROM running j");
	if (!err)
		err = query__where(&q, &of, v);
	query__add(&q, " AND j.state <> 'PENDING' AND j.cluster = ? AND j.start < ? ORDER BY j.id");
	query__arg(&q, db_value__text(p->about.cluster));
	query__arg(&q, db_value__int((int64_t)ceil(f->until)));
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r))
		err = take(to, r.v);
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	return err;
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

#define SAME_S 60 /* clocks of the queue and of a profile */

static int add_running(struct node_page *p, const struct db_value *v)
{
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

static struct node_lane *lane_of(const struct node_page *p, int64_t id)
{
	for (unsigned i = 0; i < p->nlanes; i++)
		if (p->lanes[i].id == id)
			return &p->lanes[i];
	return NULL;
}

static int mark_visible(struct node_page *p, const struct db_value *v)
{
	struct node_lane *l = lane_of(p, v[0].i);

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
	err = ask_jobs(ix, p, "j.id", f, v, mark_visible, p);
	if (!err)
		err = ask_running(ix, p, "-j.id", f, v, mark_visible, p);
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
	return err;
}

static int read_lanes(struct node_page *p, struct index *ix, const struct job_filter *f,
		      const struct viewer *v)
{
	const struct viewer all = {.sees_all = true};
	int err = ask_jobs(ix, p, LANE_COLUMNS, f, &all, add_lane, p);
	bool is_visible = v->sees_all;

	if (!err)
		err = ask_running(ix, p, RUNNING_COLUMNS, f, &all, add_running, p);
	if (!err && p->nlanes)
		qsort(p->lanes, p->nlanes, sizeof(*p->lanes), by_start);
	if (!err && !v->sees_all)
		err = hide(p, ix, f, v);
	for (unsigned i = 0; i < p->nlanes; i++)
		is_visible |= p->lanes[i].is_visible;
	return !err && !is_visible ? -ENOENT : err;
}

/* ---- rows of five minutes */

/* A row of a lane; NaN: not known. */
struct at {
	struct node_lane *lane;
	bool is_sure; /* Slurm's accounting knows the job */
	double v[N_NODE_VALUES];
};

struct slot {
	int64_t t;
	struct at *v;
	unsigned n;
};

static double add(double a, double b)
{
	return known__sum(a, b);
}

/* Sums of the job on this node. */
static void add_sums(const struct at *a)
{
	struct node_lane *l = a->lane;
	const double *v = a->v;

	l->span_s = add(l->span_s, v[NODE_span_s]);
	l->cpu_s = add(l->cpu_s, v[NODE_cpu_ms] / 1000);
	l->wait_s = add(l->wait_s, v[NODE_wait_ms] / 1000);
	l->own_s = add(l->own_s, v[NODE_own_ms] / 1000);
	l->others_s = add(l->others_s, v[NODE_others_ms] / 1000);
	l->system_s = add(l->system_s, v[NODE_system_ms] / 1000);
	l->wakeup_s = add(l->wakeup_s, v[NODE_wakeup_ms] / 1000);
	l->quota_s = add(l->quota_s, v[NODE_quota_ms] / 1000);
	l->energy_j = add(l->energy_j, v[NODE_energy_j]);
	l->memory_mb = fmax(l->memory_mb, v[NODE_memory_mb]);
}

/* How many seconds of the five minutes any of the rows is of. */
static double covered_s(const struct slot *s)
{
	const double begin = (double)s->t * NODE_ROW_S, end = begin + NODE_ROW_S;
	double at = begin, sum = 0, longest = 0;

	for (unsigned i = 0; i < s->n; i++) { /* lanes are in the order of their begin */
		const struct node_lane *l = s->v[i].lane;
		const double from = fmax(at, l->start),
			     to = isnan(l->end) ? end : fmin(end, l->end);

		longest = fmax(longest, s->v[i].v[NODE_span_s]);
		if (to > from)
			sum += to - from;
		at = fmax(at, to);
	}
	return fmin(NODE_ROW_S, fmax(sum, longest));
}

/* What the node did is in each job's row: the one counts that is of most time, and surely true. */
static const struct at *choose(const struct slot *s)
{
	const struct at *best = NULL;

	for (unsigned i = 0; i < s->n; i++) {
		const struct at *a = &s->v[i];

		if (!best || a->is_sure > best->is_sure ||
		    (a->is_sure == best->is_sure && a->v[NODE_span_s] > best->v[NODE_span_s]))
			best = a;
	}
	return best;
}

static double sum_of(const struct slot *s, enum node_value of)
{
	double sum = NAN;

	for (unsigned i = 0; i < s->n; i++)
		sum = add(sum, s->v[i].v[of]);
	return sum;
}

static void draw(struct node_page *p, const struct slot *s)
{
	const struct at *node = choose(s);
	const double *v = node->v, covered = covered_s(s), span = v[NODE_span_s];
	const double cpu = sum_of(s, NODE_cpu_ms) / 1000 / covered;
	const double busy = p->about.cpus - v[NODE_node_idle_ms] / 1000 / span;
	const double power = v[NODE_node_energy_j] / span, energy = sum_of(s, NODE_energy_j);
	const int64_t at = s->t - p->first;

	if (at < 0 || at >= p->n || !(covered > 0))
		return;
	p->lines[LINE_cpu_jobs_cores][at] = cpu;
	p->lines[LINE_cpu_other_cores][at] = known__not_negative(busy - cpu);
	p->lines[LINE_wait_threads][at] = sum_of(s, NODE_wait_ms) / 1000 / covered;
	p->lines[LINE_memory_mb][at] = v[NODE_node_memory_mb];
	p->lines[LINE_memory_jobs_mb][at] = sum_of(s, NODE_memory_mb);
	p->lines[LINE_power_w][at] = power;
	p->lines[LINE_power_low_w][at] = power * (sum_of(s, NODE_energy_low_j) / energy);
	p->lines[LINE_power_high_w][at] = power * (sum_of(s, NODE_energy_high_j) / energy);
}

/* ---- who waited for whom */

static struct node_pair *pair_of(struct node_page *p, unsigned waited, unsigned had)
{
	struct node_lane *l = &p->lanes[waited];

	l->first_pair = l->first_pair ? l->first_pair : p->npairs + 1;
	for (unsigned i = l->first_pair - 1; i < p->npairs; i++)
		if (p->pairs[i].waited == waited && p->pairs[i].had == had)
			return &p->pairs[i];
	if (p->npairs == PAIRS_MAX || room__grow(&p->pairs, p->npairs, 1, sizeof(*p->pairs)))
		return NULL;
	p->pairs[p->npairs] = (struct node_pair){waited, had, 0, 0};
	return &p->pairs[p->npairs++];
}

/* CPU seconds of another job in these five minutes; without a row as many as its cores have. */
static double weight_of(const struct slot *s, const struct node_lane *l)
{
	const double begin = (double)s->t * NODE_ROW_S;
	const double from = fmax(begin, l->start), to = fmin(begin + NODE_ROW_S, l->end);

	for (unsigned i = 0; i < s->n; i++)
		if (s->v[i].lane == l && !isnan(s->v[i].v[NODE_cpu_ms]))
			return s->v[i].v[NODE_cpu_ms] / 1000;
	return to > from && l->cores > 0 ? l->cores * (to - from) : 0;
}

static bool is_there(const struct slot *s, const struct node_lane *l)
{
	return l->start < (double)(s->t + 1) * NODE_ROW_S && !(l->end <= (double)s->t * NODE_ROW_S);
}

/* Divides what a job waited for others among those that were there, by their CPU time. */
static int divide(struct node_page *p, const struct slot *s, const struct at *a)
{
	const double wait_s = a->v[NODE_others_ms] / 1000;
	double sum = 0;
	unsigned n = 0;

	if (!(wait_s > 0))
		return 0;
	for (unsigned i = 0; i < p->nlanes; i++)
		if (&p->lanes[i] != a->lane && is_there(s, &p->lanes[i])) {
			sum += weight_of(s, &p->lanes[i]);
			n++;
		}
	for (unsigned i = 0; i < p->nlanes && sum > 0; i++) {
		const struct node_lane *l = &p->lanes[i];
		const double w = l != a->lane && is_there(s, l) ? weight_of(s, l) : 0;
		struct node_pair *pair;

		if (!(w > 0))
			continue;
		pair = pair_of(p, (unsigned)(a->lane - p->lanes), i);
		if (!pair)
			return -ENOMEM;
		pair->wait_s += wait_s * w / sum;
		pair->cpu_s += w + known__not_negative(a->v[NODE_cpu_ms] / 1000);
	}
	a->lane->by_known_s += sum > 0 ? wait_s : 0;
	a->lane->exact_s += sum > 0 && n == 1 ? wait_s : 0;
	return 0;
}

static int end_slot(struct node_page *p, struct slot *s)
{
	int err = 0;

	for (unsigned i = 0; i < s->n; i++)
		add_sums(&s->v[i]);
	if (s->n)
		draw(p, s);
	for (unsigned i = 0; !err && i < s->n; i++)
		err = divide(p, s, &s->v[i]);
	s->n = 0;
	return err;
}

/* ---- reading them */

static int by_begin(const void *a, const void *b)
{
	const struct at *x = a, *y = b;

	return (x->lane > y->lane) - (x->lane < y->lane);
}

static int take_row(struct node_page *p, struct slot *s, const struct db_value *v)
{
	struct node_lane *l = lane_of(p, v[1].i);
	struct at *a;
	int err = 0;

	if (s->n && s->t != v[0].i) {
		qsort(s->v, s->n, sizeof(*s->v), by_begin);
		err = end_slot(p, s);
	}
	s->t = v[0].i;
	if (err || !l || !l->is_visible || s->n == AT_ONCE_MAX)
		return err;
	a = &s->v[s->n++];
	a->lane = l;
	a->is_sure = v[2].i & ROW_SOURCE_SLURM;
	for (int of = 0; of < N_NODE_VALUES; of++)
		a->v[of] = db_value__number(&v[3 + of]);
	return 0;
}

static int read_rows(struct node_page *p, struct index *ix)
{
	static const char sql[] =
		"SELECT r.t, r.job, j.sources"
#define NODE_ROW(name, how, scale, of) ", r." #name
#include "schemas/noderow.def"
		" FROM node n JOIN node_row r ON r.node = n.id JOIN job j ON j.id = "
		"r.job WHERE n.cluster = ? AND n.name = ? AND r.t >= ? AND r.t < ? "
		"ORDER BY r.t, r.job";
	const struct db_value args[] = {db_value__text(p->about.cluster),
					db_value__text(p->about.node), db_value__int(p->first),
					db_value__int(p->first + p->n)};
	struct slot s = {.v = calloc(AT_ONCE_MAX, sizeof(*s.v))};
	struct db_rows r = {0};
	int err = s.v ? db__ask(&r, ix->db, sql, args, 4) : -ENOMEM;

	while (!err && db_rows__next(&r))
		err = take_row(p, &s, r.v);
	err = err ? err : r.err;
	if (!err && s.n) {
		qsort(s.v, s.n, sizeof(*s.v), by_begin);
		err = end_slot(p, &s);
	}
	db_rows__end(&r);
	free(s.v);
	return err;
}

static int make_lines(struct node_page *p)
{
	for (int i = 0; i < N_NODE_LINES; i++) {
		p->lines[i] = malloc((p->n + 1) * sizeof(double));
		if (!p->lines[i])
			return -ENOMEM;
		for (unsigned k = 0; k < p->n; k++)
			p->lines[i][k] = NAN;
	}
	return 0;
}

/* What is left of a wait has no owner. */
static void end_lane(struct node_lane *l)
{
	const double rest =
		l->wait_s - l->own_s - l->others_s - l->system_s - l->wakeup_s - l->quota_s;

	l->no_owner_s = known__not_negative(rest);
}

/* ---- events */

__attribute__((format(printf, 6, 7))) static int add_event(struct node_page *p, double at,
							   const char *kind, int severity,
							   double job_id, const char *format, ...)
{
	struct node_event *e;
	va_list args;
	int n;

	if (at < (double)p->first * NODE_ROW_S || at > (double)(p->first + p->n) * NODE_ROW_S)
		return 0;
	if (room__grow(&p->events, p->nevents, 1, sizeof(*p->events)))
		return -ENOMEM;
	e = &p->events[p->nevents];
	*e = (struct node_event){at, kind, severity, job_id, NULL};
	va_start(args, format);
	n = vasprintf(&e->text, format, args);
	va_end(args);
	if (n < 0)
		return -ENOMEM;
	p->nevents++;
	return 0;
}

/* Jobs that ended in a way for which the node may be the reason. */
static int add_ends(struct node_page *p)
{
	static const struct {
		const char *state, *kind;
		int severity;
	} ends[] = {{"NODE_FAIL", "node_fail", 2},
		    {"BOOT_FAIL", "node_fail", 2},
		    {"OUT_OF_MEMORY", "out_of_memory", 1}};
	int err = 0;

	for (unsigned i = 0; i < p->nlanes; i++)
		for (size_t k = 0; !err && k < sizeof(ends) / sizeof(*ends); k++) {
			const struct node_lane *l = &p->lanes[i];

			if (l->is_visible && l->state && !strcmp(l->state, ends[k].state))
				err = add_event(p, l->end, ends[k].kind, ends[k].severity,
						l->job_id, "job %.0f ended with %s", l->job_id,
						l->state);
		}
	return err;
}

/* Times without rows in which a job with a profile ran. */
static int add_gaps(struct node_page *p)
{
	int err = 0;
	unsigned length = 0;

	for (unsigned k = 0; !err && k <= p->n; k++) {
		const struct slot s = {.t = p->first + k};
		bool is_gap = false;

		for (unsigned i = 0; k < p->n && i < p->nlanes && !is_gap; i++)
			is_gap = p->lanes[i].has_profile && !isnan(p->lanes[i].span_s) &&
				 is_there(&s, &p->lanes[i]) &&
				 p->lanes[i].end - (double)s.t * NODE_ROW_S >= NODE_ROW_S &&
				 isnan(p->lines[LINE_cpu_jobs_cores][k]);
		if (!is_gap && length)
			err = add_event(p, (double)(s.t - length) * NODE_ROW_S, "gap", 1, NAN,
					"no rows for %u min, though a job ran",
					length * NODE_ROW_S / 60);
		length = is_gap ? length + 1 : 0;
	}
	return err;
}

/* Findings of visible jobs that name the node. */
static int add_findings(struct node_page *p, struct index *ix, const struct job_filter *f,
			const struct viewer *v)
{
	struct job_filter of;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	job_filter__init(&of);
	of.since = f->since - LOOK_BACK_S;
	of.until = f->until;
	query__add(&q, "SELECT j.id, f.rule, f.severity, f.text, f.place, f.from_s FROM job_node n "
		       "JOIN job j ON j.id = n.job JOIN finding f ON f.job = j.id");
	if (!err)
		err = query__where(&q, &of, v);
	query__add(&q, " AND n.node = ? AND n.start >= ? AND n.start < ? AND f.place IS NOT NULL "
		       "AND f.place <> '' ORDER BY j.start, f.n");
	query__arg(&q, db_value__text(p->about.node));
	query__arg(&q, db_value__int((int64_t)of.since));
	query__arg(&q, db_value__int((int64_t)ceil(of.until)));
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		const struct node_lane *l = lane_of(p, r.v[0].i);
		const double from = db_value__number(&r.v[5]);

		if (l && l->is_visible && r.v[3].type == DB_TEXT && r.v[4].type == DB_TEXT &&
		    slower__names_node(r.v[4].text, p->about.node))
			err = add_event(p, l->start + (isnan(from) ? 0 : from), "finding",
					(int)r.v[2].i, l->job_id, "%s: %s", r.v[1].text,
					r.v[3].text);
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct node_event *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* ---- all of it */

int node_page__read(struct node_page *p, struct index *ix, const char *node,
		    const struct job_filter *f, const struct viewer *v)
{
	int err;

	*p = (struct node_page){.first = (int64_t)floor(f->since / NODE_ROW_S)};
	p->n = (unsigned)(ceil(f->until / NODE_ROW_S) - (double)p->first);
	err = find_cluster(p, ix, node, f, v);
	if (!err)
		err = read_about(p, ix, node);
	if (!err)
		err = read_lanes(p, ix, f, v);
	if (!err)
		err = make_lines(p);
	if (!err)
		err = read_rows(p, ix);
	for (unsigned i = 0; i < p->nlanes; i++)
		end_lane(&p->lanes[i]);
	if (!err)
		err = add_ends(p);
	if (!err)
		err = add_gaps(p);
	if (!err)
		err = add_findings(p, ix, f, v);
	if (!err && p->nevents)
		qsort(p->events, p->nevents, sizeof(*p->events), by_time);
	return err;
}

void node_page__free(struct node_page *p)
{
	free(p->about.node);
	free(p->about.cluster);
	free(p->about.model);
	for (unsigned i = 0; i < p->nlanes; i++)
		free_texts(&p->lanes[i]);
	free(p->lanes);
	for (int i = 0; i < N_NODE_LINES; i++)
		free(p->lines[i]);
	free(p->pairs);
	for (unsigned i = 0; i < p->nevents; i++)
		free(p->events[i].text);
	free(p->events);
	*p = (struct node_page){0};
}
