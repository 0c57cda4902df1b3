// SPDX-License-Identifier: GPL-2.0-only
/* Which ways of sending and receiving the network counters see: a table, which the tests of the
 * kernel compare with transfers by each way. */
#include "kern/net/net_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

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
