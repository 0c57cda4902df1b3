// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Goes on with what the programs of another build, or of other settings, have counted. Their maps
 * are pinned, and say by their types what lies where: it is copied by the fields' names.
 *
 * The others count until the end. Ours are attached beside them and count nothing, because no task
 * carries anything for them. When all counts are copied, each task is taken over in one step
 * (bpf/carry.bpf.c). What the others have counted between the two is added at last.
 */
#include "kern/carry.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/clock.h"
#include "base/log.h"
#include "kern/moves.h"

#define PASSES	  16
#define DETACH_US 20000 /* a program may still run so long after its link is closed */
#define KEY_MAX	  64	/* bytes, in hash maps: more than any build has */
#define VALUE_MAX 16384

struct other_map {
	int fd;
	struct bpf_map_info info;
	struct moves value, key;
	char *mem;   /* of arrays */
	char *first; /* elements of the slots that are carried, as they were copied */
};

struct carry {
	struct btf *btf;
	struct other_map map[M_N];
	int link[P_N], flush;
	uint32_t nslots;
	uint32_t *slots; /* that are carried */
	unsigned n;
	unsigned ncommands; /* in the first of M_COMMANDS, each its key and its value */
	char *stats;	    /* theirs, as they were copied */
	bool same_layouts;  /* of cgroups */
};

static size_t step_of(const struct other_map *m)
{
	return (m->info.value_size + 7) / 8 * 8;
}

/* ---- what is there */

/* A field of their control page; NULL: they have none of that name. */
static char *control_field(const struct carry *c, const char *name, int64_t *size)
{
	const struct other_map *m = &c->map[M_CONTROL];
	const struct btf_type *t = btf__type_by_id(c->btf, m->info.btf_value_type_id);
	const struct btf_member *f = t && btf_is_struct(t) ? btf_members(t) : NULL;

	for (int i = 0; f && i < btf_vlen(t); i++, f++) {
		if (strcmp(btf__name_by_offset(c->btf, f->name_off), name))
			continue;
		*size = btf__resolve_size(c->btf, f->type);
		return m->mem + f->offset / 8;
	}
	return NULL;
}

static uint64_t control_number(const struct carry *c, const char *name, uint64_t none)
{
	int64_t size = 0;
	const char *at = control_field(c, name, &size);
	uint64_t v = 0;

	if (!at || size <= 0 || size > (int64_t)sizeof(v))
		return none;
	memcpy(&v, at, (size_t)size);
	return v;
}

static void open_map(const struct kern *k, struct other_map *m, enum kern_map i)
{
	uint32_t len = sizeof(m->info);

	m->fd = kern_open_pin(k, "maps", kern_maps[i].name);
	if (m->fd < 0)
		return;
	if (bpf_obj_get_info_by_fd(m->fd, &m->info, &len))
		kern_close_fd(&m->fd);
	else if (kern_maps[i].mapped)
		m->mem = mmap(NULL, step_of(m) * m->info.max_entries,
			      i == M_CONTROL ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			      m->fd, 0);
	if (m->mem == MAP_FAILED) {
		m->mem = NULL;
		kern_close_fd(&m->fd);
	}
}

static const enum kern_map needed[] = {M_TASKS, M_CGROUPS, M_SLOTS, M_SCHED, M_ACCT, M_FREE};

/* NULL, or why it is of no use. */
static const char *misfit(const struct kern *k, const struct carry *c)
{
	uint64_t abi = control_number(c, "abi", 0);

	if (abi < JP_ABI_FROM || control_number(c, "abi_from", abi) > JP_ABI_VERSION)
		return "its numbers mean other things";
	if (control_number(c, "changing", 0))
		return "another jobprofd was killed while it did that";
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (c->map[needed[i]].fd < 0)
			return "a map is missing";
	if (c->map[M_SCHED].info.max_entries != c->nslots * k->ncpus)
		return "the number of CPUs differs";
	return NULL;
}

struct carry *kern_carry_open(const struct kern *k)
{
	struct carry *c = calloc(1, sizeof(*c));
	const char *why = "it has no types";

