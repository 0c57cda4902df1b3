/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores tables and rows that other programs send for a step until they are written to the journal.
 */
#include "daemon/step/external_series.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/room.h"
#include "base/str.h"
#include "base/utf8.h"
#include "client/column.h"
#include "journal/journal.h"
#include "kern/kern.h"
#include "schema/column.h"

/* ---- points of the family fold as rows of SamplePoints */

static const struct jpc_column of_all[POINT_COLUMNS] = {
	{.name = "Time", .unit = "ns", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "Task", .cell = JPC_F64, .kind = JPC_GAUGE},
	{.name = "Process", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "Thread", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "Kind", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "Place", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "CPUTime", .unit = "ns", .cell = JPC_U64, .kind = JPC_CUMULATIVE},
	{.name = "PageFaults", .cell = JPC_U64, .kind = JPC_CUMULATIVE},
	{.name = "Period", .unit = "ns", .cell = JPC_F64, .kind = JPC_GAUGE},
};

static bool is_of_all(const char *name)
{
	for (unsigned i = 0; i < POINT_COLUMNS; i++)
		if (!strcmp(of_all[i].name, name))
			return true;
	return false;
}

void point_table__init(struct point_table *t, const struct column *events, unsigned n)
{
	memcpy(t->col, of_all, sizeof(of_all));
	t->ncols = POINT_COLUMNS;
	for (unsigned i = 0; i < n; i++) {
		struct jpc_column *c = &t->col[t->ncols];

		*c = (struct jpc_column){.cell = JPC_F64, .kind = JPC_CUMULATIVE};
		if (is_of_all(events[i].name) ||
		    str__copy(c->name, sizeof(c->name), events[i].name))
			continue;
		t->event[t->ncols++ - POINT_COLUMNS] = i;
	}
}

static double count_of(const struct jp_point *p, unsigned event)
{
	const struct jp_counted_point *c = (const struct jp_counted_point *)p;
	int place = kern__place_of(p->events, event);

	return place < 0 || c->count[place] == JP_UNCOUNTED ? NAN : (double)c->count[place];
}

/* The cells of the point's row, of that task (below 0: not known). */
static void point_table_row(const struct point_table *t, const struct jp_point *p, int task,
			    uint64_t *cells)
{
	const double number = task < 0 ? NAN : task;
	const double period = p->period_ns ? (double)p->period_ns : NAN;
	const uint64_t of_each[POINT_COLUMNS] = {p->time_ns, 0,	       p->tgid,	  p->tid,
						 p->module,  p->place, p->cpu_ns, p->faults};

	memcpy(cells, of_each, sizeof(of_each));
	memcpy(&cells[1], &number, sizeof(number));
	memcpy(&cells[8], &period, sizeof(period));
	for (unsigned i = POINT_COLUMNS; i < t->ncols; i++) {
		double count = count_of(p, t->event[i - POINT_COLUMNS]);

		memcpy(&cells[i], &count, sizeof(count));
	}
}

/* The journal's numbers: away from those of the built-in series and their tables. */
#define EXTERNAL_IDS (JOURNAL_SERIES_MAX - EXTERNAL_SERIES_FIRST)

#define TIMES 3 /* ElapsedTime, EpochTime, TimeNS */

const struct gatherer gatherers[GATHERERS] = {
	{"Energy", FAM_ENERGY, JPC_MEASURES_ENERGY},
	{"Network", FAM_INTERCONNECT, JPC_MEASURES_NETWORK},
	{"Filesystem", FAM_FILESYSTEM, JPC_MEASURES_LUSTRE},
};

/* NULL: it is not of the node as a whole. */
static const struct gatherer *find_gatherer(const char *name)
{
	for (int i = 0; i < GATHERERS; i++)
		if (!strcasecmp(gatherers[i].series, name))
			return &gatherers[i];
	return NULL;
}

static bool is_reserved(const struct external_series *g, const char *name)
{
	const struct gatherer *by = find_gatherer(name);

	return by ? g->measures & by->measures : series__is_reserved(name);
}

static bool printable_name(const char *s)
{
	const char *p;

	for (p = s; *p; p++)
		if (!isascii(*p) || !isprint(*p))
			return false;
	return str__safe_name(s);
}

