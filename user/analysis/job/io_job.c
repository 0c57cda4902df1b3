/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the bins of servers together to the intervals of El Sayed et al. */
#include "analysis/job/io_job.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/job/job_matrix.h"
#include "base/known.h"

#define MB	  1048576.0
#define NO_SERVER UINT_MAX

const double io_cutoffs[IO_CUTOFFS] = {0, 131072, 1048576};

const struct io_kind_info io_kinds[IO_KINDS] = {
	[IO_NODE] = {"node", "vfs", false, {Q_READ, Q_WRITE}, {Q_READ_CALLS, Q_WRITE_CALLS}},
	[IO_MOUNT] = {"mount",
		      "fs",
		      true,
		      {Q_MOUNT_READ, Q_MOUNT_WRITE},
		      {Q_MOUNT_READS, Q_MOUNT_WRITES}},
	[IO_BLKDEV] = {"blkdev",
		       "blk",
		       true,
		       {Q_BLKDEV_READ, Q_BLKDEV_WRITE},
		       {Q_BLKDEV_READS, Q_BLKDEV_WRITES}},
};

/* ---- servers */

/* Units, and of which server each is a part. */
struct servers {
	struct job_units units;
	unsigned *of; /* NO_SERVER: it is left out */
	unsigned n;
};

static struct job_units units_of(const struct model_job *j, enum io_kind kind)
{
	switch (kind) {
	case IO_MOUNT:
		return job_units__mounts(j);
	case IO_BLKDEV:
		return (struct job_units){j->disks, sizeof(*j->disks), j->ndisks};
	default:
		return job_units__nodes(j);
	}
}

static bool has_moved(const struct job_unit *u, const struct io_kind_info *kind)
{
	return u->total[kind->bytes[IO_READ]] > 0 || u->total[kind->bytes[IO_WRITE]] > 0;
}

/* Leaves out the servers that moved no byte, where others did. moved[n] becomes numbers. */
static void number_servers(struct servers *s, unsigned *moved)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++)
		moved[i] = moved[i] ? n++ : NO_SERVER;
	if (!n)
		return;
	for (unsigned u = 0; u < s->units.n; u++)
		s->of[u] = moved[s->of[u]];
	s->n = n;
}

/* 0 or -ENOMEM; s->of is the caller's to free. */
static int find_servers(struct servers *s, const struct model_job *j, enum io_kind kind)
{
	struct job_units units = units_of(j, kind);
	unsigned *of = calloc(units.n + 1, sizeof(*of)), *moved = calloc(units.n + 1, sizeof(*of));
	int err = of && moved ? 0 : -ENOMEM;

	*s = (struct servers){units, of, units.n};
	for (unsigned u = 0; !err && u < units.n; u++)
		of[u] = u;
	if (!err && kind == IO_MOUNT)
		err = job_units__by_name(&units, of, &s->n);
	for (unsigned u = 0; !err && u < units.n; u++)
		moved[of[u]] |= has_moved(job_units__at(&units, u), &io_kinds[kind]);
	if (!err && kind != IO_NODE)
		number_servers(s, moved);
	free(moved);
	return err;
}

/* ---- intervals */

struct intervals {
	unsigned n, factor; /* bins of each */
	const struct time_grid *grid;
};

static void add_unit(double *v, const double *bins, const struct intervals *in, double scale)
{
	for (unsigned i = 0; i < in->n; i++)
		for (unsigned k = i * in->factor; k < (i + 1) * in->factor && k < in->grid->n; k++)
			v[i] = known__sum(v[i], bins[k] * scale);
}

/* A quantity of each server; no units: of none is it known. The caller frees. 0 or -ENOMEM. */
static int add_up(struct matrix *m, const struct servers *s, enum quantity q, double scale,
		  const struct intervals *in)
{
	double *v = malloc(((size_t)s->n * in->n + 1) * sizeof(*v));

	*m = (struct matrix){job_units__know(&s->units, q) ? s->n : 0, in->n, v};
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)s->n * in->n; i++)
		v[i] = NAN;
	for (unsigned u = 0; u < s->units.n; u++) {
		const double *bins = job_unit__bins(job_units__at(&s->units, u), q, in->grid);

		if (bins && s->of[u] != NO_SERVER)
			add_unit(v + (size_t)s->of[u] * in->n, bins, in, scale);
	}
	return 0;
}

static double total_of(const struct servers *s, enum quantity q)
{
	double sum = NAN;

	for (unsigned u = 0; u < s->units.n; u++)
		sum = known__sum(sum, job_units__at(&s->units, u)->total[q]);
	return sum;
}

/* What of the job's total is in no interval, and how many values are not known. */
static double rest_of(const struct matrix *m, double total, unsigned *missing)
{
	double in = 0;

	for (size_t i = 0; i < (size_t)m->units * m->bins; i++) {
		in += isnan(m->v[i]) ? 0 : m->v[i];
		*missing += isnan(m->v[i]);
	}
	return fmax(0, total - in);
}

