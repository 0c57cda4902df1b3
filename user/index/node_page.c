/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the rows of a node, divides the waits of each job among the others, and finds events. */
#include "index/node_page.h"

#include <errno.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "base/room.h"
#include "index/node_lanes.h"
#include "index/node_row.h"
#include "index/slower.h"

#define AT_ONCE_MAX 1024 /* jobs with a row of the same five minutes */
/* Anybody can write profiles of as many jobs as wanted that were on one node at the same time. */
#define PAIRS_MAX   100000
#define DIVIDED_MAX 10000000 /* parts of waits */

const char *const node_line_names[N_NODE_LINES] = {
	"cpu_jobs_cores", "cpu_other_cores", "wait_threads", "memory_mb",
	"memory_jobs_mb", "power_w",	     "power_low_w",  "power_high_w",
};

/* ---- rows of five minutes */

/* A row of a lane; NaN: not known. */
struct at {
	struct node_lane *lane;
	bool is_sure; /* Slurm's accounting knows the job */
	double v[N_NODE_VALUES];
};

/* A job that was there in five minutes, and its CPU seconds. */
struct weight {
	unsigned lane;
	double w;
};

struct slot {
	int64_t t;
	struct at *v;
	unsigned n;
	struct weight *there;
	size_t nthere, room;
	size_t divided; /* in all slots */
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

static uint64_t id_of_pair(unsigned waited, unsigned had)
{
	return id__mix(id__mix(1, waited), had);
}

const struct node_pair *node_page__pair(const struct node_page *p, unsigned waited, unsigned had)
{
	const uint32_t *at = id_table__find(&p->pair_of, id_of_pair(waited, had));

	return at ? &p->pairs[*at] : NULL;
}

/* The pair, new where there is none. *pair: NULL where there are too many. */
static int find_pair(struct node_page *p, unsigned waited, unsigned had, struct node_pair **pair)
{
	const uint64_t id = id_of_pair(waited, had);
	const uint32_t *at = id_table__find(&p->pair_of, id);

	*pair = at ? &p->pairs[*at] : NULL;
	if (at || p->npairs == PAIRS_MAX)
		return 0;
	if (room__grow(&p->pairs, p->npairs, 1, sizeof(*p->pairs)) ||
	    !id_table__add(&p->pair_of, id, p->npairs))
		return -ENOMEM;
	*pair = &p->pairs[p->npairs++];
	**pair = (struct node_pair){waited, had, 0, 0};
	return 0;
}

static bool is_there(const struct slot *s, const struct node_lane *l)
{
	return l->start < (double)(s->t + 1) * NODE_ROW_S && !(l->end <= (double)s->t * NODE_ROW_S);
}

/* Finds who was there, with the CPU seconds of each in these five minutes; of one without a row
 * they are as many as its cores have. Rows are in the order of lanes. */
static int weigh(const struct node_page *p, struct slot *s)
{
	const double begin = (double)s->t * NODE_ROW_S;
	unsigned row = 0;

	s->nthere = 0;
	for (unsigned i = 0; i < p->nlanes; i++) {
		const struct node_lane *l = &p->lanes[i];
		const double from = fmax(begin, l->start), to = fmin(begin + NODE_ROW_S, l->end);
		double w = to > from && l->cores > 0 ? l->cores * (to - from) : 0;

		while (row < s->n && s->v[row].lane < l)
			row++;
		if (row < s->n && s->v[row].lane == l && !isnan(s->v[row].v[NODE_cpu_ms]))
			w = s->v[row].v[NODE_cpu_ms] / 1000;
		if (!is_there(s, l))
			continue;
		if (room__make(&s->there, &s->room, s->nthere + 1, sizeof(*s->there)))
			return -ENOMEM;
		s->there[s->nthere++] = (struct weight){i, w};
	}
	return 0;
}

/* Divides what a job waited for others among those that were there, by their CPU time. */
static int divide(struct node_page *p, struct slot *s, const struct at *a)
{
	const unsigned waited = (unsigned)(a->lane - p->lanes);
	const double wait_s = a->v[NODE_others_ms] / 1000;
	double sum = 0;
	unsigned n = 0;
	int err = 0;

	if (!(wait_s > 0) || s->divided > DIVIDED_MAX)
		return 0;
	s->divided += s->nthere;
	for (unsigned i = 0; i < s->nthere; i++)
		if (s->there[i].lane != waited) {
			sum += s->there[i].w;
			n++;
		}
	for (unsigned i = 0; !err && i < s->nthere && sum > 0; i++) {
		const double w = s->there[i].lane == waited ? 0 : s->there[i].w;
		struct node_pair *pair = NULL;

		if (w > 0)
			err = find_pair(p, waited, s->there[i].lane, &pair);
		if (!pair)
			continue;
		pair->wait_s += wait_s * w / sum;
		pair->cpu_s += w + known__not_negative(a->v[NODE_cpu_ms] / 1000);
	}
	a->lane->by_known_s += sum > 0 ? wait_s : 0;
	a->lane->exact_s += sum > 0 && n == 1 ? wait_s : 0;
	return err;
}

static int end_slot(struct node_page *p, struct slot *s)
{
	int err = s->n ? weigh(p, s) : 0;

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
	struct node_lane *l = node_lanes__of(p, v[1].i);
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
	err = db_rows__end(&r, err);
	if (!err && s.n) {
		qsort(s.v, s.n, sizeof(*s.v), by_begin);
		err = end_slot(p, &s);
	}
	free(s.v);
	free(s.there);
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

/* A finding of a visible job that names the node. */
static int add_finding(void *arg, const struct db_value *v)
{
	struct node_page *p = arg;
	const struct node_lane *l = node_lanes__of(p, v[0].i);
	const double from = db_value__number(&v[5]);

	if (!l || !l->is_visible || v[3].type != DB_TEXT || v[4].type != DB_TEXT ||
	    !slower__names_node(v[4].text, p->about.node))
		return 0;
	return add_event(p, l->start + (isnan(from) ? 0 : from), "finding", (int)v[2].i, l->job_id,
			 "%s: %s", v[1].text, v[3].text);
}

static int add_findings(struct node_page *p, struct index *ix, const struct job_filter *f,
			const struct viewer *v)
{
	struct query q;

	node_lanes__query(&q, "j.id, f.rule, f.severity, f.text, f.place, f.from_s",
			  " JOIN finding f ON f.job = j.id", p->about.node, NULL, f, v);
	query__add(&q, " AND f.place IS NOT NULL AND f.place <> '' ORDER BY j.start, f.n");
	return query__each(&q, ix->db, add_finding, p);
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
	err = node_lanes__read(p, ix, node, f, v);
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
	node_lanes__free(p);
	for (int i = 0; i < N_NODE_LINES; i++)
		free(p->lines[i]);
	free(p->pairs);
	id_table__free(&p->pair_of);
	for (unsigned i = 0; i < p->nevents; i++)
		free(p->events[i].text);
	free(p->events);
	*p = (struct node_page){0};
}
