/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of the ways past the network counters, on trees of sysfs and procfs. */

#include "tests/unit/unit.h"
#include "kern/probe.h"

static char bare[64], cluster[64];

#define HEAD "protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de\n"

static int make_trees(void **state)
{
	char path[64];
	int i;

	strcpy(bare, in_dir("bare"));
	strcpy(cluster, in_dir("cluster"));
	put_text(bare, "net/protocols",
		 HEAD "TCP       2496      4       1   no     320   yes  kernel\n");
	put_text(cluster, "net/protocols",
		 HEAD "SMC        800      0      -1   NI       0   yes  smc\n"
		      "PACKET    1472      0      -1   NI       0   no   kernel\n"
		      "XDP        960      0      -1   NI       0   no   kernel\n");
	put_text(cluster, "net/tls_stat", "");
	put_text(cluster, "sys/net/mptcp/enabled", "1\n");
	for (i = 9; i >= 0; i--) {
		snprintf(path, sizeof(path), "class/infiniband/mlx5_%d/node_type", i);
		put_text(cluster, path, "1: CA\n");
	}
	put_text(bare, "class/net/lo/ifindex", "1\n");
	return 0;
}

TEST(all_there_is)
{
	char text[1024];

	net_paths__text(false, cluster, cluster, text, sizeof(text));
	assert_string_equal(
		text,
		"seen: sendfile and splice to a socket, io_uring, MPTCP, kernel TLS; not seen: "
		"splice from a socket, TCP zero-copy receive, io_uring zero-copy receive, "
		"packet sockets, AF_XDP, SMC, RDMA (mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, "
		"mlx5_5, mlx5_6, mlx5_7 and 2 more)");
}

TEST(packets_show_more)
{
	char text[1024];

	net_paths__text(true, cluster, cluster, text, sizeof(text));
	assert_string_equal(
		text, "seen: sendfile and splice to a socket, splice from a socket, TCP zero-copy "
		      "receive, io_uring, io_uring zero-copy receive, MPTCP, kernel TLS; not seen: "
		      "packet sockets, AF_XDP, SMC, RDMA (mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, "
		      "mlx5_5, mlx5_6, mlx5_7 and 2 more)");
}

TEST(what_is_not_here)
{
	char text[1024], small[24];

	net_paths__text(false, bare, bare, text, sizeof(text));
	assert_string_equal(
		text, "seen: sendfile and splice to a socket, io_uring; not seen: splice from a "
		      "socket, TCP zero-copy receive, io_uring zero-copy receive; no MPTCP, no "
		      "kernel TLS, no packet sockets, no AF_XDP, no SMC, no RDMA device");
	net_paths__text(false, bare, bare, small, sizeof(small));
	assert_string_equal(small, "seen: sendfile and spli");
}

static struct unit_fixture fixture = {.setup_all = make_trees};
