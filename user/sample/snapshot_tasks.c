// SPDX-License-Identifier: GPL-2.0-only
/* Living tasks in a snapshot: times, memory with its peaks, and GPUs, added to their slots. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample/snapshot_internal.h"
#include "sensor/gpu/gpu.h"

static struct peak *find_peak(struct peaks *t, uint64_t mm)
{
	size_t i = (mm >> 6) * 0x9e3779b97f4a7c15ull >> 32;

	if (!t->size)
		return NULL;
	for (i &= t->size - 1; t->p[i].mm && t->p[i].mm != mm; i = (i + 1) & (t->size - 1))
		;
	return &t->p[i];
}

static int size_peaks(struct peaks *t, size_t n)
{
	size_t size = 64;

	while (size < 2 * n + 1)
		size *= 2;
	if (size != t->size) {
		struct peak *p = realloc(t->p, size * sizeof(*p));

		if (!p)
			return -ENOMEM;
		t->p = p;
		t->size = size;
	}
	memset(t->p, 0, t->size * sizeof(*t->p));
	return 0;
}

/* Signed parts: a thread's own may be negative, their sum is not. */
static void add_pages(const struct snapshot *s, const struct jp_task_rec *r, struct totals *t)
{
	t->v[T_ANON] += r->rss_anon * s->page;
	t->v[T_FILE] += r->rss_file * s->page;
	t->v[T_SHMEM] += r->rss_shmem * s->page;
	t->v[T_SWAP] += r->swap * s->page;
}

static void add_memory(struct snapshot *s, const struct jp_task_rec *r, struct totals *t)
{
	/* counters read one after the other can dip below zero for a moment */
	uint64_t rss = snapshot_positive(r->rss_anon + r->rss_file + r->rss_shmem);
	uint64_t hiwater = r->hiwater_rss > rss ? r->hiwater_rss : rss;
	struct peak *p, *was;

	if (!r->mm) {
		add_pages(s, r, t);
		return;
	}
	p = find_peak(&s->cur, r->mm);
	if (p->mm)
		return; /* shared by vfork or CLONE_VM: counted already */
	p->mm = r->mm;
	p->hiwater = hiwater;
	was = find_peak(&s->old, r->mm);
	if ((!was || !was->mm || was->hiwater < hiwater) && t->v[T_RISE] < hiwater * s->page)
		t->v[T_RISE] = hiwater * s->page;
	add_pages(s, r, t);
	t->v[T_VM] += r->total_vm * s->page;
	t->v[T_HUGETLB] += r->hugetlb * s->page;
}

static void add_task(struct snapshot *s, const struct jp_task_rec *r)
{
	struct totals *t;

	snapshot_add_wait(s, r);
	if (r->sched_slot < s->nslots) {
		t = &s->now[r->sched_slot];
		/* a switch while the record was made can leave a difference below zero */
		t->v[T_RUNTIME] += snapshot_positive(r->runtime_ns);
		t->v[T_RUN_DELAY] += snapshot_positive(r->run_delay_ns);
		for (int i = 0; i < JP_CULPRITS; i++)
			t->v[T_CULPRITS + i] += r->culprits.ns[i];
		t->v[T_NVCSW] += snapshot_positive(r->nvcsw);
		t->v[T_NIVCSW] += snapshot_positive(r->nivcsw);
		t->v[T_MIGRATIONS] += snapshot_positive(r->migrations);
	}
	if (r->slot >= s->nslots)
		return;
	t = &s->now[r->slot];
	t->v[T_THREADS]++;
	t->v[T_RUNNABLE] += r->runnable;
	if (r->cpus > t->v[T_CPUS])
		t->v[T_CPUS] = r->cpus;
	t->v[T_UTIME] += snapshot_positive(r->utime_ns);
	t->v[T_STIME] += snapshot_positive(r->stime_ns);
	t->v[T_MIN_FLT] += snapshot_positive(r->min_flt);
	t->v[T_MAJ_FLT] += snapshot_positive(r->maj_flt);
	t->v[T_RCHAR] += snapshot_positive(r->rchar);
	t->v[T_WCHAR] += snapshot_positive(r->wchar);
	t->v[T_SYSCR] += snapshot_positive(r->syscr);
	t->v[T_SYSCW] += snapshot_positive(r->syscw);
	t->v[T_READ_BYTES] += snapshot_positive(r->read_bytes);
	t->v[T_WRITE_BYTES] += snapshot_positive(r->write_bytes);
	add_memory(s, r, t);
}

uint32_t snapshot__gpu_slot(const struct snapshot *s, unsigned i)
{
	for (size_t k = 0; k < s->tasks.n; k++)
		if (s->tasks.rec[k].tgid == s->gpu[i].pid && s->tasks.rec[k].slot < s->nslots)
			return s->tasks.rec[k].slot;
	return JP_SLOT_NONE;
}

static void add_gpu(struct snapshot *s, unsigned i)
{
	const struct gpu_use *u = &s->gpu[i];
	uint32_t slot = snapshot__gpu_slot(s, i);

	if (slot == JP_SLOT_NONE)
		return;
	if (u->memory != UINT64_MAX)
		s->now[slot].v[T_GPU_MEM] += u->memory;
	if (u->util >= 0)
		s->now[slot].v[T_GPU_UTIL] += (uint64_t)(u->util * 1000);
	else
		s->now[slot].v[T_GPU_UNKNOWN]++;
}

void snapshot__set_gpus(struct snapshot *s, const struct gpu_use *use, unsigned n)
{
	s->gpu = use;
	s->ngpu = use ? n : 0;
}

bool snapshot__has_gpus(const struct snapshot *s)
{
	return s->gpu != NULL;
}

int snapshot_add_tasks(struct snapshot *s)
{
	struct peaks swap;
	size_t i;
	int err = size_peaks(&s->cur, s->tasks.n);

	if (err)
		return err;
	for (i = 0; i < s->tasks.n; i++)
		add_task(s, &s->tasks.rec[i]);
	for (i = 0; i < s->ngpu; i++)
		add_gpu(s, i);
	swap = s->old;
	s->old = s->cur;
	s->cur = swap;
	return 0;
}
