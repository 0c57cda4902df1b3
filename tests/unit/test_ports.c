// SPDX-License-Identifier: GPL-2.0-only
/* Ports of InfiniBand and its kin, and of Slingshot, on made-up machines. */

#include "tests/unit/unit.h"
#include "sensor/sensors.h"
#include "sensors.h"
#include "opened.h"

#define IB    "sys/class/infiniband/"
#define MLX5  "Port/mlx5_0-1"
#define COUNT IB "mlx5_0/ports/1/counters/"

TEST(every_port_has_its_table)
{
	static const char *const ports[] = {
		"Port/efa_0-1", "Port/hfi1_0-1", "Port/mlx4_0-1", "Port/mlx4_0-2",
		MLX5,		"Port/mlx5_1-1", "Port/rxe0-1"};
	struct opened o;
	const char *last = "";
	unsigned n = 0;

	set_up(&o, &sensor_ports, "ports");
	for (unsigned i = 0; i < o.n; i++) {
		assert_int_equal(o.c[i].part, PART_PORT);
		if (!strcmp(o.c[i].series, last))
			continue;
		last = o.c[i].series;
		assert_in_range(n, 0, 6);
		assert_string_equal(last, ports[n++]);
	}
	assert_int_equal(n, 7);
	assert_string_equal(channel_of(&o, MLX5, "RxMB")->about, "InfiniBand, 200 Gb/sec (4X HDR)");
	assert_string_equal(channel_of(&o, MLX5, "RxMB")->name, "mlx5_0-1 Rx");
	close_it(&o);
}

TEST(data_are_words_of_four_bytes)
{
	struct opened o;

	set_up(&o, &sensor_ports, "ports");
	assert_string_equal(channel_of(&o, MLX5, "RxMB")->unit, "B");
	machine_put_u64(&o.m, COUNT "port_rcv_data", 4831882393217 + 1000);
	machine_put_u64(&o.m, COUNT "port_xmit_packets", 17934567123 + 7);
	machine_put_u64(&o.m, COUNT "port_xmit_wait", 982123 + 5);
	machine_put_u64(&o.m, IB "mlx5_0/ports/1/hw_counters/out_of_sequence", 14);
	machine_put_u64(&o.m, IB "hfi1_0/ports/1/counters/port_xmit_data", 654321 + 3);
	read_it(&o);
	expect(&o, MLX5, "RxMB", READING_GOOD, 4000);
	expect(&o, MLX5, "TxMB", READING_GOOD, 0);
	expect(&o, MLX5, "TxPackets", READING_GOOD, 7);
	expect(&o, MLX5, "XmitWait", READING_GOOD, 5);
	expect(&o, MLX5, "OutOfSequence", READING_GOOD, 2);
	expect(&o, "Port/hfi1_0-1", "TxMB", READING_GOOD, 12);
	close_it(&o);
}

TEST(a_port_has_what_its_driver_counts)
{
	struct opened o;

	set_up(&o, &sensor_ports, "ports");
	assert_null(channel_of(&o, "Port/rxe0-1", "RxMB"));
	machine_put_u64(&o.m, IB "rxe0/ports/1/hw_counters/rcvd_pkts", 128);
	machine_put_u64(&o.m, IB "efa_0/ports/1/hw_counters/tx_bytes", 2345);
	read_it(&o);
	expect(&o, "Port/rxe0-1", "RxPackets", READING_GOOD, 100);
	expect(&o, "Port/rxe0-1", "TxPackets", READING_GOOD, 0);
	expect(&o, "Port/efa_0-1", "TxMB", READING_GOOD, 345);
	close_it(&o);
}

TEST(a_port_that_is_down_is_there)
{
	struct opened o;

	set_up(&o, &sensor_ports, "ports");
	expect(&o, "Port/mlx5_1-1", "RxMB", READING_GOOD, 0);
	expect(&o, "Port/mlx5_1-1", "Up", READING_GOOD, 0);
	expect(&o, MLX5, "Up", READING_GOOD, 1);
	expect(&o, MLX5, "Rate", READING_GOOD, 200);
	expect(&o, "Port/rxe0-1", "Rate", READING_GOOD, 2.5);
	assert_int_equal(channel_of(&o, MLX5, "Up")->quantity, QUANTITY_LEVEL);
	machine_put(&o.m, IB "mlx5_0/ports/1/state", "2: INIT");
	machine_put(&o.m, IB "mlx5_0/ports/1/rate", "much");
	read_it(&o);
	expect(&o, MLX5, "Up", READING_GOOD, 0);
	expect(&o, MLX5, "Rate", READING_NONE, NAN);
	close_it(&o);
}

