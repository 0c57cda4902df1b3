/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns stacks into nodes of the call tree, and the counts of nodes into rows. */
#include "daemon/record/step_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id_table.h"
#include "base/room.h"
#include "base/utf8.h"
#include "daemon/lookup/unwinding.h"
#include "daemon/record/call_tree.h"
#include "daemon/record/step_tables.h"
#include "identity/kallsyms.h"

/* Zero is an empty one. */
struct leaf_cache {
	struct leaf_generation {
		struct id_table at;
		uint64_t *nodes;
		unsigned n;
	} now, before;
};

/* ---- the nodes of stacks that were seen, of which the kernel sends a number alone when it meets
 * them again. Two generations: when the newer one is full, the older one goes; what is found in the
 * older one is put into the newer one */

#define GENERATION 16384 /* stacks: 700 KiB with the table */

static void free_generation(struct leaf_generation *g)
{
	id_table__free(&g->at);
	free(g->nodes);
	*g = (struct leaf_generation){};
}

static uint64_t find_leaf(const struct leaf_generation *g, uint64_t id)
{
	uint32_t *at = id_table__find(&g->at, id);

	return at ? g->nodes[*at] : 0;
}

/* Adds one that is not there. Without memory it is not kept. */
static void leaf_cache_add(struct leaf_cache *c, uint64_t id, uint64_t node)
{
	struct leaf_generation *g = &c->now;

	if (g->n == GENERATION) {
		free_generation(&c->before);
		c->before = *g;
		*g = (struct leaf_generation){};
	}
	if (room__grow(&g->nodes, g->n, 1, sizeof(*g->nodes)))
		return;
	g->nodes[g->n] = node;
	if (id_table__add(&g->at, id, g->n))
		g->n++;
}

/* Returns the node of a stack; 0: the stack was not seen, or is forgotten. */
static uint64_t leaf_cache_find(struct leaf_cache *c, uint64_t id)
{
	uint64_t node = find_leaf(&c->now, id);

	if (node)
		return node;
	node = find_leaf(&c->before, id);
	if (node)
		leaf_cache_add(c, id, node);
	return node;
}

static void leaf_cache_free(struct leaf_cache *c)
{
	free_generation(&c->now);
	free_generation(&c->before);
}

#define WINDOW_NS   (10 * NSEC_PER_SEC) /* rows are no closer than that */
#define PROGRAMS    1024		/* processes whose maps are kept: 13 MB at most */
#define HELD	    1024		/* stacks that wait for the map of their process */
#define OF_COUNT    128			/* bytes, about */
#define READ_NS	    (1 * NSEC_PER_SEC)	/* between two readings of a process's map */
#define CALLERS_NS  (64 * NSEC_PER_SEC) /* the same at most, where only callers are unknown */
#define ON_CPU	    "[on CPU]"
#define NOT_TAKEN   "[stack not taken]"
#define NOT_MAPPED  "[no file]"
#define NOT_KNOWN   "[unknown]"
#define FROM_KERNEL "[kernel] "

/* Attributes and tables name them so. */
static const char *const causes[JP_CAUSES] = {
	[JP_CAUSE_THROTTLED] = "[throttled]",
	[JP_CAUSE_DISK] = "[blocked: disk]",
	[JP_CAUSE_FAULT] = "[blocked: page fault]",
	[JP_CAUSE_NET_FS] = "[blocked: network file system]",
	[JP_CAUSE_KERNEL] = "[blocked: kernel]",
	[JP_CAUSE_FUTEX] = "[blocked: locks]",
	[JP_CAUSE_PIPE] = "[blocked: pipe]",
	[JP_CAUSE_SOCKET] = "[blocked: socket]",
	[JP_CAUSE_POLL] = "[blocked: poll]",
	[JP_CAUSE_SLEEP] = "[blocked: sleep]",
	[JP_CAUSE_CHILD] = "[blocked: child]",
	[JP_CAUSE_SIGNAL] = "[blocked: signal]",
	[JP_CAUSE_OTHER] = "[blocked: other]",
};

/* Code of a program that is mapped. */
struct code {
	struct code_range range;
	const char *name;
};

struct program {
	uint32_t tgid, exec;
	uint64_t start_ns; /* 0: not known yet */
	bool asking, tried;
	uint64_t asked_ns;
	uint64_t callers_ns; /* so long after it the map is read for callers */
	struct code *code;
	unsigned ncode;
};

struct held {
	struct jp_stack_key key;
	struct jp_stack stack;
	uint64_t since_ns;
};

