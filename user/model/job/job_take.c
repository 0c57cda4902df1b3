/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins the bins of parts, as workers send them, to nodes, steps, tasks and GPUs. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "base/room.h"
#include "identity/stepname.h"
#include "model/job/job_internal.h"

/* ---- a unit of a job as a message */

/* Whether there is anything in a quantity's bins. */
static bool has_bins(const struct binner *b, enum quantity q)
{
	for (unsigned k = 0; k < b->grid->n; k++)
		if (!isnan(b->bins[(size_t)q * b->grid->n + k]))
			return true;
	return false;
}

/* Bytes of all HELD quantities. */
static size_t held_bytes(const struct time_grid *g)
{
	return quantity__held_before(N_QUANTITIES) * g->n * g->instants * sizeof(double);
}

void job_message__put_unit(struct message *m, const struct binner *b, const char *series)
{
	size_t row = b->grid->n * sizeof(*b->bins); /* and of two rows of floats */

	message__put(m, b->total, sizeof(b->total));
	message__put(m, &b->rows, sizeof(b->rows));
	message__put(m, &b->begin_s, sizeof(b->begin_s));
	message__put(m, &b->end_s, sizeof(b->end_s));
	message__put(m, b->lived_s, sizeof(b->lived_s));
	message__put(m, &b->last_s, sizeof(b->last_s));
	for (int q = 0; q < N_QUANTITIES; q++) {
		int there = quantity__is_kept(q, series) && has_bins(b, q);

		message__put(m, &there, sizeof(there));
		if (there)
			message__put(m, b->bins + (size_t)q * b->grid->n, row);
		if (there && extremes__of(&b->extremes, q))
			message__put(m, extremes__of(&b->extremes, q), row);
	}
	if (!series)
		message__put(m, b->held, held_bytes(b->grid));
}

static int take_value(struct message *m, void *to, size_t n)
{
	const void *p = message__take(m, n);

	if (!p)
		return -EBADMSG;
	memcpy(to, p, n);
	return 0;
}

/* Makes a binner of it, which has been made for the grid. 0; -EBADMSG. */
static int message_take_unit(struct message *m, struct binner *b, const char *series)
{
	size_t row = b->grid->n * sizeof(*b->bins);
	int err, there;

	binner__clear(b);
	err = take_value(m, b->total, sizeof(b->total));
	if (!err)
		err = take_value(m, &b->rows, sizeof(b->rows));
	if (!err)
		err = take_value(m, &b->begin_s, sizeof(b->begin_s));
	if (!err)
		err = take_value(m, &b->end_s, sizeof(b->end_s));
	if (!err)
		err = take_value(m, b->lived_s, sizeof(b->lived_s));
	if (!err)
		err = take_value(m, &b->last_s, sizeof(b->last_s));
	for (int q = 0; !err && q < N_QUANTITIES; q++) {
		err = take_value(m, &there, sizeof(there));
		if (!err && there)
			err = take_value(m, b->bins + (size_t)q * b->grid->n, row);
		if (!err && there && extremes__of(&b->extremes, q))
			err = take_value(m, extremes__of(&b->extremes, q), row);
	}
	if (!err && !series)
		err = take_value(m, b->held, held_bytes(b->grid));
	return err;
}

/* ---- the tables Marks of all parts */

#define MARKS_MAX 1024 /* of a part, the first ones */

struct mark_row {
	double at_s, number;
};

static unsigned read_rows(struct cursor *c, const struct time_grid *g, struct mark_row *out)
{
	int number = cursor__column(c, "Mark"), at = cursor__column(c, "TimeNS");
	double unit = at >= 0 ? 1e9 : 1;
	const union cell *rows;
	unsigned n, found = 0;

	if (at < 0)
		at = cursor__column(c, "EpochTime");
	while (number >= 0 && at >= 0 && cursor__next(c, &rows, &n) > 0)
		for (unsigned i = 0; i < n && found < MARKS_MAX; i++) {
			const union cell *row = &rows[(size_t)i * c->ncols];
			double t = cell__number(row[at], c->cols[at].type);

			t = (t * (1e9 / unit) - g->t0_ns) / 1e9;
			if (t >= 0 && t <= g->end_s)
				out[found++] = (struct mark_row){
					t, cell__number(row[number], c->cols[number].type)};
		}
	return found;
}

