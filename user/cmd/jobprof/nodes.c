/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof nodes: all nodes of a site by the hour, those that are slow, and what is different. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/csv.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/known.h"
#include "base/log.h"
#include "base/room.h"
#include "cmd/jobprof/nodes_changes.h"
#include "cmd/jobprof/site_when.h"
#include "cmd/jobprof/verbs.h"
#include "index/node_row.h"
#include "index/nodes_heat.h"
#include "index/slower.h"

#define TABLES	  "hours, means, slow, changed, partitions"
#define LONGEST_S (NODE_ROW_DAYS * 86400.0)
#define ROWS	  30		 /* of the text, without --all */
#define SPEED_S	  (30 * 86400.0) /* speeds are of so long a time: a week has too few runs */

struct options {
	struct site_args site;
	const char *table;
};

static const struct opt opts[] = {
	{'S', "since", "TIME", "from then on: 7d (default), 24h, 2026-11-01, at most 35 days",
	 OPT_CALL_AT(site_args__take_since, struct options, site)},
	{'E', "until", "TIME", "until then (default now)",
	 OPT_CALL_AT(site_args__take_until, struct options, site)},
	{'M', "cluster", "NAME", "of this cluster alone",
	 OPT_TEXT(struct options, site.filter.cluster)},
	OPTS_DATABASE(struct options),
	OPTS_FORM(struct options),
	{0, "table", "TABLE", "of --csv: " TABLES, OPT_TEXT(struct options, table)},
	{0},
};

const struct command cmd_nodes = {
	.name = "jobprof nodes",
	.usage = "[OPTION]...",
	.about = "All nodes by the hour: how busy they were, what jobs waited, memory and power;\n"
		 "nodes that are slower than others of their kind; what is different from the\n"
		 "time before, and what energy went into. For those who may see all jobs.",
	.opts = opts,
};

/* ---- slow nodes */

struct slow {
	struct slower_speed *v;
	unsigned n;
	struct string_list texts;
};

static const char *own(struct slow *s, const char *text)
{
	return string_list__append(&s->texts, text) ? NULL : s->texts.v[s->texts.n - 1];
}

static int take_speed(void *arg, const struct slower_speed *one)
{
	struct slow *s = arg;
	struct slower_speed mine = *one;

	if (room__grow(&s->v, s->n, 1, sizeof(*s->v)))
		return -ENOMEM;
	mine.node = own(s, one->node);
	mine.cluster = own(s, one->cluster);
	if (!mine.node || !mine.cluster)
		return -ENOMEM;
	s->v[s->n++] = mine;
	return 0;
}

static const struct slower_speed *speed_of(const struct slow *s, const struct heat_node *n)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->v[i].node, n->name) && !strcmp(s->v[i].cluster, n->cluster))
			return &s->v[i];
	return NULL;
}

/* ---- what was read */

struct found {
	const struct site_args *site;
	const char *table; /* of CSV; NULL: of hours */
	struct index ix;
	struct viewer viewer;
	struct nodes_heat heat;
	struct slow speeds;
	struct slow_node {
		char *node, *cluster;
		unsigned failed, found;
	} * suspects; /* slow by slower__nodes(), with findings or failed jobs */
	unsigned nsuspects;
	struct nodes_changes changes;
	struct nodes_partitions partitions;
};

static int take_suspect(void *arg, const struct slower_node *n)
{
	struct found *f = arg;
	struct slow_node *s;

	if (room__grow(&f->suspects, f->nsuspects, 1, sizeof(*f->suspects)))
		return -ENOMEM;
	s = &f->suspects[f->nsuspects++];
	*s = (struct slow_node){strdup(n->node), strdup(n->cluster), n->failed, n->found};
	return s->node && s->cluster ? 0 : -ENOMEM;
}

static int find(struct found *f)
{
	struct job_filter of = f->site->filter;
	int err = nodes_heat__read(&f->heat, &f->ix, &of, &f->viewer);

	of.since = fmin(of.since, of.until - SPEED_S);
	if (!err)
		err = slower__speeds(&f->ix, &of, &f->viewer, take_speed, &f->speeds);
	if (!err)
		err = slower__nodes(&f->ix, &f->site->filter, &f->viewer, take_suspect, f);
	if (!err)
		err = nodes_changes__read(&f->changes, f->site, &f->ix, &f->viewer);
	if (!err)
		err = nodes_partitions__read(&f->partitions, &f->site->filter, &f->ix, &f->viewer);
	return err;
}