struct count {
	uint32_t slot;
	uint64_t node;
	uint64_t n, ns;
	bool in_frame;
};

struct step_stacks {
	struct detail detail;
	struct call_tree *tree;
	struct id_table program_of, count_of;
	struct leaf_cache leaves;
	struct program *programs;
	struct held *held;
	struct count *counts;
	unsigned nprograms, nheld, ncounts;
	uint64_t sample_ns; /* that a sample stands for */
	uint64_t next_ns, lost, cut_maps;
};

static struct step_stacks *stacks_of(struct step *s, const struct step_env *env)
{
	uint64_t age_ms = (clock__boot_ns() - s->start_boot_ns) / NSEC_PER_MSEC;

	if (s->stacks)
		return s->stacks;
	kallsyms__prepare();
	s->stacks = calloc(1, sizeof(*s->stacks));
	if (!s->stacks)
		return NULL;
	s->stacks->sample_ns =
		NSEC_PER_SEC / SAMPLE_HZ * (kern__unwinds(env->k) ? JP_COPY_EVERY : 1);
	detail__begin(&s->stacks->detail, s->uid_known ? s->uid : (uid_t)-1);
	/* an earlier daemon had fewer */
	s->stacks->tree = call_tree__new((unsigned)age_ms, &s->stacks->detail);
	if (!s->stacks->tree) {
		detail__end(&s->stacks->detail);
		free(s->stacks);
		s->stacks = NULL;
	}
	return s->stacks;
}

void step_stacks__free(struct step_stacks *st)
{
	if (!st)
		return;
	call_tree__free(st->tree);
	for (unsigned i = 0; i < st->nprograms; i++)
		free(st->programs[i].code);
	id_table__free(&st->program_of);
	id_table__free(&st->count_of);
	leaf_cache_free(&st->leaves);
	free(st->programs);
	free(st->held);
	free(st->counts);
	detail__end(&st->detail);
	free(st);
}

static uint64_t id_of_program(uint32_t tgid, uint32_t exec)
{
	return id__mix(id__mix(1, tgid), exec);
}

static void free_code(struct step_stacks *st, struct program *p)
{
	detail__give(&st->detail, p->ncode * sizeof(*p->code));
	free(p->code);
	p->code = NULL;
	p->ncode = 0;
}

/* All but those whose maps are being read: processes that still run are asked about again. */
static void forget_programs(struct step_stacks *st)
{
	unsigned n = 0;

	id_table__free(&st->program_of);
	for (unsigned i = 0; i < st->nprograms; i++) {
		struct program *p = &st->programs[i];

		if (p->asking && id_table__add(&st->program_of, id_of_program(p->tgid, p->exec), n))
			st->programs[n++] = *p;
		else
			free_code(st, p);
	}
	st->nprograms = n;
}

/* The pointer is good until the next call. */
static struct program *program_of(struct step_stacks *st, uint32_t tgid, uint32_t exec)
{
	uint64_t id = id_of_program(tgid, exec);
	uint32_t *at = id_table__find(&st->program_of, id);
	struct program *p;

	if (at)
		return &st->programs[*at];
	if (st->nprograms == PROGRAMS)
		forget_programs(st);
	if (!st->programs)
		st->programs = malloc(PROGRAMS * sizeof(*p));
	if (!st->programs || st->nprograms == PROGRAMS)
		return NULL;
	if (!id_table__add(&st->program_of, id, st->nprograms))
		return NULL;
	p = &st->programs[st->nprograms++];
	*p = (struct program){.tgid = tgid, .exec = exec, .callers_ns = READ_NS};
	return p;
}

static void ask_maps(struct step *s, const struct step_env *env, uint32_t slot, struct program *p)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	struct lookup q = {.kind = LOOKUP_MAPS,
			   .slot = s->slot,
			   .gen = s->gen,
			   .of = slot,
			   .job_id = p->exec,
			   .pid = (pid_t)p->tgid,
			   .uid = info ? info->uid : (uid_t)-1};

	p->asked_ns = clock__boot_ns();
	p->asking = !lookups__ask(env->lookups, &q);
	p->tried |= !p->asking;
}

void step_stacks__process(struct step *s, const struct step_env *env, uint32_t slot, uint32_t tgid,
			  uint32_t exec)
{
	struct step_stacks *st = stacks_of(s, env);
	struct program *p = st ? program_of(st, tgid, exec) : NULL;

	if (p && !p->asking && !p->tried)
		ask_maps(s, env, slot, p);
}

