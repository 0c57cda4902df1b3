// SPDX-License-Identifier: GPL-2.0-or-later
/* Ports of InfiniBand and its kin, and of Slingshot, on made-up machines. */

#include "tests/unit/unit.h"
#include "sensor/sensors.h"
#include "tests/unit/machine.h"

#define IB    "sys/class/infiniband/"
#define MLX5  "Port/mlx5_0-1"
#define COUNT IB "mlx5_0/ports/1/counters/"

TEST(every_port_has_its_table)
{
	static const char *const ports[] = {
		"Port/efa_0-1", "Port/hfi1_0-1", "Port/mlx4_0-1", "Port/mlx4_0-2",
		MLX5,		"Port/mlx5_1-1", "Port/rxe0-1"};
	const char *last = "";
	unsigned n = 0;

	machine_on("ports", &sensor_ports);
	for (unsigned i = 0; i < m.n; i++) {
		assert_int_equal(m.c[i].part, PART_PORT);
		if (!strcmp(m.c[i].series, last))
			continue;
		last = m.c[i].series;
		assert_in_range(n, 0, 6);
		assert_string_equal(last, ports[n++]);
	}
	assert_int_equal(n, 7);
	assert_string_equal(channel_of(MLX5, "RxMB")->about, "InfiniBand, 200 Gb/sec (4X HDR)");
	assert_string_equal(channel_of(MLX5, "RxMB")->name, "mlx5_0-1 Rx");
}

TEST(data_are_words_of_four_bytes)
{
	machine_on("ports", &sensor_ports);
	assert_string_equal(channel_of(MLX5, "RxMB")->unit, "B");
	machine_puts(IB, "mlx5_0/ports/1/counters/port_rcv_data=4831882394217|"
			 "mlx5_0/ports/1/counters/port_xmit_packets=17934567130|"
			 "mlx5_0/ports/1/counters/port_xmit_wait=982128|"
			 "mlx5_0/ports/1/hw_counters/out_of_sequence=14|"
			 "hfi1_0/ports/1/counters/port_xmit_data=654324");
	reads(MLX5, "RxMB=4000, TxMB=0, TxPackets=7, XmitWait=5, OutOfSequence=2");
	expect("Port/hfi1_0-1", "TxMB=12");
}

TEST(a_port_has_what_its_driver_counts)
{
	machine_on("ports", &sensor_ports);
	assert_null(channel_of("Port/rxe0-1", "RxMB"));
	machine_put_u64(IB "rxe0/ports/1/hw_counters/rcvd_pkts", 128);
	machine_put_u64(IB "efa_0/ports/1/hw_counters/tx_bytes", 2345);
	reads("Port/rxe0-1", "RxPackets=100, TxPackets=0");
	expect("Port/efa_0-1", "TxMB=345");
}

TEST(a_port_that_is_down_is_there)
{
	machine_on("ports", &sensor_ports);
	expect("Port/mlx5_1-1", "RxMB=0, Up=0");
	expect(MLX5, "Up=1, Rate=200");
	expect("Port/rxe0-1", "Rate=2.5");
	assert_int_equal(channel_of(MLX5, "Up")->quantity, QUANTITY_LEVEL);
	machine_puts(IB, "mlx5_0/ports/1/state=2: INIT|mlx5_0/ports/1/rate=much");
	reads(MLX5, "Up=0, Rate=none");
}

TEST(a_full_counter_has_no_value)
{
	machine_on("ports", &sensor_ports);
	expect(MLX5, "SymbolErrors=none");
	expect("Port/mlx4_0-2", "TxMB=none, RxMB=0");
	/* Those with 64 bits stand in. */
	machine_put_u64(IB "mlx4_0/ports/1/counters_ext/port_xmit_data_64", 8589934594);
	machine_put_u64(IB "mlx4_0/ports/2/counters/port_rcv_data", 4294967100);
	reads("Port/mlx4_0-1", "TxMB=4");
	expect("Port/mlx4_0-2", "RxMB=400");
	machine_put_u64(IB "mlx4_0/ports/2/counters/port_rcv_data", 4294967295);
	reads("Port/mlx4_0-2", "RxMB=none");
	/* Somebody clears it. It has passed 4294967100 again when it is read, and is not trusted.
	 */
	machine_put_u64(IB "mlx4_0/ports/2/counters/port_rcv_data", 4294967200);
	reads("Port/mlx4_0-2", "RxMB=gap 400");
	machine_put_u64(IB "mlx4_0/ports/2/counters/port_rcv_data", 4294967210);
	reads("Port/mlx4_0-2", "RxMB=440");
}

