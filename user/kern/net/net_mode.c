// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the network is counted on this node, and which traffic is seen: a text in the control page,
 * for files and for other processes. The last resort are programs on packets, at the root of cgroup
 * v2: they are added to the programs of others (systemd's accounting and filters), and let every
 * packet pass.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kern/internal.h"
#include "kern/net/net_paths.h"
#include "kern/probe.h"

/* Where cgroup v2 is mounted: a descriptor, or -errno. */
static int open_cgroup2(void)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int fd = -ENOENT;

	while (f && fd < 0 && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "cgroup2"))
			continue;
		fd = open(m->mnt_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	if (f)
		endmntent(f);
	return fd;
}

int kern_link_packets(enum kern_program p, int prog_fd)
{
	int dir = open_cgroup2(), link;

	if (dir < 0)
		return dir;
	link = bpf_link_create(prog_fd, dir,
			       p == P_SKB_IN ? BPF_CGROUP_INET_INGRESS : BPF_CGROUP_INET_EGRESS,
			       NULL);
	if (link < 0)
		link = -errno;
	close(dir);
	return link;
}

int kern_try_packets(void)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_CGROUP_INET_INGRESS);
	int fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SKB, "jp_try", "GPL", pass, 2, &o), link;

	if (fd < 0)
		return -errno;
	link = kern_link_packets(P_SKB_IN, fd);
	close(fd);
	if (link < 0)
		return link;
	close(link);
	return 0;
}

const char *kern_no_packets(int err)
{
	static char text[96];

	if (err == -ENOENT)
		return "cgroup v2 is not mounted";
	if (err == -EPERM)
		return "cgroup_skb needs CAP_NET_ADMIN, or a program at the root of cgroup v2 "
		       "forbids others";
	snprintf(text, sizeof(text), "cgroup_skb cannot be attached: %s", strerror(-err));
	return text;
}

static bool follows_v1(const struct kern *k)
{
	unsigned i;

	for (i = 0; i < k->opts.nroots; i++)
		if (k->ssid[i] >= 0)
			return true;
	return false;
}

static void print_network_mode(const struct kern *k, char *text, size_t len)
{
	const bool packets = k->prog[P_SKB_IN] >= 0;
	char how[JP_NET_TEXT], seen[JP_NET_TEXT];

	if (!packets)
		snprintf(how, sizeof(how), "exact at sockets (%s)",
			 k->prog[P_SOCK_SEND] >= 0 ? "tracepoints" : "fexit");
	else
		snprintf(how, sizeof(how),
			 "packets (cgroup_skb): bytes behind their headers, what TCP sends again "
			 "and what nobody reads included; operations are packets with data, of up "
			 "to 64 KiB, not calls; of TCP for who connected or listened, else for the "
			 "cgroup v2 the socket was made in%s",
			 follows_v1(k) ? "; nothing but TCP of steps in cgroup v1" : "");
	net_paths__text(packets, "/sys", "/proc", seen, sizeof(seen));
	snprintf(text, len, "%.400s; %.600s", how, seen);
}

void kern_store_network_text(struct kern *k)
{
	struct jp_control *c = k->control;

	if (!(k->opts.families & FAM_NETWORK))
		return;
	if (k->families & FAM_NETWORK)
		print_network_mode(k, c->net_text, sizeof(c->net_text));
	else
		snprintf(c->net_text, sizeof(c->net_text), "off: %s", k->no_network);
}