int job_marks__put(const struct reader_node *n, struct cursor *c, const struct time_grid *g,
		   struct message *m)
{
	const struct reader_series *s = node__series(n, "Marks");
	bool is_there = s && !s->grouped;
	struct mark_row *rows = is_there ? calloc(MARKS_MAX, sizeof(*rows)) : NULL;
	int err = is_there && !rows ? -ENOMEM : is_there ? cursor__open(c, n, s, s->name) : 0;
	unsigned found = rows && !err ? read_rows(c, g, rows) : 0;

	message__put(m, &found, sizeof(found));
	for (unsigned i = 0; i < found; i++)
		message__put(m, &rows[i], sizeof(rows[i]));
	free(rows);
	return err == -ENOMEM ? err : 0;
}

/* NULL: not known. */
static const char *name_of(const struct job_part *p, double number)
{
	char attr[32];

	snprintf(attr, sizeof(attr), "Mark %.0f", number);
	for (unsigned i = 0; i < p->nattrs; i++)
		if (!strcmp(p->attrs[i].name, attr))
			return p->attrs[i].text;
	return NULL;
}

/* Adds them to those of the job; the part's attributes have their names. 0; -EBADMSG; -ENOMEM. */
static int marks_take(struct model_job *j, unsigned part, struct message *m)
{
	const unsigned *n = message__take(m, sizeof(*n));
	unsigned count = n && *n <= MARKS_MAX ? *n : 0;

	if (!n || *n > MARKS_MAX)
		return -EBADMSG;
	if (room__grow(&j->marks, j->nmarks, count, sizeof(*j->marks)))
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		const struct mark_row *row = message__take(m, sizeof(*row));

		if (!row)
			return -EBADMSG;
		j->marks[j->nmarks++] = (struct job_mark){
			row->at_s, row->number, name_of(&j->parts[part], row->number), part};
	}
	return 0;
}

/* ---- the tables Commands of all parts, added up by name */

#define COMMANDS_MAX 4096 /* names of a part that are believed */

static const struct {
	const char *column;
	size_t offset;
	bool max; /* else a sum */
} fields[] = {
	{"Processes", offsetof(struct job_command, processes), false},
	{"CPUTime", offsetof(struct job_command, cpu_s), false},
	{"RunDelay", offsetof(struct job_command, wait_s), false},
	{"PeakMB", offsetof(struct job_command, peak_mb), true},
	{"ReadMB", offsetof(struct job_command, read_mb), false},
	{"WriteMB", offsetof(struct job_command, write_mb), false},
};
#define N_FIELDS (sizeof(fields) / sizeof(*fields))

static void add_value(double *to, double v, bool max)
{
	*to = isnan(v) ? *to : isnan(*to) ? v : max ? fmax(*to, v) : *to + v;
}

static double *field_of(struct job_command *c, size_t i)
{
	return (double *)(void *)((char *)c + fields[i].offset);
}

static void clear(struct job_command *c)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		*field_of(c, i) = NAN;
}

static int read_table(struct cursor *c, struct job_command *out)
{
	int at[N_FIELDS], err;
	const union cell *rows;
	unsigned n;

	for (size_t i = 0; i < N_FIELDS; i++)
		at[i] = cursor__column(c, fields[i].column);
	while ((err = cursor__next(c, &rows, &n)) > 0)
		for (unsigned r = 0; r < n; r++)
			for (size_t i = 0; i < N_FIELDS; i++)
				if (at[i] >= 0 && !c->cols[at[i]].unknown)
					add_value(field_of(out, i),
						  cell__number(rows[(size_t)r * c->ncols + at[i]],
							       c->cols[at[i]].type),
						  fields[i].max);
	return err;
}