TEST(a_full_counter_has_no_value)
{
	struct opened o;

	set_up(&o, &sensor_ports, "ports");
	expect(&o, MLX5, "SymbolErrors", READING_NONE, NAN);
	expect(&o, "Port/mlx4_0-2", "TxMB", READING_NONE, NAN);
	expect(&o, "Port/mlx4_0-2", "RxMB", READING_GOOD, 0);
	/* Those with 64 bits stand in. */
	machine_put_u64(&o.m, IB "mlx4_0/ports/1/counters_ext/port_xmit_data_64", 8589934594);
	machine_put_u64(&o.m, IB "mlx4_0/ports/2/counters/port_rcv_data", 4294967100);
	read_it(&o);
	expect(&o, "Port/mlx4_0-1", "TxMB", READING_GOOD, 4);
	expect(&o, "Port/mlx4_0-2", "RxMB", READING_GOOD, 400);
	machine_put_u64(&o.m, IB "mlx4_0/ports/2/counters/port_rcv_data", 4294967295);
	read_it(&o);
	expect(&o, "Port/mlx4_0-2", "RxMB", READING_NONE, NAN);
	/* Somebody clears it. It has passed 4294967100 again when it is read, and is not trusted.
	 */
	machine_put_u64(&o.m, IB "mlx4_0/ports/2/counters/port_rcv_data", 4294967200);
	read_it(&o);
	expect(&o, "Port/mlx4_0-2", "RxMB", READING_GAP, 400);
	machine_put_u64(&o.m, IB "mlx4_0/ports/2/counters/port_rcv_data", 4294967210);
	read_it(&o);
	expect(&o, "Port/mlx4_0-2", "RxMB", READING_GOOD, 440);
	close_it(&o);
}

TEST(a_counter_of_64_bits_is_not_full_at_32)
{
	struct opened o;

	set_up(&o, &sensor_ports, "ports");
	machine_put_u64(&o.m, IB "hfi1_0/ports/1/counters/port_rcv_data", 4294967295);
	read_it(&o);
	expect(&o, "Port/hfi1_0-1", "RxMB", READING_NONE, NAN);
	machine_put_u64(&o.m, IB "hfi1_0/ports/1/counters/port_rcv_data", 4294967296);
	read_it(&o);
	expect(&o, "Port/hfi1_0-1", "RxMB", READING_GOOD, (4294967296.0 - 123456) * 4);
	close_it(&o);
}

TEST(a_reset_port_has_gaps_only)
{
	struct opened o;

	set_up(&o, &sensor_ports, "ports");
	machine_put_u64(&o.m, COUNT "port_rcv_data", 100);
	machine_put_u64(&o.m, COUNT "port_xmit_data", 4723418273460); /* more than before */
	read_it(&o);
	expect(&o, MLX5, "RxMB", READING_GAP, 0);
	expect(&o, MLX5, "TxMB", READING_GAP, 0);
	expect(&o, MLX5, "Up", READING_GOOD, 1);
	expect(&o, "Port/hfi1_0-1", "TxMB", READING_GOOD, 0);
	machine_put_u64(&o.m, COUNT "port_rcv_data", 200);
	read_it(&o);
	expect(&o, MLX5, "RxMB", READING_GOOD, 400);
	expect(&o, MLX5, "TxMB", READING_GOOD, 0);
	close_it(&o);
}

TEST(what_is_no_number_is_no_value)
{
	static const char *const bad[] = {
		"", "-5", "nan", "0x5", "18446744073709551616", "1 2x x", "N/A (no PMA)"};
	struct opened o;

	set_up(&o, &sensor_ports, "ports");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool number = bad[i][0] == '1' && bad[i][1] == ' ';

		machine_put(&o.m, COUNT "port_rcv_errors", bad[i]);
		read_it(&o);
		if (!number)
			expect(&o, MLX5, "RxErrors", READING_NONE, NAN);
	}
	machine_put(&o.m, COUNT "port_rcv_errors", "8");
	read_it(&o);
	expect(&o, MLX5, "RxErrors", READING_GAP, 0);
	close_it(&o);
}

