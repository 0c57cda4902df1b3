/* SPDX-License-Identifier: GPL-2.0-only */
#include "jobfile/extract_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define PLAN_MAX 16384u

int plan_names__find(char *const *names, unsigned n, const char *name, unsigned *hint)
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

int plan_names__append(struct plan_names *p, const char *name)
{
	char **v;

	if (p->n == PLAN_MAX)
		return -EMSGSIZE;
	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		v = realloc(p->v, p->room * sizeof(*v));
		if (!v)
			return -ENOMEM;
		p->v = v;
	}
	p->v[p->n] = strdup(name);
	if (!p->v[p->n])
		return -ENOMEM;
	p->n++;
	return 0;
}

static void keep_common(struct plan_names *p, char *const *names, unsigned n)
{
	unsigned kept = 0, hint = 0;

	for (unsigned i = 0; i < p->n; i++) {
		if (plan_names__find(names, n, p->v[i], &hint) < 0)
			free(p->v[i]);
		else
			p->v[kept++] = p->v[i];
	}
	p->n = kept;
}

int plan_names__add(struct plan_names *p, char *const *names, unsigned n, bool common)
{
	unsigned hint = 0;
	int err = 0;

	if (common && p->begun) {
		keep_common(p, names, n);
		return 0;
	}
	for (unsigned i = 0; !err && i < n; i++) {
		if (plan_names__find(p->v, p->n, names[i], &hint) >= 0)
			continue;
		err = plan_names__append(p, names[i]);
	}
	p->begun = true;
	return err;
}

static const char *base(const char *name)
{
	const char *dash = strchr(name, '_');

	return dash ? dash + 1 : name;
}

const char *plan_names__choose(struct plan_names *p, const char *const *wanted, unsigned n,
			       bool totals, int *err)
{
	struct plan_names chosen = {.begun = true};
	const char *missing = NULL;

	*err = 0;
	for (unsigned i = 0; i < n; i++) {
		bool found = false;

		for (unsigned k = 0; !*err && k < p->n; k++) {
			if (strcmp(p->v[k], wanted[i]) &&
			    !(totals && !strcmp(base(p->v[k]), wanted[i])))
				continue;
			*err = plan_names__append(&chosen, p->v[k]);
			found = true;
		}
		if (!found && !missing)
			missing = wanted[i];
	}
	plan_names__free(p);
	*p = chosen;
	return missing;
}

const char *plan_names__nearest(const struct plan_names *p, const char *word)
{
	const char *best = str__nearest(word, (const char *const *)p->v, p->n);

	for (unsigned i = 0; !best && i < p->n; i++) {
		const char *name = base(p->v[i]);

		best = str__nearest(word, &name, 1);
	}
	return best;
}

void plan_names__free(struct plan_names *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
	*p = (struct plan_names){0};
}