int job_commands__put(const struct reader_node *n, struct cursor *c, struct message *m)
{
	const struct reader_series *s = node__series(n, "Commands");
	unsigned tables = s && s->grouped ? s->tables.n : 0;
	int err = 0;

	tables = tables < COMMANDS_MAX ? tables : COMMANDS_MAX;
	message__put(m, &tables, sizeof(tables));
	for (unsigned i = 0; !err && i < tables; i++) {
		struct job_command one = {0};

		clear(&one);
		err = cursor__open(c, n, s, s->tables.v[i]);
		if (!err)
			err = read_table(c, &one);
		message__put_text(m, s->tables.v[i]);
		for (size_t f = 0; f < N_FIELDS; f++)
			message__put(m, field_of(&one, f), sizeof(double));
	}
	return err;
}

/* The command of a name, which is added where it is new; NULL: no memory. */
static struct job_command *find_command(struct model_job *j, const char *name)
{
	struct job_command *more;

	for (unsigned i = 0; i < j->ncommands; i++)
		if (!strcmp(j->commands[i].name, name))
			return &j->commands[i];
	if (room__grow(&j->commands, j->ncommands, 1, sizeof(*j->commands)))
		return NULL;
	more = &j->commands[j->ncommands];
	*more = (struct job_command){.name = strdup(name)};
	clear(more);
	j->ncommands += more->name != NULL;
	return more->name ? more : NULL;
}

/* Adds them to those of the job. 0; -EBADMSG; -ENOMEM. */
static int commands_take(struct model_job *j, struct message *m)
{
	const unsigned *n = message__take(m, sizeof(*n));

	if (!n || *n > COMMANDS_MAX)
		return -EBADMSG;
	for (unsigned i = 0; i < *n; i++) {
		const char *name = message__take_text(m);
		const double *v = message__take(m, N_FIELDS * sizeof(*v));
		bool is_known = false;
		struct job_command *c;

		if (!v)
			return -EBADMSG;
		for (size_t f = 0; f < N_FIELDS; f++)
			is_known |= !isnan(v[f]);
		if (!is_known) /* it has no row: in a window of a step it did nothing */
			continue;
		c = find_command(j, name);
		if (!c)
			return -ENOMEM;
		for (size_t f = 0; f < N_FIELDS; f++)
			add_value(field_of(c, f), v[f], fields[f].max);
	}
	return 0;
}

/* A task or rank began within its first row, and ended within its last one; an end before that is
 * of one that was started again, and lives. */
static void set_time(struct job_unit *u, const struct binner *b)
{
	double start = (u->about.start_ns - b->grid->t0_ns) / 1e9;
	double end = (u->about.end_ns - b->grid->t0_ns) / 1e9;

	u->begin_s = isnan(b->lived_s[0]) ? b->begin_s : b->lived_s[0];
	u->end_s = isnan(b->lived_s[1]) ? b->end_s : b->lived_s[1];
	if (start < u->end_s)
		u->begin_s = fmax(u->begin_s, start);
	if (end > fmax(b->last_s, u->begin_s))
		u->end_s = fmin(u->end_s, end);
}

/* Copies the extremes of the quantities that the unit keeps. 0 or -ENOMEM. */
static int keep_extremes(struct job_unit *u, const struct binner *b)
{
	unsigned n = b->grid->n;

	extremes__free(&u->extremes);
	for (int q = 0; q < N_QUANTITIES; q++) {
		int place = extremes__place(q);
		const float *of = place < 0 ? NULL : b->extremes.of[place];

		if (!of || !quantity__is_kept(q, u->series) || !extremes__are_known(of, n))
			continue;
		u->extremes.of[place] = malloc(2 * n * sizeof(*of));
		if (!u->extremes.of[place])
			return -ENOMEM;
		memcpy(u->extremes.of[place], of, 2 * n * sizeof(*of));
	}
	return 0;
}

