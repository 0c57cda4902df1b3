// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads ports of InfiniBand, Omni-Path and RoCE in /sys/class/infiniband. The files of counters/
 * are the same for all drivers: they count data in words of 4 bytes, and errors with the few bits
 * that packets of the subnet manager have for them. A full counter stays at its highest value.
 * hw_counters/ is specific to the driver; some drivers have nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/room.h"
#include "base/str.h"
#include "sensor/core/counter_set.h"
#include "sensor/core/file.h"

#define WORD  4.0
#define BITS4 15u
#define BITS8 255u
/* Highest values. Counters of 64 bits have the same names: a count of exactly these values is taken
 * for a full counter. */
#define BITS16 65535u
#define BITS32 4294967295u

static const struct counter_file files[] = {
	{"RxMB", "B", "counters_ext/port_rcv_data_64", WORD, 0, 0},
	{"RxMB", "B", "counters/port_rcv_data", WORD, 0, BITS32},
	{"RxMB", "B", "hw_counters/rx_bytes", 1, 0, 0},
	{"RxMB", "B", "hw_counters/hw_rx_bytes_cnt", 1, 0, 0},
	{"RxMB", "B", "hw_counters/ip4InOctets+hw_counters/ip6InOctets", 1, 0, 0},
	{"TxMB", "B", "counters_ext/port_xmit_data_64", WORD, 0, 0},
	{"TxMB", "B", "counters/port_xmit_data", WORD, 0, BITS32},
	{"TxMB", "B", "hw_counters/tx_bytes", 1, 0, 0},
	{"TxMB", "B", "hw_counters/hw_tx_bytes_cnt", 1, 0, 0},
	{"TxMB", "B", "hw_counters/ip4OutOctets+hw_counters/ip6OutOctets", 1, 0, 0},
	{"RxPackets", "", "counters_ext/port_rcv_packets_64", 1, 0, 0},
	{"RxPackets", "", "counters/port_rcv_packets", 1, 0, BITS32},
	{"RxPackets", "", "hw_counters/rx_pkts", 1, 0, 0},
	{"RxPackets", "", "hw_counters/hw_rx_packets_cnt", 1, 0, 0},
	{"RxPackets", "", "hw_counters/ip4InPkts+hw_counters/ip6InPkts", 1, 0, 0},
	{"RxPackets", "", "hw_counters/rcvd_pkts", 1, 0, 0},
	{"TxPackets", "", "counters_ext/port_xmit_packets_64", 1, 0, 0},
	{"TxPackets", "", "counters/port_xmit_packets", 1, 0, BITS32},
	{"TxPackets", "", "hw_counters/tx_pkts", 1, 0, 0},
	{"TxPackets", "", "hw_counters/hw_tx_packets_cnt", 1, 0, 0},
	{"TxPackets", "", "hw_counters/ip4OutPkts+hw_counters/ip6OutPkts", 1, 0, 0},
	{"TxPackets", "", "hw_counters/sent_pkts", 1, 0, 0},
	{"RxErrors", "", "counters/port_rcv_errors", 1, 0, BITS16},
	{"RxDrops", "", "hw_counters/out_of_buffer", 1, 0, 0},
	{"RxDrops", "", "hw_counters/rx_drops", 1, 0, 0},
	{"TxDiscards", "", "counters/port_xmit_discards", 1, 0, BITS16},
	{"XmitWait", "", "counters/port_xmit_wait", 1, 0, BITS32},
	{"SymbolErrors", "", "counters/symbol_error", 1, 0, BITS16},
	{"IntegrityErrors", "", "counters/local_link_integrity_errors", 1, 0, BITS4},
	{"RemoteErrors", "", "counters/port_rcv_remote_physical_errors", 1, 0, BITS16},
	{"Recoveries", "", "counters/link_error_recovery", 1, 0, BITS8},
	{"LinkDowned", "", "counters/link_downed", 1, 0, BITS8},
	{"LinkDowned", "", "hw_counters/link_downed", 1, 0, 0},
	{"AckTimeouts", "", "hw_counters/local_ack_timeout_err", 1, 0, 0},
	{"AckTimeouts", "", "hw_counters/to_retransmits", 1, 0, 0},
	{"OutOfSequence", "", "hw_counters/out_of_sequence", 1, 0, 0},
	{"OutOfSequence", "", "hw_counters/out_of_seq_request", 1, 0, 0},
	{"RnrNaks", "", "hw_counters/rnr_nak_retry_err", 1, 0, 0},
	{"RnrNaks", "", "hw_counters/rcvd_rnr_err", 1, 0, 0},
	{"CnpSent", "", "hw_counters/np_cnp_sent", 1, 0, 0},
	{"CnpSent", "", "hw_counters/cnpSent", 1, 0, 0},
	{"CnpHandled", "", "hw_counters/rp_cnp_handled", 1, 0, 0},
	{"CnpHandled", "", "hw_counters/cnpHandled", 1, 0, 0},
};

struct port {
	char *dir;	   /* owned */
	unsigned up, rate; /* indices of channels */
};

struct sensor {
	struct counter_set c;
	struct port *port; /* one per device of c */
	unsigned nports;
};

