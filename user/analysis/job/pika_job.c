/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PIKA's footprint, tags and issues of a job, from the bins of its nodes, tasks and GPUs. */
#include "analysis/job/pika_job.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/grid.h"
#include "analysis/job/facts_fill.h"
#include "analysis/job/job_matrix.h"

#define MB 1048576.0

/* ---- computes what the job's share of its nodes can do at most, and the tags that follow from it
 */

/* Returns the job's share of a node's cores, or of its sockets, which are taken whole. Where a peak
 * is of the whole node, the share is 1. */
static double share_of(const struct job_node *n, const struct peaks *p, enum peak_kind kind)
{
	double sockets = p->of[PEAK_SOCKETS].value, share = n->cores / n->cores_in_all;

	switch (kind) {
	case PEAK_FLOPS:
		return fmin(1,
			    n->cores / (isnan(p->of[PEAK_CORES].value) ? n->cores_in_all
								       : p->of[PEAK_CORES].value));
	case PEAK_MEMORY:
		return share >= 1 ? 1 : fmin(1, ceil(share * sockets - 1e-9) / sockets);
	default:
		return 1;
	}
}

/* Adds up the nodes' peaks. NaN: the peak of one node is not known. */
static double peak_of(const struct model_job *j, const struct peaks *peaks, enum peak_kind kind)
{
	double sum = j->nnodes && peaks ? 0 : NAN;

	for (unsigned i = 0; peaks && i < j->nnodes; i++)
		sum += peaks[i].of[kind].value * share_of(&j->nodes[i], &peaks[i], kind);
	return sum;
}

/* Adds up the nodes' disks, of each node in the faster direction. */
static double io_peak(const struct model_job *j, const struct peaks *peaks)
{
	double sum = j->nnodes && peaks ? 0 : NAN;

	for (unsigned i = 0; peaks && i < j->nnodes; i++)
		sum += fmax(peaks[i].of[PEAK_DISK_READ].value, peaks[i].of[PEAK_DISK_WRITE].value);
	return sum;
}

/* Returns the mean over nodes; a node whose peak is not known counts with the optimal value. */
static double ipc_peak(const struct model_job *j, const struct peaks *peaks)
{
	double sum = 0;

	for (unsigned i = 0; i < j->nnodes; i++) {
		double own = peaks ? peaks[i].of[PEAK_IPC].value : NAN;

		sum += isnan(own) ? JOB_IPC_OPTIMAL : own;
	}
	return j->nnodes ? sum / j->nnodes : NAN;
}

static const char *missing_of(struct tag_metric m)
{
	return isnan(m.value) ? "no_metric" : m.peak > 0 ? "" : "no_peak";
}

/* Sums the peaks of the job's share of each node; NaN: one node's is not known. Part of
 * pika_job__of(). */
static void pika_peaks_of(struct pika_job *out, const struct model_job *j,
			  const struct peaks *peaks)
{
	const struct footprint *p = &out->footprint;
	struct tag_metrics m = {
		.mem_bw = {p->mem_bw, peak_of(j, peaks, PEAK_MEMORY)},
		.flops = {p->flops, 2 * peak_of(j, peaks, PEAK_FLOPS)}, /* double precision */
		.ipc = {p->ipc, ipc_peak(j, peaks)},
		.io_bw = {(p->read_bytes + p->write_bytes) / (out->bins * out->dt_s),
			  io_peak(j, peaks)},
		.net_bw = {p->net_bw, peak_of(j, peaks, PEAK_NETWORK)},
		.cpu_usage = p->cpu_usage,
		.gpu_usage = p->gpu_usage,
	};

	out->tags = job_tags__of(&m);
	out->ipc = m.ipc;
	out->tag[JOB_TAG_UNRESTRAINED] = (struct pika_tag){{NAN, NAN}, ""};
	out->tag[JOB_TAG_MEMORY] = (struct pika_tag){m.mem_bw, missing_of(m.mem_bw)};
	out->tag[JOB_TAG_COMPUTE] = (struct pika_tag){m.flops, missing_of(m.flops)};
	if (!*missing_of(m.ipc))
		out->tag[JOB_TAG_COMPUTE].missing = "";
	out->tag[JOB_TAG_GPU] =
		(struct pika_tag){{m.gpu_usage, 1}, isnan(m.gpu_usage) ? "no_metric" : ""};
	out->tag[JOB_TAG_IO] = (struct pika_tag){m.io_bw, missing_of(m.io_bw)};
	out->tag[JOB_TAG_NETWORK] = (struct pika_tag){m.net_bw, missing_of(m.net_bw)};
}