static void free_found(struct found *f)
{
	nodes_heat__free(&f->heat);
	free(f->speeds.v);
	string_list__free(&f->speeds.texts);
	for (unsigned i = 0; i < f->nsuspects; i++) {
		free(f->suspects[i].node);
		free(f->suspects[i].cluster);
	}
	free(f->suspects);
	nodes_changes__free(&f->changes);
	nodes_partitions__free(&f->partitions);
}

static bool is_slow(const struct found *f, const struct heat_node *n)
{
	const struct slower_speed *s = speed_of(&f->speeds, n);

	return s && s->is_slow;
}

static const struct slow_node *suspect_of(const struct found *f, const char *node,
					  const char *cluster)
{
	for (unsigned i = 0; i < f->nsuspects; i++)
		if (!strcmp(f->suspects[i].node, node) && !strcmp(f->suspects[i].cluster, cluster))
			return &f->suspects[i];
	return NULL;
}

/* ---- as JSON: the heat map */

#define LEVELS	  200
#define NO_JOB	  253
#define NOT_KNOWN 254

static const struct {
	const char *unit, *about;
	double top; /* 0: by the highest value */
} heats[N_HEATS] = {
	[HEAT_busy] = {"share",
		       "CPUs that were not idle; where other jobs hide that, CPU time of jobs", 1},
	[HEAT_wait] = {"share", "wait for a CPU by CPU time and wait, of the jobs", 0.4},
	[HEAT_memory] = {"share", "memory in use; where other jobs hide that, of the jobs", 1},
	[HEAT_power] = {"W", "power of the node, of all parts that have a sensor", 0},
};

static double top_of(const struct nodes_heat *h, enum heat of)
{
	double top = 100;

	if (heats[of].top > 0)
		return heats[of].top;
	for (size_t i = 0; i < (size_t)h->nnodes * h->steps; i++)
		top = fmax(top, h->v[of][i]);
	return ceil(top / 100) * 100;
}

static json_t *heat_json(const struct nodes_heat *h, enum heat of)
{
	const size_t n = (size_t)h->nnodes * h->steps;
	const double top = top_of(h, of);
	uint8_t *bytes = malloc(n + 1);
	json_t *o = json_object();
	char *text = NULL;

	for (size_t i = 0; bytes && i < n; i++) {
		const double v = h->v[of][i];

		bytes[i] = isnan(v) ? (h->had_job[i] ? NOT_KNOWN : NO_JOB)
				    : (uint8_t)rint(LEVELS * fmin(fmax(v / top, 0), 1));
	}
	if (bytes)
		text = base64__of(bytes, n, 0);
	json__set(o, "unit", json_string(heats[of].unit));
	json__set(o, "top", json__number(top));
	json__set(o, "about", json_string(heats[of].about));
	json__set(o, "bytes", json__text(text));
	free(bytes);
	free(text);
	return o;
}

static json_t *heats_json(const struct nodes_heat *h)
{
	json_t *o = json_pack("{s:i, s:i, s:i}", "levels", LEVELS, "code_not_known", NOT_KNOWN,
			      "code_no_job", NO_JOB);

	for (int i = 0; i < N_HEATS; i++)
		json__set(o, heat_names[i], heat_json(h, i));
	return o;
}

static json_t *nodes_json(const struct found *f)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < f->heat.nnodes; i++) {
		const struct heat_node *n = &f->heat.nodes[i];
		json_t *o = json_object();

		json__set(o, "node", json__text(n->name));
		json__set(o, "cluster", json__text(n->cluster));
		json__set(o, "kind", json_integer(n->kind));
		json__set(o, "is_slow", json_boolean(is_slow(f, n)));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *kinds_json(const struct nodes_heat *h)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < h->nkinds; i++) {
		const struct heat_kind *k = &h->kinds[i];
		json_t *o = json_object();

		json__set(o, "cluster", json__text(k->cluster));
		json__set(o, "model", json__nonempty(k->model));
		json__set(o, "cores", json__whole(k->cores));
		json__set(o, "cpus", json__whole(k->cpus));
		JSON_NUMBERS(o, {"memory_mb", k->memory_mb});
		json__set(o, "nodes", json_integer(k->nodes));
		json_array_append_new(a, o);
	}
	return a;
}

