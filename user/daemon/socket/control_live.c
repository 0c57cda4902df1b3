// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends the last rows of a step to a peer that may see them: one table at a time, as fast as the
 * peer reads. */
#include "daemon/socket/control_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "daemon/follow/follow.h"
#include "daemon/node/node.h"
#include "daemon/record/step_bursts.h"
#include "daemon/record/step_kinds.h"

struct live {
	struct control *c;
	struct peer *p;
	const struct step *s;
	uint64_t now;
};

static void fill_head(void *message, enum jpc_type type, size_t length)
{
	struct jpc_head *h = message;

	*h = (struct jpc_head){
		.magic = JPC_MAGIC, .version = JPC_VERSION, .type = type, .length = length};
}

/* Puts the table's name and columns in the control's buffer, whose message has been handled. */
static struct jpc_table *describe_table(struct live *l, const char *series, const char *name)
{
	struct jpc_table *t = (void *)l->c->buf;

	memset(t, 0, sizeof(*t));
	t->table = l->p->live.tables;
	snprintf(t->group, sizeof(t->group), "%u.%.18s%s%.17s", l->s->ids.job_id,
		 l->s->ids.step_name, name[0] ? "/" : "", name[0] ? series : "");
	snprintf(t->name, sizeof(t->name), "%.63s", name[0] ? name : series);
	return t;
}

static void add_column(struct jpc_table *t, const char *name, const char *unit, enum col_type type,
		       enum col_kind kind)
{
	struct jpc_column *c = &t->col[t->ncols++];

	memset(c, 0, sizeof(*c));
	str__copy(c->name, sizeof(c->name), name);
	str__copy(c->unit, sizeof(c->unit), unit);
	c->cell = type == COL_F64 ? JPC_F64 : JPC_U64;
	c->kind = kind == COL_DELTA	   ? JPC_DELTA
		  : kind == COL_CUMULATIVE ? JPC_CUMULATIVE
					   : JPC_GAUGE;
}

/* 1, or -errno. */
static int send_table(struct live *l, struct jpc_table *t, const void *cells)
{
	struct {
		struct jpc_rows rows;
		uint64_t cell[JPC_COLUMNS];
	} m = {.rows = {.table = t->table, .nrows = 1}};
	int err;

	fill_head(t, JPC_TABLE, sizeof(*t) + t->ncols * sizeof(t->col[0]));
	fill_head(&m, JPC_ROWS, sizeof(m.rows) + t->ncols * sizeof(m.cell[0]));
	memcpy(m.cell, cells, t->ncols * sizeof(m.cell[0]));
	err = peer__send(l->p, t, l->now);
	if (!err)
		err = peer__send(l->p, &m, l->now);
	l->p->live.tables++;
	quota__charge(l->p->quota, 1);
	return err ? err : 1;
}

static bool is_brief(const struct live *l)
{
	return l->p->live.question.head.flags & JPC_F_BRIEF;
}

/* The table has one column more where the answer is brief. */
static void add_interval(struct live *l, struct jpc_table *t, union cell *cells, double seconds)
{
	if (!is_brief(l))
		return;
	cells[t->ncols].f = seconds;
	add_column(t, "Interval", "s", COL_F64, COL_GAUGE);
}

static int send_cells(struct live *l, const struct table *t, const union cell *row)
{
	const struct column_set *set = &l->s->sets[t->kind];
	union cell cells[JPC_COLUMNS];
	struct jpc_table *m;
	char name[16] = "";
	unsigned i;

	if (set->ncols >= JPC_COLUMNS)
		return 0;
	if (t->kind == KIND_COMMANDS)
		str__copy(name, sizeof(name), t->name);
	else if (t->gtid != JP_GTID_NONE)
		snprintf(name, sizeof(name), "%d", t->gtid);
	m = describe_table(l, set->series->name, name);
	for (i = 0; i < set->ncols; i++) {
		const struct column *c = set->cols[i];
		bool unknown = step__column_unknown(l->s, l->c->d->env.node, c->name);

		cells[i] = row[i];
		if (unknown)
			cells[i].f = NAN;
		add_column(m, c->name, c->unit, unknown ? COL_F64 : c->type, c->kind);
	}
	add_interval(l, m, cells, t->last_s);
	if (is_brief(l) && m->ncols < JPC_COLUMNS) {
		cells[m->ncols].f = (double)t->prev->totals.v[T_CPU] / NSEC_PER_SEC;
		add_column(m, "CPUTotal", "s", COL_F64, COL_CUMULATIVE);
	}
	return send_table(l, m, cells);
}

static int send_counted(struct live *l, const struct table *t)
{
	const bool brief = t->kind == KIND_STEP || t->kind == KIND_TASKS || t->kind == KIND_RANKS;

	return t->last && (brief || !is_brief(l)) ? send_cells(l, t, t->last) : 0;
}