	if (!c)
		return NULL;
	for (int i = 0; i < M_N; i++)
		open_map(k, &c->map[i], i);
	for (int i = 0; i < P_N; i++)
		c->link[i] = kern_open_pin(k, "links", kern_progs[i].name);
	c->flush = kern_open_pin(k, "progs", kern_progs[P_FLUSH].name);
	c->nslots = c->map[M_SLOTS].info.max_entries;
	if (c->link[P_EXIT] < 0) { /* no step runs */
		kern_carry_free(c);
		return NULL;
	}
	if (c->map[M_CONTROL].fd >= 0)
		c->btf = btf__load_from_kernel_by_id(c->map[M_CONTROL].info.btf_id);
	if (c->btf)
		why = misfit(k, c);
	if (!why)
		return c;
	log_warn("what another build has counted at %s cannot be taken over: %s; counts of running "
		 "steps are lost",
		 k->pin_dir, why);
	kern_carry_free(c);
	return NULL;
}

void kern_carry_free(struct carry *c)
{
	if (!c)
		return;
	for (int i = 0; i < M_N; i++) {
		struct other_map *m = &c->map[i];

		if (m->mem)
			munmap(m->mem, step_of(m) * m->info.max_entries);
		free(m->first);
		free(m->value.m);
		free(m->key.m);
		kern_close_fd(&m->fd);
	}
	for (int i = 0; i < P_N; i++)
		kern_close_fd(&c->link[i]);
	kern_close_fd(&c->flush);
	btf__free(c->btf);
	free(c->stats);
	free(c->slots);
	free(c);
}

/* ---- which fields are copied */

/* Sets *at, the place of a number in ours, to its place in theirs. */
static bool find_number(const struct moves *s, uint32_t *at, uint32_t bytes)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->m[i].to == *at && s->m[i].bytes == bytes) {
			*at = s->m[i].from;
			return true;
		}
	return false;
}

int kern_carry_tasks(const struct carry *c, const struct btf *ours, struct jp_move to[JP_MOVES],
		     uint32_t *bytes, uint32_t *ready, uint32_t *next_slot)
{
	const struct bpf_map_info *info = &c->map[M_TASKS].info;
	int id = btf__find_by_name_kind(ours, "jp_task", BTF_KIND_STRUCT);
	uint32_t is_ready = *ready;
	struct moves s;
	size_t n = 0;
	bool fits;

	if (id <= 0)
		return -ENOTSUP;
	s = moves__between(ours, (uint32_t)id, c->btf, info->btf_value_type_id);
	fits = !s.unlike && s.n < JP_MOVES && info->value_size >= sizeof(uint64_t) &&
	       find_number(&s, ready, sizeof(uint16_t)) &&
	       find_number(&s, next_slot, sizeof(uint32_t));
	for (size_t i = 0; fits && i < s.n; i++)
		if (s.m[i].to != is_ready) /* set when all else is there */
			to[n++] = (struct jp_move){(__u16)s.m[i].from, (__u16)s.m[i].to,
						   (__u16)s.m[i].bytes};
	*bytes = info->value_size;
	free(s.m);
	return fits ? c->map[M_TASKS].fd : -ENOTSUP;
}

/* Ours and theirs do not count the same events, or not in the same way. */
static bool counts_other_events(const struct kern *k, const struct carry *c)
{
	const struct jp_control *own = k->control;
	int64_t size = 0;
	const char *names = control_field(c, "pmu_name", &size);

	return control_number(c, "pmu_mode", JP_PMU_OFF) != own->pmu_mode || !names ||
	       size != sizeof(own->pmu_name) || memcmp(names, own->pmu_name, sizeof(own->pmu_name));
}