/* Names of users must have the form that libjobprof allows, whatever program sends them; names from
 * Slurm's plugins are Slurm's. */
static bool name_ok(const char *s, size_t size, bool user)
{
	return memchr(s, 0, size) && (user ? column__name_ok(s, size - 1) : printable_name(s));
}

/* A unit may be any printable text, as "m/s". */
static bool unit_ok(const char *s)
{
	unsigned replaced;
	char *clean = utf8__clean(s, sizeof(((struct jpc_column *)0)->unit), &replaced);
	bool ok = clean && !replaced;

	free(clean);
	return ok;
}

static bool columns_ok(const struct jpc_table *m, bool user)
{
	static const char *const times[TIMES] = {"ElapsedTime", "EpochTime", "TimeNS"};
	unsigned i, k;

	if (!m->ncols || m->ncols > JPC_COLUMNS)
		return false;
	for (i = 0; i < m->ncols; i++) {
		const struct jpc_column *c = &m->col[i];

		if (!name_ok(c->name, sizeof(c->name), user) ||
		    !memchr(c->unit, 0, sizeof(c->unit)) || !unit_ok(c->unit) ||
		    c->cell > JPC_F64 || c->kind > JPC_CUMULATIVE)
			return false;
		for (k = 0; k < TIMES; k++)
			if (!strcmp(c->name, times[k]))
				return false;
		for (k = 0; k < i; k++)
			if (!strcmp(c->name, m->col[k].name))
				return false;
	}
	return true;
}

/* Sets the names of the table and its series in the file. */
static int name_table(const struct external_series *g, const struct jpc_table *m, bool user,
		      char series[72], char name[64])
{
	if (!name_ok(m->name, sizeof(m->name), user) ||
	    (m->group[0] && !name_ok(m->group, sizeof(m->group), user)))
		return -EINVAL;
	if (user && m->group[0] && strcmp(m->group, "User"))
		return -EINVAL;
	name[0] = 0;
	if (user) {
		strcpy(series, "User");
		strcpy(name, m->name);
		return 0;
	}
	if (m->group[0])
		strcpy(name, m->name);
	snprintf(series, 72, "%s%s",
		 is_reserved(g, m->group[0] ? m->group : m->name) ? "Slurm_" : "",
		 m->group[0] ? m->group : m->name);
	return 0;
}

static bool same_table(const struct external_table *t, const struct jpc_table *m)
{
	return t->ncols == m->ncols && !memcmp(t->col, m->col, m->ncols * sizeof(*m->col));
}

static void free_table(struct external_table *t)
{
	if (!t)
		return;
	free(t->col);
	free(t->last);
	free(t);
}

static int add_table(struct external_series *g, const struct external_table *like,
		     const struct jpc_column *col)
{
	struct external_table *t = malloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	*t = *like;
	t->col = malloc(t->ncols * sizeof(*col));
	if (!t->col) {
		free(t);
		return -ENOMEM;
	}
	memcpy(t->col, col, t->ncols * sizeof(*col));
	t->id = g->next_id++;
	g->nuser += t->user;
	g->table[g->ntables] = t;
	return (int)g->ntables++;
}

/* The number of the table of t's name, or -ENOENT. */
static int find_table(const struct external_series *g, const struct external_table *t)
{
	for (unsigned i = 0; i < g->ntables; i++)
		if (!strcmp(g->table[i]->series, t->series) && !strcmp(g->table[i]->name, t->name))
			return (int)i;
	return -ENOENT;
}

void external_series__columns(const struct external_series *g, const struct jpc_table *m, bool user,
			      char *text, size_t size)
{
	struct external_table t = {0};
	int found = name_table(g, m, user, t.series, t.name) ? -1 : find_table(g, &t);
	size_t len = 0;

	*text = '\0';
	for (unsigned i = 0; found >= 0 && i < g->table[found]->ncols; i++) {
		const struct jpc_column *c = &g->table[found]->col[i];
		const char *sign = c->kind == JPC_DELTA ? "+" : "";
		int n = *c->unit ? snprintf(text + len, size - len, "%s%s[%s]%s", i ? ", " : "",
					    c->name, c->unit, sign)
				 : snprintf(text + len, size - len, "%s%s%s", i ? ", " : "",
					    c->name, sign);

		if (n < 0 || (size_t)n >= size - len) {
			text[len] = '\0'; /* no half of a name */
			return;
		}
		len += (size_t)n;
	}
}

