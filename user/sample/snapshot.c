// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads all slots at one instant, and again if the kernel side changed them meanwhile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/room.h"
#include "sample/counters.h"
#include "sample/cpu_busy.h"
#include "sample/snapshot_internal.h"
#include "sensor/gpu/gpu.h"

/* ---- living tasks: times, memory with its peaks, and GPUs, added to their slots */

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
		t->v[T_CPU] += snapshot_positive(r->cpu_ns);
		t->v[T_RUN_DELAY] += snapshot_positive(r->run_delay_ns);
		for (int i = 0; i < JP_CULPRITS; i++)
			t->v[T_CULPRITS + i] += r->culprits.ns[i];
		t->v[T_VOL_SWITCHES] += snapshot_positive(r->vol_switches);
		t->v[T_INVOL_SWITCHES] += snapshot_positive(r->invol_switches);
		t->v[T_MIGRATIONS] += snapshot_positive(r->migrations);
	}
	if (r->slot >= s->nslots)
		return;
	t = &s->now[r->slot];
	t->v[T_THREADS]++;
	t->v[T_RUNNABLE] += r->runnable;
	if (r->allowed_cpus > t->v[T_ALLOWED_CPUS])
		t->v[T_ALLOWED_CPUS] = r->allowed_cpus;
	t->v[T_USER] += snapshot_positive(r->user_ns);
	t->v[T_SYSTEM] += snapshot_positive(r->system_ns);
	t->v[T_MINOR_FAULTS] += snapshot_positive(r->minor_faults);
	t->v[T_MAJOR_FAULTS] += snapshot_positive(r->major_faults);
	t->v[T_READ_BYTES] += snapshot_positive(r->read_bytes);
	t->v[T_WRITE_BYTES] += snapshot_positive(r->write_bytes);
	t->v[T_READ_CALLS] += snapshot_positive(r->read_calls);
	t->v[T_WRITE_CALLS] += snapshot_positive(r->write_calls);
	t->v[T_DISK_READ_BYTES] += snapshot_positive(r->disk_read_bytes);
	t->v[T_DISK_WRITE_BYTES] += snapshot_positive(r->disk_write_bytes);
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
	if (u->mem != UINT64_MAX)
		s->now[slot].v[T_GPU_MEM] += u->mem;
	if (u->util >= 0)
		s->now[slot].v[T_GPU_UTILIZATION] += (uint64_t)(u->util * 1000);
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

/* Adds to s->now what living tasks have not retired yet, and the use of GPUs. Returns 0 or -ENOMEM.
 */
static int snapshot_add_tasks(struct snapshot *s)
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

/* ---- what steps used under their programs' names */

/* Makes the name of a table from a name: without characters that mean something in a path or to a
 * terminal. */
static void name_of(const char comm[JP_COMM_LEN], char name[JP_COMM_LEN])
{
	size_t i;

	memset(name, 0, JP_COMM_LEN);
	for (i = 0; i + 1 < JP_COMM_LEN && comm[i]; i++)
		name[i] = comm[i] < 0x20 || comm[i] >= 0x7f || comm[i] == '/' ? '_' : comm[i];
	if (!i || !strcmp(name, ".") || !strcmp(name, ".."))
		name[0] = '_';
}

static int by_name(const void *a, const void *b)
{
	const struct command_use *x = a, *y = b;

	return x->step != y->step ? x->step < y->step ? -1 : 1
				  : strncmp(x->name, y->name, sizeof(x->name));
}

static void raise_to(uint64_t *to, uint64_t n)
{
	if (n > *to)
		*to = n;
}

static void add_use(struct command_use *to, const struct command_use *c)
{
	to->processes += c->processes;
	to->cpu_ns += c->cpu_ns;
	to->run_delay_ns += c->run_delay_ns;
	to->read_bytes += c->read_bytes;
	to->write_bytes += c->write_bytes;
	raise_to(&to->peak, c->peak);
	raise_to(&to->last_seen_ns, c->last_seen_ns);
	if (c->first_seen_ns < to->first_seen_ns)
		to->first_seen_ns = c->first_seen_ns;
}