static int plan_map(struct kern *k, struct carry *c, const struct btf *ours, enum kern_map i)
{
	struct other_map *m = &c->map[i];
	struct bpf_map_info own = {};
	uint32_t len = sizeof(own);

	if (m->fd < 0 || k->map[i] < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(k->map[i], &own, &len))
		return -errno;
	m->value = moves__between(ours, own.btf_value_type_id, c->btf, m->info.btf_value_type_id);
	if (own.key_size > sizeof(uint32_t))
		m->key = moves__between(ours, own.btf_key_type_id, c->btf, m->info.btf_key_type_id);
	if (!m->value.unlike && !m->key.unlike && !(i == M_PMU && counts_other_events(k, c)))
		return 0;
	m->value.n = 0; /* nothing is copied */
	k->lost |= kern_maps[i].family;
	return kern_maps[i].family ? 0 : -ENOTSUP;
}

static const enum kern_map hashes[] = {M_JOBS, M_ENVS, M_RANKS, M_COMMANDS, M_PAIRS, M_CGROUPS};
#define HASHES (sizeof(hashes) / sizeof(hashes[0]))

static bool is_cells(enum kern_map i)
{
	return kern_maps[i].mapped &&
	       (kern_maps[i].shape == SHAPE_SLOT || kern_maps[i].shape == SHAPE_CPU_SLOT);
}

static int plan_all(struct kern *k, struct carry *c)
{
	struct btf *ours = kern__types(k);
	int err = ours ? 0 : -errno;

	for (int i = 0; !err && i < M_N; i++)
		if (is_cells(i) || i == M_OWNERS)
			err = plan_map(k, c, ours, i);
	for (size_t i = 0; !err && i < HASHES; i++)
		err = plan_map(k, c, ours, hashes[i]);
	if (!err) {
		int to = btf__find_by_name_kind(ours, "jp_stats", BTF_KIND_STRUCT);
		int from = btf__find_by_name_kind(c->btf, "jp_stats", BTF_KIND_STRUCT);

		if (to > 0 && from > 0)
			c->map[M_CONTROL].value =
				moves__between(ours, (uint32_t)to, c->btf, (uint32_t)from);
	}
	btf__free(ours);
	return err;
}

static void tell_them(const struct carry *c, const char *name, uint32_t v)
{
	int64_t size = 0;
	char *at = control_field(c, name, &size);

	if (at && size == sizeof(v))
		memcpy(at, &v, sizeof(v));
}

/* ---- slots and their counts */

static const char *their_cell(const struct carry *c, enum kern_map m, unsigned cpu, uint32_t slot)
{
	size_t at = kern_maps[m].shape == SHAPE_SLOT ? slot : (size_t)cpu * c->nslots + slot;

	return c->map[m].mem + at * step_of(&c->map[m]);
}

static char *own_cell(const struct kern *k, enum kern_map m, unsigned cpu, uint32_t slot)
{
	size_t at = kern_maps[m].shape == SHAPE_SLOT ? slot : (size_t)cpu * k->nslots + slot;

	return (char *)k->mem[m] + at * kern_maps[m].mapped;
}

static bool is_followed(const struct kern *k, uint32_t hier)
{
	for (unsigned i = 0; i < k->opts.nroots; i++)
		if (k->opts.roots[i].hier == hier)
			return true;
	return false;
}

/* Slots keep their numbers. That of the collector is of a process that has ended. */
static int choose_slots(const struct kern *k, struct carry *c)
{
	c->slots = calloc(c->nslots, sizeof(*c->slots));
	if (!c->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->nslots && i < k->nslots; i++) {
		struct jp_slot s = {};

		moves__copy(&c->map[M_SLOTS].value, &s, their_cell(c, M_SLOTS, 0, i));
		if (i == JP_SLOT_OTHER ||
		    (i >= JP_SLOT_FIRST && s.state != JP_SLOT_FREE && is_followed(k, s.hier)))
			c->slots[c->n++] = i;
	}
	return 0;
}

/* Calls fn for each element of the slots that are carried. */
static void each_cell(struct kern *k, struct carry *c,
		      void (*fn)(struct kern *k, const struct other_map *m, enum kern_map i,
				 unsigned cpu, uint32_t slot, const char *theirs, char *first))
{
	for (int i = 0; i < M_N; i++) {
		unsigned ncpus = kern_maps[i].shape == SHAPE_CPU_SLOT ? k->ncpus : 1;
		char *first = c->map[i].first;

		for (unsigned n = 0; is_cells(i) && first && n < c->n; n++)
			for (unsigned cpu = 0; cpu < ncpus; cpu++, first += step_of(&c->map[i]))
				fn(k, &c->map[i], i, cpu, c->slots[n],
				   their_cell(c, i, cpu, c->slots[n]), first);
	}
}