/* ---- the last hour of which most is known */

struct last {
	double at, busy, cpus, power_w;
	unsigned known;
};

static unsigned known_in(const struct nodes_heat *h, unsigned step)
{
	unsigned n = 0;

	for (unsigned i = 0; i < h->nnodes; i++)
		n += !isnan(h->v[HEAT_busy][(size_t)i * h->steps + step]);
	return n;
}

/* Jobs that run have no rows yet: the last hours know few nodes. */
static struct last find_last(const struct nodes_heat *h)
{
	struct last l = {NAN, NAN, 0, NAN, 0};
	unsigned most = 0, step = h->steps;

	for (unsigned k = 0; k < h->steps; k++)
		most = known_in(h, k) > most ? known_in(h, k) : most;
	while (most && step && 2 * known_in(h, step - 1) < most)
		step--;
	if (!most || !step)
		return l;
	l.at = (double)h->from + (step - 1) * (double)HEAT_STEP_S;
	l.known = known_in(h, step - 1);
	for (unsigned i = 0; i < h->nnodes; i++) {
		const size_t at = (size_t)i * h->steps + step - 1;
		const double cpus = h->kinds[h->nodes[i].kind].cpus;

		if (!isnan(h->v[HEAT_busy][at])) {
			l.busy = known__sum(l.busy, h->v[HEAT_busy][at] * cpus);
			l.cpus += cpus;
		}
		l.power_w = known__sum(l.power_w, h->v[HEAT_power][at]);
	}
	return l;
}

static double all_cores(const struct nodes_heat *h)
{
	double n = 0;

	for (unsigned i = 0; i < h->nkinds; i++)
		n += known__sum(h->kinds[i].cores, 0) * h->kinds[i].nodes;
	return n > 0 ? n : NAN;
}

static json_t *last_json(const struct nodes_heat *h)
{
	const struct last l = find_last(h);
	json_t *o = json_object();

	json__set(o, "at", json__whole(l.at));
	JSON_NUMBERS(o, {"busy_share", l.busy / l.cpus}, {"power_w", l.power_w});
	json__set(o, "known_nodes", json_integer(l.known));
	json__set(o, "nodes", json_integer(h->nnodes));
	json__set(o, "cores", json__whole(all_cores(h)));
	return o;
}

/* ---- energy */

/* Adds up steps. */
static struct heat_energy energy_of(const struct nodes_heat *h, double from, double until)
{
	struct heat_energy sum = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};

	for (unsigned k = 0; k < h->steps; k++) {
		const double at = (double)h->from + k * (double)HEAT_STEP_S;
		const struct heat_energy *e = &h->energy[k];

		if (at < from || at >= until)
			continue;
		sum.jobs_j = known__sum(sum.jobs_j, e->jobs_j);
		sum.low_j = known__sum(sum.low_j, e->low_j);
		sum.high_j = known__sum(sum.high_j, e->high_j);
		sum.idle_j = known__sum(sum.idle_j, e->idle_j);
		sum.no_owner_j = known__sum(sum.no_owner_j, e->no_owner_j);
		sum.all_j = known__sum(sum.all_j, e->all_j);
		sum.known_s = known__sum(sum.known_s, e->known_s);
	}
	return sum;
}

/* Of the day that ends at t, or has it. */
static double midnight(double t)
{
	return site_when__midnight(t - 1, 0);
}

static json_t *energy_json(const struct found *f)
{
	const struct nodes_heat *h = &f->heat;
	const struct site_args *a = f->site;
	const double until = (double)h->from + h->steps * (double)HEAT_STEP_S;
	const double from = midnight(f->site->filter.until);
	const struct heat_energy today = energy_of(h, from, until);
	const struct heat_energy yesterday = energy_of(h, midnight(from), from);
	const double kwh = today.all_j / 3.6e6;
	json_t *o = json_object(), *power = json_array();

	json__set(o, "from", json__whole(from));
	json__set(o, "until", json__whole(a->filter.until));
	JSON_NUMBERS(o, {"jobs_j", today.jobs_j}, {"jobs_low_j", today.low_j},
		     {"jobs_high_j", today.high_j}, {"idle_j", today.idle_j},
		     {"no_owner_j", today.no_owner_j}, {"all_j", today.all_j},
		     {"yesterday_j", yesterday.all_j}, {"known_node_hours", today.known_s / 3600},
		     {"yesterday_known_node_hours", yesterday.known_s / 3600}, {"energy_kwh", kwh},
		     {"money", a->kwh > 0 ? kwh * a->kwh : NAN},
		     {"co2_kg", a->co2_g_kwh > 0 ? kwh * a->co2_g_kwh / 1000 : NAN});
	json__set(o, "currency", a->kwh > 0 ? json__text(a->currency) : json_null());
	json__set(o, "step_s", json_integer(HEAT_STEP_S));
	for (unsigned k = 0; k < h->steps; k++)
		json_array_append_new(power, json__number(rint(h->energy[k].all_j / HEAT_STEP_S)));
	json__set(o, "power_w", power);
	return o;
}

