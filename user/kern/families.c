// SPDX-License-Identifier: GPL-2.0-or-later
/* What each family needs from the kernel, which of several ways to its events this kernel allows,
 * and how its numbers are measured here. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

#include "kern/internal.h"
#include "kern/probe.h"

#define HAS(k, p) ((k)->prog[p] >= 0)

static bool has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

/* Many kernels have the functions but cannot attach programs to them: an empty program tries it. */
bool kern_can_fexit(const struct btf *btf, const char *function)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_TRACE_FEXIT);
	int id = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC), fd, link;

	if (id <= 0)
		return false;
	o.attach_btf_id = id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "jp_try", "GPL", nothing, 2, &o);
	if (fd < 0)
		return false;
	link = bpf_raw_tracepoint_open(NULL, fd);
	if (link >= 0)
		close(link);
	close(fd);
	return link >= 0;
}

static void leave_out(struct kern *k, enum kern_program first, enum kern_program last)
{
	for (; first <= last; first++)
		k->unused[first] = true;
}

/* Chooses the tracepoints, or fexit below them. False: this kernel has neither. */
static bool choose_sockets(struct kern *k, const struct btf *btf)
{
	bool tracepoints = kern_tracepoint_args(btf, "sock_send_length") &&
			   kern_tracepoint_args(btf, "sock_recv_length");
	bool pages = has_function(btf, "inet_sendpage"), fexit = false;

	if (!tracepoints || pages)
		fexit = kern_can_fexit(btf, "inet_sendmsg");
	if (tracepoints)
		leave_out(k, P_INET_SEND, P_INET6_RECV);
	else
		leave_out(k, P_SOCK_SEND, P_SOCK_RECV);
	if (!has_function(btf, "inet6_sendmsg")) {
		k->unused[P_INET6_SEND] = true;
		k->unused[P_INET6_RECV] = true;
	}
	k->unused[P_INET_PAGE] = !pages || !fexit;
	k->unused[P_SOCK_READY] = !kern_tracepoint_args(btf, "sk_data_ready");
	k->unused[P_DEV_QUEUE] = !kern_tracepoint_args(btf, "net_dev_queue");
	return tracepoints || fexit;
}

static void no_network(struct kern *k, const char *reason)
{
	k->families &= ~FAM_NETWORK;
	k->no_network = reason;
}

/* For kernels with neither tracepoints nor fexit, or where --net-skb asks for this way. */
static void choose_packets(struct kern *k)
{
	static char reason[256];
	int err = kern_try_packets();

	leave_out(k, P_SOCK_READY, P_INET_PAGE);
	if (!err)
		return;
	snprintf(reason, sizeof(reason), "%s%s",
		 k->opts.net_skb ? ""
				 : "no tracepoints sock_send_length and sock_recv_length, "
				   "no fexit, and ",
		 kern_no_packets(err));
	no_network(k, reason);
}

static void choose_network(struct kern *k, const struct btf *btf)
{
	if (!k->opts.net_skb && choose_sockets(k, btf))
		leave_out(k, P_SKB_OUT, P_SKB_IN);
	else
		choose_packets(k);
	k->retrans_err = kern_tracepoint_args(btf, "tcp_retransmit_skb") > 2;
	if (!kern_tracepoint_args(btf, "tcp_retransmit_skb"))
		k->unused[P_RETRANS] = true, k->blind |= JP_BLIND_RETRANS;
	if (!kern_tracepoint_args(btf, "tcp_retransmit_synack"))
		k->unused[P_RETRANS_SYNACK] = true;
	if (!kern_tracepoint_args(btf, "inet_sock_set_state"))
		k->unused[P_SOCK_STATE] = true;
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_SK_STORAGE, NULL) != 1)
		no_network(k, "this kernel has no socket storage");
}

/* One program for all system calls reads their numbers from registers it must know. */
#if defined(__x86_64__) || defined(__aarch64__)
#define KNOWS_NUMBERS true
#else
#define KNOWS_NUMBERS false
#endif

static void choose_files(struct kern *k, const struct btf *btf)
{
	/* a link on a tracefs event can be pinned since it is a link of its own kind (5.15) */
	bool events = kern_has_enumerator(btf, "bpf_link_type", "BPF_LINK_TYPE_PERF_EVENT");
	int p;

	/* no architecture lacks these two; open and creat are gone from newer ones */
	if (kern_event_id(kern_events[P_OPENAT]) < 0 || kern_event_id(kern_events[P_CLOSE]) < 0)
		events = false;
	for (p = P_OPEN; p <= P_CLOSE; p++)
		if (!events || kern_event_id(kern_events[p]) < 0)
			k->unused[p] = true;
	if (events)
		k->unused[P_SYS_EXIT] = true;
	else if (!KNOWS_NUMBERS || !kern_tracepoint_args(btf, "sys_exit"))
		k->families &= ~FAM_FILES;
}