int external_series__declare(struct external_series *g, const struct jpc_table *m, bool user)
{
	struct external_table t = {.user = user, .ncols = m->ncols};
	int err = name_table(g, m, user, t.series, t.name), i;

	if (err || !columns_ok(m, user))
		return -EINVAL;
	t.of_node = !user && find_gatherer(m->group[0] ? m->group : m->name);
	i = find_table(g, &t);
	if (i >= 0)
		return same_table(g->table[i], m) ? i : -EEXIST;
	if (g->ntables == EXTERNAL_TABLES || g->next_id == EXTERNAL_IDS ||
	    (user && g->nuser == EXTERNAL_USER_TABLES))
		return -EDQUOT;
	return add_table(g, &t, m->col);
}

static bool may_store_row(struct external_series *g, unsigned words)
{
	uint64_t now = clock__boot_ns();

	if (!g->tokens_ns)
		g->tokens = EXTERNAL_ROWS_BURST;
	else
		g->tokens += (double)(now - g->tokens_ns) * 1e-9 * EXTERNAL_ROWS_RATE;
	g->tokens_ns = now;
	if (g->tokens > EXTERNAL_ROWS_BURST)
		g->tokens = EXTERNAL_ROWS_BURST;
	if (g->tokens < 1 || g->bytes + 8ull * words > EXTERNAL_BYTES_MAX)
		return false;
	g->tokens -= 1;
	g->bytes += 8ull * words;
	return true;
}

static int grow_pending(struct external_series *g, unsigned words)
{
	if (8ull * (g->npending + words) > EXTERNAL_PENDING_MAX)
		return -EDQUOT;
	return room__make(&g->pending, &g->max_pending, g->npending + words, sizeof(*g->pending));
}

int external_series__row(struct external_series *g, unsigned index, int64_t time_ns,
			 const uint64_t *cells)
{
	const struct external_table *t = g->table[index];
	unsigned words = 2 + t->ncols;
	int err = t->user && !may_store_row(g, words) ? -EDQUOT : grow_pending(g, words);

	if (err) {
		g->refused++;
		return err;
	}
	g->pending[g->npending] = index;
	g->pending[g->npending + 1] = (uint64_t)time_ns;
	memcpy(&g->pending[g->npending + 2], cells, t->ncols * sizeof(*cells));
	g->npending += words;
	return 0;
}

static const char *const names_of[NAMES] = {[NAMES_MARKS] = "Mark", [NAMES_REGIONS] = "Region"};

/* The table of that series, which is ours; user: its rows are the job's programs'. */
static int own_table(struct external_series *g, const char *series, const struct jpc_column *col,
		     unsigned ncols, bool user)
{
	struct external_table t = {.user = user, .ncols = ncols};
	unsigned i;

	for (i = 0; i < g->ntables; i++)
		if (!strcmp(g->table[i]->series, series))
			return (int)i;
	if (g->ntables == EXTERNAL_TABLES || g->next_id == EXTERNAL_IDS)
		return -EDQUOT;
	str__copy(t.series, sizeof(t.series), series);
	return add_table(g, &t, col);
}

/* The number of a name, from 1; 0: there are too many. */
static unsigned number_of(struct external_names *l, const char *name)
{
	unsigned i;

	for (i = 0; i < l->n && strcmp(l->name[i], name); i++)
		;
	if (i == EXTERNAL_NAMES)
		return 0;
	if (i == l->n)
		str__copy(l->name[l->n++], sizeof(l->name[0]), name);
	return i + 1;
}

int external_series__mark(struct external_series *g, int64_t time_ns, const char *name)
{
	static const struct jpc_column col = {.name = "Mark", .cell = JPC_U64, .kind = JPC_GAUGE};
	int index = own_table(g, "Marks", &col, 1, true);
	uint64_t number;

	if (index < 0)
		return index;
	if (!name[0])
		return -EINVAL;
	number = number_of(&g->names[NAMES_MARKS], name);
	if (!number) {
		g->refused++;
		return -EDQUOT;
	}
	return external_series__row(g, index, time_ns, &number);
}

