// SPDX-License-Identifier: GPL-2.0-only
/* Reads all slots at one instant, and again if the kernel side changed them meanwhile. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sample/counters.h"
#include "sample/cpufreq.h"
#include "sample/snapshot_internal.h"

#define PASSES	   3
#define TORN_NS	   4000000ull /* a slice longer than a tick moved between map and iterator */
#define FLUSH_PART 100	      /* part of the interval that counters may lag behind */

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
	s->slots = calloc(n, sizeof(*s->slots));
	s->used = calloc(n, sizeof(*s->used));
	s->now = calloc(n, sizeof(*s->now));
	s->prev = calloc(n, sizeof(*s->prev));
	s->gen = calloc(n, sizeof(*s->gen));
	s->runtime = calloc(n, sizeof(*s->runtime));
	s->exits = calloc(n, sizeof(*s->exits));
	s->gone = calloc(n, sizeof(*s->gone));
	s->left_seq = calloc(n, sizeof(*s->left_seq));
	s->cpu_runtime = calloc(n * s->ncpus, sizeof(*s->cpu_runtime));
	if (!s->slots || !s->used || !s->now || !s->prev || !s->gen || !s->runtime || !s->exits ||
	    !s->gone || !s->left_seq || !s->cpu_runtime) {
		snapshot__free(s);
		return NULL;
	}
	return s;
}

void snapshot__free(struct snapshot *s)
{
	if (!s)
		return;
	free(s->slots);
	free(s->used);
	free(s->now);
	free(s->prev);
	free(s->gen);
	free(s->runtime);
	free(s->exits);
	free(s->gone);
	free(s->left_seq);
	free(s->cpu_runtime);
	kern__tasks_free(&s->tasks);
	free(s->old.p);
	free(s->cur.p);
	snapshot_free_commands(s);
	free(s);
}

