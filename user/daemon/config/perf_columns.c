// SPDX-License-Identifier: GPL-2.0-or-later
/* The events of the family perf as columns. */
#include "daemon/config/perf_columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kern/pmu/perf_groups.h"

static const struct column *schema_column(const char *name)
{
	static const char *const series[] = {"Tasks", "Step"};

	for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); i++) {
		const struct series *s = series__find(series[i]);

		for (unsigned c = 0; c < s->ncols; c++)
			if (!strcasecmp(s->cols[c].name, name))
				return &s->cols[c];
	}
	return NULL;
}

/* The events that are asked for replace those of the schema; all other columns of the schema
 * stay. */
static int check_column(const struct perf_event *ev, char *err, size_t errlen)
{
	const struct column *other = schema_column(ev->column);

	if (!other || other->how == HOW_PMU)
		return 0;
	snprintf(err, errlen,
		 "%s: there is a column %s already, in the family %s: leave the event out, or give "
		 "it another name= between the slashes of its PMU",
		 ev->text, other->name, family__name(other->family));
	return -EINVAL;
}

static void fill_column(struct perf_columns *e, unsigned i)
{
	const struct column *schema = schema_column(e->ev[i].column);
	struct column *col = &e->cols[i];
	struct perf_event ev = e->ev[i]; /* gcc sees an overlap within *e where there is none */

	snprintf(e->docs[i], sizeof(e->docs[i]), "Events of perf's %s.", ev.text);
	*col = series__event(e->ev[i].column, i);
	col->doc = schema ? schema->doc : e->docs[i];
	col->blind = schema ? schema->blind : "";
}

int perf_columns__parse(struct perf_columns *e, const char *list, char *err, size_t errlen)
{
	_cleanup_free_ struct perf_columns *own = NULL;
	char expanded[JP_PMU_EVENTS * 2 * sizeof(e->ev[0].text)], reason[960];
	int n, wrong = 0;

	if (!e) {
		e = own = calloc(1, sizeof(*own));
		if (!own) {
			snprintf(err, errlen, "out of memory");
			return -ENOMEM;
		}
	}
	n = perf_groups__expand(list, "/proc", "/sys", expanded, sizeof(expanded), err, errlen);
	if (n == -EINVAL && *expanded &&
	    perf_event__parse(expanded, "/sys", e->ev, JP_PMU_EVENTS, reason, sizeof(reason)) < 0)
		str__add_reason(err, errlen, reason);
	if (n < 0)
		return n;
	e->nwords = (unsigned)n;
	str__copy(e->left_out, sizeof(e->left_out), err);
	n = *e->left_out && !*expanded
		    ? 0
		    : perf_event__parse(expanded, "/sys", e->ev, JP_PMU_EVENTS, err, errlen);
	if (n < 0)
		return n;
	e->n = (unsigned)n;
	for (unsigned i = 0; i < e->n; i++) {
		if (!check_column(&e->ev[i], reason, sizeof(reason))) {
			fill_column(e, i);
			continue;
		}
		str__add_reason(err, errlen, reason);
		wrong = -EINVAL;
	}
	return wrong ? wrong : n;
}