void external_series__region(struct external_series *g, int64_t time_ns, const char *name,
			     const struct external_region *r)
{
	static const struct jpc_column cols[] = {
		{.name = "Region", .cell = JPC_U64, .kind = JPC_GAUGE},
		{.name = "Begin", .unit = "ns", .cell = JPC_U64, .kind = JPC_GAUGE},
		{.name = "End", .unit = "ns", .cell = JPC_U64, .kind = JPC_GAUGE},
		{.name = "Process", .cell = JPC_U64, .kind = JPC_GAUGE},
		{.name = "Thread", .cell = JPC_U64, .kind = JPC_GAUGE},
		{.name = "BeginCPUTime", .unit = "ns", .cell = JPC_F64, .kind = JPC_GAUGE},
		{.name = "EndCPUTime", .unit = "ns", .cell = JPC_F64, .kind = JPC_GAUGE},
		{.name = "BeginPageFaults", .cell = JPC_F64, .kind = JPC_GAUGE},
		{.name = "EndPageFaults", .cell = JPC_F64, .kind = JPC_GAUGE},
	};
	const double used[] = {r->at_begin.cpu_ns, r->at_end.cpu_ns, r->at_begin.faults,
			       r->at_end.faults};
	int index = own_table(g, "Regions", cols, sizeof(cols) / sizeof(cols[0]), true);
	uint64_t number = number_of(&g->names[NAMES_REGIONS], name), before = g->refused;
	uint64_t cells[9] = {number, r->begin_ns, r->end_ns, r->process, r->thread};

	memcpy(&cells[5], used, sizeof(used));
	if (index < 0 || !number || external_series__row(g, index, time_ns, cells))
		g->lost_regions += 2;
	g->refused = before;
}

/* These come from the kernel side: only their number is limited. */
void external_series__point(struct external_series *g, int64_t time_ns, const struct jp_point *p,
			    int task, const struct point_table *t)
{
	uint64_t cells[POINT_COLUMNS + JP_PMU_EVENTS];
	int index = own_table(g, "SamplePoints", t->col, t->ncols, false);
	uint64_t before = g->refused;

	point_table_row(t, p, task, cells);
	g->point_bytes += t->ncols * sizeof(*cells);
	if (index < 0 || g->point_bytes > EXTERNAL_POINTS_MAX ||
	    external_series__row(g, index, time_ns, cells))
		g->lost_points++;
	g->refused = before;
}

void external_series__free(struct external_series *g)
{
	unsigned i;

	for (i = 0; i < g->ntables; i++)
		free_table(g->table[i]);
	free(g->pending);
	region_accounts__free(&g->accounts);
	memset(g, 0, sizeof(*g));
}

/* Declares the table, with times first and last as in the other tables of the file. */
static int declare_table(struct external_table *t, struct journal *j)
{
	static const enum col_kind kinds[] = {[JPC_GAUGE] = COL_GAUGE,
					      [JPC_DELTA] = COL_DELTA,
					      [JPC_CUMULATIVE] = COL_CUMULATIVE};
	struct column cols[JPC_COLUMNS + TIMES];
	const struct column *list[JPC_COLUMNS + TIMES];
	unsigned i, n = 0;
	int err;

	cols[n++] = column__of_time("ElapsedTime", HOW_ELAPSED, "s");
	cols[n++] = column__of_time("EpochTime", HOW_EPOCH, "s");
	for (i = 0; i < t->ncols; i++)
		cols[n++] = (struct column){.name = t->col[i].name,
					    .type = t->col[i].cell == JPC_F64 ? COL_F64 : COL_U64,
					    .unit = t->col[i].unit,
					    .kind = kinds[t->col[i].kind],
					    .family = FAM_BASE,
					    .how = HOW_GIVEN,
					    .scale = 1};
	cols[n++] = column__of_time("TimeNS", HOW_TIME_NS, "ns");
	for (i = 0; i < n; i++)
		list[i] = &cols[i];
	err = journal__series(j, EXTERNAL_SERIES_FIRST + t->id, t->series, t->name[0], list, n);
	if (!err)
		err = journal__table(j, EXTERNAL_TABLE_LAST - t->id, EXTERNAL_SERIES_FIRST + t->id,
				     t->name[0] ? t->name : t->series);
	t->declared.put = !err;
	return err;
}

