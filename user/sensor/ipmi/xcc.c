// SPDX-License-Identifier: GPL-2.0-or-later
/* The sensor xcc: readings of Lenovo's BMC. */
#include "sensor/ipmi/xcc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/str.h"
#include "sensor/core/file.h"
#include "sensor/ipmi/ipmi.h"

#define NETFN_APP     0x06
#define CMD_DEVICE_ID 0x01
#define NETFN_XCC     0x3a
#define CMD_XCC	      0x32
#define LENOVO	      19046 /* its enterprise number (IANA) */
#define VENDOR	      "Lenovo"
#define ROUND_MJ      (1000ull << 32) /* mJ at which the count begins again */
#define MAX_W	      50000	      /* more is an impossible value */

struct sensor {
	struct ipmi_link link;
	struct sensor_channel channel;
	struct sensor_count count;
	bool energy;
	bool seen; /* `last` holds an earlier reading */
	struct xcc_reading last;
	uint64_t rounds_mj; /* counted before the last restart of the count */
	uint64_t time_ns;   /* when `last` was measured */
};

static uint64_t le(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

/* Reads a number: whole units in four bytes, then thousandths. */
static uint64_t thousandths(const uint8_t *whole, const uint8_t *part)
{
	return le(whole, 4) * 1000 + le(part, 2);
}

int xcc__parse(const uint8_t *data, int len, struct xcc_reading *r)
{
	uint64_t reading;

	if (len != XCC_ENERGY_LEN && len != XCC_POWER_LEN && len != XCC_POWER_LEN + 2)
		return -EPROTO;
	reading = thousandths(data + 2, data + 6);
	*r = (struct xcc_reading){.energy = len == XCC_ENERGY_LEN,
				  .stamp_ms = thousandths(data + len - 6, data + len - 2)};
	if (r->energy)
		r->mj = reading;
	else
		r->mw = reading;
	return 0;
}

static uint64_t deadline(void)
{
	return clock__boot_ns() + ipmi__settings().timeout_s * NSEC_PER_SEC;
}

static int ask_controller(struct sensor *s, struct xcc_reading *r)
{
	const struct ipmi_request req = {
		.netfn = NETFN_XCC, .cmd = CMD_XCC, .len = 5, .data = {4, 2, 0, 0, 0}};
	uint8_t data[IPMI_MAX_ANSWER];
	int n = ipmi_link__ask(&s->link, &req, data, deadline());

	return n < 0 ? n : xcc__parse(data, n, r);
}

/* Checks that the BMC is Lenovo's by Get Device ID, which every BMC answers. */
static int check_maker(struct sensor *s)
{
	const struct ipmi_request req = {.netfn = NETFN_APP, .cmd = CMD_DEVICE_ID};
	uint8_t data[IPMI_MAX_ANSWER];
	int n = ipmi_link__ask(&s->link, &req, data, deadline());

	if (n < 0)
		return n;
	return n >= 9 && (le(data + 6, 3) & 0xfffff) == LENOVO ? 0 : -ENOENT;
}

/* Reads once: a BMC that does not know the command has no such readings. */
static int first_answer(struct sensor *s)
{
	struct xcc_reading r;
	int err = ask_controller(s, &r);

	if (err)
		return err == -EOPNOTSUPP || err == -EPROTO ? -ENOENT : err;
	s->energy = r.energy;
	s->channel = sensor__channel(r.energy ? "Node energy" : "Node power");
	snprintf(s->channel.unit, sizeof(s->channel.unit), r.energy ? "J" : "W");
	s->channel.part = PART_NODE;
	s->channel.quantity = r.energy ? QUANTITY_ENERGY : QUANTITY_POWER;
	s->channel.step = 1e-3;
	return 0;
}

static void xcc_close(struct sensor *s)
{
	ipmi_link__close(&s->link);
}

static int begin_link(struct sensor *s, const struct ipmi_link *link)
{
	int err;

	s->link = *link;
	err = check_maker(s);
	if (!err)
		err = first_answer(s);
	return ipmi_link__error(err);
}

int xcc__open_link(struct sensor **out, struct ipmi_link *link)
{
	struct sensor *s = calloc(1, sizeof(*s));
	int err = s ? begin_link(s, link) : -ENOMEM;

	if (!s)
		ipmi_link__close(link);
	if (err)
		sensor__close(&sensor_xcc, s);
	else
		*out = s;
	return err;
}

static bool is_lenovo(const struct sensor_roots *roots)
{
	char path[PATH_MAX], vendor[64];

	if (snprintf(path, sizeof(path), "%s/class/dmi/id/sys_vendor", roots->sys) >=
		    (int)sizeof(path) ||
	    read_file(AT_FDCWD, path, vendor, sizeof(vendor)) < 0)
		return false;
	vendor[strcspn(vendor, " \n")] = '\0';
	return !strcasecmp(vendor, VENDOR);
}

static int xcc_open(struct sensor *s, const struct sensor_ops *ops,
		    const struct sensor_roots *roots)
{
	const struct ipmi_settings settings = ipmi__settings();
	struct ipmi_link link = {0};
	int err = -ENOENT;

	if (is_lenovo(roots))
		err = ipmi_link__open(&link, roots->dev, *settings.device ? settings.device : NULL,
				      NULL, 0);
	return err ? err : begin_link(s, &link);
}

static int xcc_probe(const struct sensor_ops *ops, const struct sensor_roots *roots, char *text,
		     size_t len)
{
	const struct ipmi_settings settings = ipmi__settings();

	if (!is_lenovo(roots)) {
		snprintf(text, len, "the system's vendor is not " VENDOR);
		return -ENOENT;
	}
	return ipmi_link__probe(roots->dev, *settings.device ? settings.device : NULL,
				"modprobe ipmi_si ipmi_devintf", text, len);
}

static unsigned xcc_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = &s->channel;
	return 1;
}