static void add_sched(struct snapshot *s, uint32_t slot, struct totals *t)
{
	unsigned cpu;

	s->gone[slot] = 0;
	for (cpu = 0; cpu < s->ncpus; cpu++) {
		const struct jp_sched *c = kern__sched(s->k, cpu, slot);
		uint64_t *last = &s->cpu_runtime[(size_t)cpu * s->nslots + slot];
		uint64_t runtime = c->runtime_ns, ran = runtime - *last;

		t->v[T_RUNTIME] += runtime;
		t->v[T_RUN_DELAY] += counters__delay(s->k, cpu, slot, t);
		t->v[T_NVCSW] += c->nvcsw;
		t->v[T_NIVCSW] += c->nivcsw;
		t->v[T_MIGRATIONS] += c->migrations;
		t->v[T_IOWAIT] += c->iowait_ns;
		t->v[T_PROBES] += c->harvests;
		s->gone[slot] += c->tasks_out;
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
	t->v[T_OOM] += s->slots[slot].oom;
	s->left_seq[slot] = __atomic_load_n(&a->left_seq, __ATOMIC_ACQUIRE);
	if (kern__is_reader(s->k))
		t->v[T_EXIT_MAXRSS] = a->exit_maxrss * s->page;
	else if (s->left_seq[slot] != a->left_acked)
		add_left(s, &a->left, t);
}

/* What the slot stands for is read first, and once: all that is made of the snapshot sees it so.
 * The frequency-weighted counters go on from the last snapshot's. */
static void read_slot(struct snapshot *s, uint32_t i)
{
	const struct jp_slot *live = kern__slot(s->k, i);
	struct jp_slot *info = &s->slots[i];
	struct totals *t = &s->now[i];
	unsigned cpu;

	if (__atomic_load_n(&live->state, __ATOMIC_ACQUIRE) == JP_SLOT_FREE)
		*info = (struct jp_slot){.gen = live->gen};
	else
		*info = *live;
	if (info->gen != s->gen[i]) {
		memset(&s->prev[i], 0, sizeof(s->prev[i]));
		for (cpu = 0; cpu < s->ncpus; cpu++)
			s->cpu_runtime[(size_t)cpu * s->nslots + i] = 0;
		s->gen[i] = info->gen;
	}
	memset(t, 0, sizeof(*t));
	t->v[T_NOMINAL_CYCLES] = s->prev[i].v[T_NOMINAL_CYCLES];
	t->v[T_HARVESTED] = s->prev[i].v[T_HARVESTED];
	if (info->state == JP_SLOT_FREE)
		return;
	s->exits[i] = kern__acct(s->k, i)->exits;
	add_sched(s, i, t);
	add_acct(s, i, t);
	counters__add(s->k, i, t);
	s->runtime[i] = t->v[T_RUNTIME];
	s->prev[i].v[T_NOMINAL_CYCLES] = t->v[T_NOMINAL_CYCLES];
	s->prev[i].v[T_HARVESTED] = t->v[T_HARVESTED];
}

/* Free slots are read only after a change of slots: that saves half a megabyte of reading. */
void snapshot_read_slots(struct snapshot *s)
{
	uint64_t changed = kern__slots_changed(s->k) + 1;
	uint32_t i;

	if (changed == s->slots_seen) {
		for (i = 0; i < s->nused; i++)
			read_slot(s, s->used[i]);
		return;
	}
	s->slots_seen = changed;
	s->nused = 0;
	for (i = 0; i < s->nslots; i++) {
		read_slot(s, i);
		if (s->slots[i].state != JP_SLOT_FREE)
			s->used[s->nused++] = i;
	}
}

static bool is_torn(const struct snapshot *s)
{
	for (unsigned at = 0; at < s->nused; at++) {
		uint64_t runtime = 0, gone = 0;
		uint32_t i = s->used[at];
		unsigned cpu;

		if (i < JP_SLOT_FIRST)
			continue;
		if (kern__acct(s->k, i)->exits != s->exits[i])
			return true;
		for (cpu = 0; cpu < s->ncpus; cpu++) {
			runtime += kern__sched(s->k, cpu, i)->runtime_ns;
			gone += kern__sched(s->k, cpu, i)->tasks_out;
		}
		if (runtime - s->runtime[i] > TORN_NS || gone != s->gone[i])
			return true;
	}
	return false;
}

/* Memory that grew on one CPU and shrank on another between two reads may sum up below zero. */
static void settle_gauges(struct snapshot *s)
{
	static const enum total gauges[] = {T_ANON, T_FILE, T_SHMEM, T_SWAP};
	for (unsigned at = 0; at < s->nused; at++) {
		uint64_t *v = s->now[s->used[at]].v;

		for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
			v[gauges[i]] = snapshot_positive(v[gauges[i]]);
	}
}

int snapshot__take(struct snapshot *s)
{
	int pass, err;

	kern__flush(s->k, s->boot_ns ? (clock__boot_ns() - s->boot_ns) / FLUSH_PART : 0);
	for (pass = 0; pass < PASSES; pass++) {
		s->boot_ns = clock__boot_ns();
		s->queue_ns = clock__mono_ns() - kern__control(s->k)->clock_behind_ns;
		snapshot_read_slots(s);
		err = snapshot_read_commands(s);
		if (!err)
			err = kern__tasks(s->k, &s->tasks);
		if (err)
			return err;
		if (!is_torn(s))
			break;
	}
	s->torn += pass == PASSES;
	err = snapshot_add_tasks(s);
	if (err)
		return err;
	settle_gauges(s);
	snapshot_add_living(s);
	for (unsigned at = 0; at < s->nused; at++) {
		uint32_t i = s->used[at];

		snapshot_sum_wait(&s->now[i]);
		totals__clamp(&s->now[i], &s->prev[i]);
		s->prev[i] = s->now[i];
	}
	return 0;
}

uint64_t snapshot__boot_ns(const struct snapshot *s)
{
	return s->boot_ns;
}

struct slots snapshot__slots(const struct snapshot *s)
{
	return (struct slots){s->slots, s->used, s->nslots, s->nused};
}

const struct jp_slot *snapshot__slot(const struct snapshot *s, uint32_t slot)
{
	return slot < s->nslots ? &s->slots[slot] : NULL;
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