const char *const pika_vector_names[PIKA_IO_VECTORS] = {
	[PIKA_READ_BW] = "read_bw",
	[PIKA_WRITE_BW] = "write_bw",
	[PIKA_METADATA] = "metadata",
};

struct job_series {
	const struct model_job *j;
	const struct facts *f;
	struct footprint_series s;
	struct matrix opens; /* 1/s, of nodes */
};

/* ---- the series */

/* Tasks of the main step, or nodes where there are more: their load is CPU time by time of the
 * cores that are theirs. */
static int fill_load(struct job_series *s, struct pika_job *out)
{
	const struct model_job *j = s->j;
	struct job_units units = job_units__nodes(j);
	double cores = facts__job(s->f, FACT_JOB_cores);
	unsigned ntasks;
	const struct job_unit *tasks = facts__main_tasks(j, &ntasks);
	double *v;
	int err;

	out->unit = ntasks >= j->nnodes && ntasks ? "task" : "node";
	if (*out->unit == 't')
		units = (struct job_units){tasks, sizeof(*tasks), ntasks};
	err = job_matrix__of(&s->s.cpu_usage, &units, Q_CPU, 1 / out->dt_s, &j->grid, out->bins);
	out->units = s->s.cpu_usage.units;
	v = (double *)s->s.cpu_usage.v;
	for (unsigned u = 0; v && u < out->units; u++) {
		double own = *out->unit == 't' ? cores / ntasks : j->nodes[u].cores;

		for (unsigned k = 0; k < out->bins; k++, v++) {
			*v /= own;
			out->missing_bins += isnan(*v);
		}
	}
	return err;
}

/* The busier direction of each node and bin: of the ports of the fabric where no other job uses
 * them, else what the job's sockets moved. */
static int fill_net(struct job_series *s, const struct pika_job *out)
{
	const struct job_units nodes = job_units__nodes(s->j);
	bool ports =
		facts__job(s->f, FACT_JOB_is_exclusive) == 1 && job_units__know(&nodes, Q_PORT_TX);
	struct matrix rx;
	double *v;
	int err = job_matrix__of(&s->s.net_bw, &nodes, ports ? Q_PORT_TX : Q_NET_TX, MB / out->dt_s,
				 &s->j->grid, out->bins);

	if (!err)
		err = job_matrix__of(&rx, &nodes, ports ? Q_PORT_RX : Q_NET_RX, MB / out->dt_s,
				     &s->j->grid, out->bins);
	if (err)
		return err;
	v = (double *)s->s.net_bw.v;
	for (size_t i = 0; v && rx.v && i < (size_t)rx.units * rx.bins; i++)
		v[i] = isnan(v[i]) || rx.v[i] > v[i] ? rx.v[i] : v[i];
	job_matrix__free(&rx);
	return 0;
}

/* Operations of floating point, by the events of PerfEvents=@flops: all of them must be known. */
static int fill_flops(struct job_series *s, const struct pika_job *out)
{
	const struct job_units nodes = job_units__nodes(s->j);
	double *sum;
	int err = job_matrix__of(&s->s.flops, &nodes, Q_FLOPS_X1, 1 / out->dt_s, &s->j->grid,
				 out->bins);

	sum = (double *)s->s.flops.v;
	for (int q = Q_FLOPS_X2; !err && sum && q <= Q_FLOPS_X16; q++) {
		struct matrix m;

		err = job_matrix__of(&m, &nodes, (enum quantity)q, 1 / out->dt_s, &s->j->grid,
				     out->bins);
		for (size_t i = 0; !err && i < (size_t)s->s.flops.units * out->bins; i++)
			sum[i] += m.v ? m.v[i] : NAN;
		if (!err)
			job_matrix__free(&m);
	}
	return err;
}

/* What the controllers of memory moved, which is the job's where no other job is on the nodes. */
static int fill_memory(struct job_series *s, const struct pika_job *out)
{
	const struct job_units nodes = job_units__nodes(s->j);

	if (facts__job(s->f, FACT_JOB_is_exclusive) != 1)
		return 0;
	return job_matrix__of(&s->s.mem_bw, &nodes, Q_MEM_TRAFFIC, MB / out->dt_s, &s->j->grid,
			      out->bins);
}

/* Opens and closes are the job's own, else those of the mounts of nodes that no other job uses. */
static enum quantity opens_of(const struct job_series *s)
{
	return isnan(facts__sum(s->j, Q_OPENS)) && facts__job(s->f, FACT_JOB_is_exclusive) == 1
		       ? Q_MOUNT_OPENS
		       : Q_OPENS;
}

