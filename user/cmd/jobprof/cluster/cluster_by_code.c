// SPDX-License-Identifier: GPL-2.0-only
/* Puts the code that bursts execute in the place of clusters. */
#include "cmd/jobprof/cluster/cluster_by_code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cmd/jobprof/cluster/cluster_code.h"

/* A burst with its code, then a code with the run time of its bursts. */
struct code {
	char *name;
	double run;
};

static int by_name(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return ((uintptr_t)x->name > (uintptr_t)y->name) -
	       ((uintptr_t)x->name < (uintptr_t)y->name);
}

static int by_run(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return (x->run < y->run) - (x->run > y->run);
}

/* A code has one name, at one place. */
static unsigned find_codes(char *names[CLUSTER_CODES], const struct burst_code *of,
			   const struct model_bursts *b, struct code *v)
{
	size_t n = 0, codes = 0;

	for (size_t i = 0; i < b->n; i++)
		if (of[i].name)
			v[n++] = (struct code){(char *)of[i].name, b->run[i]};
	qsort(v, n, sizeof(*v), by_name);
	for (size_t i = 0; i < n; i++) {
		if (codes && v[codes - 1].name == v[i].name)
			v[codes - 1].run += v[i].run;
		else
			v[codes++] = v[i];
	}
	qsort(v, codes, sizeof(*v), by_run);
	codes = codes < CLUSTER_CODES ? codes : CLUSTER_CODES;
	for (size_t k = 0; k < codes; k++)
		names[k] = v[k].name;
	return (unsigned)codes;
}

static unsigned label_of(char *const names[CLUSTER_CODES], unsigned n, const char *name)
{
	for (unsigned k = 0; name && k < n; k++)
		if (names[k] == name)
			return k + 1;
	return 0;
}

static int label_bursts(char *names[CLUSTER_CODES], const struct burst_code *of,
			struct burst_clusters *c, const struct model_bursts *b,
			const struct burst_columns *columns)
{
	_cleanup_free_ struct code *v = malloc((b->n + 1) * sizeof(*v));
	_cleanup_free_ size_t *at = malloc((b->n + 1) * sizeof(*at));

	if (!v || !at)
		return -ENOMEM;
	c->k = find_codes(names, of, b, v);
	for (size_t i = 0; i < b->n; i++) {
		at[i] = i;
		c->labels[i] = label_of(names, c->k, of[i].name);
	}
	return burst_table__make(c, columns, at, c->labels, b->n) == ANALYSIS_OK ? 0 : -ENOMEM;
}

int cluster_by_code__of(char *names[CLUSTER_CODES], struct cluster_code *code,
			struct burst_clusters *c, const struct model_bursts *b,
			const struct burst_columns *columns)
{
	int err;

	*c = (struct burst_clusters){.n = b->n, .used = b->n, .verdict = {ANALYSIS_OK, ""}};
	c->labels = calloc(b->n + 1, sizeof(*c->labels));
	if (!c->labels)
		return -ENOMEM;
	err = b->n < b->all ? -EMSGSIZE : cluster_code__of(code, b, c);
	if (!err && !code->singles)
		err = -ENOMSG;
	return err ? err : label_bursts(names, code->singles, c, b, columns);
}
