// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of the readings of sensors, whose columns are the channels that exist. */
#include "base/room.h"
#include "daemon/node/node_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define TABLES_MAX 1024

/* Columns of Slurm's tables that are sums over tables of the node. */
static const struct {
	const char *series, *column;
	const char *of[2]; /* series: the first of them that the node has */
	const char *sum;
} sums[] = {
	{"Network", "PacketsIn", {"Port", "NetDev"}, "RxPackets"},
	{"Network", "PacketsOut", {"Port", "NetDev"}, "TxPackets"},
	{"Network", "InMB", {"Port", "NetDev"}, "RxMB"},
	{"Network", "OutMB", {"Port", "NetDev"}, "TxMB"},
	{"Filesystem", "Reads", {"Mount", NULL}, "Reads"},
	{"Filesystem", "ReadMB", {"Mount", NULL}, "ReadMB"},
	{"Filesystem", "Writes", {"Mount", NULL}, "Writes"},
	{"Filesystem", "WriteMB", {"Mount", NULL}, "WriteMB"},
};

static int kind_of(enum family f)
{
	if (f == FAM_ENERGY || f == FAM_GPU)
		return KIND_ENERGY;
	if (f == FAM_INTERCONNECT)
		return KIND_NETWORK;
	return f == FAM_FILESYSTEM ? KIND_FILESYSTEM : KIND_NODE;
}

static struct sensor_table *find_table(const struct node *n, const char *series, const char *name)
{
	for (unsigned i = 0; i < n->ntables; i++)
		if (!strcmp(n->tables[i].series, series) && !strcmp(n->tables[i].name, name))
			return &n->tables[i];
	return NULL;
}

static struct sensor_table *add_table(struct node *n, const char *series, const char *name)
{
	struct sensor_table *t;

	if (n->ntables == TABLES_MAX)
		return NULL;
	if (room__grow(&n->tables, n->ntables, 1, sizeof(*n->tables)))
		return NULL;
	t = &n->tables[n->ntables++];
	memset(t, 0, sizeof(*t));
	str__copy(t->series, sizeof(t->series), series);
	str__copy(t->name, sizeof(t->name), name);
	return t;
}

/* Adds a table with all columns of its schema, whether a channel measures them or not. */
static struct sensor_table *add_schema_table(struct node *n, const struct series *s,
					     const char *name)
{
	struct sensor_table *t = add_table(n, s->name, name);

	if (!t)
		return NULL;
	t->cols = calloc(s->ncols, sizeof(*t->cols));
	if (!t->cols) {
		n->ntables--;
		return NULL;
	}
	t->ncols = s->ncols;
	for (unsigned i = 0; i < s->ncols; i++) {
		t->cols[i].col = &s->cols[i];
		if (s->cols[i].kind != COL_TIME)
			t->family = s->cols[i].family;
	}
	t->kind = kind_of(t->family);
	return t;
}

static struct column own_column(const struct sensor_channel *ch)
{
	bool counted = ch->quantity == QUANTITY_ENERGY || ch->quantity == QUANTITY_COUNT;

	return (struct column){.name = ch->column,
			       .type = COL_F64,
			       .unit = ch->unit,
			       .kind = counted ? COL_DELTA : COL_GAUGE,
			       .family = FAM_NODE,
			       .how = HOW_SENSOR,
			       .scale = 1};
}

/* Adds a table whose columns are the channels of that series: the channels of one source, which
 * appear together. */
static struct sensor_table *add_channel_table(struct node *n, const char *full, const char *series,
					      const char *name)
{
	struct sensor_table *t = add_table(n, series, name);
	const struct channel_state *c;
	unsigned nc = sensor_set__channels(n->sensors, &c), at = 0;

	if (!t)
		return NULL;
	t->own = calloc(nc + 3, sizeof(*t->own));
	t->cols = calloc(nc + 3, sizeof(*t->cols));
	if (!t->own || !t->cols) {
		free(t->own);
		free(t->cols);
		n->ntables--;
		return NULL;
	}
	t->own[at++] = column__of_time("ElapsedTime", HOW_ELAPSED, "s");
	t->own[at++] = column__of_time("EpochTime", HOW_EPOCH, "s");
	for (unsigned i = 0; i < nc && at < MAX_COLUMNS - 1; i++)
		if (!strcmp(c[i].channel->series, full))
			t->own[at++] = own_column(c[i].channel);
	t->own[at++] = column__of_time("TimeNS", HOW_TIME_NS, "ns");
	t->ncols = at;
	for (unsigned i = 0; i < at; i++)
		t->cols[i].col = &t->own[i];
	t->family = FAM_NODE;
	t->kind = KIND_NODE;
	return t;
}