/* Copies the bins that the unit keeps. 0 or -ENOMEM. */
static int keep_bins(struct job_unit *u, const struct binner *b)
{
	size_t n = b->grid->n, kept = 0;

	for (int q = 0; q < N_QUANTITIES; q++)
		kept += quantity__is_kept(q, u->series);
	free(u->bins);
	u->bins = malloc((kept * n + 1) * sizeof(*u->bins));
	if (!u->bins)
		return -ENOMEM;
	kept = 0;
	for (int q = 0; q < N_QUANTITIES; q++)
		if (quantity__is_kept(q, u->series))
			memcpy(u->bins + n * kept++, b->bins + (size_t)q * n, n * sizeof(*u->bins));
	return keep_extremes(u, b);
}

/* Copies what is kept of a unit that is no node. 0 or -ENOMEM. */
static int keep_unit(struct job_unit *u, const struct binner *b)
{
	memcpy(u->total, b->total, sizeof(u->total));
	u->rows = b->rows;
	set_time(u, b);
	return keep_bins(u, b);
}

static int take_about(struct job_about *about, struct message *m)
{
	double *const numbers[] = {&about->cpus_allowed, &about->numa_nodes, &about->start_ns,
				   &about->end_ns};

	for (int i = 0; i < ABOUT_TEXTS; i++) {
		const char *text = message__take_text(m);

		about->texts[i] = *text ? strdup(text) : NULL;
		if (*text && !about->texts[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const double *number = message__take(m, sizeof(*number));

		if (number)
			*numbers[i] = *number;
	}
	return m->bad ? -EBADMSG : 0;
}

/* Units of a group into an array. */
static int take_units(struct job_unit **units, unsigned *nunits, const struct job_part *part,
		      const char *series, struct binner *b, struct message *m)
{
	const unsigned *n = message__take(m, sizeof(*n));
	bool is_task = quantity__is_kept(Q_CPU, series);
	int err = 0;

	if (!n || *n > 1u << 20)
		return -EBADMSG;
	if (room__grow(units, *nunits, *n, sizeof(**units)))
		return -ENOMEM;
	for (unsigned i = 0; !err && i < *n; i++) {
		const char *name = message__take_text(m);
		struct job_unit *u = &(*units)[*nunits];

		*u = (struct job_unit){
			.name = strdup(name),
			.node = part->node,
			.step = part->step,
			.series = series,
			.about = {{}, NAN, NAN, NAN, NAN},
		};
		++*nunits;
		err = u->name ? 0 : -ENOMEM;
		if (!err && is_task)
			err = take_about(&u->about, m);
		if (!err)
			err = message_take_unit(m, b, series);
		if (!err)
			err = keep_unit(u, b);
	}
	return err;
}

/* Two steps have rows of one device. Where both cover a bin they say the same of it, or one of them
 * covers less of it. */
static void join_device(struct job_unit *u, struct job_unit *other, const struct time_grid *g)
{
	double *bins = u->bins;
	const double *more = other->bins;

	u->rows = u->rows > other->rows ? u->rows : other->rows;
	u->begin_s = fmin(u->begin_s, other->begin_s);
	u->end_s = fmax(u->end_s, other->end_s);
	for (int q = 0; q < N_QUANTITIES; q++) {
		double sum = NAN;

		u->total[q] = fmax(u->total[q], other->total[q]);
		if (!quantity__is_kept(q, u->series))
			continue;
		for (unsigned k = 0; k < g->n; k++, bins++, more++) {
			*bins = fmax(*bins, *more);
			sum = known__sum(sum, *bins);
		}
		if (!quantity__is_gauge(q))
			u->total[q] = fmax(u->total[q], sum);
	}
	for (int i = 0; i < EXTREMES; i++) {
		float **of = &u->extremes.of[i], **rows = &other->extremes.of[i];

		if (*of && *rows)
			extremes__join(*of, *rows, g->n);
		else if (*rows) {
			*of = *rows;
			*rows = NULL;
		}
	}
}

/* The unit of a node and name among v[n], of which v[from] is looked at first: steps have the same
 * order. n: there is none. */
static unsigned find_unit(const struct job_unit *v, unsigned n, unsigned from,
			  const struct job_unit *u)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned at = (from + i) % n;

		if (v[at].node == u->node && !strcmp(v[at].name, u->name))
			return at;
	}
	return n;
}

