/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of column names: they grow, shrink to what tables have in common, and are chosen from. */
#include "jobfile/extract/extract_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

int column_names__find(char *const *names, unsigned n, const char *name, unsigned *hint)
{
	for (unsigned k = 0; k < n; k++) {
		unsigned i = *hint + k < n ? *hint + k : *hint + k - n;

		if (strcmp(names[i], name))
			continue;
		*hint = i + 1 < n ? i + 1 : 0;
		return (int)i;
	}
	return -1;
}

void column_names__keep_common(struct string_list *c, char *const *names, unsigned n)
{
	unsigned kept = 0, hint = 0;

	for (unsigned i = 0; i < c->n; i++) {
		if (column_names__find(names, n, c->v[i], &hint) < 0)
			free(c->v[i]);
		else
			c->v[kept++] = c->v[i];
	}
	c->n = kept;
}

/* "Max_RSS": RSS. */
static const char *base_name(const char *name)
{
	const char *dash = strchr(name, '_');

	return dash ? dash + 1 : name;
}

bool column_names__is_meant(const char *name, const char *wanted, bool totals)
{
	return !strcasecmp(name, wanted) || (totals && !strcasecmp(base_name(name), wanted));
}

/* Two columns of a user may differ in case alone: then the one that is spelt so is meant. */
static bool is_spelt_so(const struct string_list *c, const char *wanted, bool totals)
{
	for (unsigned k = 0; k < c->n; k++)
		if (!strcmp(c->v[k], wanted) || (totals && !strcmp(base_name(c->v[k]), wanted)))
			return true;
	return false;
}

const char *column_names__choose(struct string_list *c, const char *const *wanted, unsigned n,
				 bool totals, int *err)
{
	struct string_list chosen = {0};
	const char *missing = NULL;

	*err = 0;
	for (unsigned i = 0; i < n; i++) {
		bool exact = is_spelt_so(c, wanted[i], totals), found = false;

		for (unsigned k = 0; !*err && k < c->n; k++) {
			if (!column_names__is_meant(c->v[k], wanted[i], totals) ||
			    (exact && !strstr(c->v[k], wanted[i])))
				continue;
			*err = string_list__append(&chosen, c->v[k]);
			found = true;
		}
		if (!found && !missing)
			missing = wanted[i];
	}
	string_list__free(c);
	*c = chosen;
	return missing;
}

const char *column_names__nearest(const struct string_list *c, const char *word)
{
	const char *best = str__nearest(word, (const char *const *)c->v, c->n);

	for (unsigned i = 0; !best && i < c->n; i++) {
		const char *name = base_name(c->v[i]);

		best = str__nearest(word, &name, 1);
	}
	return best;
}
