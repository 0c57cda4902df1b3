/* SPDX-License-Identifier: GPL-2.0-only */
/* The verdict: which findings explain others, their order, their end. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "findings/engine.h"

/* A finding is explained by others that cost this much of it together. */
#define EXPLAINED_SHARE 0.5
/* What a finding counts for in the order: of a note, which may be as it should be, a part of its
 * cost. */
#define NOTE_COUNTS 0.5
/* A note is worth the place of a louder finding if it would save this much of the core time. */
#define WORTH_SHARE 0.01

const char *severity__name(enum severity s)
{
	static const char *const names[] = {"note", "warn", "bad"};

	return names[s];
}

double finding__from_s(const struct finding *f)
{
	return f->ntimes ? f->times[0][0] : NAN;
}

double finding__to_s(const struct finding *f)
{
	return f->ntimes ? f->times[f->ntimes - 1][1] : NAN;
}

static void free_finding(struct finding *f)
{
	free(f->id);
	free(f->text);
	free(f->remedy);
	free(f->where);
	free(f->source);
}

void verdict__free(struct verdict *v)
{
	for (size_t i = 0; i < v->nfindings; i++)
		free_finding(&v->findings[i]);
	for (size_t i = 0; i < v->nothers; i++) {
		free(v->others[i].id);
		free(v->others[i].reason);
	}
	free(v->findings);
	free(v->others);
	string_list__free(&v->errors);
	*v = (struct verdict){0};
}

int verdict__add_other(struct verdict *v, const char *id, bool judged, const char *reason)
{
	struct rule_verdict *r;

	if (room__grow(&v->others, v->nothers, 1, sizeof(*v->others)))
		return -ENOMEM;
	r = &v->others[v->nothers];
	*r = (struct rule_verdict){strdup(id), judged, strdup(reason)};
	if (!r->id || !r->reason) {
		free(r->id);
		free(r->reason);
		return -ENOMEM;
	}
	v->nothers++;
	return 0;
}

/* One finding while it is decided which of them stay. */
struct explained {
	const char *by; /* the ids of those that explain it, with commas between them */
	enum { OPEN, VISITED, STAYS, GOES } state;
	size_t dearest; /* of those that explain it */
};

static bool lists(const char *list, const char *id)
{
	size_t n = strlen(id);

	for (const char *p = list; (p = strstr(p, id)); p += n)
		if ((p == list || p[-1] == ',') && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

/* Findings that explain each other in a circle do not all go: one that is being visited explains
 * nothing. */
static void decide(const struct verdict *v, struct explained *e, size_t i)
{
	double cost = 0;
	bool found = false;

	if (e[i].state != OPEN)
		return;
	e[i].state = VISITED;
	for (size_t k = 0; k < v->nfindings; k++) {
		if (!lists(e[i].by, v->findings[k].id) || e[k].state == VISITED)
			continue;
		decide(v, e, k);
		if (!found || v->findings[k].cost_core_s > v->findings[e[i].dearest].cost_core_s)
			e[i].dearest = k;
		found = true;
		/* A cost that is not known may be any. */
		cost += isnan(v->findings[k].cost_core_s) ? INFINITY : v->findings[k].cost_core_s;
	}
	e[i].state = found && !(cost < EXPLAINED_SHARE * v->findings[i].cost_core_s) ? GOES : STAYS;
}

int verdict__explain(struct verdict *v, char *const *suppressed_by)
{
	struct explained *e = calloc(v->nfindings + 1, sizeof(*e));
	size_t kept = 0;
	char reason[256];
	int err = 0;

	if (!e)
		return -ENOMEM;
	for (size_t i = 0; i < v->nfindings; i++)
		e[i].by = suppressed_by[i];
	for (size_t i = 0; i < v->nfindings; i++)
		decide(v, e, i);
	for (size_t i = 0; i < v->nfindings && !err; i++) {
		if (e[i].state != GOES)
			continue;
		snprintf(reason, sizeof(reason), "%s explains it", v->findings[e[i].dearest].id);
		err = verdict__add_other(v, v->findings[i].id, true, reason);
	}
	for (size_t i = 0; i < v->nfindings; i++) {
		if (e[i].state == GOES)
			free_finding(&v->findings[i]);
		else
			v->findings[kept++] = v->findings[i];
	}
	v->nfindings = kept;
	free(e);
	return err;
}

unsigned verdict__judged(const struct verdict *v)
{
	unsigned judged = v->nrules;

	for (size_t i = 0; i < v->nothers; i++)
		judged -= !v->others[i].judged;
	return judged;
}

/* What ends the job, or will: its cost is not in core-seconds. */
static bool is_fatal(const struct finding *f)
{
	return f->severity == SEVERITY_BAD && isnan(f->cost_core_s);
}

/* A note that would save next to nothing. */
static bool is_idle_talk(const struct finding *f, double core_s)
{
	return f->severity == SEVERITY_NOTE && !(f->cost_core_s >= WORTH_SHARE * core_s);
}

static double weight(const struct finding *f)
{
	return fmax(0, f->cost_core_s) * (f->severity == SEVERITY_NOTE ? NOTE_COUNTS : 1);
}

/* True: a comes after b. */
static bool is_after(const struct finding *a, const struct finding *b, double core_s)
{
	double cost_a = weight(a), cost_b = weight(b);

	if (is_fatal(a) != is_fatal(b))
		return is_fatal(b);
	if (is_idle_talk(a, core_s) != is_idle_talk(b, core_s))
		return is_idle_talk(a, core_s);
	if (cost_a != cost_b)
		return cost_a < cost_b;
	return a->severity < b->severity;
}

/* There are few, and equal ones keep the order of the rules. */
static void sort(struct verdict *v, double core_s)
{
	for (size_t i = 1; i < v->nfindings; i++) {
		struct finding f = v->findings[i];
		size_t k = i;

		for (; k && is_after(&v->findings[k - 1], &f, core_s); k--)
			v->findings[k] = v->findings[k - 1];
		v->findings[k] = f;
	}
}

/* What the dearer ones cost is not lost twice. */
void verdict__settle(struct verdict *v, double core_s)
{
	double left = isnan(core_s) ? INFINITY : core_s;

	sort(v, core_s);
	for (size_t i = 0; i < v->nfindings; i++) {
		struct finding *f = &v->findings[i];

		if (!(f->cost_core_s > 0))
			continue;
		if (f->cost_core_s > left) {
			f->saving *= left / f->cost_core_s;
			f->cost_core_s = left;
		}
		left -= f->cost_core_s;
	}
	sort(v, core_s);
}