static const struct code *code_at(const struct program *p, uint64_t addr)
{
	return p->ncode ? bsearch(&addr, p->code, p->ncode, sizeof(*p->code), code_range__compare)
			: NULL;
}

/* How many frames are the program's: what is not code was no frame pointer. */
static unsigned user_frames(const struct program *p, const struct jp_stack *s)
{
	unsigned n = 0;

	/* a caller goes on behind its call */
	while (n < s->nuser && n < JP_STACK_USER && (!n || code_at(p, s->user[n] - 1)))
		n++;
	return n;
}

/* Frames of the program, the outermost first. */
static uint64_t user_nodes(struct step_stacks *st, const struct program *p,
			   const struct jp_stack *s, uint64_t node)
{
	unsigned n = user_frames(p, s);

	while (node && n-- > 0) {
		uint64_t addr = s->user[n] - (n > 0);
		const struct code *c = code_at(p, addr);

		node = c ? call_tree__frame(st->tree, node, c->name,
					    code_range__offset(&c->range, addr))
			 : call_tree__frame(st->tree, node, p->ncode ? NOT_MAPPED : NOT_KNOWN, 0);
	}
	return node;
}

/* Frames of the kernel. Those of taking the stack are left out. */
static uint64_t kernel_nodes(struct step_stacks *st, const struct jp_stack *s, bool blocked,
			     uint64_t node)
{
	unsigned n = s->nkernel < JP_STACK_KERNEL ? s->nkernel : JP_STACK_KERNEL, first = 0, i;
	char name[160];

	for (i = 0; blocked && i < n; i++) {
		const char *f = kallsyms__name(s->kernel[i]);

		if (f && !strcmp(f, "__schedule"))
			first = i + 1;
	}
	for (i = n; node && i-- > first;) {
		const char *f = kallsyms__name(s->kernel[i] - (i > 0));

		snprintf(name, sizeof(name), FROM_KERNEL "%.140s", f ? f : "");
		node = call_tree__frame(st->tree, node, name, 0);
	}
	return node;
}

static const char *root_name(uint32_t cause)
{
	return cause < JP_CAUSES ? causes[cause] : ON_CPU;
}

static uint64_t make_leaf(struct step_stacks *st, const struct program *p,
			  const struct jp_stack_key *key, const struct jp_stack *s)
{
	uint64_t node = call_tree__frame(st->tree, 0, root_name(key->cause), 0), inner;

	if (!s->nkernel && !s->nuser)
		return call_tree__frame(st->tree, node, NOT_TAKEN, 0);
	inner = user_nodes(st, p, s, node);
	inner = inner ? kernel_nodes(st, s, key->cause < JP_CAUSES, inner) : 0;
	return inner ? inner : node;
}

static uint64_t id_of(const struct jp_stack_key *key)
{
	uint64_t id = id__mix(id__mix(key->hash, key->start_ns), key->cause);

	return id__mix(id__mix(id, key->tgid), key->exec);
}

/* A sample with a caller that the map does not have: such code was mapped later, or the address is
 * not code. */
static bool lacks_callers(const struct program *p, const struct jp_stack_key *key,
			  const struct jp_stack *s)
{
	return key->cause >= JP_CAUSES && user_frames(p, s) < s->nuser;
}

/* A sample in code that the map does not have: the map may have it when it is read again. The stack
 * of a gap comes once, and only its number after that. */
static bool may_be_mapped(const struct program *p, const struct jp_stack_key *key,
			  const struct jp_stack *s)
{
	return key->cause >= JP_CAUSES && s->nuser && !code_at(p, s->user[0]);
}

static uint64_t leaf_of(struct step_stacks *st, const struct program *p,
			const struct jp_stack_key *key, const struct jp_stack *s)
{
	uint64_t id = id_of(key), leaf = key->hash ? leaf_cache_find(&st->leaves, id) : 0;

	if (leaf)
		return leaf;
	leaf = make_leaf(st, p, key, s);
	if (leaf && (s->nkernel || s->nuser) && !may_be_mapped(p, key, s) &&
	    !lacks_callers(p, key, s))
		leaf_cache_add(&st->leaves, id, leaf);
	return leaf;
}