static int fill_series(struct job_series *s, struct pika_job *out)
{
	const struct job_units nodes = job_units__nodes(s->j), gpus = job_units__gpus(s->j);
	const struct {
		struct matrix *m;
		const struct job_units *units;
		enum quantity q;
		double scale;
	} all[] = {
		{&s->s.gpu_usage, &gpus, Q_GPU_UTILIZATION, 1},
		{&s->s.gpu_mem_used, &gpus, Q_GPU_MEM, MB},
		{&s->s.gpu_power, &gpus, Q_GPU_ENERGY, 1 / out->dt_s},
		{&s->s.instructions, &nodes, Q_INSTRUCTIONS, 1},
		{&s->s.cycles, &nodes, Q_CYCLES, 1},
		{&s->s.cpu_power, &nodes, Q_STEP_ENERGY, 1 / out->dt_s},
		{&s->s.read_bytes, &nodes, Q_READ, MB},
		{&s->s.write_bytes, &nodes, Q_WRITE, MB},
		{&s->s.mem_used, &nodes, facts__own_memory(s->j), MB},
		{&s->opens, &nodes, opens_of(s), 1 / out->dt_s},
	};
	int err = fill_load(s, out);

	for (size_t i = 0; !err && i < sizeof(all) / sizeof(*all); i++)
		err = job_matrix__of(all[i].m, all[i].units, all[i].q, all[i].scale, &s->j->grid,
				     out->bins);
	err = err ? err : fill_flops(s, out);
	err = err ? err : fill_memory(s, out);
	return err ? err : fill_net(s, out);
}