TEST(a_counter_of_64_bits_is_not_full_at_32)
{
	machine_on("ports", &sensor_ports);
	machine_put_u64(IB "hfi1_0/ports/1/counters/port_rcv_data", 4294967295);
	reads("Port/hfi1_0-1", "RxMB=none");
	machine_put_u64(IB "hfi1_0/ports/1/counters/port_rcv_data", 4294967296);
	machine_read(0);
	expect("Port/hfi1_0-1", "RxMB=%.17g", (4294967296.0 - 123456) * 4);
}

TEST(a_reset_port_has_gaps_only)
{
	machine_on("ports", &sensor_ports);
	machine_put_u64(COUNT "port_rcv_data", 100);
	machine_put_u64(COUNT "port_xmit_data", 4723418273460); /* more than before */
	reads(MLX5, "RxMB=gap 0, TxMB=gap 0, Up=1");
	expect("Port/hfi1_0-1", "TxMB=0");
	machine_put_u64(COUNT "port_rcv_data", 200);
	reads(MLX5, "RxMB=400, TxMB=0");
}

TEST(what_is_no_number_is_no_value)
{
	static const char *const bad[] = {
		"", "-5", "nan", "0x5", "18446744073709551616", "1 2x x", "N/A (no PMA)"};

	machine_on("ports", &sensor_ports);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool number = bad[i][0] == '1' && bad[i][1] == ' ';

		machine_put(COUNT "port_rcv_errors", bad[i]);
		machine_read(0);
		if (!number)
			expect(MLX5, "RxErrors=none");
	}
	machine_put(COUNT "port_rcv_errors", "8");
	reads(MLX5, "RxErrors=gap 0");
}

TEST(an_adapter_that_goes_and_comes_back)
{
	machine_on("ports", &sensor_ports);
	shell("mv %s/class/infiniband/mlx5_0 %s/gone", m.sys, m.dir);
	reads(MLX5, "RxMB=none, Up=none");
	expect("Port/mlx5_1-1", "RxMB=0");
	shell("mv %s/gone %s/class/infiniband/mlx5_0", m.dir, m.sys);
	reads(MLX5, "RxMB=gap 0");
	reads(MLX5, "RxMB=0");
	machine_remove("sys");
	machine_read(-ENODATA);
}

TEST(files_that_may_not_be_read)
{
	machine_on("ports", &sensor_ports);
	shell("chmod 0 %s/" COUNT "*", m.dir);
	be_nobody(true);
	machine_read(0);
	be_nobody(false);
	expect(MLX5, "RxMB=denied, OutOfSequence=0");
}

#define CXI "sys/class/cxi/cxi0/device/telemetry/"

TEST(slingshot)
{
	machine_on("slingshot", &sensor_slingshot);
	assert_string_equal(m.c[0].series, "Port/cxi0");
	assert_string_equal(m.c[m.n - 1].series, "Port/cxi0");
	/* The octets that were sent are past their 56 bits. */
	machine_puts(
		CXI,
		"hni_sts_rx_ok_octets=9000004321@1732200001.1|hni_sts_tx_ok_octets=64@1732200001.1|"
		"hni_pkts_recv_by_tc_3=3005@1732200001.1|hni_pkts_recv_by_tc_7=7001@1732200001.1|"
		"pct_sct_timeouts=5@1732200001.1|pct_spt_timeouts=2@1732200001.1");
	reads("Port/cxi0", "RxMB=4321, TxMB=1000, RxPackets=6, AckTimeouts=2, Pauses=0");
	machine_put(CXI "hni_pkts_recv_by_tc_3", "@1732200001.1");
	reads("Port/cxi0", "RxPackets=none, TxPackets=0");
	/* One part of a sum was away. */
	machine_put(CXI "hni_pkts_recv_by_tc_3", "3006@1732200001.1");
	reads("Port/cxi0", "RxPackets=gap 6");
	machine_put(CXI "hni_sts_rx_ok_octets", "10@1732200001.1");
	reads("Port/cxi0", "RxMB=gap 4321, TxPackets=gap 0");
}

TEST(a_node_without_them)
{
	machine_make("");
	machine_lacks(&sensor_ports);
	machine_lacks(&sensor_slingshot);
}

static struct unit_fixture fixture = {.teardown = machine_end};