/* ---- slow nodes */

#define SEEN 3

/* Names of the jobs that were on the node most often. */
static json_t *seen_json(struct found *f, const char *node, const char *cluster, double since)
{
	json_t *a = json_array();
	struct job_filter of;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	job_filter__init(&of);
	of.since = isnan(since) ? f->site->filter.since : since;
	of.until = f->site->filter.until;
	query__add(&q,
		   "SELECT COALESCE(j.name, j.program, ''), count(*) FROM job_node n JOIN job j "
		   "ON j.id = n.job");
	if (!err)
		err = query__where(&q, &of, &f->viewer);
	query__add(&q, " AND n.node = ? AND n.start >= ? AND j.cluster = ? GROUP BY 1 ORDER BY 2 "
		       "DESC, 1 LIMIT ?");
	query__arg(&q, db_value__text(node));
	query__arg(&q, db_value__int((int64_t)of.since));
	query__arg(&q, db_value__text(cluster));
	query__arg(&q, db_value__int(SEEN));
	if (!err)
		err = query__ask(&q, f->ix.db, &r);
	while (!err && db_rows__next(&r)) {
		json_t *o = json_object();

		json__set(o, "name", json__text(r.v[0].text));
		json__set(o, "runs", json_integer(r.v[1].i));
		json_array_append_new(a, o);
	}
	db_rows__end(&r, err);
	query__free(&q);
	return a;
}

static json_t *slow_row(struct found *f, const char *node, const char *cluster)
{
	const struct heat_node key = {.name = (char *)node, .cluster = (char *)cluster};
	const struct slower_speed *s = speed_of(&f->speeds, &key);
	const struct slow_node *n = suspect_of(f, node, cluster);
	json_t *o = json_object(), *kind = json_null();

	for (unsigned i = 0; i < f->heat.nnodes; i++)
		if (!strcmp(f->heat.nodes[i].name, node) &&
		    !strcmp(f->heat.nodes[i].cluster, cluster))
			kind = json_integer(f->heat.nodes[i].kind);
	json__set(o, "node", json__text(node));
	json__set(o, "cluster", json__text(cluster));
	json__set(o, "kind", kind);
	JSON_NUMBERS(o, {"speed", s ? s->speed : NAN}, {"usual", s ? s->usual : NAN},
		     {"z", s ? s->z : NAN}, {"lost_core_s", s ? s->lost_core_s : NAN});
	json__set(o, "runs", json_integer(s ? s->runs : 0));
	json__set(o, "is_certain", json_boolean(s && s->is_slow));
	json__set(o, "since", json__whole(s ? s->since : NAN));
	json__set(o, "node_fails", json_integer(n ? n->failed : 0));
	json__set(o, "findings", json_integer(n ? n->found : 0));
	json__set(o, "seen_in", seen_json(f, node, cluster, s ? s->since : NAN));
	return o;
}

/* Those that are surely slow, then those of which findings or failed jobs speak. */
static json_t *slow_json(struct found *f)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < f->speeds.n; i++)
		if (f->speeds.v[i].is_slow)
			json_array_append_new(
				a, slow_row(f, f->speeds.v[i].node, f->speeds.v[i].cluster));
	for (unsigned i = 0; i < f->nsuspects; i++) {
		const struct heat_node key = {.name = f->suspects[i].node,
					      .cluster = f->suspects[i].cluster};

		if (!is_slow(f, &key))
			json_array_append_new(a, slow_row(f, key.name, key.cluster));
	}
	return a;
}