static void put_names(struct external_series *g, struct journal *j)
{
	char attr[32];

	for (int k = 0; k < NAMES; k++) {
		struct external_names *l = &g->names[k];

		for (; l->attrs.put < l->n; l->attrs.put++) {
			snprintf(attr, sizeof(attr), "%s %u", names_of[k],
				 (unsigned)l->attrs.put + 1);
			if (journal__attr_str(j, attr, l->name[l->attrs.put]))
				return;
		}
	}
}

static int put_row(struct external_table *t, struct journal *j, uint64_t start_real_ns,
		   const uint64_t *row)
{
	uint64_t time = row[0], second = time / NSEC_PER_SEC, start = start_real_ns / NSEC_PER_SEC;

	if (!t->last)
		t->last = malloc((t->ncols + TIMES) * sizeof(*t->last));
	if (!t->last)
		return -ENOMEM;
	t->last[0] = second > start ? second - start : 0;
	t->last[1] = second;
	memcpy(&t->last[2], row + 1, t->ncols * sizeof(*row));
	t->last[2 + t->ncols] = time;
	return journal__row(j, EXTERNAL_TABLE_LAST - t->id, (const union cell *)t->last,
			    t->ncols + TIMES);
}

unsigned external_series__flush(struct external_series *g, struct journal *j,
				uint64_t start_real_ns, bool with_node)
{
	unsigned at = 0, rows = 0;

	g->in_frame = true;
	put_names(g, j);
	region_accounts__put(&g->accounts, j, g->lost_regions);
	while (at < g->npending) {
		struct external_table *t = g->table[g->pending[at]];

		if (with_node || !t->of_node) {
			bool bad = (!t->declared.put && declare_table(t, j)) ||
				   put_row(t, j, start_real_ns, &g->pending[at + 1]);

			g->refused += bad;
			rows += !bad;
		}
		at += 2 + t->ncols;
	}
	return rows;
}

bool external_series__reserve_id(struct external_series *g, uint32_t series_id)
{
	if (series_id < EXTERNAL_SERIES_FIRST)
		return false;
	if (series_id - EXTERNAL_SERIES_FIRST >= g->next_id)
		g->next_id = series_id - EXTERNAL_SERIES_FIRST + 1;
	return true;
}

void external_series__remember_name(struct external_series *g, const char *attr, const char *text)
{
	for (int k = 0; k < NAMES; k++) {
		struct external_names *l = &g->names[k];
		size_t len = strlen(names_of[k]);
		uint32_t n;

		if (!str__starts(attr, names_of[k]) || attr[len] != ' ' ||
		    parse_u32(attr + len + 1, &n) || n != l->n + 1 || n > EXTERNAL_NAMES)
			continue;
		str__copy(l->name[l->n++], sizeof(l->name[0]), text);
		l->attrs = (struct journaled){l->n, l->n};
	}
}

bool external_series__has_new(const struct external_series *g)
{
	for (int k = 0; k < NAMES; k++)
		if (g->names[k].attrs.put < g->names[k].n)
			return true;
	return g->npending || region_accounts__has_new(&g->accounts, g->lost_regions);
}

bool external_series__is_known(const struct external_series *g)
{
	return g->next_id || g->accounts.n || g->lost_regions;
}

void external_series__end_frame(struct external_series *g, enum frame_end end)
{
	if (!g->in_frame && end != FRAME_LOST)
		return;
	for (unsigned i = 0; i < g->ntables; i++)
		journaled__end_frame(&g->table[i]->declared, end);
	for (int k = 0; k < NAMES; k++)
		journaled__end_frame(&g->names[k].attrs, end);
	region_accounts__end_frame(&g->accounts, end);
	if (end == FRAME_WRITTEN)
		g->npending = 0;
	g->in_frame = false;
}