/* Reads the first line of PORT/NAME; buf is "" if the line cannot be read. 0 or -errno. */
static int read_line(const char *port, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t n = -ENAMETOOLONG;

	if (snprintf(path, sizeof(path), "%s/%s", port, name) < (int)sizeof(path))
		n = read_file(AT_FDCWD, path, buf, size);
	if (n < 0)
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return n < 0 ? (int)n : 0;
}

static int add_level(struct sensor *s, const char *column, const char *unit, unsigned *channel)
{
	int err = counter_set__add_channel(&s->c, column, unit, channel);

	if (!err)
		s->c.channel[*channel].quantity = QUANTITY_LEVEL;
	return err;
}

/* Adds the port PORTS/NUMBER; PORTS is SYS/class/infiniband/DEVICE/ports. */
static int add_port(void *arg, const char *ports, const char *number)
{
	struct sensor *s = arg;
	char name[NAME_MAX * 2 + 2], link[24], rate[32], about[64];
	size_t end = strlen(ports) - strlen("/ports"), begin = end;
	struct port *p;
	int err;

	if (room__grow(&s->port, s->nports, 1, sizeof(*s->port)))
		return -ENOMEM;
	p = &s->port[s->nports];
	if (asprintf(&p->dir, "%s/%s", ports, number) < 0)
		return -ENOMEM;
	while (ports[begin - 1] != '/')
		begin--;
	snprintf(name, sizeof(name), "%.*s-%s", (int)(end - begin), ports + begin, number);
	read_line(p->dir, "link_layer", link, sizeof(link));
	read_line(p->dir, "rate", rate, sizeof(rate));
	snprintf(about, sizeof(about), "%s%s%s", link, *link && *rate ? ", " : "", rate);
	err = counter_set__add_device(&s->c, name, about);
	if (err) {
		free(p->dir);
		return err == -ENOSPC ? 0 : err;
	}
	s->nports++;
	err = counter_set__add_files(&s->c, p->dir, files, sizeof(files) / sizeof(files[0]));
	if (!err)
		err = add_level(s, "Up", "", &p->up);
	return err ? err : add_level(s, "Rate", "Gb/s", &p->rate);
}

/* Adds the ports of a device. A device without ports, or one that is removed meanwhile, is no
 * error. */
static int add_ports(void *s, const char *class, const char *device)
{
	_cleanup_free_ char *ports = NULL;
	int err;

	if (asprintf(&ports, "%s/%s/ports", class, device) < 0) {
		ports = NULL;
		return -ENOMEM;
	}
	err = sensor__each_entry(ports, add_port, s);
	return err == -ENOENT ? 0 : err;
}

static void ports_close(struct sensor *s)
{
	for (unsigned i = 0; i < s->nports; i++)
		free(s->port[i].dir);
	free(s->port);
	counter_set__free(&s->c);
}

static int ports_open(struct sensor *s, const struct sensor_ops *ops,
		      const struct sensor_roots *roots)
{
	char dir[PATH_MAX];
	int err;

	s->c = (struct counter_set){.series = "Port", .part = PART_PORT};
	if (snprintf(dir, sizeof(dir), "%s/class/infiniband", roots->sys) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	err = sensor__each_entry(dir, add_ports, s);
	return err ? err : s->nports ? 0 : -ENOENT;
}

static void ports_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			   char *text, size_t len)
{
	if (err == -ENOENT)
		snprintf(text, len, "no port in %s/class/infiniband", roots->sys);
	else if (err)
		snprintf(text, len, "%s/class/infiniband: %s", roots->sys, strerror(-err));
	else
		snprintf(text, len, "%u in %s/class/infiniband%s", s->nports, roots->sys,
			 s->c.left_out ? ", more are left out" : "");
}

static void set_level(struct sensor_value *v, int err, double value, uint64_t now)
{
	*v = err ? sensor__no_value(sensor__quality_of(err))
		 : (struct sensor_value){value, now, READING_GOOD};
}

/* Reads state and rate: files with "4: ACTIVE" and "2.5 Gb/sec (1X SDR)". */
static void read_levels(const struct port *p, uint64_t now, struct sensor_value *values)
{
	double rate = NAN;
	char buf[64];
	int err = read_line(p->dir, "state", buf, sizeof(buf));

	set_level(&values[p->up], err || !*buf ? err ? err : -ENODATA : 0, str__starts(buf, "4:"),
		  now);
	err = read_line(p->dir, "rate", buf, sizeof(buf));
	if (!err) {
		bool gbits = strstr(buf, " Gb/sec") != NULL;

		buf[strcspn(buf, " ")] = '\0';
		err = gbits ? parse_double(buf, &rate) : -ENODATA;
	}
	set_level(&values[p->rate], err, rate, now);
}

static int ports_read(struct sensor *s, struct sensor_value *values)
{
	for (unsigned i = 0; i < s->nports; i++) {
		uint64_t now = clock__boot_ns();

		counter_set__read_files(&s->c, i);
		counter_set__take(&s->c, i, now, values);
		read_levels(&s->port[i], now, values);
	}
	return sensor__any_value(values, s->c.nchannels);
}

const struct sensor_ops sensor_ports = {
	.name = "ports",
	.doc = "ports of InfiniBand, Omni-Path and RoCE",
	.slow = true, /* each file may be a question to the firmware */
	.size = sizeof(struct sensor),
	.open = ports_open,
	.describe = ports_describe,
	.channels = counter_set__channels,
	.read = ports_read,
	.close = ports_close,
};
