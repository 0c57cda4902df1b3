/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slot that owns a socket, and the place where its traffic is counted. */
#ifndef JP_SOCK_BPF_H
#define JP_SOCK_BPF_H

#include "bpf/task.bpf.h"

#define AF_INET	      2
#define AF_INET6      10
#define TAG_GEN_SHIFT 32

static __always_inline bool is_inet(const struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;

	return family == AF_INET || family == AF_INET6;
}

static __always_inline bool is_kernels(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD(sk, sk_kern_sock);
}

/* Which way a socket's packets went; NULL: no record exists, and make is false. */
static __always_inline struct jp_passed *passed_of(struct sock *sk, bool make)
{
	struct jp_passed none = {};
	struct jp_passed *p = bpf_sk_storage_get(&jp_passed, sk, 0, 0);

	if (p || !make)
		return p;
	p = bpf_sk_storage_get(&jp_passed, sk, &none, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!p)
		JP_COUNT(sock_fail);
	return p;
}

static __always_inline struct jp_net *net_of(u32 slot)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots + slot;

	return bpf_map_lookup_elem(&jp_net, &key);
}

/* The slot in a socket's tag (struct jp_owner in one word); JP_SLOT_NONE: it has no tag, or the
 * slot is another one's by now. */
static __always_inline u32 slot_of_tag(const u64 *tag)
{
	struct jp_slot *info;
	u64 v;

	if (!tag)
		return JP_SLOT_NONE;
	v = *(const volatile u64 *)tag;
	info = slot_info((u32)v);
	if (info && slot_valid((u32)v) && info->gen == (u32)(v >> TAG_GEN_SHIFT))
		return (u32)v;
	return JP_SLOT_NONE;
}

/* The hierarchy of cgroup v2 among those that are followed; NULL: there is none. */
static __always_inline const volatile struct jp_carrier *v2_carrier(void)
{
	int i;

	for (i = 0; i < JP_CARRIERS && i < jp_ncarriers; i++)
		if (jp_carriers[i].ssid < 0)
			return &jp_carriers[i];
	return NULL;
}

/* The slot of a cgroup of v2: the map has every cgroup at or below a step, at any depth. */
static __always_inline u32 slot_of_cgroup2(u64 id)
{
	const volatile struct jp_carrier *v2 = v2_carrier();
	struct jp_cgroup_key key = {.id = id};
	struct jp_cgroup *e;

	if (!v2)
		return JP_SLOT_OTHER;
	key.hier = v2->hier;
	e = bpf_map_lookup_elem(&jp_cgroups, &key);
	return e && slot_valid(e->slot) ? e->slot : JP_SLOT_OTHER;
}

#endif