/* Whether a count that is lower than the last one can have passed the end of its range since. */
static bool came_round(const struct sensor *s, uint64_t mj, uint64_t now)
{
	double seconds = (double)(now - s->time_ns) / NSEC_PER_SEC;

	return (double)(ROUND_MJ + mj - s->last.mj) / 1000 <= MAX_W * seconds;
}

static void take_energy(struct sensor *s, const struct xcc_reading *r, uint64_t now,
			struct sensor_value *v)
{
	if (s->seen && r->mj < s->last.mj && came_round(s, r->mj, now))
		s->rounds_mj += ROUND_MJ;
	v->quality = sensor_count__add(&s->count, s->rounds_mj + r->mj, 1e-3, &v->value);
}

static int take_reading(struct sensor *s, const struct xcc_reading *r, uint64_t now,
			struct sensor_value *v)
{
	bool again = s->seen && r->stamp_ms && r->stamp_ms == s->last.stamp_ms &&
		     r->mj == s->last.mj && r->mw == s->last.mw;

	/* 0 W is unknown: a running machine takes power */
	if (r->energy != s->energy || (!r->energy && (!r->mw || r->mw > MAX_W * 1000ull)))
		return -ENODATA;
	if (r->energy)
		take_energy(s, r, now, v);
	else
		*v = (struct sensor_value){.value = (double)r->mw / 1000, .quality = READING_GOOD};
	if (again && v->quality == READING_GOOD)
		v->quality = READING_REPEATED;
	s->time_ns = again ? s->time_ns : now;
	v->time_ns = s->time_ns;
	s->last = *r;
	s->seen = true;
	return 0;
}

static int xcc_read(struct sensor *s, struct sensor_value *values)
{
	uint64_t start = clock__boot_ns();
	struct xcc_reading r;
	int err = ask_controller(s, &r);

	if (!err)
		err = take_reading(s, &r, start + (clock__boot_ns() - start) / 2, values);
	if (!err)
		return 0;
	*values = sensor__no_value(sensor__quality_of(err));
	values->time_ns = clock__boot_ns();
	return ipmi_link__error(err);
}

const struct sensor_ops sensor_xcc = {
	.name = "xcc",
	.doc = "node energy or power as Lenovo's BMC measures it",
	.slow = true,
	.size = sizeof(struct sensor),
	.open = xcc_open,
	.probe = xcc_probe,
	.channels = xcc_channels,
	.read = xcc_read,
	.close = xcc_close,
};