int control_live__send(struct control *c, struct peer *p, const struct step *s,
		       const struct table *t, const union cell *cells, uint64_t now)
{
	struct live l = {.c = c, .p = p, .s = s, .now = now};
	int sent = send_cells(&l, t, cells);

	return sent < 0 ? sent : 0;
}

static int send_external(struct live *l, const struct external_table *t)
{
	struct jpc_table *m;

	if (!t->last || t->ncols + 3 > JPC_COLUMNS || is_brief(l))
		return 0;
	m = describe_table(l, t->series, t->name);
	add_column(m, "ElapsedTime", "s", COL_U64, COL_TIME);
	add_column(m, "EpochTime", "s", COL_U64, COL_TIME);
	memcpy(&m->col[m->ncols], t->col, t->ncols * sizeof(*t->col));
	m->ncols += t->ncols;
	add_column(m, "TimeNS", "ns", COL_U64, COL_TIME);
	return send_table(l, m, t->last);
}

static int send_sensors(struct live *l, const struct sensor_row *row)
{
	union cell cells[JPC_COLUMNS];
	struct jpc_table *m;

	if (row->ncols >= JPC_COLUMNS || (is_brief(l) && strcmp(row->series, "Energy") != 0))
		return 0;
	memcpy(cells, row->cells, row->ncols * sizeof(*cells));
	m = describe_table(l, row->series, row->name);
	for (unsigned i = 0; i < row->ncols; i++)
		add_column(m, row->cols[i]->name, row->cols[i]->unit, row->cols[i]->type,
			   row->cols[i]->kind);
	add_interval(l, m, cells, row->seconds);
	return send_table(l, m, cells);
}

/* What is known of the step and its job. Texts may be of the job's environment. */
static int send_about(struct live *l)
{
	const struct step *s = l->s;
	struct jpc_step *m = (void *)l->c->buf;

	if (s->req && s->req->known)
		*m = s->req->info;
	else
		*m = (struct jpc_step){.node_tasks = JPC_UNKNOWN,
				       .ntasks = JPC_UNKNOWN,
				       .time_limit = JPC_UNKNOWN};
	m->job_id = s->ids.has_job ? s->ids.job_id : JPC_UNKNOWN;
	m->uid = s->uid_known ? s->uid : JPC_UNKNOWN;
	memset(m->step_name, 0, sizeof(m->step_name));
	str__copy(m->step_name, sizeof(m->step_name), s->ids.step_name);
	memset(m->user, 0, sizeof(m->user));
	str__copy(m->user, sizeof(m->user), s->pub.user);
	fill_head(m, JPC_STEP, sizeof(*m));
	return peer__send(l->p, m, l->now);
}

static int next_about(struct live *l, unsigned *i)
{
	int err;

	if (!is_brief(l) || *i)
		return 0;
	(*i)++;
	quota__charge(l->p->quota, 1);
	err = send_about(l);
	return err ? err : 1;
}

/* Sends the next table of each part of a step: 1 when it was sent, 0 when there is none. */
static int next_counted(struct live *l, unsigned *i)
{
	int sent = 0;

	while (!sent && *i < l->s->ntables)
		sent = send_counted(l, &l->s->tables[(*i)++]);
	return sent;
}

static int next_sensors(struct live *l, unsigned *i)
{
	struct sensor_row row;
	int sent = 0;

	while (!sent && sensor_rows__last(l->s->sensors, i, &row))
		sent = send_sensors(l, &row);
	return sent;
}

static int next_external(struct live *l, unsigned *i)
{
	int sent = 0;

	while (!sent && l->s->req && *i < l->s->req->external.ntables)
		sent = send_external(l, l->s->req->external.table[(*i)++]);
	return sent;
}

static int (*const parts[])(struct live *l, unsigned *i) = {next_about, next_counted, next_sensors,
							    next_external};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static bool is_asked_for(const struct live *l, const struct step *s)
{
	const struct jpc_live *m = &l->p->live.question;

	/* the answer does not tell whether a step exists that the sender may not see */
	if (s->state != STEP_ACTIVE || !(l->p->admin || l->p->uid == s->uid))
		return false;
	if (m->job_id == JPC_UNKNOWN)
		return l->p->in_step && request_match__has_key(s, &l->p->key);
	return s->ids.has_job && (s->ids.job_id == m->job_id || m->job_id == JPC_ALL) &&
	       (!m->step_name[0] || !strcmp(m->step_name, s->ids.step_name));
}

/* Takes the first step from s on that the question is about; false: there is none. */
static bool go_to(struct live *l, const struct step *s)
{
	struct live_at *at = &l->p->live;

	while (s && !is_asked_for(l, s))
		s = s->next;
	l->s = s;
	if (s) {
		at->slot = s->slot;
		at->gen = s->gen;
		at->part = at->next = 0;
	}
	return s;
}

