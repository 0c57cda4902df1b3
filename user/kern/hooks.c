// SPDX-License-Identifier: GPL-2.0-only
/* Families whose events can be had in several ways: which way this kernel allows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kern/internal.h"
#include "kern/link.h"
#include "kern/probe.h"

#define HAS(k, p) ((k)->prog[p] >= 0)

static bool has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

static bool has_enumerator(const struct btf *btf, const char *type, const char *name)
{
	int i, id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
			return true;
	return false;
}

/* Many kernels know the functions but cannot let programs in: tried with one that does nothing. */
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

/* The tracepoints, or fexit below them. false: neither. */
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

static void no_network(struct kern *k, const char *why)
{
	k->families &= ~FAM_NETWORK;
	k->no_network = why;
}

/* For kernels with neither tracepoints nor fexit, or where --net-skb asks for this way. */
static void choose_packets(struct kern *k)
{
	static char why[256];
	int err = kern_try_packets();

	leave_out(k, P_SOCK_READY, P_INET_PAGE);
	if (!err)
		return;
	snprintf(why, sizeof(why), "%s%s",
		 k->opts.net_skb ? ""
				 : "no tracepoints sock_send_length and sock_recv_length, "
				   "no fexit, and ",
		 kern_no_packets(err));
	no_network(k, why);
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
	bool events = has_enumerator(btf, "bpf_link_type", "BPF_LINK_TYPE_PERF_EVENT");
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
	if (!k->btf) /* the load will say what is missing */
		k->families &= ~(FAM_NETWORK | FAM_FILES);
	if (k->families & FAM_NETWORK)
		choose_network(k, k->btf);
	if (k->families & FAM_FILES)
		choose_files(k, k->btf);
	k->unused[P_ASK] = !k->btf || !kern_can_ask(k->btf);
}

const char *kern_hook_mode(const struct kern *k, enum family f)
{
	if (f == FAM_NETWORK)
		return k->control->net_text;
	return HAS(k, P_SYS_EXIT) ? "exact: one program on the return of every system call"
				  : "exact";
}

const char *kern_no_hook(const struct kern *k, enum family f)
{
	if (f == FAM_NETWORK && k->control->net_text[0])
		return k->control->net_text;
	if (f == FAM_FILES)
		return "off: neither tracefs nor the tracepoint sys_exit can be used here";
	return NULL;
}
