// SPDX-License-Identifier: GPL-2.0-only
/* The last rows of a step, to who may see them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "daemon/control_internal.h"
#include "daemon/step_internal.h"

struct live {
	struct control *c;
	struct peer *p;
	const struct step *s;
	uint64_t now;
	unsigned tables;
};

static void head(void *message, enum jpc_type type, size_t length)
{
	struct jpc_head *h = message;

	*h = (struct jpc_head){
		.magic = JPC_MAGIC, .version = JPC_VERSION, .type = type, .length = length};
}

/* The table's name and columns into the control's buffer: whose message it was is done with. */
static struct jpc_table *describe(struct live *l, const char *series, const char *name)
{
	struct jpc_table *t = (void *)l->c->buf;

	memset(t, 0, sizeof(*t));
	t->table = l->tables;
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

static int send_table(struct live *l, struct jpc_table *t, const void *cells)
{
	struct {
		struct jpc_rows rows;
		uint64_t cell[JPC_COLUMNS];
	} m = {.rows = {.table = t->table, .nrows = 1}};
	int err;

	head(t, JPC_TABLE, sizeof(*t) + t->ncols * sizeof(t->col[0]));
	head(&m, JPC_ROWS, sizeof(m.rows) + t->ncols * sizeof(m.cell[0]));
	memcpy(m.cell, cells, t->ncols * sizeof(m.cell[0]));
	err = peer__send(l->p, t, l->now);
	if (!err)
		err = peer__send(l->p, &m, l->now);
	l->tables++;
	return err;
}

static int send_own(struct live *l, const struct table *t)
{
	const struct column_set *set = &l->s->sets[t->kind];
	struct jpc_table *m;
	char name[16] = "";
	unsigned i;

	if (!t->last || set->ncols > JPC_COLUMNS)
		return 0;
	if (t->gtid != JP_GTID_NONE)
		snprintf(name, sizeof(name), "%d", t->gtid);
	m = describe(l, set->series->name, name);
	for (i = 0; i < set->ncols; i++)
		add_column(m, set->cols[i]->name, set->cols[i]->unit, set->cols[i]->type,
			   set->cols[i]->kind);
	return send_table(l, m, t->last);
}

static int send_guest(struct live *l, const struct guest_table *t)
{
	struct jpc_table *m;

	if (!t->last || t->ncols + 3 > JPC_COLUMNS)
		return 0;
	m = describe(l, t->series, t->name);
	add_column(m, "ElapsedTime", "s", COL_U64, COL_TIME);
	add_column(m, "EpochTime", "s", COL_U64, COL_TIME);
	memcpy(&m->col[m->ncols], t->col, t->ncols * sizeof(*t->col));
	m->ncols += t->ncols;
	add_column(m, "TimeNS", "ns", COL_U64, COL_TIME);
	return send_table(l, m, t->last);
}

static int send_node(struct live *l, const struct node_row *row)
{
	struct jpc_table *m;

	if (row->ncols > JPC_COLUMNS)
		return 0;
	m = describe(l, row->series, row->name);
	for (unsigned i = 0; i < row->ncols; i++)
		add_column(m, row->cols[i]->name, row->cols[i]->unit, row->cols[i]->type,
			   row->cols[i]->kind);
	return send_table(l, m, row->cells);
}

static int send_step(struct live *l)
{
	struct node_row row;
	unsigned i;
	int err = 0;

	for (i = 0; !err && i < l->s->ntables; i++)
		err = send_own(l, &l->s->tables[i]);
	for (i = 0; !err && step_node__last(l->s->node, &i, &row);)
		err = send_node(l, &row);
	for (i = 0; !err && l->s->req && i < l->s->req->guests.ntables; i++)
		err = send_guest(l, l->s->req->guests.table[i]);
	return err;
}

static bool is_asked_for(const struct live *l, const struct jpc_live *m)
{
	if (m->job_id == JPC_UNKNOWN)
		return l->p->in_step && daemon_step_is_at(l->c->d, l->s, &l->p->place);
	return l->s->ids.has_job && l->s->ids.job_id == m->job_id &&
	       (!m->step_name[0] || !strcmp(m->step_name, l->s->ids.step_name));
}

/* A step that the sender may not see is none to it. */
int control_live(struct control *c, struct peer *p, const struct jpc_live *question,
		 unsigned *tables, uint64_t now)
{
	const struct jpc_live m = *question; /* it is in the buffer that the answers are made in */
	struct live l = {.c = c, .p = p, .now = now};
	bool any = false;
	int err = 0;

	for (l.s = c->d->steps; l.s && !err; l.s = l.s->next) {
		if (l.s->state != STEP_ACTIVE || !is_asked_for(&l, &m) ||
		    !(p->admin || p->uid == l.s->uid))
			continue;
		any = true;
		err = send_step(&l);
	}
	*tables = l.tables;
	return err ? err : any ? 0 : -ESRCH;
}
