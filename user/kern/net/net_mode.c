/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the network is counted on this node, and which traffic is seen: a text in the control page,
 * for files and for other processes. The last resort is programs on packets, at the root of cgroup
 * v2. They run in addition to the programs of others (systemd's accounting and filters), and let
 * every packet pass.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kern/internal.h"
#include "kern/probe.h"

/* ---- which ways of sending and receiving the network counters see: a table, which the tests of
 * the kernel compare with transfers by each way */

#define DEVICES_NAMED 8
#define DETAIL	      160

struct node {
	const char *sysfs, *procfs;
};

static int compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* The names of the RDMA devices, DEVICES_NAMED at most, are the detail. */
static bool has_rdma(const struct node *on, char detail[DETAIL])
{
	struct dirent **list;
	char path[512];
	size_t used = 0;
	int i, n;

	snprintf(path, sizeof(path), "%s/class/infiniband", on->sysfs);
	n = scandir(path, &list, is_shown, compare);
	if (n < 0)
		return false;
	for (i = 0; i < n; i++) {
		if (i < DEVICES_NAMED && used < DETAIL)
			used += (size_t)snprintf(detail + used, DETAIL - used, "%s%.16s",
						 i ? ", " : "", list[i]->d_name);
		free(list[i]);
	}
	if (n > DEVICES_NAMED && used < DETAIL)
		snprintf(detail + used, DETAIL - used, " and %d more", n - DEVICES_NAMED);
	free(list);
	return n > 0;
}

/* Kinds of sockets that this kernel has in use or could have at once: no module is loaded for it.
 */
static bool has_protocol(const struct node *on, const char *name)
{
	_cleanup_fclose_ FILE *f = NULL;
	char line[512], word[64];

	snprintf(line, sizeof(line), "%s/net/protocols", on->procfs);
	f = fopen(line, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s", word) == 1 && !strcmp(word, name))
			return true;
	return false;
}

static bool has_smc(const struct node *on, char detail[DETAIL])
{
	return has_protocol(on, "SMC");
}

static bool has_xdp(const struct node *on, char detail[DETAIL])
{
	return has_protocol(on, "XDP");
}

static bool has_packet(const struct node *on, char detail[DETAIL])
{
	return has_protocol(on, "PACKET");
}

static bool has_tls(const struct node *on, char detail[DETAIL])
{
	char path[512];

	snprintf(path, sizeof(path), "%s/net/tls_stat", on->procfs);
	return !access(path, F_OK);
}

static bool has_mptcp(const struct node *on, char detail[DETAIL])
{
	char path[512];
	uint64_t enabled;

	snprintf(path, sizeof(path), "%s/sys/net/mptcp/enabled", on->procfs);
	return !read_file_u64(AT_FDCWD, path, &enabled) && enabled;
}

/* Packets of a socket are seen, whichever call asked for them. */
static const struct way {
	const char *name, *absent; /* absent: as is said after "no"; NULL: as the name */
	bool by_sockets, by_packets;
	/* Whether this node has the way; NULL: each has. */
	bool (*here)(const struct node *on, char detail[DETAIL]);
} ways[] = {
	{"sendfile and splice to a socket", NULL, true, true, NULL},
	{"splice from a socket", NULL, false, true, NULL},
	{"TCP zero-copy receive", NULL, false, true, NULL},
	{"io_uring", NULL, true, true, NULL},
	{"io_uring zero-copy receive", NULL, false, true, NULL},
	{"MPTCP", NULL, true, true, has_mptcp},
	{"kernel TLS", NULL, true, true, has_tls},
	{"packet sockets", NULL, false, false, has_packet},
	{"AF_XDP", NULL, false, false, has_xdp},
	{"SMC", NULL, false, false, has_smc},
	{"RDMA", "RDMA device", false, false, has_rdma},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

enum verdict { SEEN, NOT_SEEN, NOT_HERE, VERDICTS };

struct judged {
	enum verdict verdict;
	char detail[DETAIL];
};

static void append(char *text, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void append(char *text, size_t len, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + used, len - used, fmt, ap);
	va_end(ap);
}

static void put_group(const struct judged *all, enum verdict group, char *text, size_t len)
{
	static const char *const headings[VERDICTS] = {"seen: ", "not seen: ", "no "};
	const char *before = headings[group];

	for (size_t i = 0; i < WAYS; i++) {
		const char *name = ways[i].name;

		if (all[i].verdict != group)
			continue;
		if (group == NOT_HERE && ways[i].absent)
			name = ways[i].absent;
		append(text, len, "%s%s%s", before == headings[group] && *text ? "; " : "", before,
		       name);
		if (all[i].detail[0])
			append(text, len, " (%s)", all[i].detail);
		before = group == NOT_HERE ? ", no " : ", ";
	}
}

void net_paths__text(bool packets, const char *sysfs, const char *procfs, char *text, size_t len)
{
	const struct node on = {sysfs, procfs};
	struct judged all[WAYS] = {{0}};

	for (size_t i = 0; i < WAYS; i++) {
		bool is_seen = packets ? ways[i].by_packets : ways[i].by_sockets;

		all[i].verdict = ways[i].here && !ways[i].here(&on, all[i].detail) ? NOT_HERE
				 : is_seen					   ? SEEN
										   : NOT_SEEN;
	}
	text[0] = 0;
	for (enum verdict group = 0; group < VERDICTS; group++)
		put_group(all, group, text, len);
}

/* ---- programs on packets, and the text of the control page */

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