TEST(an_adapter_that_goes_and_comes_back)
{
	struct opened o;
	char cmd[256];

	set_up(&o, &sensor_ports, "ports");
	snprintf(cmd, sizeof(cmd), "mv %s/class/infiniband/mlx5_0 %s/gone", o.m.sys, o.m.dir);
	assert_int_equal(system(cmd), 0);
	read_it(&o);
	expect(&o, MLX5, "RxMB", READING_NONE, NAN);
	expect(&o, MLX5, "Up", READING_NONE, NAN);
	expect(&o, "Port/mlx5_1-1", "RxMB", READING_GOOD, 0);
	snprintf(cmd, sizeof(cmd), "mv %s/gone %s/class/infiniband/mlx5_0", o.m.dir, o.m.sys);
	assert_int_equal(system(cmd), 0);
	read_it(&o);
	expect(&o, MLX5, "RxMB", READING_GAP, 0);
	read_it(&o);
	expect(&o, MLX5, "RxMB", READING_GOOD, 0);
	machine_remove(&o.m, "sys");
	assert_int_equal(o.ops->read(o.s, o.v), -ENODATA);
	close_it(&o);
}

TEST(files_that_may_not_be_read)
{
	struct opened o;
	char cmd[256];
	int err;

	set_up(&o, &sensor_ports, "ports");
	snprintf(cmd, sizeof(cmd), "chmod 0 %s/" COUNT "*", o.m.dir);
	assert_int_equal(system(cmd), 0);
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0);
	err = o.ops->read(o.s, o.v);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(err, 0);
	expect(&o, MLX5, "RxMB", READING_DENIED, NAN);
	expect(&o, MLX5, "OutOfSequence", READING_GOOD, 0);
	close_it(&o);
}

#define CXI "sys/class/cxi/cxi0/device/telemetry/"

TEST(slingshot)
{
	struct opened o;

	set_up(&o, &sensor_slingshot, "slingshot");
	assert_string_equal(o.c[0].series, "Port/cxi0");
	assert_string_equal(o.c[o.n - 1].series, "Port/cxi0");
	machine_put(&o.m, CXI "hni_sts_rx_ok_octets", "9000004321@1732200001.1");
	/* Past its 56 bits. */
	machine_put(&o.m, CXI "hni_sts_tx_ok_octets", "64@1732200001.1");
	machine_put(&o.m, CXI "hni_pkts_recv_by_tc_3", "3005@1732200001.1");
	machine_put(&o.m, CXI "hni_pkts_recv_by_tc_7", "7001@1732200001.1");
	machine_put(&o.m, CXI "pct_sct_timeouts", "5@1732200001.1");
	machine_put(&o.m, CXI "pct_spt_timeouts", "2@1732200001.1");
	read_it(&o);
	expect(&o, "Port/cxi0", "RxMB", READING_GOOD, 4321);
	expect(&o, "Port/cxi0", "TxMB", READING_GOOD, 1000);
	expect(&o, "Port/cxi0", "RxPackets", READING_GOOD, 6);
	expect(&o, "Port/cxi0", "AckTimeouts", READING_GOOD, 2);
	expect(&o, "Port/cxi0", "Pauses", READING_GOOD, 0);
	machine_put(&o.m, CXI "hni_pkts_recv_by_tc_3", "@1732200001.1");
	read_it(&o);
	expect(&o, "Port/cxi0", "RxPackets", READING_NONE, NAN);
	expect(&o, "Port/cxi0", "TxPackets", READING_GOOD, 0);
	/* One part of a sum was away. */
	machine_put(&o.m, CXI "hni_pkts_recv_by_tc_3", "3006@1732200001.1");
	read_it(&o);
	expect(&o, "Port/cxi0", "RxPackets", READING_GAP, 6);
	machine_put(&o.m, CXI "hni_sts_rx_ok_octets", "10@1732200001.1");
	read_it(&o);
	expect(&o, "Port/cxi0", "RxMB", READING_GAP, 4321);
	expect(&o, "Port/cxi0", "TxPackets", READING_GAP, 0);
	close_it(&o);
}

TEST(a_node_without_them)
{
	static const struct sensor_ops *const all[] = {&sensor_ports, &sensor_slingshot};
	struct sensor_roots roots = {.sys = "/nonexistent", .proc = "/nonexistent"};

	are_absent(all, 2, &roots);
}