/* Names that are the same as tables' names become one. */
static void merge_same(struct commands *c)
{
	unsigned n = 0, i;

	qsort(c->use, c->n, sizeof(*c->use), by_name);
	for (i = 0; i < c->n; i++) {
		if (n && !by_name(&c->use[n - 1], &c->use[i]))
			add_use(&c->use[n - 1], &c->use[i]);
		else
			c->use[n++] = c->use[i];
	}
	c->n = c->sorted = n;
}

static void add_account(struct snapshot *s, uint32_t step, const char comm[JP_COMM_LEN],
			const struct jp_command *from)
{
	struct command_use *to = &s->commands.use[s->commands.n++];

	*to = (struct command_use){
		.step = step,
		.processes = from->processes,
		.cpu_ns = from->cpu_ns,
		.run_delay_ns = from->run_delay_ns,
		.read_bytes = from->read_bytes,
		.write_bytes = from->write_bytes,
		.peak = from->peak * s->page,
		.first_seen_ns = from->first_seen_ns,
		.last_seen_ns = from->last_seen_ns,
	};
	name_of(comm, to->name);
}

static const char other[JP_COMM_LEN] = "(other)";

/* Reads the accounts of programs' names, then adds what living processes have used. Returns 0 or
 * -errno. */
static int snapshot_read_commands(struct snapshot *s)
{
	struct commands *c = &s->commands;
	unsigned i;
	int err = kern__commands(s->k, &c->maps);

	c->n = c->sorted = 0;
	if (!err)
		err = room__make(&c->use, &c->room, c->maps.n + s->nslots, sizeof(*c->use));
	if (err)
		return err;
	for (i = 0; i < c->maps.n; i++)
		add_account(s, c->maps.key[i].step, c->maps.key[i].comm, &c->maps.use[i]);
	for (i = 0; i < s->nused; i++)
		if (s->used[i] >= JP_SLOT_FIRST &&
		    kern__acct(s->k, s->used[i])->other.first_seen_ns)
			add_account(s, s->used[i], other, &kern__acct(s->k, s->used[i])->other);
	merge_same(c);
	return 0;
}

/* Finds the account of a living process, which may have none yet. NULL: no memory. */
static struct command_use *find_use(struct commands *c, const struct command_use *key)
{
	struct command_use *at =
		c->sorted ? bsearch(key, c->use, c->sorted, sizeof(*key), by_name) : NULL;

	for (unsigned i = c->sorted; !at && i < c->n; i++)
		if (!by_name(key, &c->use[i]))
			at = &c->use[i];
	if (at || room__make(&c->use, &c->room, c->n + 1u, sizeof(*c->use)))
		return at;
	at = &c->use[c->n++];
	*at = *key;
	return at;
}

/* The kernel side gives no more names an account. */
static bool is_full(const struct snapshot *s, uint32_t step)
{
	return kern__acct(s->k, step)->commands >= JP_COMMANDS;
}

static struct command_use *use_of(struct snapshot *s, const struct jp_task_rec *r, uint32_t step)
{
	struct command_use key = {.step = step, .first_seen_ns = r->start_ns};
	struct commands *c = &s->commands;

	name_of(r->comm, key.name);
	if (is_full(s, step) && c->sorted &&
	    !bsearch(&key, c->use, c->sorted, sizeof(key), by_name))
		memcpy(key.name, other, sizeof(other));
	return find_use(c, &key);
}

static void add_living(struct snapshot *s, const struct jp_task_rec *r)
{
	const struct jp_slot *info = r->slot < s->nslots ? &s->slots[r->slot] : NULL;
	struct command_use *use;
	uint64_t rss;

	if (!info || r->slot < JP_SLOT_FIRST || !r->comm[0] || info->step >= s->nslots)
		return;
	use = use_of(s, r, info->step);
	if (!use)
		return;
	use->living += r->pid == r->tgid && !r->ended;
	use->cpu_ns += snapshot_positive(r->command_cpu_ns);
	use->run_delay_ns += snapshot_positive(r->command_run_delay_ns);
	use->read_bytes += snapshot_positive(r->command_read_bytes);
	use->write_bytes += snapshot_positive(r->command_write_bytes);
	use->last_seen_ns = s->boot_ns;
	if (!r->mm)
		return;
	rss = snapshot_positive(r->rss_anon + r->rss_file + r->rss_shmem);
	raise_to(&use->peak, (r->hiwater_rss > rss ? r->hiwater_rss : rss) * s->page);
}