static void free_series(struct job_series *s)
{
	struct matrix *const all[] = {
		&s->s.cpu_usage,    &s->s.gpu_usage,  &s->s.instructions, &s->s.cycles,
		&s->s.flops,	    &s->s.mem_bw,     &s->s.net_bw,	  &s->s.cpu_power,
		&s->s.gpu_power,    &s->s.read_bytes, &s->s.write_bytes,  &s->s.mem_used,
		&s->s.gpu_mem_used, &s->opens,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		job_matrix__free(all[i]);
}

/* ---- PIKA's comparison of the load with I/O, for each file system of the job's nodes */

static const struct {
	enum quantity q;
	enum periodic_kind kind;
	double scale;
} mount_vectors[PIKA_IO_VECTORS] = {
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
		const struct periodic_vector one = {mount_vectors[i].kind, room};
		bool is_known = fill_rate(m, mount_vectors[i].q, mount_vectors[i].scale / p->dt_s,
					  p->bins, room, room + p->bins) &&
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

/* Compares cpu[bins], the load, with the mount_vectors of each mount. 0 or -ENOMEM. Part of
 * pika_job__of(). */
static int pika_mounts_judge(struct pika_job *out, const struct model_job *j, const double *cpu)
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

/* ---- issues */

static void fill_means(const struct matrix *m, double scale, double *mean)
{
	for (unsigned k = 0; k < m->bins; k++)
		mean[k] = matrix__mean_known(m, k) * scale;
}

/* Each vector with the load, whose means are the first of the room. 0 or -ENOMEM. */
static int judge_io(const struct job_series *s, struct pika_job *out, double *room)
{
	const struct {
		const struct matrix *m;
		enum periodic_kind kind;
		double scale;
	} vectors[PIKA_IO_VECTORS] = {
		[PIKA_READ_BW] = {&s->s.read_bytes, PERIODIC_BANDWIDTH, 1 / out->dt_s},
		[PIKA_WRITE_BW] = {&s->s.write_bytes, PERIODIC_BANDWIDTH, 1 / out->dt_s},
		[PIKA_METADATA] = {&s->opens, PERIODIC_METADATA, 1},
	};
	double *v = room + out->bins;
	int err = 0;

	for (unsigned i = 0; !err && i < PIKA_IO_VECTORS; i++) {
		const struct periodic_vector one = {vectors[i].kind, v};
		unsigned which;

		fill_means(vectors[i].m, vectors[i].scale, v);
		err = periodic__strongest(room, &one, vectors[i].m->units && out->units ? 1 : 0,
					  out->bins, out->dt_s, out->duration_s, &out->io[i],
					  &which);
	}
	return err;
}

static void compare_strongest(struct pika_job *out, const struct periodic *io, const char *mount)
{
	for (int i = 0; i < PIKA_IO_VECTORS; i++) {
		if (!io[i].is_detected ||
		    (out->strongest && io[i].period_num <= out->strongest->period_num))
			continue;
		out->strongest = &io[i];
		out->strongest_vector = pika_vector_names[i];
		out->strongest_mount = mount;
	}
}

static void find_strongest(struct pika_job *out)
{
	compare_strongest(out, out->io, NULL);
	for (unsigned i = 0; i < out->nmounts; i++)
		compare_strongest(out, out->mounts[i].io, out->mounts[i].name);
}

static int judge_rhythm(const struct job_series *s, struct pika_job *out)
{
	double *room = calloc(2 * (size_t)out->bins + 1, sizeof(*room));
	struct periodic_vector gpu = {.kind = PERIODIC_GPU};
	unsigned which;
	int err;

	if (!room)
		return -ENOMEM;
	gpu.v = room + out->bins;
	fill_means(&s->s.cpu_usage, 1, room);
	err = judge_io(s, out, room);
	if (!err && facts__job(s->f, FACT_JOB_is_exclusive) == 1)
		err = pika_mounts_judge(out, s->j, room);
	find_strongest(out);
	fill_means(&s->s.gpu_usage, 1, room + out->bins);
	if (!err)
		err = periodic__strongest(room, &gpu, s->s.gpu_usage.units && out->units ? 1 : 0,
					  out->bins, out->dt_s, out->duration_s, &out->offload,
					  &which);
	free(room);
	return err;
}

static int judge_leak(const struct job_series *s, struct pika_job *out)
{
	double *t = calloc(2 * (size_t)out->bins + 1, sizeof(*t)), *v;
	const struct matrix *m = &s->s.mem_used;
	struct memleak one;

	if (!t)
		return -ENOMEM;
	v = t + out->bins;
	for (unsigned k = 0; k < out->bins; k++) {
		t[k] = (k + 0.5) * out->dt_s;
		v[k] = matrix__total(m, k);
	}
	memleak__of(t, v, out->bins, &out->leak);
	if (!m->units)
		out->leak.verdict = (struct analysis_verdict){ANALYSIS_UNAVAILABLE, "no_values"};
	for (unsigned u = 0; u < m->units; u++) {
		memleak__of(t, m->v + (size_t)u * m->bins, m->bins, &one);
		out->leaking_nodes += one.is_suspected;
	}
	free(t);
	return 0;
}

/* What was not collected has no units, and is not a matter of too little of it. */
static void set_unavailable(const struct matrix *load, struct analysis_verdict *a,
			    struct analysis_verdict *b)
{
	if (!load->units)
		*a = *b = (struct analysis_verdict){ANALYSIS_UNAVAILABLE, "no_values"};
}

static int judge_issues(const struct job_series *s, struct pika_job *out)
{
	const struct matrix *cpu = &s->s.cpu_usage, *gpu = &s->s.gpu_usage;
	int err;

	idle__of(cpu, IDLE_CPU_LOAD, out->dt_s, NULL, &out->cpu_idle);
	idle__of(gpu, 0, out->dt_s, NULL, &out->gpu_idle);
	imbalance__of(cpu, &out->cpu_imbalance);
	imbalance__of(gpu, &out->gpu_imbalance);
	set_unavailable(cpu, &out->cpu_idle.verdict, &out->cpu_imbalance.verdict);
	set_unavailable(gpu, &out->gpu_idle.verdict, &out->gpu_imbalance.verdict);
	io_congestion__of(&s->opens, &out->congestion);
	err = judge_rhythm(s, out);
	return err ? err : judge_leak(s, out);
}

/* ---- all */

static struct analysis_verdict verdict_of(unsigned bins)
{
	if (!bins)
		return (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "no_bins"};
	return (struct analysis_verdict){ANALYSIS_OK, ""};
}

static void judge_eligibility(struct pika_job *out, const struct facts *f, bool force)
{
	out->ineligible = eligibility__of(out->duration_s, facts__job(f, FACT_JOB_cores), f->state);
	out->issues = out->verdict;
	if (out->verdict.status == ANALYSIS_OK && out->ineligible && !force)
		out->issues = (struct analysis_verdict){ANALYSIS_UNSUITABLE, "not_eligible"};
}

int pika_job__of(struct pika_job *out, const struct model_job *j, const struct facts *f,
		 const struct pika_options *o)
{
	struct job_series s = {.j = j, .f = f};
	int err;

	*out = (struct pika_job){
		.bins = grid__bins(0, j->grid.end_s, j->grid.dt_s),
		.dt_s = j->grid.dt_s,
		.duration_s = facts__job(f, FACT_JOB_job_elapsed_s),
		.unit = "",
	};
	out->verdict = verdict_of(out->bins);
	judge_eligibility(out, f, o->force);
	if (out->verdict.status != ANALYSIS_OK)
		return 0;
	err = fill_series(&s, out);
	if (!err) {
		footprint__of(&s.s, &out->footprint);
		pika_peaks_of(out, j, o->peaks);
		if (out->issues.status == ANALYSIS_OK)
			err = judge_issues(&s, out);
	}
	free_series(&s);
	return err;
}
