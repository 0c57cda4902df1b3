// SPDX-License-Identifier: GPL-2.0-only
/* Reads what is inside of two runs in limited children, which answer with the rows of tables. */
#include "cmd/jobprof/compare/compare_besides.h"

#include <errno.h>
#include <stdlib.h>

#include "pool/pool.h"

static const struct maker {
	const char *id, *name, *what;
	int (*put)(const struct compare_inside runs[2], struct message *m);
} makers[COMPARE_BESIDES] = {
	{"functions", "Functions", "stacks", compare_functions__put},
	{"clusters", "Bursts", "bursts", compare_clusters__put},
	{"fold", "Folded region", "folded regions", compare_fold__put},
};

static int work(void *arg, unsigned item, struct message *m)
{
	int err = makers[item].put(arg, m);

	return err == -ENODATA ? 0 : err;
}

int compare_besides__of(struct compare_besides *out, const struct compare_inside runs[2],
			const char **what)
{
	const struct pool_work w = {work, (void *)runs, COMPARE_BESIDES};
	struct pool *pool = NULL;
	int err, first;

	*out = (struct compare_besides){0};
	if (runs[0].in->n != 1 || runs[1].in->n != 1)
		return 0;
	*what = "files";
	first = pool__start(&pool, &w, 1, &POOL_STREAM);
	for (unsigned i = 0; pool && first != -EINTR && i < COMPARE_BESIDES; i++) {
		struct compare_table *t = &out->tables[out->n];
		struct message *m;

		*t = (struct compare_table){.id = makers[i].id, .name = makers[i].name};
		err = pool__next(pool, &m);
		if (!err)
			compare_rows__take(t, out->names[i], m);
		if (err && (!first || err == -EINTR)) {
			first = err;
			*what = makers[i].what;
		}
		out->n += t->n > 0;
	}
	pool__free(pool);
	return first;
}

void compare_besides__free(struct compare_besides *b)
{
	for (unsigned i = 0; i < COMPARE_BESIDES; i++)
		for (unsigned k = 0; k < COMPARE_BESIDES_ROWS; k++)
			free(b->names[i][k]);
}