void kern_choose_hooks(struct kern *k)
{
	if (!k->btf) /* the load reports what is missing */
		k->families &= ~(FAM_NETWORK | FAM_FILES);
	if (k->families & FAM_NETWORK)
		choose_network(k, k->btf);
	if (k->families & FAM_FILES)
		choose_files(k, k->btf);
	k->unused[P_ASK] = !k->btf || !kern_can_query_tasks(k->btf);
}

static const char *hook_mode(const struct kern *k, enum family f)
{
	if (f == FAM_NETWORK)
		return k->control->net_text;
	return HAS(k, P_SYS_EXIT) ? "exact: one program on the return of every system call"
				  : "exact";
}

/* Why the family is off, where that is known here. */
static const char *no_hook(const struct kern *k, enum family f)
{
	if (f == FAM_NETWORK && k->control->net_text[0])
		return k->control->net_text;
	if (f == FAM_FILES)
		return "off: neither tracefs nor the tracepoint sys_exit can be used here";
	return NULL;
}

/* A family without one of its tracepoints is not loaded; its columns are NaN. */
static const struct {
	unsigned family;
	const char *tracepoint;
} needs[] = {
	{FAM_BLOCK, "block_rq_complete"},
	{FAM_BLOCK, "block_rq_issue"},
};
#define N_NEEDS (sizeof(needs) / sizeof(needs[0]))

void kern_probe_families(struct kern *k)
{
	size_t i;

	k->families = k->opts.families & ~FAM_SENSORS;
	if (k->families & FAM_STACK) /* which knows when gaps begin, and why */
		k->families |= FAM_WAIT;
	for (i = 0; k->btf && i < N_NEEDS; i++) /* without BTF the load reports what is missing */
		if (!kern_tracepoint_args(k->btf, needs[i].tracepoint))
			k->families &= ~needs[i].family;
}

unsigned kern__families(const struct kern *k)
{
	return k->families;
}

static const char *missing(const struct kern *k, enum family f)
{
	static char text[128];
	size_t i;

	if (no_hook(k, f))
		return no_hook(k, f);
	for (i = 0; i < N_NEEDS; i++) {
		if (needs[i].family != f)
			continue;
		snprintf(text, sizeof(text), "off: this kernel has no tracepoint %s",
			 needs[i].tracepoint);
		return text;
	}
	return "off: not loaded";
}

static const char *block_mode(const struct kern *k)
{
	static char text[192];
	char disk[32];

	kern_untimed_disk(disk);
	snprintf(text, sizeof(text), "exact%s%s%s",
		 k->opts.block_issue ? "; without block_io_start the owner is who inserts or "
				       "issues a request, at times a kernel thread"
				     : "",
		 disk[0] ? "; no times of disks with iostats=0, as " : "", disk);
	return text;
}

const char *kern__family_mode(const struct kern *k, enum family f)
{
	if (f == FAM_PERF && k->control->pmu_text[0])
		return k->control->pmu_text;
	if (f == FAM_CULPRIT)
		return kern_culprit_mode(k);
	if (!(k->families & f))
		return missing(k, f);
	switch (f) {
	case FAM_SCHED:
		return k->opts.raw_tp ? "exact: raw tracepoint; threads moved while running wait "
					"for a sweep"
				      : "exact";
	case FAM_MEMORY:
		return kern__rss_exact(k)
			       ? "exact"
			       : "approximate: the kernel's per-CPU parts cannot be read";
	case FAM_BLOCK:
		return block_mode(k);
	case FAM_SELF:
		return "estimated";
	case FAM_STACK:
		if (kern__unwinds(k))
			return "by .eh_frame in 4 KiB of stack, 9.7 times a second of each CPU; of "
			       "blocked threads by frame pointers";
		return "by frame pointers: code without them shows its innermost function, and "
		       "perhaps others";
	case FAM_SAMPLE:
		return "sampled: 97 times a second of each CPU";
	case FAM_FOLD:
		return kern_sample_points(k);
	case FAM_WAIT:
		return kern_wait_mode(k);
	case FAM_NETWORK:
	case FAM_FILES:
		return hook_mode(k, f);
	default:
		return "exact";
	}
}
