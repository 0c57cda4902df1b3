/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of facts, and the room for their values. */
#include "analysis/job/facts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct fact_info fact_infos[N_FACTS] = {
#define FACT(scope, name, unit, doc) TOTAL(scope, name, N_QUANTITIES, unit, doc)
#define TOTAL(scope, name, of, unit, doc) \
	[FACT_##scope##_##name] = {#name, unit, doc, SCOPE_##scope, of},
#include "schemas/facts.def"
};

int facts__alloc(struct facts *f, const size_t count[N_SCOPES])
{
	*f = (struct facts){.start_ns = NAN, .scale = 1};
	memcpy(f->count, count, sizeof(f->count));
	for (int i = 0; i < N_FACTS; i++) {
		size_t n = count[fact_infos[i].scope];

		f->values[i] = calloc(n + 1, sizeof(**f->values));
		if (!f->values[i])
			return -ENOMEM;
		for (size_t k = 0; k < n; k++)
			f->values[i][k] = NAN;
	}
	return 0;
}

void facts__free(struct facts *f)
{
	for (int i = 0; i < N_FACTS; i++) {
		free(f->values[i]);
		free(f->missing[i]);
	}
	for (int s = 0; s < N_SCOPES; s++) {
		for (size_t k = 0; f->names[s] && k < f->count[s]; k++)
			free(f->names[s][k]);
		free(f->names[s]);
	}
	free(f->state);
	free(f->program);
	*f = (struct facts){0};
}

int facts__miss(struct facts *f, enum fact fact, const char *reason)
{
	if (f->missing[fact])
		return 0;
	f->missing[fact] = strdup(reason);
	return f->missing[fact] ? 0 : -ENOMEM;
}
