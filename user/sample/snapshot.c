// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sample/counters.h"
#include "sample/cpufreq.h"
#include "sample/snapshot.h"
#include "sensor/gpu/nvml.h"

#define PASSES	   3
#define TORN_NS	   4000000ull /* a slice longer than a tick moved between map and iterator */
#define FLUSH_PART 100	      /* of the interval: what counters may lag behind */

/* Peaks of living processes at the last snapshot: open addressing by mm. */
struct peak {
	uint64_t mm;
	uint64_t hiwater;
};

struct peaks {
	struct peak *p;
	size_t size; /* power of two */
};

struct snapshot {
	struct kern *k;
	uint64_t boot_ns;
	uint64_t torn;
	long page;
	unsigned nslots, ncpus;
	uint64_t slots_seen; /* kern__slots_changed() when all slots were read, and one */
	struct totals *now, *prev;
	uint32_t *gen;		   /* of prev */
	uint64_t *cpu_runtime;	   /* [cpu][slot] at the last snapshot, for the frequency */
	uint64_t *runtime, *exits; /* by slot, before a pass */
	uint64_t *left_seq;	   /* by slot: the change of jp_acct's left that was read */
	struct kern_tasks tasks;
	struct peaks old, cur;
	const struct gpu_use *gpu; /* NULL: nobody says who uses them */
	unsigned ngpu;
};

struct snapshot *snapshot__new(struct kern *k)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	size_t n = kern__nslots(k);

	if (!s)
		return NULL;
	s->k = k;
	s->nslots = n;
	s->ncpus = kern__ncpus(k);
	s->page = sysconf(_SC_PAGESIZE);
	s->now = calloc(n, sizeof(*s->now));
	s->prev = calloc(n, sizeof(*s->prev));
	s->gen = calloc(n, sizeof(*s->gen));
	s->runtime = calloc(n, sizeof(*s->runtime));
	s->exits = calloc(n, sizeof(*s->exits));
	s->left_seq = calloc(n, sizeof(*s->left_seq));
	s->cpu_runtime = calloc(n * s->ncpus, sizeof(*s->cpu_runtime));
	if (!s->now || !s->prev || !s->gen || !s->runtime || !s->exits || !s->left_seq ||
	    !s->cpu_runtime) {
		snapshot__free(s);
		return NULL;
	}
	return s;
}

void snapshot__free(struct snapshot *s)
{
	if (!s)
		return;
	free(s->now);
	free(s->prev);
	free(s->gen);
	free(s->runtime);
	free(s->exits);
	free(s->left_seq);
	free(s->cpu_runtime);
	kern__tasks_free(&s->tasks);
	free(s->old.p);
	free(s->cur.p);
	free(s);
}

static bool in_use(const struct snapshot *s, uint32_t slot)
{
	return kern__slot(s->k, slot)->state != JP_SLOT_FREE;
}

static void add_sched(struct snapshot *s, uint32_t slot, struct totals *t)
{
	unsigned cpu;

	for (cpu = 0; cpu < s->ncpus; cpu++) {
		const struct jp_sched *c = kern__sched(s->k, cpu, slot);
		uint64_t *last = &s->cpu_runtime[(size_t)cpu * s->nslots + slot];
		uint64_t runtime = c->runtime_ns, ran = runtime - *last;

		t->v[T_RUNTIME] += runtime;
		t->v[T_RUN_DELAY] += c->run_delay_ns;
		t->v[T_NVCSW] += c->nvcsw;
		t->v[T_NIVCSW] += c->nivcsw;
		t->v[T_MIGRATIONS] += c->migrations;
		t->v[T_IOWAIT] += c->iowait_ns;
		t->v[T_PROBES] += c->harvests;
		if (ran && runtime > *last) {
			unsigned khz = cpufreq__khz(cpu, s->boot_ns);

			t->v[T_NOMINAL_CYCLES] += (uint64_t)((double)ran * khz / 1e6);
			t->v[T_HARVESTED] += khz ? ran : 0;
		}
		*last = runtime;
	}
}