static void copy_cell(struct kern *k, const struct other_map *m, enum kern_map i, unsigned cpu,
		      uint32_t slot, const char *theirs, char *first)
{
	memcpy(first, theirs, m->info.value_size);
	moves__copy(&m->value, own_cell(k, i, cpu, slot), first);
}

/* While this process runs on a CPU, no switch counts there: what is added to that CPU's element
 * cannot be lost to one. */
static void add_cell(struct kern *k, const struct other_map *m, enum kern_map i, unsigned cpu,
		     uint32_t slot, const char *theirs, char *first)
{
	(void)cpu;
	moves__add(&m->value, own_cell(k, i, (unsigned)sched_getcpu(), slot), first, theirs,
		   i == M_SLOTS);
}

static int copy_cells(struct kern *k, struct carry *c)
{
	int err = choose_slots(k, c);

	for (int i = 0; !err && i < M_N; i++) {
		struct other_map *m = &c->map[i];
		size_t ncpus = kern_maps[i].shape == SHAPE_CPU_SLOT ? k->ncpus : 1;

		if (!is_cells(i) || !m->value.n || !m->mem || !k->mem[i])
			continue;
		m->first = malloc(c->n * ncpus * step_of(m));
		err = m->first ? 0 : -ENOMEM;
	}
	if (!err)
		each_cell(k, c, copy_cell);
	return err;
}

static void add_rest(struct kern *k, struct carry *c)
{
	cpu_set_t all, one;
	int cpu = sched_getcpu();
	int64_t size = 0;

	if (c->stats) /* a step may have found no slot meanwhile */
		moves__add(&c->map[M_CONTROL].value, &k->control->stats, c->stats,
			   control_field(c, "stats", &size), false);

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	sched_getaffinity(0, sizeof(all), &all);
	sched_setaffinity(0, sizeof(one), &one);
	each_cell(k, c, add_cell);
	sched_setaffinity(0, sizeof(all), &all);
}

/* Their programs find no slot any more: what begins from now on is ours. */
static void take_free_slots(const struct carry *c)
{
	uint32_t slot;

	while (!bpf_map_lookup_and_delete_elem(c->map[M_FREE].fd, NULL, &slot))
		;
}

static void queue_free_slots(struct kern *k)
{
	uint32_t slot;

	while (!bpf_map_lookup_and_delete_elem(k->map[M_FREE], NULL, &slot))
		;
	for (slot = JP_SLOT_FIRST; slot < k->nslots; slot++)
		if (k->slots[slot].state == JP_SLOT_FREE)
			bpf_map_update_elem(k->map[M_FREE], NULL, &slot, BPF_ANY);
}

/* ---- other maps */

static void copy_control(struct kern *k, struct carry *c)
{
	int64_t size = 0;
	const char *stats = control_field(c, "stats", &size), *taken, *rested;

	c->stats = stats ? malloc((size_t)size) : NULL;
	if (c->stats)
		moves__copy(&c->map[M_CONTROL].value, &k->control->stats,
			    memcpy(c->stats, stats, (size_t)size));
	taken = control_field(c, "taken", &size);
	if (taken && size == sizeof(k->control->taken))
		memcpy(k->control->taken, taken, sizeof(k->control->taken));
	rested = control_field(c, "rested_ns", &size);
	if (rested && size == sizeof(k->control->rested_ns))
		memcpy(k->control->rested_ns, rested, sizeof(k->control->rested_ns));
	/* by this a journal knows the maps in which its step is counted */
	kern_rest_ended(k, (uint32_t)control_number(c, "resting", 0));
	k->control->born_ns = control_number(c, "born_ns", k->control->born_ns);
	k->control->born_real_ns = control_number(c, "born_real_ns", k->control->born_real_ns);
}