static void count_stack(struct step_stacks *st, const struct jp_stack_key *key, uint64_t node,
			const struct jp_stack *s)
{
	uint64_t id = id__mix(id__mix(1, key->slot), node);
	uint32_t *at = id_table__find(&st->count_of, id);
	struct count *c = at ? &st->counts[*at] : NULL;

	if (!s->n)
		return;
	if (!c && node && detail__take(&st->detail, OF_COUNT)) {
		if (!room__grow(&st->counts, st->ncounts, 1, sizeof(*c)) &&
		    id_table__add(&st->count_of, id, st->ncounts)) {
			c = &st->counts[st->ncounts++];
			*c = (struct count){.slot = key->slot, .node = node};
		}
	}
	if (!c) {
		st->lost += s->n;
		return;
	}
	c->n += s->n;
	c->ns += key->cause < JP_CAUSES ? s->ns : s->n * st->sample_ns;
}

static bool hold(struct step_stacks *st, const struct jp_stack_key *key, const struct jp_stack *s)
{
	if (st->nheld == HELD || room__grow(&st->held, st->nheld, 1, sizeof(*st->held)))
		return false;
	st->held[st->nheld++] = (struct held){*key, *s, clock__boot_ns()};
	return true;
}

/* The map may tell more about the stack when it is read (again): there is no map yet, or the
 * innermost frame is in code that was mapped later. */
static bool needs_map(const struct program *p, const struct jp_stack *s, uint64_t since_ns)
{
	if (!s->nuser || (p->tried && !p->asking && p->asked_ns >= since_ns))
		return false;
	return !p->tried || !code_at(p, s->user[0]);
}

/* Programs without frame pointers always lack callers: their maps are read less and less often. */
static void look_for_callers(struct step *s, const struct step_env *env, uint32_t slot,
			     struct program *p)
{
	if (!p->tried || p->asking || clock__boot_ns() < p->asked_ns + p->callers_ns)
		return;
	ask_maps(s, env, slot, p);
	if (p->callers_ns < CALLERS_NS)
		p->callers_ns *= 2;
}

/* force: there is no time to ask. */
static void add_stack(struct step *s, const struct step_env *env, const struct jp_stack_key *key,
		      const struct jp_stack *stack, uint64_t since_ns, bool force)
{
	struct step_stacks *st = s->stacks;
	static const struct program none;
	struct program *p = program_of(st, key->tgid, key->exec);

	if (p && p->start_ns && p->start_ns != key->start_ns) {
		free_code(st, p); /* another process has the number */
		*p = (struct program){.tgid = key->tgid, .exec = key->exec, .callers_ns = READ_NS};
	}
	if (p)
		p->start_ns = key->start_ns;
	if (!force && p && needs_map(p, stack, since_ns) && hold(st, key, stack)) {
		st->held[st->nheld - 1].since_ns = since_ns;
		if (!p->asking && (!p->tried || clock__boot_ns() > p->asked_ns + READ_NS))
			ask_maps(s, env, key->slot, p);
		if (p->asking || (needs_map(p, stack, since_ns) && may_be_mapped(p, key, stack)))
			return;
		st->nheld--; /* it cannot be asked about, or was just now */
	}
	count_stack(st, key, leaf_of(st, p ? p : &none, key, stack), stack);
	if (!force && p && lacks_callers(p, key, stack))
		look_for_callers(s, env, key->slot, p);
}

static void add_held(struct step *s, const struct step_env *env, bool force)
{
	struct step_stacks *st = s->stacks;
	struct held *held = st->held;
	unsigned n = st->nheld;

	st->held = NULL;
	st->nheld = 0;
	for (unsigned i = 0; i < n; i++)
		add_stack(s, env, &held[i].key, &held[i].stack, held[i].since_ns, force);
	free(held);
}

static struct step *step_of(const struct step_env *env, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	struct step *s;

	for (s = info ? *env->steps : NULL; s; s = s->next)
		if (s->slot == info->step && s->state <= STEP_ENDING)
			return s;
	return NULL;
}

static void take_stack(void *ctx, const struct jp_stack_key *key, const struct jp_stack *stack)
{
	const struct step_env *env = ctx;
	struct step *s = step_of(env, key->slot);

	if (s && s->families & FAM_STACK && stacks_of(s, env))
		add_stack(s, env, key, stack, clock__boot_ns(), false);
}

void step_stacks__take(const struct step_env *env)
{
	for (struct step *s = *env->steps; s; s = s->next)
		if (s->stacks)
			add_held(s, env, false);
	kern__take_stacks(env->k, take_stack, (void *)env);
}

void step_stacks__unwound(const struct step_env *env)
{
	unwinding__take(env->unwinding, take_stack, (void *)env);
}

void step_stacks__settle(const struct step_env *env)
{
	unwinding__settle(env->unwinding, take_stack, (void *)env);
}