static void snapshot_add_living(struct snapshot *s)
{
	for (size_t i = 0; i < s->tasks.n; i++)
		add_living(s, &s->tasks.rec[i]);
}

static void snapshot_free_commands(struct snapshot *s)
{
	kern__commands_free(&s->commands.maps);
	free(s->commands.use);
}

const struct command_use *snapshot__commands(const struct snapshot *s, unsigned *n)
{
	*n = s->commands.n;
	return s->commands.use;
}

/* ---- the time budget of threads */

/* How much of [from, to] lies in [lo, hi]. */
static uint64_t overlap(uint64_t from, uint64_t to, uint64_t lo, uint64_t hi)
{
	if (from < lo)
		from = lo;
	if (to > hi)
		to = hi;
	return to > from ? to - from : 0;
}

/* Points of a thread's time: off its CPU, waiting for one, on one, now. */
struct span {
	uint64_t out, queued, on, end;
	uint32_t cause;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct span span_of(const struct jp_open *o)
{
	struct span s = {.out = o->out, .end = o->now, .on = o->now, .cause = o->cause};
	uint64_t delay = snapshot_positive(o->delay);

	if (o->running && o->arrived < s.on)
		s.on = o->arrived;
	else if (!o->running && o->queued && o->queued < o->now)
		delay += o->now - o->queued;
	if (s.on < s.out) /* it ran when it was first seen */
		s.on = s.out;
	if (o->cause == JP_CAUSE_NONE)
		delay = s.on - s.out;
	else if (o->cause == JP_CAUSE_THROTTLED)
		delay = s.on - s.out - least(o->throttled, s.on - s.out);
	s.queued = s.on - least(delay, s.on - s.out);
	return s;
}

static void add_span(uint64_t *v, const struct span *s, uint64_t lo, uint64_t hi, uint64_t ran)
{
	uint64_t on = overlap(s->on, s->end, lo, hi);

	v[T_ON_CPU] += on;
	v[T_STOLEN] += on > ran ? on - ran : 0;
	v[T_CPU_WAIT] += overlap(s->queued, s->on, lo, hi);
	if (s->cause < JP_CAUSES)
		v[T_BLOCKED + s->cause] += overlap(s->out, s->queued, lo, hi);
}

void snapshot_add_wait(struct snapshot *s, const struct jp_task_rec *r)
{
	const struct jp_open *o = &r->open;
	uint64_t *was = r->wait_slot < s->nslots ? s->now[r->wait_slot].v : NULL;
	uint64_t *is = r->sched_slot < s->nslots ? s->now[r->sched_slot].v : NULL;
	uint64_t ran = snapshot_positive(o->ran), moved = 0, from = o->out;
	uint64_t end = least(o->now, s->queue_ns);
	struct span span;

	if (!r->pid) /* a second record of a task that moves: what it left behind */
		return;
	if (was)
		counters__add_wait(&s->now[r->wait_slot], &r->wait);
	if (!o->out || end <= o->out)
		return;
	span = span_of(o);
	if (o->running) /* also between the snapshot's instant and the record's */
		ran -= least(ran, o->now - end);
	if (o->move) {
		from = o->move > o->out ? o->move : o->out;
		moved = snapshot_positive(o->moved);
		if (was)
			add_span(was, &span, o->out, least(from, end), moved);
	}
	if (is)
		add_span(is, &span, from, end, ran > moved ? ran - moved : 0);
}

void snapshot_sum_wait(struct totals *t)
{
	uint64_t *v = t->v;

	v[T_RUNNING] = snapshot_positive(v[T_ON_CPU] - v[T_STOLEN]);
	v[T_THREAD_TIME] = v[T_ON_CPU] + v[T_CPU_WAIT];
	for (int i = 0; i < JP_CAUSES; i++)
		v[T_THREAD_TIME] += v[T_BLOCKED + i];
	v[T_DISK_WAIT] += v[T_BLOCKED + JP_CAUSE_DISK] + v[T_BLOCKED + JP_CAUSE_FAULT];
}

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
	s->cpu_ns = calloc(n, sizeof(*s->cpu_ns));
	s->exits = calloc(n, sizeof(*s->exits));
	s->gone = calloc(n, sizeof(*s->gone));
	s->left_seq = calloc(n, sizeof(*s->left_seq));
	s->last_cpu_ns = calloc(n * s->ncpus, sizeof(*s->last_cpu_ns));
	if (!s->slots || !s->used || !s->now || !s->prev || !s->gen || !s->cpu_ns || !s->exits ||
	    !s->gone || !s->left_seq || !s->last_cpu_ns) {
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
	free(s->cpu_ns);
	free(s->exits);
	free(s->gone);
	free(s->left_seq);
	free(s->last_cpu_ns);
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
		uint64_t *last = &s->last_cpu_ns[(size_t)cpu * s->nslots + slot];
		uint64_t cpu_ns = c->cpu_ns, ran = cpu_ns - *last;

		t->v[T_CPU] += cpu_ns;
		t->v[T_RUN_DELAY] += counters__delay(s->k, cpu, slot, t);
		t->v[T_VOL_SWITCHES] += c->vol_switches;
		t->v[T_INVOL_SWITCHES] += c->invol_switches;
		t->v[T_MIGRATIONS] += c->migrations;
		t->v[T_DISK_WAIT] += c->disk_wait_ns;
		t->v[T_PROBES] += c->harvests;
		s->gone[slot] += c->tasks_out;
		if (ran && cpu_ns > *last) {
			unsigned khz = cpufreq__khz(cpu, s->boot_ns);

			t->v[T_NOMINAL_CYCLES] += (uint64_t)((double)ran * khz / 1e6);
			t->v[T_HARVESTED] += khz ? ran : 0;
		}
		*last = cpu_ns;
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
	t->v[T_EXIT_PEAK] = left->peak * s->page;
}

static void add_acct(struct snapshot *s, uint32_t slot, struct totals *t)
{
	const struct jp_acct *a = kern__acct(s->k, slot);

	t->v[T_USER] += a->user_ns;
	t->v[T_SYSTEM] += a->system_ns;
	t->v[T_MINOR_FAULTS] += a->minor_faults;
	t->v[T_MAJOR_FAULTS] += a->major_faults;
	t->v[T_READ_BYTES] += a->read_bytes;
	t->v[T_WRITE_BYTES] += a->write_bytes;
	t->v[T_READ_CALLS] += a->read_calls;
	t->v[T_WRITE_CALLS] += a->write_calls;
	t->v[T_DISK_READ_BYTES] += a->disk_read_bytes;
	t->v[T_DISK_WRITE_BYTES] += a->disk_write_bytes;
	t->v[T_FORKS] += a->forks;
	t->v[T_PROBES] += a->life_events;
	t->v[T_OOM_KILLS] += s->slots[slot].oom_kills;
	s->left_seq[slot] = __atomic_load_n(&a->left_seq, __ATOMIC_ACQUIRE);
	if (kern__is_reader(s->k))
		t->v[T_EXIT_PEAK] = a->exit_peak * s->page;
	else if (s->left_seq[slot] != a->left_acked)
		add_left(s, &a->left, t);
}

/* The identity of the slot is read first, and once, so that it is the same in everything that is
 * made from the snapshot. The frequency-weighted counters continue those of the last snapshot. */
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
			s->last_cpu_ns[(size_t)cpu * s->nslots + i] = 0;
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
	s->cpu_ns[i] = t->v[T_CPU];
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
		uint64_t cpu_ns = 0, gone = 0;
		uint32_t i = s->used[at];
		unsigned cpu;

		if (i < JP_SLOT_FIRST)
			continue;
		if (kern__acct(s->k, i)->exits != s->exits[i])
			return true;
		for (cpu = 0; cpu < s->ncpus; cpu++) {
			cpu_ns += kern__sched(s->k, cpu, i)->cpu_ns;
			gone += kern__sched(s->k, cpu, i)->tasks_out;
		}
		if (cpu_ns - s->cpu_ns[i] > TORN_NS || gone != s->gone[i])
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
	const unsigned rested = kern__rested(s->k, s->boot_ns);
	int pass, err;

	if (s->taken) {
		struct totals *before = s->prev;

		s->prev = s->now;
		s->now = before;
		s->taken = false;
	}
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
		totals__clamp(&s->now[i], &s->prev[i], rested);
	}
	s->taken = true;
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
