/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sees that what a step uses is lastingly otherwise than before. */
#include "daemon/step/use_watch.h"

#include <math.h>
#include <stddef.h>

#include "sample/totals.h"

/* Looks in the time between two versions: one each 30 s by default, which is a row. No row comes
 * at its instant exactly: one that is a little early is looked at, too. */
#define LOOKS 20
#define EARLY 10 /* a part of the time between looks */
/* So many looks make a change, and what is usual is a mean over some of these. */
#define LASTING 2
#define MEAN_OF 8

/* Findings on running jobs are made of three bins or of ten, and a change begins within one. */
static const unsigned due_looks[] = {3, 11};

/* A change is more than that and a quarter of all that was used. */
static const double least[USE_LEVELS] = {0.25, 0.25, 64 * 1048576.0};
#define PART 0.25

static bool differs(const struct use_watch *w, const double now[USE_LEVELS])
{
	const double threads = w->usual[USE_CPU] + w->usual[USE_WAIT];
	const double all[USE_LEVELS] = {threads, threads, w->usual[USE_MEMORY]};
	bool any = false;

	for (int i = 0; i < USE_LEVELS; i++)
		any |= fabs(now[i] - w->usual[i]) > least[i] + PART * all[i];
	return any;
}

static void approach(struct use_watch *w, const double now[USE_LEVELS], double part)
{
	for (int i = 0; i < USE_LEVELS; i++)
		w->usual[i] =
			isnan(w->usual[i]) ? now[i] : w->usual[i] + part * (now[i] - w->usual[i]);
}

static bool judge(struct use_watch *w, const double now[USE_LEVELS], uint64_t every)
{
	if (!differs(w, now)) {
		w->differing = 0;
		approach(w, now, 1.0 / MEAN_OF);
		return false;
	}
	if (!w->differing++)
		w->since_ns = w->looked_ns;
	if (w->differing < LASTING)
		return false;
	if (w->since_ns - w->even_ns >= every)
		w->changed_ns = w->since_ns;
	w->even_ns = w->since_ns;
	w->differing = 0;
	approach(w, now, 1);
	return true;
}

bool use_watch__look(struct use_watch *w, const struct totals *t, uint64_t boot_ns, uint64_t every)
{
	const uint64_t cpu = t->v[T_CPU], wait = t->v[T_RUN_DELAY];
	bool is_other = false;

	if (!w->looked_ns) {
		/* a young step has versions often */
		w->even_ns = boot_ns - every / 2;
		for (int i = 0; i < USE_LEVELS; i++)
			w->usual[i] = NAN;
	} else if (boot_ns < w->looked_ns + every / LOOKS - every / LOOKS / EARLY) {
		return false;
	} else {
		const double ns = (double)(boot_ns - w->looked_ns);
		const double now[USE_LEVELS] = {(double)(cpu - w->cpu_ns) / ns,
						(double)(wait - w->wait_ns) / ns,
						(double)(t->v[T_ANON] + t->v[T_SHMEM])};

		is_other = judge(w, now, every);
	}
	w->looked_ns = boot_ns;
	w->cpu_ns = cpu;
	w->wait_ns = wait;
	return is_other;
}

uint64_t use_watch__due(const struct use_watch *w, uint64_t version_ns, double part, uint64_t every)
{
	for (size_t i = 0; w->changed_ns && i < sizeof(due_looks) / sizeof(*due_looks); i++) {
		const double looks = due_looks[i] + part;
		const uint64_t due = w->changed_ns + (uint64_t)(looks * (double)every / LOOKS);

		if (version_ns < due)
			return due;
	}
	return UINT64_MAX;
}