static bool same_components(const struct kern *k, const struct carry *c)
{
	struct jp_component theirs, own;

	if (c->map[M_COMPONENTS].info.value_size != sizeof(own))
		return false;
	for (uint32_t i = 0; i < JP_COMPONENTS; i++)
		if (bpf_map_lookup_elem(c->map[M_COMPONENTS].fd, &i, &theirs) ||
		    bpf_map_lookup_elem(k->map[M_COMPONENTS], &i, &own) ||
		    memcmp(&theirs, &own, sizeof(own)))
			return false;
	return true;
}

/* Directories whose slot is not carried are found by the next walk over the cgroups. The walk also
 * gives its component to an entry that has none here, as the layouts differ. */
static bool keep_cgroup(const struct kern *k, struct jp_cgroup *e, bool same)
{
	if (e->slot == JP_SLOT_OTHER ||
	    (e->slot != JP_SLOT_NONE &&
	     (e->slot >= k->nslots || k->slots[e->slot].state == JP_SLOT_FREE)))
		return false;
	if (!same)
		e->component = 0;
	return true;
}

_Static_assert(sizeof(struct jp_env) <= VALUE_MAX, "VALUE_MAX");

struct entry {
	char key[KEY_MAX], value[VALUE_MAX]; /* theirs */
	char own_key[KEY_MAX], own[VALUE_MAX];
};

/* Calls fn for each entry of their map, whose key and value ours are made of as far as there are
 * the same fields, and says how many there were. goes: the entry is taken out then, so that their
 * programs do not know it any more. */
static uint32_t pass_entries(struct kern *k, struct carry *c, enum kern_map i, bool goes,
			     void (*fn)(struct kern *k, struct carry *c, enum kern_map i,
					struct entry *e))
{
	const struct other_map *m = &c->map[i];
	char next[KEY_MAX];
	struct entry e = {};
	bool more = m->fd >= 0 && k->map[i] >= 0 && m->value.n && m->info.key_size <= KEY_MAX &&
		    m->info.value_size <= VALUE_MAX && !bpf_map_get_next_key(m->fd, NULL, next);
	uint32_t n;

	for (n = 0; more && n < 2 * m->info.max_entries; n++) {
		memcpy(e.key, next, m->info.key_size);
		if (!bpf_map_lookup_elem(m->fd, e.key, e.value)) {
			if (m->key.n)
				moves__copy(&m->key, e.own_key, e.key);
			else
				memcpy(e.own_key, e.key, m->info.key_size);
			moves__copy(&m->value, e.own, e.value);
			fn(k, c, i, &e);
		}
		more = !bpf_map_get_next_key(m->fd, e.key, next);
		if (goes)
			bpf_map_delete_elem(m->fd, e.key);
	}
	return n;
}

/* Accounts of programs' names are compared later with what they were now. */
static void remember(struct carry *c, const struct entry *e)
{
	struct other_map *m = &c->map[M_COMMANDS];
	size_t step = m->info.key_size + m->info.value_size;
	char *to;

	if (!m->first)
		m->first = calloc(m->info.max_entries, step);
	if (!m->first || c->ncommands == m->info.max_entries)
		return;
	to = m->first + c->ncommands++ * step;
	memcpy(to, e->key, m->info.key_size);
	memcpy(to + m->info.key_size, e->value, m->info.value_size);
}

static void copy_entry(struct kern *k, struct carry *c, enum kern_map i, struct entry *e)
{
	if (i != M_CGROUPS || keep_cgroup(k, (struct jp_cgroup *)e->own, c->same_layouts))
		bpf_map_update_elem(k->map[i], e->own_key, e->own, BPF_NOEXIST);
	if (i == M_COMMANDS)
		remember(c, e);
}