static json_t *all_json(struct found *f)
{
	const struct nodes_heat *h = &f->heat;
	json_t *o = json_object();

	json__set(o, "cluster", json__text(f->site->filter.cluster));
	json__set(o, "from", json_integer(h->from));
	json__set(o, "until", json_integer(h->from + (int64_t)h->steps * HEAT_STEP_S));
	json__set(o, "step_s", json_integer(HEAT_STEP_S));
	json__set(o, "steps", json_integer(h->steps));
	json__set(o, "kinds", kinds_json(h));
	json__set(o, "nodes", nodes_json(f));
	json__set(o, "heat", heats_json(h));
	json__set(o, "last", last_json(h));
	json__set(o, "slow", slow_json(f));
	json__set(o, "changed", nodes_changes__json(&f->changes));
	json__set(o, "partitions", nodes_partitions__json(&f->partitions));
	json__set(o, "energy", energy_json(f));
	return o;
}

/* ---- as CSV and as text */

static void print_cell(double v)
{
	if (isnan(v))
		putchar(',');
	else
		printf(",%.6g", v);
}

static void print_csv(const struct found *f)
{
	const struct nodes_heat *h = &f->heat;

	puts("node,cluster,from,busy_share,wait_share,memory_share,power_w,had_job");
	for (unsigned i = 0; i < h->nnodes; i++)
		for (unsigned k = 0; k < h->steps; k++) {
			const size_t at = (size_t)i * h->steps + k;

			csv__print(stdout, h->nodes[i].name);
			putchar(',');
			csv__print(stdout, h->nodes[i].cluster);
			printf(",%lld", (long long)h->from + (long long)k * HEAT_STEP_S);
			for (int of = 0; of < N_HEATS; of++)
				print_cell(h->v[of][at]);
			printf(",%d\n", h->had_job[at]);
		}
}