/* Devices of a node are in the file of each step. */
static int take_devices(struct job_unit **units, unsigned *n, const struct job_part *part,
			bool is_first, struct binner *b, const char *series, struct message *m)
{
	unsigned before = *n, last = 0;
	int err = take_units(units, n, part, series, b, m);

	for (unsigned i = before; !err && !is_first && i < *n; i++) {
		struct job_unit *u = &(*units)[i];
		unsigned at = find_unit(*units, before, last, u);

		if (at == before)
			continue;
		last = at + 1;
		join_device(&(*units)[at], u, b->grid);
		free(u->name);
		free(u->bins);
		extremes__free(&u->extremes);
		*u = (*units)[--*n];
		i--;
	}
	return err;
}

static void take_histogram(struct job_histogram *h, struct message *m)
{
	const struct job_histogram *one = message__take(m, sizeof(*one));

	for (int k = 0; one && one->is_known && k < JP_LAT_BUCKETS; k++)
		h->counts[k] += one->counts[k];
	h->is_known |= one && one->is_known;
}

/* The first step of a node. 0 or -ENOMEM. */
static int begin_node(struct job_unit *u, struct binner *step)
{
	memcpy(u->total, step->total, sizeof(u->total));
	u->rows = step->rows;
	u->begin_s = step->begin_s;
	u->end_s = step->end_s;
	if (u->series)
		return keep_bins(u, step);
	u->bins = step->bins;
	u->held = step->held;
	step->bins = step->held = NULL;
	return 0;
}

/* Adds a step to the node whose bins `all` has. */
static void join_bins(struct job_unit *u, struct binner *all, const struct binner *step)
{
	memcpy(all->total, u->total, sizeof(u->total));
	all->rows = u->rows;
	all->begin_s = u->begin_s;
	all->end_s = u->end_s;
	binner__join_step(all, step);
	memcpy(u->total, all->total, sizeof(u->total));
	u->rows = all->rows;
	u->begin_s = all->begin_s;
	u->end_s = all->end_s;
}

/* The same of a node that does not keep all bins. 0 or -ENOMEM. */
static int join_kept(struct job_unit *u, const struct binner *step)
{
	size_t n = step->grid->n, kept = 0;
	struct binner all;
	int err = binner__init(&all, step->grid);

	for (int q = 0; !err && q < N_QUANTITIES; q++)
		if (quantity__is_kept(q, u->series))
			memcpy(all.bins + (size_t)q * n, u->bins + n * kept++,
			       n * sizeof(*u->bins));
	for (int i = 0; !err && i < EXTREMES; i++)
		if (u->extremes.of[i])
			memcpy(all.extremes.of[i], u->extremes.of[i], 2 * n * sizeof(float));
	if (!err) {
		join_bins(u, &all, step);
		err = keep_bins(u, &all);
	}
	binner__free(&all);
	return err;
}

/* A step of a node is added to the node. 0 or -ENOMEM. */
static int join_node(struct job_unit *u, struct binner *step)
{
	struct binner all = {.grid = step->grid, .bins = u->bins, .held = u->held};

	if (!u->bins)
		return begin_node(u, step);
	if (u->series)
		return join_kept(u, step);
	join_bins(u, &all, step);
	return 0;
}