static void add_command(struct kern *k, struct carry *c, enum kern_map i, struct entry *e)
{
	const struct other_map *m = &c->map[i];
	size_t step = m->info.key_size + m->info.value_size;
	const char *first = m->first;
	unsigned n = 0;

	while (first && n < c->ncommands && memcmp(first, e->key, m->info.key_size))
		n++, first += step;
	if (!first || n == c->ncommands) {
		bpf_map_update_elem(k->map[i], e->own_key, e->own, BPF_NOEXIST);
		return;
	}
	first += m->info.key_size;
	if (!memcmp(first, e->value, m->info.value_size) ||
	    bpf_map_lookup_elem(k->map[i], e->own_key, e->own))
		return;
	moves__add(&m->value, e->own, first, e->value, false);
	bpf_map_update_elem(k->map[i], e->own_key, e->own, BPF_EXIST);
}

/* Until a pass finds none: a directory whose parent has not been moved yet gets its entry from
 * their program, which may put it behind the pass. */
static void move_cgroups(struct kern *k, struct carry *c)
{
	for (int i = 0; i < PASSES && pass_entries(k, c, M_CGROUPS, true, copy_entry); i++)
		;
}

/* Requests that are under way: the place of each is found by its address. */
static void copy_owners(struct kern *k, const struct carry *c)
{
	const struct other_map *m = &c->map[M_OWNERS];

	for (uint32_t i = 0;
	     m->mem && k->mem[M_OWNERS] && m->info.max_entries == k->blk_sets && i < k->blk_sets;
	     i++)
		moves__copy(&m->value, (struct jp_blk_set *)k->mem[M_OWNERS] + i,
			    m->mem + i * step_of(m));
}

/* What ran until now was in no slot of ours. */
static void forget_rings(struct kern *k)
{
	struct jp_ring *r = k->mem[M_RINGS];

	for (unsigned cpu = 0; r && cpu < k->ncpus; cpu++)
		for (int i = 0; i < JP_RAN; i++)
			if (r[cpu].ran[i].slot == JP_SLOT_NONE)
				r[cpu].ran[i].slot = JP_RAN_UNKNOWN;
}

/* ---- the change of hands */

/* How many tasks a pass has taken over, or -errno. */
static int take_tasks(struct kern *k)
{
	int fd = kern_iterate(k->prog[P_CARRY]), n = 0;
	uint32_t one[256];
	ssize_t got = -1;

	if (fd < 0)
		return fd;
	while (got) {
		got = read(fd, one, sizeof(one));
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			break;
		n += got > 0 ? (int)(got / (ssize_t)sizeof(*one)) : 0;
	}
	n = got < 0 ? -errno : n;
	close(fd);
	return n;
}

/* Until a pass finds none: a task may have begun behind it. */
static int take_all_tasks(struct kern *k)
{
	int all = 0, n = 1;

	for (int i = 0; n > 0 && i < PASSES; i++) {
		n = take_tasks(k);
		all += n > 0 ? n : 0;
	}
	return n < 0 ? n : all;
}

/* Their counters and ours are read one after the other: from then on a CPU counts for the slot of
 * the task that it runs. */
static void flush_events(struct kern *k, const struct carry *c)
{
	for (unsigned cpu = 0; k->pmu.mode == JP_PMU_EXACT && cpu < k->ncpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, o, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

		kern_pmu_read_cpu(k, cpu);
		if (c->flush >= 0)
			bpf_prog_test_run_opts(c->flush, &o);
	}
}

/* ---- tasks whose birth they have not seen: bpf/task.bpf.h */

static bool has_unseen(const struct carry *c)
{
	return control_number(c, "unseen", 0);
}

/* What jp_gone has; goes: what has gone from theirs, goes from ours. */
static void copy_gone(struct kern *k, const struct carry *c, bool goes)
{
	const int theirs = c->map[M_GONE].fd, ours = k->map[M_GONE];
	uint64_t key, last, *from = NULL;
	uint32_t slot;

	while (theirs >= 0 && !bpf_map_get_next_key(goes ? ours : theirs, from, &key)) {
		bool there = !bpf_map_lookup_elem(theirs, &key, &slot);

		if (goes && !there && !bpf_map_delete_elem(ours, &key))
			__atomic_fetch_sub(&k->control->noted, 1, __ATOMIC_RELAXED);
		else if (!goes && there && !bpf_map_update_elem(ours, &key, &slot, BPF_NOEXIST))
			__atomic_fetch_add(&k->control->noted, 1, __ATOMIC_RELAXED);
		last = key;
		from = &last;
	}
}

