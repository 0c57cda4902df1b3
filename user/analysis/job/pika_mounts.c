/* SPDX-License-Identifier: GPL-2.0-only */
/* PIKA's comparison of the load with I/O, for each file system of the job's nodes. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/job_matrix.h"
#include "analysis/job/pika_job.h"

#define MB 1048576.0

static const struct {
	enum quantity q;
	enum periodic_kind kind;
	double scale;
} vectors[PIKA_IO_VECTORS] = {
	[PIKA_READ_BW] = {Q_MOUNT_READ, PERIODIC_BANDWIDTH, MB},
	[PIKA_WRITE_BW] = {Q_MOUNT_WRITE, PERIODIC_BANDWIDTH, MB},
	[PIKA_METADATA] = {Q_MOUNT_OPENS, PERIODIC_METADATA, 1},
};

#define NO_UNIT UINT_MAX

/* The units of one name: the first of them, and from each the next one. */
struct mount {
	const struct model_job *j;
	unsigned first;
	const unsigned *next;
};

/* The rate of each bin: the mean of the nodes that know it. count[bins] is room. false: none knows
 * any. */
static bool fill_rate(const struct mount *m, enum quantity q, double scale, unsigned bins,
		      double *rate, double *count)
{
	bool is_known = false;

	memset(rate, 0, bins * sizeof(*rate));
	memset(count, 0, bins * sizeof(*count));
	for (unsigned u = m->first; u != NO_UNIT; u = m->next[u]) {
		const double *v = job_unit__bins(&m->j->mounts[u], q, &m->j->grid);

		for (unsigned k = 0; v && k < bins; k++)
			if (!isnan(v[k])) {
				rate[k] += v[k];
				count[k]++;
				is_known = true;
			}
	}
	for (unsigned k = 0; k < bins; k++)
		rate[k] = count[k] > 0 ? rate[k] / count[k] * scale : NAN;
	return is_known;
}

/* room[2 bins]. 0 or -ENOMEM. */
static int judge_mount(struct pika_mount *out, const struct mount *m, const struct pika_job *p,
		       const double *cpu, double *room)
{
	int err = 0;

	for (int i = 0; !err && i < PIKA_IO_VECTORS; i++) {
		const struct periodic_vector one = {vectors[i].kind, room};
		bool is_known = fill_rate(m, vectors[i].q, vectors[i].scale / p->dt_s, p->bins,
					  room, room + p->bins) &&
				p->units;
		unsigned which;

		err = periodic__strongest(cpu, &one, is_known, p->bins, p->dt_s, p->duration_s,
					  &out->io[i], &which);
	}
	return err;
}

/* Links the units of a name; of[] is what job_units__by_name() gave. first[n], next[units]; from
 * the last one backwards, so that the first is reached last. */
static void link_names(const unsigned *of, unsigned units, unsigned n, unsigned *first,
		       unsigned *next)
{
	for (unsigned i = 0; i < n; i++)
		first[i] = NO_UNIT;
	for (unsigned u = units; u-- > 0; first[of[u]] = u)
		next[u] = first[of[u]];
}

int pika_mounts__judge(struct pika_job *out, const struct model_job *j, const double *cpu)
{
	const struct job_units units = job_units__mounts(j);
	unsigned *of = calloc(3 * ((size_t)units.n + 1), sizeof(*of)), *first = of + units.n,
		 *next = first + units.n, n = 0;
	double *room = calloc(2 * (size_t)out->bins + 1, sizeof(*room));
	int err = of && room ? job_units__by_name(&units, of, &n) : -ENOMEM;

	out->mounts = calloc(n + 1, sizeof(*out->mounts));
	if (!err && !out->mounts)
		err = -ENOMEM;
	if (!err)
		link_names(of, units.n, n, first, next);
	for (unsigned i = 0; !err && i < n; i++) {
		const struct mount m = {j, first[i], next};

		out->mounts[i].name = j->mounts[first[i]].name;
		err = judge_mount(&out->mounts[i], &m, out, cpu, room);
		out->nmounts += !err;
	}
	free(of);
	free(room);
	return err;
}

void pika_job__free(struct pika_job *p)
{
	free(p->mounts);
	p->mounts = NULL;
	p->nmounts = 0;
}