static const struct site_column columns[] = {
	{"node", "node", NULL, CELL_TEXT, 0, 24},    {"cluster", "cluster", NULL, CELL_TEXT, 5, 12},
	{"cores", "cores", NULL, CELL_COUNT, 3, 0},  {"busy", "busy%", NULL, CELL_SHARE, 0, 0},
	{"wait", "waited%", NULL, CELL_SHARE, 0, 0}, {"memory", "memory%", NULL, CELL_SHARE, 1, 0},
	{"power", "W", NULL, CELL_COUNT, 2, 0},	     {"known", "known%", NULL, CELL_SHARE, 4, 0},
	{"speed", "speed%", NULL, CELL_SHARE, 0, 0}, {"runs", "runs", NULL, CELL_COUNT, 1, 0},
	{"z", "z", NULL, CELL_NUMBER, 1, 0},	     {"since", "slow since", NULL, CELL_TIME, 1, 0},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

static int add_row(struct site_table *t, const struct found *f, unsigned node)
{
	const struct nodes_heat *h = &f->heat;
	const struct slower_speed *s = speed_of(&f->speeds, &h->nodes[node]);
	struct db_value row[N_COLUMNS] = {db_value__text(h->nodes[node].name),
					  db_value__text(h->nodes[node].cluster),
					  db_value__real(h->kinds[h->nodes[node].kind].cores)};
	unsigned known = 0;

	for (int of = 0; of < N_HEATS; of++) {
		const double *v = h->v[of] + (size_t)node * h->steps;
		double sum = NAN;

		known = 0;
		for (unsigned k = 0; k < h->steps; k++) {
			sum = known__sum(sum, v[k]);
			known += !isnan(v[k]);
		}
		row[3 + of] = db_value__real(sum / known);
		if (of == HEAT_busy)
			row[7] = db_value__real((double)known / h->steps);
	}
	row[8] = db_value__real(s ? s->speed : NAN);
	row[9] = db_value__real(s ? s->runs : NAN);
	row[10] = db_value__real(s ? s->z : NAN);
	row[11] = db_value__real(s ? s->since : NAN);
	return site_table__add(t, row);
}

/* Slow nodes first. */
static int print_table(const struct found *f)
{
	struct site_table t = {.columns = columns, .ncolumns = N_COLUMNS};
	const unsigned most = f->site->all || f->site->csv ? f->heat.nnodes : ROWS;
	int err = 0;

	for (int slow = 1; slow >= 0; slow--)
		for (unsigned i = 0; !err && i < f->heat.nnodes && t.nrows < most; i++)
			if (is_slow(f, &f->heat.nodes[i]) == slow)
				err = add_row(&t, f, i);
	if (f->site->csv)
		site_table__csv(&t, stdout);
	else
		site_table__print(&t, site_table__width(stdout), stdout);
	if (t.nrows < f->heat.nnodes)
		printf("... %u more: --all\n", f->heat.nnodes - t.nrows);
	site_table__free(&t);
	return err;
}

static void print_energy(const struct found *f)
{
	const double from = midnight(f->site->filter.until);
	const struct heat_energy e = energy_of(&f->heat, from, f->site->filter.until);
	char all[SITE_CELL], jobs[SITE_CELL], low[SITE_CELL], high[SITE_CELL], idle[SITE_CELL],
		rest[SITE_CELL];

	if (isnan(e.all_j)) {
		puts("\nEnergy today: not known");
		return;
	}
	site_cell__put(all, CELL_NUMBER, e.all_j / 3.6e6);
	site_cell__put(jobs, CELL_NUMBER, e.jobs_j / 3.6e6);
	site_cell__put(low, CELL_NUMBER, e.low_j / 3.6e6);
	site_cell__put(high, CELL_NUMBER, e.high_j / 3.6e6);
	site_cell__put(idle, CELL_NUMBER, e.idle_j / 3.6e6);
	site_cell__put(rest, CELL_NUMBER, e.no_owner_j / 3.6e6);
	printf("\nEnergy today, of nodes while jobs ran that have ended: %s kWh; jobs %s (%s to "
	       "%s), idle cores %s, no job's %s\n",
	       all, jobs, low, high, idle, rest);
}

static int print_text(const struct found *f)
{
	char from[SITE_CELL], to[SITE_CELL];

	site_cell__put(from, CELL_TIME, (double)f->heat.from);
	site_cell__put(to, CELL_TIME, f->site->filter.until);
	printf("%u node%s, %s to %s\n\n", f->heat.nnodes, f->heat.nnodes == 1 ? "" : "s", from, to);
	if (f->heat.nnodes && print_table(f))
		return 1;
	nodes_changes__print(&f->changes);
	print_energy(f);
	return 0;
}

/* ---- the verb */

static int check(struct options *o, bool has_words)
{
	struct job_filter *f = &o->site.filter;

	if (has_words)
		return options__wrong(&cmd_nodes, "it takes options alone");
	if (o->table && !o->site.csv)
		return options__wrong(&cmd_nodes, "--table is of --csv");
	if (isnan(f->until))
		f->until = (double)time(NULL);
	if (isnan(f->since) || !(f->until > f->since) || f->until - f->since > LONGEST_S) {
		log_error("-S, -E: nodes are shown for at most %d days", NODE_ROW_DAYS);
		return 2;
	}
	return 0;
}

static int print_rows(struct found *f)
{
	json_t *all = all_json(f), *rows = json_object_get(all, f->table);
	int status = 0;

	if (json_is_array(rows))
		csv__print_rows(stdout, rows);
	else
		status = options__wrong(&cmd_nodes, "--table %s: it is one of " TABLES, f->table);
	json_decref(all);
	return status;
}

static int print_found(struct found *f)
{
	if (f->site->json)
		return json__print(all_json(f), stdout, JSON_COMPACT) ? 1 : 0;
	if (!f->site->csv)
		return print_text(f);
	if (f->table && !strcmp(f->table, "means"))
		return print_table(f) ? 1 : 0;
	if (f->table && strcmp(f->table, "hours") != 0)
		return print_rows(f);
	print_csv(f);
	return 0;
}

int verb_nodes(int argc, char **argv)
{
	struct options o = {0};
	struct found f = {.site = &o.site};
	int status;

	site_args__init(&o.site, "7d");
	status = options__read(&cmd_nodes, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	status = check(&o, optind < argc);
	f.table = o.table;
	if (!status)
		status = site_args__open(&o.site, &f.ix, &f.viewer);
	if (status)
		return status;
	if (!f.viewer.sees_all) {
		log_error("this is for those who may see all jobs; \"jobprof node -w NODE\" shows "
			  "a node while own jobs ran there");
		status = EX_NOPERM;
	} else {
		status = site_args__status(find(&f));
		status = status ? status : print_found(&f);
	}
	free_found(&f);
	index__close(&f.ix);
	return status;
}