static void add_left(const struct snapshot *s, const struct jp_left *left, struct totals *t)
{
	t->v[T_LEFT_THREADS] = left->threads;
	t->v[T_LEFT_ANON] = left->anon * s->page;
	t->v[T_LEFT_FILE] = left->file * s->page;
	t->v[T_LEFT_SHMEM] = left->shmem * s->page;
	t->v[T_LEFT_SWAP] = left->swap * s->page;
	t->v[T_LEFT_VM] = left->vm * s->page;
	t->v[T_LEFT_HUGETLB] = left->hugetlb * s->page;
	t->v[T_EXIT_MAXRSS] = left->peak * s->page;
}

static void add_acct(struct snapshot *s, uint32_t slot, struct totals *t)
{
	const struct jp_acct *a = kern__acct(s->k, slot);

	t->v[T_UTIME] += a->utime_ns;
	t->v[T_STIME] += a->stime_ns;
	t->v[T_MIN_FLT] += a->min_flt;
	t->v[T_MAJ_FLT] += a->maj_flt;
	t->v[T_RCHAR] += a->rchar;
	t->v[T_WCHAR] += a->wchar;
	t->v[T_SYSCR] += a->syscr;
	t->v[T_SYSCW] += a->syscw;
	t->v[T_READ_BYTES] += a->read_bytes;
	t->v[T_WRITE_BYTES] += a->write_bytes;
	t->v[T_FORKS] += a->forks;
	t->v[T_PROBES] += a->life_events;
	t->v[T_OOM] += kern__slot(s->k, slot)->oom;
	s->left_seq[slot] = __atomic_load_n(&a->left_seq, __ATOMIC_ACQUIRE);
	if (kern__is_reader(s->k))
		t->v[T_EXIT_MAXRSS] = a->exit_maxrss * s->page;
	else if (s->left_seq[slot] != a->left_acked)
		add_left(s, &a->left, t);
}

/* The frequency-weighted counters go on from the last snapshot's. */
static void read_slot(struct snapshot *s, uint32_t i)
{
	const struct jp_slot *info = kern__slot(s->k, i);
	struct totals *t = &s->now[i];
	unsigned cpu;

	if (info->gen != s->gen[i]) {
		memset(&s->prev[i], 0, sizeof(s->prev[i]));
		for (cpu = 0; cpu < s->ncpus; cpu++)
			s->cpu_runtime[(size_t)cpu * s->nslots + i] = 0;
		s->gen[i] = info->gen;
	}
	memset(t, 0, sizeof(*t));
	t->v[T_NOMINAL_CYCLES] = s->prev[i].v[T_NOMINAL_CYCLES];
	t->v[T_HARVESTED] = s->prev[i].v[T_HARVESTED];
	if (!in_use(s, i))
		return;
	s->exits[i] = kern__acct(s->k, i)->exits;
	add_sched(s, i, t);
	add_acct(s, i, t);
	counters__add(s->k, i, t);
	s->runtime[i] = t->v[T_RUNTIME];
	s->prev[i].v[T_NOMINAL_CYCLES] = t->v[T_NOMINAL_CYCLES];
	s->prev[i].v[T_HARVESTED] = t->v[T_HARVESTED];
}

/* Everything retired. What free slots say stays as it is while they stay free: half a megabyte that
 * need not be touched. */
static void read_maps(struct snapshot *s)
{
	uint64_t changed = kern__slots_changed(s->k) + 1;
	const uint32_t *used;
	unsigned n;
	uint32_t i;

	if (changed != s->slots_seen) {
		for (i = 0; i < s->nslots; i++)
			read_slot(s, i);
		s->slots_seen = changed;
		return;
	}
	used = kern__used(s->k, &n);
	for (i = 0; i < n; i++)
		read_slot(s, used[i]);
}

static bool is_torn(const struct snapshot *s)
{
	const uint32_t *used;
	unsigned n, at;

	used = kern__used(s->k, &n);
	for (at = 0; at < n; at++) {
		uint64_t runtime = 0;
		uint32_t i = used[at];
		unsigned cpu;

		if (i < JP_SLOT_FIRST)
			continue;
		if (kern__acct(s->k, i)->exits != s->exits[i])
			return true;
		for (cpu = 0; cpu < s->ncpus; cpu++)
			runtime += kern__sched(s->k, cpu, i)->runtime_ns;
		if (runtime - s->runtime[i] > TORN_NS)
			return true;
	}
	return false;
}

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