void step_stacks__answered(struct step *s, const struct step_env *env, const struct lookup *q,
			   const struct lookup_answer *a)
{
	struct step_stacks *st = s->stacks;
	struct program *p = st ? program_of(st, (uint32_t)q->pid, q->job_id) : NULL;
	unsigned replaced;
	struct code *code = NULL;

	if (!p)
		return;
	p->asking = false;
	p->tried = true;
	st->cut_maps += !a->err && a->maps_cut && !p->ncode;
	if (!a->err && detail__take(&st->detail, a->nmaps * sizeof(*code)))
		code = calloc(a->nmaps, sizeof(*code));
	for (unsigned i = 0; code && i < a->nmaps; i++) {
		const struct proc_map *m = &a->maps[i];

		/* as attributes of files have it */
		char *name = utf8__clean(m->name, 3 * PROC_MAP_NAME, &replaced);

		code[i] = (struct code){m->range, name ? call_tree__name(st->tree, name) : NULL};
		if (!code[i].name)
			code[i].name = NOT_KNOWN;
		free(name);
	}
	if (code) {
		if (a->nmaps != p->ncode)
			p->callers_ns = READ_NS;
		free_code(st, p);
		p->code = code;
		p->ncode = a->nmaps;
	}
	add_held(s, env, false);
}

static int task_of(const struct step *s, uint32_t slot)
{
	for (unsigned i = 0; i < s->nslots; i++)
		if (s->slots[i] == slot)
			return s->slot_owners[i].gtid;
	return JP_GTID_NONE;
}

/* ElapsedTime, EpochTime and TimeNS of a row. */
static void time_cells(const struct step *s, uint64_t boot_ns, union cell time[3])
{
	uint64_t elapsed = boot_ns > s->start_boot_ns ? boot_ns - s->start_boot_ns : 0;

	time[0].u = elapsed / NSEC_PER_SEC;
	time[1].u = (s->start_real_ns + elapsed) / NSEC_PER_SEC;
	time[2].u = s->start_real_ns + elapsed;
}

static unsigned put_counts(struct step *s, const union cell time[3])
{
	struct step_stacks *st = s->stacks;
	unsigned rows = 0;

	for (unsigned i = 0; i < st->ncounts; i++) {
		struct count *c = &st->counts[i];
		union cell cells[] = {time[0],
				      time[1],
				      {.u = c->node},
				      {.f = (double)c->n},
				      {.f = (double)c->ns / 1e9},
				      time[2]};
		int gtid = c->n ? task_of(s, c->slot) : JP_GTID_NONE;
		struct table *t = gtid >= 0 ? step__table(s, KIND_STACKS, gtid) : NULL;

		if (!c->n)
			continue;
		/* of no task: its number may be found later */
		if (!t || step__declare_table(s, t) ||
		    journal__row(s->journal, t->id, cells, sizeof(cells) / sizeof(cells[0])))
			continue;
		c->in_frame = true;
		rows++;
	}
	return rows;
}

unsigned step_stacks__rows(struct step *s, const struct step_env *env)
{
	uint64_t now = snapshot__boot_ns(env->snap);
	struct table *tree = step__table(s, KIND_CALL_TREE, JP_GTID_NONE);
	struct step_stacks *st = s->stacks;
	union cell time[3];
	unsigned rows;

	if (!st || !tree || (now < st->next_ns && !s->closing))
		return 0;
	if (s->closing)
		add_held(s, env, true);
	st->next_ns = now + WINDOW_NS - NSEC_PER_SEC / 2;
	if (step__declare_table(s, tree))
		return 0;
	time_cells(s, now, time);
	rows = put_counts(s, time);
	return rows + call_tree__put(st->tree, s->journal, tree->id, time);
}

void step_stacks__end_frame(struct step_stacks *st, enum frame_end end)
{
	if (!st)
		return;
	for (unsigned i = 0; i < st->ncounts; i++) {
		struct count *c = &st->counts[i];

		if (c->in_frame && end == FRAME_WRITTEN)
			c->n = c->ns = 0;
		c->in_frame = false;
	}
	call_tree__end_frame(st->tree, end);
}

uint64_t step_stacks__lost(const struct step_stacks *st)
{
	uint64_t n = st ? st->lost : 0;

	for (unsigned i = 0; st && i < st->ncounts; i++)
		n += st->counts[i].n;
	return n;
}

uint64_t step_stacks__cut_maps(const struct step_stacks *st)
{
	return st ? st->cut_maps : 0;
}