static void join_step(struct model_job *j, const struct job_part *part, const struct binner *b)
{
	struct job_step *s = &j->steps[part->step];
	struct job_node *n = &j->nodes[part->node];

	if (b->total[Q_OOM_KILLS] >= 1)
		n->oom_limit_mb = fmin(n->oom_limit_mb, b->total[Q_MEM_LIMIT]);
	s->nodes++;
	s->tasks += part->tasks;
	s->cpu_s = known__sum(s->cpu_s, b->total[Q_CPU]);
	s->begin_s = fmin(s->begin_s, b->begin_s);
	s->end_s = fmax(s->end_s, b->end_s);
}

#define RANK_OF_WORK 3

/* The processes of a step of a lower rank wait for those of steps of a higher one. */
static int rank_of(const struct job_step *s)
{
	static const char *const low[RANK_OF_WORK] = {"extern", "interactive", "batch"};
	const char *name = stepname__human(s->name);

	for (int i = 0; i < RANK_OF_WORK; i++)
		if (!strcmp(name, low[i]))
			return i;
	return RANK_OF_WORK;
}

/* Whether a step of the job has a higher rank. A job may have thousands of steps that have the
 * highest one: no other step is looked at for these. */
static bool waits_for_others(const struct model_job *j, const struct job_step *s)
{
	const int rank = rank_of(s);
	unsigned i = 0;

	if (rank == RANK_OF_WORK)
		return false;
	while (i < j->nsteps && rank_of(&j->steps[i]) <= rank)
		i++;
	return i < j->nsteps;
}

/* A shell and its srun are no threads that sleep beside idle cores: their job works in other steps.
 */
static void forget_waiting_threads(const struct model_job *j, const struct job_part *part,
				   struct binner *b)
{
	if (!waits_for_others(j, &j->steps[part->step]))
		return;
	for (unsigned k = 0; k < j->grid.n; k++)
		b->bins[(size_t)Q_THREADS * j->grid.n + k] = NAN;
	binner__forget(b, BINNED_BUDGET);
}

int job_rows__take(struct job_reading *r, unsigned item, struct message *m)
{
	struct model_job *j = r->job;
	struct job_part *part = &j->parts[item];
	const int *failed = message__take(m, sizeof(*failed));
	bool is_first = !j->nodes[part->node].unit.bins; /* of the node */
	unsigned ntasks;
	struct binner b;
	int err = failed ? *failed : -EBADMSG;

	if (err)
		return err;
	err = binner__init(&b, &j->grid);
	if (!err)
		err = take_units(&j->tasks, &j->ntasks, part, r->of_tasks, &b, m);
	ntasks = j->ntasks;
	if (!err)
		err = take_units(&j->tasks, &j->ntasks, part, r->of_tasks, &b, m);
	for (unsigned i = ntasks; !err && i < j->ntasks; i++)
		j->tasks[i].is_rank = true;
	if (!err)
		err = take_devices(&j->gpus, &j->ngpus, part, is_first, &b, "GPU", m);
	if (!err)
		err = take_devices(&j->mounts, &j->nmounts, part, is_first, &b, "Mount", m);
	if (!err)
		err = take_devices(&j->disks, &j->ndisks, part, is_first, &b, "Disk", m);
	if (!err)
		err = commands_take(j, m);
	if (!err)
		err = marks_take(j, item, m);
	if (!err) {
		take_histogram(&j->run_latency, m);
		take_histogram(&j->blk_latency, m);
		err = message_take_unit(m, &b, r->of_nodes);
	}
	if (!err) {
		part->covered_s = b.total[Q_COVERED];
		join_step(j, part, &b);
		forget_waiting_threads(j, part, &b);
		j->nodes[part->node].unit.series = r->of_nodes;
		err = join_node(&j->nodes[part->node].unit, &b);
	}
	binner__free(&b);
	return err;
}