static uint64_t positive(uint64_t v)
{
	return (int64_t)v > 0 ? v : 0;
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
	uint64_t rss = positive(r->rss_anon + r->rss_file + r->rss_shmem);
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

	if (r->sched_slot < s->nslots) {
		t = &s->now[r->sched_slot];
		/* a switch while the record was made can leave a difference below zero */
		t->v[T_RUNTIME] += positive(r->runtime_ns);
		t->v[T_RUN_DELAY] += positive(r->run_delay_ns);
		t->v[T_NVCSW] += positive(r->nvcsw);
		t->v[T_NIVCSW] += positive(r->nivcsw);
		t->v[T_MIGRATIONS] += positive(r->migrations);
	}
	if (r->slot >= s->nslots)
		return;
	t = &s->now[r->slot];
	t->v[T_THREADS]++;
	t->v[T_UTIME] += positive(r->utime_ns);
	t->v[T_STIME] += positive(r->stime_ns);
	t->v[T_MIN_FLT] += positive(r->min_flt);
	t->v[T_MAJ_FLT] += positive(r->maj_flt);
	t->v[T_RCHAR] += positive(r->rchar);
	t->v[T_WCHAR] += positive(r->wchar);
	t->v[T_SYSCR] += positive(r->syscr);
	t->v[T_SYSCW] += positive(r->syscw);
	t->v[T_READ_BYTES] += positive(r->read_bytes);
	t->v[T_WRITE_BYTES] += positive(r->write_bytes);
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
		s->now[slot].v[T_GPU_UNTOLD]++;
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

/* Memory that grew on one CPU and shrank on another between two reads may sum up below zero. */
static void settle_gauges(struct snapshot *s)
{
	static const enum total gauges[] = {T_ANON, T_FILE, T_SHMEM, T_SWAP};
	const uint32_t *used;
	unsigned n, at;
	size_t i;

	used = kern__used(s->k, &n);
	for (at = 0; at < n; at++)
		for (i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
			s->now[used[at]].v[gauges[i]] = positive(s->now[used[at]].v[gauges[i]]);
}

int snapshot__take(struct snapshot *s)
{
	struct peaks swap;
	const uint32_t *used;
	int pass, err;
	unsigned n;
	size_t i;

	kern__flush(s->k, s->boot_ns ? (clock__boot_ns() - s->boot_ns) / FLUSH_PART : 0);
	for (pass = 0; pass < PASSES; pass++) {
		s->boot_ns = clock__boot_ns();
		read_maps(s);
		err = kern__tasks(s->k, &s->tasks);
		if (err)
			return err;
		if (!is_torn(s))
			break;
	}
	s->torn += pass == PASSES;
	err = size_peaks(&s->cur, s->tasks.n);
	if (err)
		return err;
	for (i = 0; i < s->tasks.n; i++)
		add_task(s, &s->tasks.rec[i]);
	for (i = 0; i < s->ngpu; i++)
		add_gpu(s, i);
	settle_gauges(s);
	swap = s->old;
	s->old = s->cur;
	s->cur = swap;
	used = kern__used(s->k, &n);
	for (i = 0; i < n; i++) {
		totals__clamp(&s->now[used[i]], &s->prev[used[i]]);
		s->prev[used[i]] = s->now[used[i]];
	}
	return 0;
}

uint64_t snapshot__boot_ns(const struct snapshot *s)
{
	return s->boot_ns;
}

const struct totals *snapshot__totals(const struct snapshot *s, uint32_t slot)
{
	return &s->now[slot];
}

void snapshot__ack_left(struct snapshot *s, uint32_t slot)
{
	kern__ack_left(s->k, slot, s->left_seq[slot]);
}

uint64_t snapshot__torn(const struct snapshot *s)
{
	return s->torn;
}

const struct jp_task_rec *snapshot__tasks(const struct snapshot *s, unsigned *n)
{
	*n = s->tasks.n;
	return s->tasks.rec;
}
