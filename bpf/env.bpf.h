/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the environment of a program that begins: the number of its task, its rank, and Slurm's
 * variables. A .bpf.c file includes this once. */
#ifndef JP_ENV_BPF_H
#define JP_ENV_BPF_H

#include "bpf/maps.bpf.h"

static __always_inline struct jp_scratch *scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&jp_pcpu, &zero);
}

/* Compares the first n characters of a with a setting; a literal would need a section of its own.
 */
static __always_inline bool same(const char *a, const volatile char *b, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

#define ENV_STRINGS 1024
#define ENV_AT_ONCE 32
#define PROCID_LEN  13

/*
 * The verifier walks loops turn by turn and a global function once, whenever jobprofd or "jobprof
 * run" starts: what is done with one string is a global function, and the loop is two of them, one
 * within the other. No pointer
 * goes to a global function, as kernels before 5.12 take none: strings are in the scratch memory.
 */
static __always_inline bool is_procid(const char *env)
{
	const u64 *have = (const u64 *)env;
	const volatile u64 *key = (const volatile u64 *)jp_procid_key;
	const volatile u64 *mask = (const volatile u64 *)jp_procid_mask;

	return !(((have[0] ^ key[0]) & mask[0]) | ((have[1] ^ key[1]) & mask[1]));
}

static __always_inline int parse_procid(const char *digits)
{
	int i, v = 0;

	for (i = 0; i < 9; i++) {
		char c = digits[i];

		if (!c)
			return i ? v : JP_GTID_NONE;
		if (c < '0' || c > '9')
			return JP_GTID_NONE;
		v = v * 10 + (c - '0');
	}
	return JP_GTID_NONE;
}

/*
 * Looks at one string of an environment; rest: it is the rest of a long one, and no new variable.
 * Returns its length with its NUL, 0 after SLURM_PROCID, whose value is in the scratch memory then.
 */
__noinline int find_procid(u64 at, u64 rest)
{
	struct jp_scratch *s = scratch();
	long n;

	if (!s)
		return 0;
	n = bpf_probe_read_user_str(s->env, sizeof(s->env), (void *)at);
	if (n <= 0 || rest || !is_procid(s->env))
		return n;
	s->gtid = parse_procid(s->env + PROCID_LEN);
	return 0;
}

static __always_inline bool is_rank_name(const char *env, u32 name)
{
	u32 i, len = jp_rank_names[name].len;

	for (i = 0; i < sizeof(jp_rank_names[0].name); i++) {
		if (i >= len)
			return true;
		if (env[i] != jp_rank_names[name].name[i])
			return false;
	}
	return true;
}

/* Looks at one string for a rank whose name outranks that of the one found before; rest and result
 * are find_procid()'s. */
__noinline int find_rank(u64 at, u64 rest)
{
	struct jp_scratch *s = scratch();
	u32 i, best;
	long n;
	int rank;

	if (!s)
		return 0;
	n = bpf_probe_read_user_str(s->env, sizeof(s->env), (void *)at);
	if (n <= 0 || rest)
		return n;
	best = s->rank_name;
	for (i = 0; i < JP_RANK_NAMES && i < best; i++) {
		if (!is_rank_name(s->env, i))
			continue;
		rank = parse_procid(s->env + (jp_rank_names[i].len & 31));
		if (rank < 0)
			break;
		s->rank = rank;
		s->rank_name = i;
		return i ? n : 0;
	}
	return n;
}

/* "SLURM_", as it begins jp_procid_key. */
static __always_inline bool is_slurms(const char *env)
{
	return *(const u32 *)env == *(const volatile u32 *)jp_procid_key &&
	       *(const u16 *)(env + 4) == *(const volatile u16 *)(jp_procid_key + 4);
}

/* Stores one string of an environment if it is Slurm's; rest and result are find_procid()'s. */
__noinline int keep_if_slurms(u64 at, u64 rest)
{
	struct jp_scratch *s = scratch();
	u32 len;
	long n;

	if (!s)
		return 0;
	n = bpf_probe_read_user_str(s->env, sizeof(s->env), (void *)at);
	len = s->kept.len;
	if (n <= 0 || len >= JP_ENV_LEN)
		return 0;
	if (!rest && n < JP_ENV_STRING && is_slurms(s->env))
		s->kept.len =
			len + bpf_probe_read_kernel_str(s->kept.text + len, JP_ENV_STRING, s->env);
	return n;
}

enum { ENV_PROCID, ENV_RANK, ENV_KEEP };

/* Looks at the next few strings; 0: no more are wanted. */
__noinline int walk_some(u32 what, u64 end)
{
	struct jp_scratch *s = scratch();
	int i, n;

	if (!s)
		return 0;
	for (i = 0; i < ENV_AT_ONCE && s->at < end; i++) {
		if (what == ENV_PROCID)
			n = find_procid(s->at, s->rest);
		else if (what == ENV_RANK)
			n = find_rank(s->at, s->rest);
		else
			n = keep_if_slurms(s->at, s->rest);
		if (n <= 0)
			return 0;
		s->rest = n == sizeof(s->env);
		s->at += n - s->rest;
	}
	return s->at < end;
}

/* Looks at an environment, string by string; 1: it has more of them than are looked at. */
__noinline int walk_env(u32 what, u64 at, u64 end)
{
	struct jp_scratch *s = scratch();
	int i;

	if (!s)
		return 0;
	s->at = at;
	s->rest = 0;
	for (i = 0; i < ENV_STRINGS / ENV_AT_ONCE; i++)
		if (!walk_some(what, end))
			return 0;
	return 1;
}

/* SLURM_PROCID of a new program's environment; JP_GTID_NONE: it is not there, or no number. */
__noinline int env_procid(u64 at, u64 end)
{
	struct jp_scratch *s = scratch();

	if (!s)
		return JP_GTID_NONE;
	s->gtid = JP_GTID_NONE;
	if (walk_env(ENV_PROCID, at, end))
		JP_COUNT(env_long);
	return s->gtid;
}

/* The rank by a new program's environment: 0: it has none; else the rank in the lower half, and in
 * the upper half one more than the index of the variable's name. */
__noinline u64 env_rank(u64 at, u64 end)
{
	struct jp_scratch *s = scratch();

	if (!s)
		return 0;
	s->rank_name = JP_RANK_NAMES;
	walk_env(ENV_RANK, at, end);
	if (s->rank_name >= JP_RANK_NAMES)
		return 0;
	return (u64)(s->rank_name + 1) << 32 | (u32)s->rank;
}

/*
 * Stores Slurm's variables of the environment of a step's first program, so that user space has
 * them also when the program has ended, has become another one, or cannot be read.
 */
__noinline int keep_env(u64 at, u64 end, u32 step)
{
	struct jp_scratch *s = scratch();

	if (!s || bpf_map_lookup_elem(&jp_envs, &step))
		return 0;
	s->kept.len = 0;
	walk_env(ENV_KEEP, at, end);
	if (s->kept.len)
		bpf_map_update_elem(&jp_envs, &step, &s->kept, BPF_NOEXIST);
	return 0;
}

#endif