static int character_of(struct io_job *out, const struct servers *s, enum io_kind kind,
			const struct intervals *in)
{
	int err = 0;

	*out = (struct io_job){.dt_s = fmin(in->factor * in->grid->dt_s, in->grid->end_s),
			       .intervals = in->n};
	for (int d = 0; !err && d < IO_DIRECTIONS; d++) {
		enum quantity q = io_kinds[kind].bytes[d];
		struct matrix bytes, ops = {0};
		double rest = NAN;

		err = add_up(&bytes, s, q, MB, in);
		if (!err)
			err = add_up(&ops, s, io_kinds[kind].ops[d], 1, in);
		if (!err)
			rest = rest_of(&bytes, total_of(s, q) * MB, &out->missing[d]);
		for (int c = 0; !err && c < IO_CUTOFFS; c++)
			io_character__of(&bytes, &ops, rest, out->dt_s, io_cutoffs[c], NULL,
					 &out->of[d][c]);
		job_matrix__free(&bytes);
		job_matrix__free(&ops);
	}
	return err;
}

/* ---- each file system */

static double volume_of(const struct servers *s, unsigned server, enum quantity q)
{
	double sum = NAN;

	for (unsigned u = 0; u < s->units.n; u++)
		if (s->of[u] == server)
			sum = known__sum(sum, job_units__at(&s->units, u)->total[q]);
	return sum * MB;
}

/* The highest of whole intervals. */
static int add_bandwidth(struct io_mount *mounts, const struct servers *s, enum io_direction d,
			 const struct intervals *in)
{
	struct matrix bytes;
	int err = add_up(&bytes, s, io_kinds[IO_MOUNT].bytes[d], MB, in);

	for (size_t i = 0; !err && i < (size_t)bytes.units * bytes.bins; i++) {
		double *most = &mounts[i / bytes.bins].bw_max[d];

		*most = fmax(*most, bytes.v[i] / fmin(in->grid->dt_s, in->grid->end_s));
	}
	job_matrix__free(&bytes);
	return err;
}

static int judge_mounts(struct io_jobs *out, const struct model_job *j)
{
	const struct intervals in = {io_grid__intervals(0, j->grid.end_s, j->grid.dt_s), 1,
				     &j->grid};
	struct servers s;
	int err = find_servers(&s, j, IO_MOUNT);

	out->mounts = err ? NULL : calloc(s.n + 1, sizeof(*out->mounts));
	if (!err && !out->mounts)
		err = -ENOMEM;
	out->nmounts = err ? 0 : s.n;
	for (unsigned u = 0; !err && u < s.units.n; u++)
		if (s.of[u] != NO_SERVER)
			out->mounts[s.of[u]].name = job_units__at(&s.units, u)->name;
	for (int d = 0; !err && d < IO_DIRECTIONS; d++) {
		for (unsigned i = 0; i < s.n; i++) {
			out->mounts[i].volume[d] = volume_of(&s, i, io_kinds[IO_MOUNT].bytes[d]);
			out->mounts[i].bw_max[d] = NAN;
		}
		err = add_bandwidth(out->mounts, &s, d, &in);
	}
	free(s.of);
	return err;
}

/* ---- all */

/* How many bins make the paper's interval; 0: no whole number does, or the job is shorter. */
static unsigned usual_factor(const struct time_grid *g)
{
	double factor = rint(IO_DT_S / g->dt_s);

	if (g->end_s < IO_DT_S || fabs(factor * g->dt_s - IO_DT_S) > 1e-9)
		return 0;
	return (unsigned)factor;
}

static int judge_kind(struct io_of_kind *out, enum io_kind kind, const struct model_job *j,
		      const unsigned *factors, unsigned n)
{
	struct servers s;
	int err = find_servers(&s, j, kind);

	out->servers = s.n;
	out->verdict = s.n ? (struct analysis_verdict){ANALYSIS_OK, ""}
			   : (struct analysis_verdict){ANALYSIS_UNAVAILABLE, "no_servers"};
	for (unsigned i = 0; !err && s.n && i < n && i < IO_INTERVALS; i++) {
		double dt_s = factors[i] * j->grid.dt_s;
		const struct intervals in = {io_grid__intervals(0, j->grid.end_s, dt_s), factors[i],
					     &j->grid};

		err = character_of(&out->of[i], &s, kind, &in);
	}
	free(s.of);
	return err;
}

int io_jobs__of(struct io_jobs *out, const struct model_job *j, const struct facts *f)
{
	const unsigned factors[IO_INTERVALS] = {1, usual_factor(&j->grid)};
	bool is_exclusive = facts__job(f, FACT_JOB_is_exclusive) == 1;
	int err = 0;

	*out = (struct io_jobs){.n = factors[1] > 1 ? 2 : 1};
	for (int k = 0; !err && k < IO_KINDS; k++) {
		err = judge_kind(&out->of[k], k, j, factors, out->n);
		if (!err && io_kinds[k].is_of_nodes && !is_exclusive &&
		    out->of[k].verdict.status == ANALYSIS_OK)
			out->of[k] = (struct io_of_kind){
				.verdict = {ANALYSIS_UNSUITABLE, "not_exclusive"}};
	}
	if (!err && out->of[IO_MOUNT].verdict.status == ANALYSIS_OK)
		err = judge_mounts(out, j);
	return err;
}

void io_jobs__free(struct io_jobs *io)
{
	free(io->mounts);
	io->mounts = NULL;
	io->nmounts = 0;
}