/*
 * They carry nothing, and count when they are freed: from now on here. Who has ended, and carried
 * something for the others, must carry it here, or would count twice: what could not be taken over,
 * as it was reaped, is freed within DETACH_US.
 */
static int take_unseen(struct kern *k, struct carry *c)
{
	struct jp_control *own = k->control;
	int err;

	for (uint32_t i = JP_SLOT_FIRST; i < k->nslots; i++)
		k->slots[i].flags |= k->slots[i].state == JP_SLOT_FREE ? 0 : JP_SLOT_F_TAKEN;
	own->descent |= (uint32_t)control_number(c, "descent", 0);
	tell_them(c, "descent", 0); /* nothing more comes to their jp_gone */
	usleep(DETACH_US);
	copy_gone(k, c, false);
	take_tasks(k);
	__atomic_store_n(&own->unseen, 1, __ATOMIC_SEQ_CST);
	tell_them(c, "unseen", 0);
	own->resting &= ~JP_REST_BIRTHS;
	err = kern_attach_one(k, P_FORK);
	copy_gone(k, c, true);
	move_cgroups(k, c);
	take_tasks(k);
	kern__sweep(k);
	return err;
}

static int copy_all(struct kern *k, struct carry *c)
{
	int err;

	c->same_layouts = same_components(k, c);
	/* From now on their maps and ours are whole only together: should this process be killed,
	 * the next one has to say that counts are lost. */
	tell_them(c, "changing", 1);
	copy_control(k, c);
	take_free_slots(c);
	err = copy_cells(k, c);
	if (err)
		return err;
	queue_free_slots(k);
	copy_owners(k, c);
	for (size_t i = 0; i < HASHES; i++)
		if (hashes[i] == M_CGROUPS && !has_unseen(c))
			move_cgroups(k, c);
		else
			pass_entries(k, c, hashes[i], false, copy_entry);
	__atomic_fetch_add(&k->control->stats.slots_changed, 1, __ATOMIC_RELEASE);
	k->used_at = k->shared_at = 0; /* that number was another one before */
	return 0;
}

/* Those that live have been taken over; one that is just ending has its last switch yet. */
static void end_theirs(struct kern *k, struct carry *c)
{
	kern__unpin(k->pin_dir);
	for (int i = P_N; i-- > 0;)
		kern_close_fd(&c->link[i]);
	usleep(DETACH_US);
}

int kern_carry_run(struct kern *k, struct carry *c)
{
	uint64_t from;
	int err = plan_all(k, c), n = 0;

	if (err)
		return kern_fail(err, "maps of another build do not fit: %s", strerror(-err));
	kern__track_self(k);
	kern__calibrate(k);
	/* until take_unseen() they count who is born: it must not carry ours */
	if (has_unseen(c))
		k->control->resting |= JP_REST_BIRTHS;
	err = kern__attach(k);
	if (!err && c->link[P_FREED] >= 0) /* they may not have seen the last switch of one */
		err = kern_attach_one(k, P_FREED);
	if (err)
		return err;
	from = clock__boot_ns();
	err = copy_all(k, c);
	if (!err) {
		n = take_all_tasks(k);
		err = n < 0 ? n : 0;
	}
	if (!err && has_unseen(c))
		err = take_unseen(k, c);
	if (err)
		return kern_fail(err, "cannot take over what is counted: %s", strerror(-err));
	flush_events(k, c);
	forget_rings(k);
	log_debug("%d tasks taken over from another build after %.1f ms", n,
		  (double)(clock__boot_ns() - from) / 1e6);
	end_theirs(k, c);
	take_tasks(k);
	add_rest(k, c);
	pass_entries(k, c, M_COMMANDS, false, add_command);
	kern_close_fd(&k->prog[P_CARRY]); /* it holds their map */
	log_info(
		"goes on with the counts of another build or of other settings: %u slots, %d tasks",
		c->n ? c->n - 1 : 0, n);
	return 0;
}