/* The step that the answer has come to; NULL: it has ended. */
static void find_step(struct live *l)
{
	const struct live_at *at = &l->p->live;

	for (l->s = l->c->d->steps; l->s && (l->s->slot != at->slot || l->s->gen != at->gen);)
		l->s = l->s->next;
}

/* 0: everything is sent. A step that has ended meanwhile has no rows any more, and neither have
 * those after it in the list. */
static int send_next(struct live *l)
{
	struct live_at *at = &l->p->live;
	int sent;

	find_step(l);
	while (l->s && l->s->state == STEP_ACTIVE) {
		for (; at->part < PARTS; at->part++, at->next = 0) {
			sent = parts[at->part](l, &at->next);
			if (sent)
				return sent;
		}
		go_to(l, l->s->next);
	}
	return 0;
}

/* ---- bursts */

#define ROWS_PER_CHARGE 64   /* are as much work as a message */
#define ROWS_BYTES	8192 /* of a message: the kernel keeps 16 KiB for a user's connection */

static void put_rows(struct live *l, unsigned ncols)
{
	struct recent_bursts *r = l->s->recent;
	struct jpc_rows *m = (void *)l->c->buf;
	const size_t size = ncols * sizeof(union cell);
	unsigned most = (unsigned)((ROWS_BYTES - sizeof(*m)) / size);
	const union cell *row;

	*m = (struct jpc_rows){0};
	while (m->nrows < most && (row = recent_bursts__next(r, &l->p->live.after)))
		memcpy((char *)m->cell + m->nrows++ * size, row, size);
	fill_head(m, JPC_ROWS, sizeof(*m) + m->nrows * size);
}

static int send_burst_table(struct live *l, const struct column_set *set)
{
	struct jpc_table *m = describe_table(l, set->series->name, "");

	add_column(m, "Number", "", COL_U64, COL_GAUGE);
	add_column(m, "Task", "", COL_U64, COL_GAUGE);
	for (unsigned i = 0; i < set->ncols; i++)
		add_column(m, set->cols[i]->name, set->cols[i]->unit, set->cols[i]->type,
			   set->cols[i]->kind);
	fill_head(m, JPC_TABLE, sizeof(*m) + m->ncols * sizeof(m->col[0]));
	l->p->live.tables = 1;
	return peer__send(l->p, m, l->now);
}

/* The table, then messages of as many rows as they hold: 1, 0 when all are sent, or -errno. */
static int next_bursts(struct live *l)
{
	const struct column_set *set;
	struct jpc_rows *m = (void *)l->c->buf;
	int err;

	find_step(l);
	if (!l->s || l->s->state != STEP_ACTIVE || !l->s->recent)
		return 0;
	set = &l->s->sets[KIND_BURSTS];
	quota__charge(l->p->quota, 1);
	if (!l->p->live.tables) {
		err = send_burst_table(l, set);
		return err ? err : 1;
	}
	put_rows(l, set->ncols + 2);
	if (!m->nrows)
		return 0;
	quota__charge(l->p->quota, (double)m->nrows / ROWS_PER_CHARGE);
	err = peer__send(l->p, m, l->now);
	return err ? err : 1;
}

int control_live__bursts(struct control *c, struct peer *p, const struct jpc_bursts *question,
			 uint64_t now)
{
	struct live l = {.c = c, .p = p};
	struct step *s;
	int err;

	p->live = (struct live_at){.seq = question->of.head.seq,
				   .question = question->of,
				   .bursts = true,
				   .after = question->after};
	if (!go_to(&l, c->d->steps))
		return -ESRCH;
	s = (struct step *)l.s;
	if (!step__has_kind(s, KIND_BURSTS) || s->sets[KIND_BURSTS].ncols + 2 > JPC_COLUMNS)
		return -ENODATA;
	if (!s->recent)
		s->recent = calloc(1, sizeof(*s->recent));
	if (!s->recent)
		return -ENOMEM;
	err = recent_bursts__ask(s->recent, s->sets[KIND_BURSTS].ncols, now);
	p->live.on = !err;
	return err;
}

int control_live__begin(struct control *c, struct peer *p, const struct jpc_live *question)
{
	struct live l = {.c = c, .p = p};

	p->live = (struct live_at){.seq = question->head.seq, .question = *question};
	p->live.on = go_to(&l, c->d->steps);
	return p->live.on || question->job_id == JPC_ALL ? 0 : -ESRCH;
}

void control_live__continue(struct control *c, struct peer *p, uint64_t now)
{
	struct live l = {.c = c, .p = p, .now = now};
	struct jpc_reply reply = {};
	int sent = 1;

	while (sent > 0 && !p->out_len) {
		p->read_paused = !quota__may_work(p->quota, now);
		if (p->read_paused)
			return;
		sent = p->live.bursts ? next_bursts(&l) : send_next(&l);
	}
	if (sent > 0)
		return;
	p->live.on = false;
	reply.number = p->live.tables;
	reply.error = sent;
	peer__reply(p, p->live.seq, &reply, now);
}
