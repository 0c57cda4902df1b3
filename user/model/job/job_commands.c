/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables Commands of all parts, added up by name. */
#include "model/job/job_commands.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
	more = realloc(j->commands, (j->ncommands + 1) * sizeof(*more));
	if (!more)
		return NULL;
	j->commands = more;
	more += j->ncommands;
	*more = (struct job_command){.name = strdup(name)};
	clear(more);
	j->ncommands += more->name != NULL;
	return more->name ? more : NULL;
}

int job_commands__take(struct model_job *j, struct message *m)
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
