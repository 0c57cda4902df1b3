/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps as memory: they are mapped, and the counters of a slot on a CPU are found in them. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kern/internal.h"

/* ---- what steps used under their programs' names: the map is read as a whole */

#define BATCH 256

static int make_room(struct kern_commands *c)
{
	unsigned max = c->max + BATCH;
	struct jp_command_key *key = realloc(c->key, max * sizeof(*key));
	struct jp_command *use;

	if (!key)
		return -ENOMEM;
	c->key = key;
	use = realloc(c->use, max * sizeof(*use));
	if (!use)
		return -ENOMEM;
	c->use = use;
	c->max = max;
	return 0;
}

int kern__commands(const struct kern *k, struct kern_commands *c)
{
	uint32_t at = 0, n = BATCH;
	bool first = true, last = false;
	int err = 0;

	for (c->n = 0; !err && !last; c->n += err ? 0 : n) {
		n = BATCH;
		err = c->max - c->n < BATCH ? make_room(c) : 0;
		if (err)
			break;
		if (bpf_map_lookup_batch(k->map[M_COMMANDS], first ? NULL : &at, &at, c->key + c->n,
					 c->use + c->n, &n, NULL)) {
			last = errno == ENOENT;
			err = last ? 0 : -errno;
		}
		first = false;
	}
	return err;
}

void kern__commands_free(struct kern_commands *c)
{
	free(c->key);
	free(c->use);
	*c = (struct kern_commands){0};
}

void kern_forget_commands(struct kern *k, uint32_t step)
{
	struct kern_commands c = {0};
	unsigned i;

	if (!kern__commands(k, &c))
		for (i = 0; i < c.n; i++)
			if (c.key[i].step == step)
				bpf_map_delete_elem(k->map[M_COMMANDS], &c.key[i]);
	kern__commands_free(&c);
}

/* ---- counters are mapped, and found */

static void *map_pages(int fd, size_t len, bool ro)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, (len + page - 1) / page * page,
		       ro ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* a child that is left behind must not keep the maps */
	madvise(p, len, MADV_DONTFORK);
	return p;
}

static size_t map_bytes(const struct kern *k, enum kern_map m)
{
	return (size_t)(m == M_OWNERS ? k->blk_sets : kern_map_entries(k, m)) * kern_maps[m].mapped;
}

unsigned kern_entries_of(int fd)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.max_entries;
}

/* Maps the counters; of maps that were made by another process the control page says how many. */
int kern_mmap(struct kern *k)
{
	int i;

	for (i = 0; i < M_N; i++) {
		if (!kern_maps[i].mapped || k->map[i] < 0)
			continue;
		if (i == M_OWNERS)
			/* the size that the process which made it chose */
			k->blk_sets = kern_entries_of(k->map[i]);
		k->mem[i] = map_pages(k->map[i], map_bytes(k, i), k->readonly);
		if (!k->mem[i])
			return kern_fail(-errno, "cannot map %s: %s", kern_maps[i].name,
					 strerror(errno));
		if (i != M_CONTROL)
			continue;
		k->control = k->mem[M_CONTROL];
		if (k->nslots)
			continue;
		if (k->control->abi != JP_ABI_VERSION)
			return kern_fail(-EPROTO,
					 "%s was made by another version of jobprof (ABI %u, "
					 "this is %u)",
					 k->pin_dir, k->control->abi, JP_ABI_VERSION);
		k->nslots = k->control->nslots;
		k->ncpus = k->control->ncpus;
		k->families = k->control->families;
	}
	k->slots = k->mem[M_SLOTS];
	k->sched = k->mem[M_SCHED];
	k->acct = k->mem[M_ACCT];
	k->released = calloc(k->nslots, sizeof(*k->released));
	k->unheld_ns = calloc(k->nslots, sizeof(*k->unheld_ns));
	k->missed_ns = calloc(k->nslots, sizeof(*k->missed_ns));
	k->used = calloc(k->nslots, sizeof(*k->used));
	if (!k->released || !k->unheld_ns || !k->missed_ns || !k->used)
		return kern_fail(-ENOMEM, "out of memory");
	return 0;
}

void kern_munmap(struct kern *k)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int i;

	for (i = M_N; i-- > 0;) {
		if (k->mem[i])
			munmap(k->mem[i], (map_bytes(k, i) + page - 1) / page * page);
		k->mem[i] = NULL;
	}
	k->control = NULL, k->slots = NULL, k->sched = NULL, k->acct = NULL;
	free(k->released), k->released = NULL, k->nreleased = 0;
	free(k->unheld_ns), k->unheld_ns = NULL;
	free(k->missed_ns), k->missed_ns = NULL;
	free(k->used), k->used = NULL;
	k->used_at = 0;
}

