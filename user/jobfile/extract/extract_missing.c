/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints a line for each thing that was asked for and does not exist or cannot be read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "hdf5/h5util.h"
#include "identity/stepname.h"
#include "jobfile/extract/extract_internal.h"

#define NODES_NAMED 8 /* in one line */

static const char *error_text(int err)
{
	if (h5__missing_filter(err))
		return reader__strerror(err);
	switch (err) {
	case -EBADMSG:
		return "damaged, or not a table";
	case -ENOTSUP:
		return "has no column of numbers";
	case -EMSGSIZE:
		return "claims more than its bytes can hold";
	case -ENOENT:
		return "cannot be opened";
	case -ENODATA:
		return "has no column to tell its rows' time by";
	default:
		return strerror(-err);
	}
}

int extract__name_damaged(struct extraction *x, const struct node_ref *ref, const char *table,
			  int err)
{
	const struct reader_step *s = &x->r->steps[ref->step];
	const char *slash = table && strcmp(table, x->series) ? "/" : "";

	if (err == -ENOMEM || err == -EBUSY || err == -E2BIG)
		return err;
	if (x->collecting)
		return 0;
	x->result.damaged++;
	log_error("%s: %s%s%s%s%s%s%s%s: %s; it is left out", x->path,
		  x->r->merged ? "/Steps/" : "", x->r->merged ? s->name : "",
		  x->r->merged ? "/Nodes/" : "/", s->nodes.v[ref->node], table ? "/" : "",
		  table ? x->series : "", slash, *slash ? table : "", error_text(err));
	return 0;
}

/* Logs one line that names the nodes without the series. */
static void name_lacking_nodes(struct extraction *x)
{
	char text[512] = "";
	size_t len = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < x->nrefs; i++) {
		const struct node_ref *ref = &x->refs[i];

		if (!x->lacks[i])
			continue;
		if (++n <= NODES_NAMED && len < 300)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s/%.40s",
						n > 1 ? ", " : "", extract__step(x, ref->step),
						x->r->steps[ref->step].nodes.v[ref->node]);
		len = len < sizeof(text) ? len : sizeof(text) - 1;
	}
	x->result.lacking += n;
	if (n && n < x->nrefs)
		log_warn("%s: no series %s on %u of %u nodes: %s%s", x->path, x->wanted, n,
			 x->nrefs, text, n > NODES_NAMED ? ", ..." : "");
}

/* No node has the series. */
static void name_missing_series(struct extraction *x)
{
	char near[SELECT_SERIES];

	select__near_series(x->r, x->series, near);
	if (*near)
		log_error("%s: there is no series \"%s\"; did you mean \"%s\"?", x->path, x->series,
			  near);
	else
		log_error(
			"%s: there is no series \"%s\"; \"jobprof list FILE\" shows what is there",
			x->path, x->wanted);
}

static void name_missing_tasks(struct extraction *x)
{
	for (unsigned i = 0; x->nrefs && i < x->sel.ntasks; i++) {
		const struct number_range *r = &x->sel.tasks[i];

		if (x->found[i])
			continue;
		x->result.missing++;
		if (r->from == r->to)
			log_error("%s: series %s has no task %llu", x->path, x->series,
				  (unsigned long long)r->from);
		else
			log_error("%s: series %s has no task from %llu to %llu", x->path, x->series,
				  (unsigned long long)r->from, (unsigned long long)r->to);
	}
}

void extract__name_no_rows(struct extraction *x)
{
	x->result.missing++;
	log_error("%s: series %s has no rows in the time of --from and --to", x->path, x->wanted);
}

void extract__name_missing(struct extraction *x, bool empty)
{
	unsigned lacking = 0;

	for (unsigned i = 0; i < x->nrefs; i++)
		lacking += x->lacks[i];
	if (x->nrefs && lacking == x->nrefs) {
		x->result.missing++;
		name_missing_series(x);
		return;
	}
	name_lacking_nodes(x);
	name_missing_tasks(x);
	if (!empty || x->result.damaged || x->result.missing)
		return;
	if (x->opt->totals && !x->opt->stock && x->has_columns && !x->columns.n)
		log_error("%s: series %s has no column to make totals of; -l timeseries has its "
			  "rows",
			  x->path, x->wanted);
	else
		log_error("%s: nothing of series %s is there", x->path, x->wanted);
}

const char *extract__step(const struct extraction *x, unsigned step)
{
	const char *name = x->r->steps[step].name;

	return x->opt->stock ? name : stepname__human(name);
}
