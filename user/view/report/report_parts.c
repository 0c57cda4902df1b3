/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of a whole as JSON. */
#include "view/report/report_parts.h"

#include <math.h>

#include "analysis/job/facts_fill.h"
#include "base/json.h"

double report_parts__of(const struct report_parts *p, const struct model_job *j,
			double share[static REPORT_PARTS_MAX])
{
	double total[N_QUANTITIES];

	for (int q = 0; q < N_QUANTITIES; q++)
		total[q] = facts__sum(j, q);
	return p->divide(total, share);
}

static const char *name_of(const struct report_parts *p, const double *share, unsigned i)
{
	return !i && p->first_alone && isnan(share[1]) ? p->first_alone : p->parts[i].name;
}

json_t *report_parts__json(const struct report_parts *p, const struct model_job *j)
{
	json_t *o = json_object(), *shares = json_array(), *one;
	double share[REPORT_PARTS_MAX], all = report_parts__of(p, j, share);

	for (unsigned i = 0; i < p->n && !isnan(all); i++) {
		one = json_object();
		if (p->parts[i].kind)
			json__set(one, "kind", json__text(p->parts[i].kind));
		json__set(one, "name", json__text(name_of(p, share, i)));
		json__set(one, "share", json__number(share[i]));
		json_array_append_new(shares, one);
	}
	json__set(o, p->all_key, json__number(all));
	json__set(o, "shares", shares);
	return o;
}
