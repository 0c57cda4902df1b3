/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said of the ways past the network counters: on trees of sysfs and procfs, and for
 * counters that see this much or that of what goes over loopback. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "kern/net/net_paths.h"
#include "tests/unit/tree.h"

static char bare[64], cluster[64];

#define HEAD "protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de\n"

static int make_trees(void **state)
{
	char path[64];
	int i;

	strcpy(bare, "/tmp/test_net_paths.XXXXXX");
	strcpy(cluster, "/tmp/test_net_paths.XXXXXX");
	if (!mkdtemp(bare) || !mkdtemp(cluster))
		return -1;
	put(bare, "net/protocols",
	    HEAD "TCP       2496      4       1   no     320   yes  kernel\n");
	put(cluster, "net/protocols",
	    HEAD "SMC        800      0      -1   NI       0   yes  smc\n"
		 "PACKET    1472      0      -1   NI       0   no   kernel\n"
		 "XDP        960      0      -1   NI       0   no   kernel\n");
	for (i = 9; i >= 0; i--) {
		snprintf(path, sizeof(path), "class/infiniband/mlx5_%d/node_type", i);
		put(cluster, path, "1: CA\n");
	}
	put(bare, "class/net/lo/ifindex", "1\n");
	return 0;
}

static int remove_trees(void **state)
{
	char cmd[192];

	snprintf(cmd, sizeof(cmd), "rm -rf %s %s", bare, cluster);
	return system(cmd);
}

/* Counters that say these numbers, one pair per reading; the last again and again. */
struct script {
	const uint64_t (*at)[2];
	unsigned n, next;
};

static void scripted(void *ctx, uint64_t *tx, uint64_t *rx)
{
	struct script *s = ctx;
	unsigned i = s->next < s->n ? s->next++ : s->n - 1;

	*tx = s->at[i][0], *rx = s->at[i][1];
}

static const struct net_path *find(const struct net_path *paths, unsigned n, const char *name)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (!strcmp(paths[i].name, name))
			return &paths[i];
	fail_msg("no path %s", name);
	return NULL;
}

static unsigned probe(struct net_path *paths, bool packets, const char *tree, struct script *s)
{
	struct net_probe p = {
		.packets = packets, .sysfs = tree, .procfs = tree, .counted = scripted, .ctx = s};

	return net_paths__probe(&p, paths);
}

TEST(rdma_devices_are_named)
{
	static const uint64_t nothing[][2] = {{0, 0}};
	struct script s = {nothing, 1, 0};
	struct net_path paths[NET_PATHS];
	unsigned n = probe(paths, true, cluster, &s);
	const struct net_path *r = find(paths, n, "RDMA");

	assert_int_equal(r->verdict, NET_NOT_SEEN);
	assert_false(r->tried);
	assert_string_equal(r->detail, "mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, mlx5_6, "
				       "mlx5_7 and 2 more");
	assert_int_equal(find(paths, n, "SMC")->verdict, NET_NOT_SEEN);
	assert_int_equal(find(paths, n, "AF_XDP")->verdict, NET_NOT_SEEN);
	assert_int_equal(find(paths, n, "packet sockets")->verdict, NET_NOT_SEEN);
}

TEST(what_is_not_here)
{
	static const uint64_t nothing[][2] = {{0, 0}};
	struct script s = {nothing, 1, 0};
	struct net_path paths[NET_PATHS];
	static const char *const absent[] = {"RDMA",	       "SMC",	"AF_XDP",
					     "packet sockets", "MPTCP", "kernel TLS"};
	unsigned n = probe(paths, true, bare, &s);
	size_t i;

	for (i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		assert_int_equal(find(paths, n, absent[i])->verdict, NET_NOT_HERE);
}

/* Packets are seen whatever asked for them: stated, for nothing was tried. */
TEST(packets_are_not_tried)
{
	static const uint64_t nothing[][2] = {{0, 0}};
	struct script s = {nothing, 1, 0};
	struct net_path paths[NET_PATHS];
	unsigned i, n = probe(paths, true, cluster, &s);

	for (i = 0; i < n; i++)
		assert_false(paths[i].tried);
	assert_int_equal(s.next, 0);
	assert_int_equal(find(paths, n, "splice from a socket")->verdict, NET_SEEN);
}

/* Where ordinary calls are not counted a try would tell nothing. */
TEST(blind_counters_tell_nothing)
{
	static const uint64_t nothing[][2] = {{7, 7}};
	struct script s = {nothing, 1, 0};
	struct net_path paths[NET_PATHS];
	unsigned n = probe(paths, false, bare, &s);
	const struct net_path *r = find(paths, n, "splice from a socket");

	assert_int_equal(r->verdict, NET_NOT_TRIED);
	assert_string_equal(r->detail, "own calls are not counted");
	assert_int_equal(find(paths, n, "RDMA")->verdict, NET_NOT_HERE);
}

/* Calls of 16 bytes each way; then sendfile and splice, 32 sent; then splice from, 16 to come. */
TEST(verdicts_are_the_counters)
{
	static const uint64_t sees[][2] = {{0, 0},   {16, 16}, {16, 16},
					   {48, 48}, {48, 48}, {64, 64}};
	static const uint64_t blind[][2] = {{0, 0}, {16, 16}, {16, 16}, {32, 48}, {64, 48}};
	struct script s = {sees, 6, 0};
	struct net_path paths[NET_PATHS];
	unsigned n = probe(paths, false, bare, &s);
	const struct net_path *r;

	r = find(paths, n, "sendfile and splice to a socket");
	assert_true(r->tried);
	assert_int_equal(r->verdict, NET_SEEN);
	assert_int_equal(find(paths, n, "splice from a socket")->verdict, NET_SEEN);
	s = (struct script){blind, 5, 0};
	n = probe(paths, false, bare, &s);
	r = find(paths, n, "sendfile and splice to a socket");
	assert_int_equal(r->verdict, NET_NOT_SEEN);
	assert_string_equal(r->detail, "only in part");
	r = find(paths, n, "splice from a socket");
	assert_true(r->tried);
	assert_int_equal(r->verdict, NET_NOT_SEEN);
	assert_string_equal(r->detail, "");
}

TEST(the_text_groups_them)
{
	static const struct net_path paths[] = {
		{"A", "A", NET_SEEN, true, ""},
		{"B", "B", NET_NOT_SEEN, true, "only in part"},
		{"C", "C", NET_SEEN, false, ""},
		{"D", "D devices", NET_NOT_SEEN, false, "d0, d1"},
		{"E", "E", NET_NOT_TRIED, false, "Operation not permitted"},
		{"F", "F device", NET_NOT_HERE, false, ""},
		{"G", "G", NET_NOT_HERE, false, ""},
		{"H", "H", NET_SEEN, true, ""},
	};
	char text[512], small[24];

	net_paths__text(paths, sizeof(paths) / sizeof(paths[0]), text, sizeof(text));
	assert_string_equal(text,
			    "probed, seen: A, H; probed, not seen: B (only in part); stated, seen: "
			    "C; stated, not seen: D (d0, d1); could not be probed: E (Operation "
			    "not permitted); no F device, no G");
	net_paths__text(paths, sizeof(paths) / sizeof(paths[0]), small, sizeof(small));
	assert_string_equal(small, "probed, seen: A, H; pro");
}

int main(void)
{
	return run_all_tests(.setup_all = make_trees, .teardown_all = remove_trees);
}