static int add_channel(struct sensor_column *c, unsigned channel)
{
	if (room__grow(&c->channel, c->nchannels, 1, sizeof(*c->channel)))
		return -ENOMEM;
	c->channel[c->nchannels++] = channel;
	return 0;
}

static struct sensor_column *column_of(struct sensor_table *t, const char *name)
{
	for (unsigned i = 0; i < t->ncols; i++)
		if (t->cols[i].col->how == HOW_SENSOR && !strcmp(t->cols[i].col->name, name))
			return &t->cols[i];
	return NULL;
}

/* A channel that a table has no column for is in no table. */
static int add_to_table(struct node *n, unsigned channel, const struct sensor_channel *ch)
{
	char series[sizeof(ch->series)], *name;
	const struct series *known;
	struct sensor_column *c;
	struct sensor_table *t;

	if (!ch->series[0])
		return 0;
	strcpy(series, ch->series);
	name = strchr(series, '/');
	if (name)
		*name++ = '\0';
	else
		name = series + strlen(series);
	t = find_table(n, series, name);
	known = series__find(series);
	if (!t)
		t = known ? add_schema_table(n, known, name)
			  : add_channel_table(n, ch->series, series, name);
	if (!t)
		return n->ntables == TABLES_MAX ? 0 : -ENOMEM;
	c = column_of(t, ch->column);
	return c ? add_channel(c, channel) : 0;
}

bool node__has_series(const struct node *n, const char *series)
{
	for (unsigned i = 0; n && i < n->ntables; i++)
		if (!strcmp(n->tables[i].series, series))
			return true;
	return false;
}

/* Makes one column of Slurm's tables. */
static int sum_tables(struct node *n, unsigned sum)
{
	const char *of = sums[sum].of[0];
	struct sensor_table *t;
	struct sensor_column *to;
	int err = 0;

	if (!node__has_series(n, of))
		of = sums[sum].of[1];
	if (!of || !node__has_series(n, of))
		return 0;
	t = find_table(n, sums[sum].series, "");
	if (!t)
		t = add_schema_table(n, series__find(sums[sum].series), "");
	if (!t)
		return -ENOMEM;
	to = column_of(t, sums[sum].column);
	to->nchannels = 0;
	for (unsigned i = 0; !err && i < n->ntables; i++) {
		const struct sensor_column *from;

		if (strcmp(n->tables[i].series, of))
			continue;
		from = column_of(&n->tables[i], sums[sum].sum);
		for (unsigned k = 0; !err && from && k < from->nchannels; k++)
			err = add_channel(to, from->channel[k]);
	}
	return err;
}

/* The table Energy is added as soon as the source of energy has been chosen. */
static int add_energy(struct node *n)
{
	if (!n->energy || !node_energy__any(n->energy) || node__has_series(n, "Energy"))
		return 0;
	n->version++;
	return add_schema_table(n, series__find("Energy"), "") ? 0 : -ENOMEM;
}

int sensor_tables__update(struct node *n)
{
	const struct channel_state *c;
	unsigned nc = sensor_set__channels(n->sensors, &c);
	int err = 0;

	for (unsigned i = n->nchannels; !err && i < nc; i++)
		err = add_to_table(n, i, c[i].channel);
	for (unsigned i = 0; !err && nc > n->nchannels && i < sizeof(sums) / sizeof(sums[0]); i++)
		err = sum_tables(n, i);
	if (!err)
		err = add_energy(n);
	n->version += nc > n->nchannels;
	n->nchannels = nc;
	n->families = 0;
	for (unsigned i = 0; i < n->ntables; i++)
		n->families |= n->tables[i].family;
	return err;
}

void sensor_tables__free(struct node *n)
{
	for (unsigned i = 0; i < n->ntables; i++) {
		for (unsigned k = 0; k < n->tables[i].ncols; k++)
			free(n->tables[i].cols[k].channel);
		free(n->tables[i].cols);
		free(n->tables[i].own);
	}
	free(n->tables);
}