const struct jp_control *kern__control(const struct kern *k)
{
	return k->control;
}

const struct jp_slot *kern__slot(const struct kern *k, uint32_t slot)
{
	return slot < k->nslots ? &k->slots[slot] : NULL;
}

int kern__env(const struct kern *k, uint32_t step, struct jp_env *env)
{
	return bpf_map_lookup_elem(k->map[M_ENVS], &step, env) ? -errno : 0;
}

unsigned kern__nslots(const struct kern *k)
{
	return k->nslots;
}

void kern__ack_left(struct kern *k, uint32_t slot, uint64_t seq)
{
	__atomic_store_n(&k->acct[slot].left_acked, seq, __ATOMIC_RELEASE);
}

bool kern__is_reader(const struct kern *k)
{
	return k->readonly;
}

uint64_t kern__slots_changed(const struct kern *k)
{
	return __atomic_load_n(&k->control->stats.slots_changed, __ATOMIC_ACQUIRE);
}

const uint32_t *kern__used(struct kern *k, unsigned *n)
{
	uint64_t at = kern__slots_changed(k) + 1;
	uint32_t i;

	if (at != k->used_at) {
		k->nused = 0;
		for (i = 0; i < k->nslots; i++)
			if (k->slots[i].state != JP_SLOT_FREE)
				k->used[k->nused++] = i;
		k->used_at = at;
	}
	*n = k->nused;
	return k->used;
}

struct slots kern__slots(struct kern *k)
{
	struct slots s = {.of = k->slots, .n = k->nslots};

	s.used = kern__used(k, &s.nused);
	return s;
}

unsigned kern__ncpus(const struct kern *k)
{
	return k->ncpus;
}

const struct jp_sched *kern__sched(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return &k->sched[(size_t)cpu * k->nslots + slot];
}

/* An element of a map that is there only with its family. */
static const void *element(const struct kern *k, enum kern_map m, unsigned cpu, uint32_t slot)
{
	size_t at = kern_maps[m].shape == SHAPE_SLOT ? slot : (size_t)cpu * k->nslots + slot;

	return k->mem[m] ? (const char *)k->mem[m] + at * kern_maps[m].mapped : NULL;
}

const struct jp_lat *kern__lat(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_LAT, cpu, slot);
}

const struct jp_burst_use *kern__burst_use(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_BURST_USE, cpu, slot);
}

const struct jp_wait *kern__wait(const struct kern *k, uint32_t slot)
{
	return element(k, M_WAIT, 0, slot);
}

const struct jp_culprits *kern__culprits(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_CULPRITS, cpu, slot);
}

const struct jp_samples *kern__samples(const struct kern *k, uint32_t slot)
{
	return element(k, M_SAMPLES, 0, slot);
}

const struct jp_at_once *kern__at_once(const struct kern *k, uint32_t slot)
{
	return element(k, M_AT_ONCE, 0, slot);
}

const struct jp_blk *kern__blk(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_BLK, cpu, slot);
}

const struct jp_blk_lat *kern__blk_lat(const struct kern *k, uint32_t slot)
{
	return element(k, M_BLK_LAT, 0, slot);
}

const struct jp_net *kern__net(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_NET, cpu, slot);
}

const struct jp_files *kern__files(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_FILES, cpu, slot);
}

const struct jp_pmu *kern__pmu(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_PMU, cpu, slot);
}

const struct jp_pmu_cpu *kern__pmu_cpu(const struct kern *k, unsigned cpu)
{
	const struct jp_pmu_cpu *c = k->mem[M_PMU_CPU];

	return c ? &c[cpu] : NULL;
}

void kern__elements(const struct kern *k, uint32_t slot,
		    void (*fn)(const char *map, int cpu, const void *at, void *ctx), void *ctx)
{
	for (int m = 0; m < M_N; m++) {
		bool is_per_cpu = kern_maps[m].shape == SHAPE_CPU_SLOT;

		if (!k->mem[m] || m == M_SLOTS || (!is_per_cpu && kern_maps[m].shape != SHAPE_SLOT))
			continue;
		for (unsigned cpu = 0; cpu < (is_per_cpu ? k->ncpus : 1); cpu++)
			fn(kern_maps[m].name, is_per_cpu ? (int)cpu : -1, element(k, m, cpu, slot),
			   ctx);
	}
}

const struct jp_acct *kern__acct(const struct kern *k, uint32_t slot)
{
	return &k->acct[slot];
}

bool kern__attached(const struct kern *k)
{
	return k->link[P_RMDIR] >= 0; /* the last of those that never rest */
}
