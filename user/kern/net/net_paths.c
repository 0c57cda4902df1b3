// SPDX-License-Identifier: GPL-2.0-only
/* Which ways of sending and receiving the network counters see: the table, and the trials. */
#include "kern/net/net_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kern/net/net_try.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

#define DEVICES_NAMED 8

enum side { TX = 1, RX = 2 };

/* A way of data to or from the network: how it is tried, and the verdict where it is not. */
struct path {
	const char *name, *absent;
	int sides;			      /* of a try: what must be counted */
	int protocol;			      /* of the pair: 0, TCP */
	int (*try)(const struct net_pair *p); /* NULL: no way to try it here */
	/* 1: this node has it, 0: not, -errno; NULL: trying it shows that */
	int (*here)(const struct net_probe *p, char detail[NET_PATH_DETAIL]);
	enum net_verdict stated; /* by what is asked of sockets */
	enum net_verdict packet; /* by packets of the IP layer */
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
static int has_rdma(const struct net_probe *p, char detail[NET_PATH_DETAIL])
{
	struct dirent **list;
	char path[512];
	size_t used = 0;
	int i, n;

	snprintf(path, sizeof(path), "%s/class/infiniband", p->sysfs);
	n = scandir(path, &list, is_shown, compare);
	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	for (i = 0; i < n; i++) {
		if (i < DEVICES_NAMED && used < NET_PATH_DETAIL)
			used += (size_t)snprintf(detail + used, NET_PATH_DETAIL - used, "%s%.16s",
						 i ? ", " : "", list[i]->d_name);
		free(list[i]);
	}
	if (n > DEVICES_NAMED && used < NET_PATH_DETAIL)
		snprintf(detail + used, NET_PATH_DETAIL - used, " and %d more", n - DEVICES_NAMED);
	free(list);
	return n > 0;
}

/* Kinds of sockets that this kernel has in use or could have at once: no module is loaded for it.
 */
static int has_protocol(const struct net_probe *p, const char *name)
{
	_cleanup_fclose_ FILE *f = NULL;
	char line[512], word[64];

	snprintf(line, sizeof(line), "%s/net/protocols", p->procfs);
	f = fopen(line, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s", word) == 1 && !strcmp(word, name))
			return 1;
	return 0;
}

static int has_smc(const struct net_probe *p, char detail[NET_PATH_DETAIL])
{
	return has_protocol(p, "SMC");
}

static int has_xdp(const struct net_probe *p, char detail[NET_PATH_DETAIL])
{
	return has_protocol(p, "XDP");
}

static int has_packet(const struct net_probe *p, char detail[NET_PATH_DETAIL])
{
	return has_protocol(p, "PACKET");
}

static int has_tls(const struct net_probe *p, char detail[NET_PATH_DETAIL])
{
	char path[512];

	snprintf(path, sizeof(path), "%s/net/tls_stat", p->procfs);
	return !access(path, F_OK);
}

static int has_mptcp(const struct net_probe *p, char detail[NET_PATH_DETAIL])
{
	char path[512];
	uint64_t on;

	snprintf(path, sizeof(path), "%s/sys/net/mptcp/enabled", p->procfs);
	return !read_file_u64(AT_FDCWD, path, &on) && on;
}

static int has_uring_zero_copy(const struct net_probe *p, char detail[NET_PATH_DETAIL])
{
	int has = net_uring__has_zero_copy();

	return has == -ENOSYS ? 0 : has;
}

/* clang-format off */
static const struct path table[] = {
	{.name = "sendfile and splice to a socket", .absent = "sendfile to sockets", .sides = TX, .try = net_try__splice_to,
	 .stated = NET_SEEN, .packet = NET_SEEN},
	{.name = "splice from a socket", .absent = "splice from sockets", .sides = RX, .try = net_try__splice_from,
	 .stated = NET_NOT_SEEN, .packet = NET_SEEN},
	{.name = "TCP zero-copy receive", .absent = "TCP zero-copy receive", .sides = RX, .try = net_try__map,
	 .stated = NET_NOT_SEEN, .packet = NET_SEEN},
	{.name = "io_uring", .absent = "io_uring", .sides = TX | RX, .try = net_try__uring,
	 .stated = NET_SEEN, .packet = NET_SEEN},
	{.name = "MPTCP", .absent = "MPTCP", .sides = TX | RX, .try = net_try__plain,
	 .protocol = IPPROTO_MPTCP, .here = has_mptcp,
	 .stated = NET_SEEN, .packet = NET_SEEN},
	{.name = "kernel TLS", .absent = "kernel TLS", .sides = TX | RX, .try = net_try__tls,
	 .here = has_tls,
	 .stated = NET_SEEN, .packet = NET_SEEN},
	{.name = "io_uring zero-copy receive", .absent = "io_uring zero-copy receive", .here = has_uring_zero_copy,
	 .stated = NET_NOT_SEEN, .packet = NET_SEEN},
	{.name = "packet sockets", .absent = "packet sockets", .here = has_packet,
	 .stated = NET_NOT_SEEN, .packet = NET_NOT_SEEN},
	{.name = "AF_XDP", .absent = "AF_XDP", .here = has_xdp,
	 .stated = NET_NOT_SEEN, .packet = NET_NOT_SEEN},
	{.name = "SMC", .absent = "SMC", .here = has_smc,
	 .stated = NET_NOT_SEEN, .packet = NET_NOT_SEEN},
	{.name = "RDMA", .absent = "RDMA device", .here = has_rdma,
	 .stated = NET_NOT_SEEN, .packet = NET_NOT_SEEN},
};
/* clang-format on */
#define N_TABLE (sizeof(table) / sizeof(table[0]))
_Static_assert(N_TABLE <= NET_PATHS, "NET_PATHS");

static bool means_absent(int err)
{
	return err == -ENOSYS || err == -EOPNOTSUPP || err == -ENOPROTOOPT ||
	       err == -EPROTONOSUPPORT || err == -EAFNOSUPPORT;
}

static void not_tried(struct net_path *r, const char *reason)
{
	r->verdict = NET_NOT_TRIED;
	snprintf(r->detail, sizeof(r->detail), "%s", reason);
}

/* Compares the counters with the bytes that the trial moved. */
static void judge_path(struct net_path *r, int sides, uint64_t moved, uint64_t tx, uint64_t rx)
{
	bool all = (!(sides & TX) || tx == moved) && (!(sides & RX) || rx == moved);
	bool some = ((sides & TX) && tx) || ((sides & RX) && rx);

	r->tried = true;
	r->verdict = all ? NET_SEEN : NET_NOT_SEEN;
	if (some && !all)
		snprintf(r->detail, sizeof(r->detail), "%s", "only in part");
}

/* Returns what the try did. */
static int try_on(const struct net_probe *p, const struct path *path, const struct net_pair *pair,
		  struct net_path *r)
{
	uint64_t tx0, rx0, tx, rx;
	int moved;

	p->counted(p->ctx, &tx0, &rx0);
	moved = path->try(pair);
	p->counted(p->ctx, &tx, &rx);
	if (moved > 0)
		judge_path(r, path->sides, (uint64_t)moved, tx - tx0, rx - rx0);
	return moved;
}

/* A ring of io_uring that is closed may interrupt the next call that waits. */
#define TRIES 3

/* Each trial has a pair of its own: a failed trial would spoil the next one. */
static void try_path(const struct net_probe *p, const struct path *path, struct net_path *r)
{
	struct net_pair pair;
	int i, err = -EINTR;

	for (i = 0; i < TRIES && err == -EINTR; i++) {
		err = net_pair__open(&pair, path->protocol);
		if (err)
			continue;
		err = try_on(p, path, &pair, r);
		net_pair__close(&pair);
	}
	if (means_absent(err))
		r->verdict = NET_NOT_HERE;
	else if (err < 0)
		not_tried(r, strerror(-err));
}

/* Ordinary calls must be counted: otherwise no trial has a meaning. */
static const char *check_counters(const struct net_probe *p)
{
	static const struct path plain = {.sides = TX | RX, .try = net_try__plain};
	static char reason[NET_PATH_DETAIL];
	struct net_path r = {.verdict = NET_NOT_TRIED};

	try_path(p, &plain, &r);
	if (r.verdict == NET_SEEN)
		return NULL;
	snprintf(reason, sizeof(reason), "%s", r.tried ? "own calls are not counted" : r.detail);
	return reason;
}

static void probe_path(const struct net_probe *p, const struct path *path, const char *no_try,
		       struct net_path *r)
{
	int here = path->here ? path->here(p, r->detail) : 1;

	r->verdict = p->packets ? path->packet : path->stated;
	if (!here || means_absent(here))
		r->verdict = NET_NOT_HERE;
	else if (here < 0)
		not_tried(r, strerror(-here));
	else if (!path->try || p->packets)
		return; /* no trial: packets of a socket are seen, whichever call asked for them */
	else if (no_try)
		not_tried(r, no_try);
	else
		try_path(p, path, r);
}

unsigned net_paths__probe(const struct net_probe *p, struct net_path *out)
{
	const char *no_try = p->packets ? NULL : check_counters(p);
	size_t i;

	for (i = 0; i < N_TABLE; i++) {
		out[i] = (struct net_path){.name = table[i].name, .absent = table[i].absent};
		probe_path(p, &table[i], no_try, &out[i]);
	}
	return N_TABLE;
}

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

void net_paths__text(const struct net_path *paths, unsigned n, char *text, size_t len)
{
	static const struct {
		enum net_verdict verdict;
		bool tried;
		const char *heading;
	} groups[] = {
		{NET_SEEN, true, "probed, seen: "},
		{NET_NOT_SEEN, true, "probed, not seen: "},
		{NET_SEEN, false, "stated, seen: "},
		{NET_NOT_SEEN, false, "stated, not seen: "},
		{NET_NOT_TRIED, false, "could not be probed: "},
		{NET_NOT_HERE, false, "no "},
	};
	size_t g;
	unsigned i;

	text[0] = 0;
	for (g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		const char *before = groups[g].heading;

		for (i = 0; i < n; i++) {
			const struct net_path *r = &paths[i];

			if (r->verdict != groups[g].verdict || r->tried != groups[g].tried)
				continue;
			append(text, len, "%s%s%s",
			       before == groups[g].heading && text[0] ? "; " : "", before,
			       r->verdict == NET_NOT_HERE ? r->absent : r->name);
			if (r->detail[0])
				append(text, len, " (%s)", r->detail);
			before = r->verdict == NET_NOT_HERE ? ", no " : ", ";
		}
	}
}
