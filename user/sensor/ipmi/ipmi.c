/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sensor ipmi: power by DCMI or by a sensor of the BMC. */
#include "sensor/ipmi/ipmi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "sensor/core/file.h"
#include "sensor/ipmi/ipmi_proto.h"

/* Called for each sensor; returns 0 to go on, 1 to stop. */
typedef int (*sdr_fn)(void *context, const struct ipmi_sensor *s);

/* ---- walks the BMC's sensor data records for a sensor of power */

#define NETFN_STORAGE	0x0a
#define CMD_RESERVE	0x22
#define CMD_GET		0x23
#define CHUNK		16 /* bytes that every BMC can return at once */
#define LAST		0xffff
#define MAX_RECORDS	4096
#define MAX_RESERVATION 8 /* lost reservations that end the walk */

struct walk {
	struct ipmi_link *link;
	uint64_t deadline_ns;
	uint16_t reservation;
	unsigned lost;
};

static int reserve_repository(struct walk *w)
{
	const struct ipmi_request req = {.netfn = NETFN_STORAGE, .cmd = CMD_RESERVE};
	uint8_t data[IPMI_MAX_ANSWER];
	int n = ipmi_link__ask(w->link, &req, data, w->deadline_ns);

	/* a repository that is read in one piece needs no reservation */
	if (n == -EOPNOTSUPP) {
		w->reservation = 0;
		return 0;
	}
	if (n < 0)
		return n;
	if (n < 2)
		return -EPROTO;
	w->reservation = (uint16_t)(data[0] | data[1] << 8);
	return 0;
}

/* Reads len bytes of a record from offset; *next is the id of the following record. */
static int get_part(struct walk *w, uint16_t record, unsigned offset, unsigned len, uint8_t *out,
		    uint16_t *next)
{
	const struct ipmi_request req = {
		.netfn = NETFN_STORAGE,
		.cmd = CMD_GET,
		.len = 6,
		.data = {(uint8_t)w->reservation, (uint8_t)(w->reservation >> 8), (uint8_t)record,
			 (uint8_t)(record >> 8), (uint8_t)offset, (uint8_t)len},
	};
	uint8_t data[IPMI_MAX_ANSWER];
	int n = ipmi_link__ask(w->link, &req, data, w->deadline_ns);

	if (n < 0)
		return n;
	if ((unsigned)n != len + 2)
		return -EPROTO;
	*next = (uint16_t)(data[0] | data[1] << 8);
	memcpy(out, data + 2, len);
	return 0;
}

static int get_record(struct walk *w, uint16_t record, uint8_t out[SDR_MAX], size_t *len,
		      uint16_t *next)
{
	int err = get_part(w, record, 0, SDR_HEADER, out, next);

	if (err)
		return err;
	*len = SDR_HEADER + (size_t)out[4];
	/* other kinds of records are not read to their end */
	if (out[3] != SDR_FULL)
		return 0;
	for (size_t at = SDR_HEADER; at < *len && !err;) {
		size_t part = *len - at < CHUNK ? *len - at : CHUNK;

		err = get_part(w, record, (unsigned)at, (unsigned)part, out + at, next);
		at += part;
	}
	return err;
}

/* Calls each() for all full sensor records in the repository's order, and skips broken ones and
 * other kinds. A repository that leads in a circle ends, too. 0, or -errno of ipmi_link__ask(). */
static int sdr_walk(struct ipmi_link *link, sdr_fn each, void *context, uint64_t deadline_ns)
{
	struct walk w = {.link = link, .deadline_ns = deadline_ns};
	uint16_t record = 0, next = LAST;
	int err = reserve_repository(&w);

	for (unsigned i = 0; i < MAX_RECORDS && !err; i++) {
		uint8_t buf[SDR_MAX];
		struct ipmi_sensor s;
		size_t len = 0;

		err = get_record(&w, record, buf, &len, &next);
		if (err == -ESTALE && ++w.lost < MAX_RESERVATION) {
			err = reserve_repository(&w);
			continue;
		}
		if (err)
			break;
		if (!ipmi__parse_sensor(buf, len, &s) && each(context, &s))
			break;
		if (next == LAST)
			break;
		record = next;
	}
	return err;
}

#define MAX_SOURCES (IPMI_LABELS * IPMI_IDS)
#define WALK_NS	    (60 * NSEC_PER_SEC) /* hundreds of records at tens of ms each */
#define LEARN_NS    (2 * NSEC_PER_SEC)
#define LEARN_PAUSE (NSEC_PER_SEC / 20)

/* One question to the BMC; its answer may count for several labels. */
struct source {
	enum ipmi_way way;
	uint16_t record;
	uint8_t window; /* of the enhanced DCMI mode */
	bool found;
	bool seen; /* `last` holds an earlier reading */
	/* OpenBMC never reports that DCMI measures, but has its watts. So watts are taken until a
	 * BMC has once reported that it measures. */
	bool active, deactivated;
	struct ipmi_sensor sensor;
	struct dcmi_power last;
	struct sensor_value value;
};

struct label {
	unsigned n;
	unsigned source[IPMI_IDS];
};

struct sensor {
	struct ipmi_link link;
	struct ipmi_settings settings;
	unsigned nsources, nlabels;
	struct source source[MAX_SOURCES];
	struct label label[IPMI_LABELS];
	struct sensor_channel channel[IPMI_LABELS];
};

static struct ipmi_settings in_use;
static bool in_use_set;

void ipmi__use(const struct ipmi_settings *s)
{
	in_use = *s;
	in_use_set = true;
}

struct ipmi_settings ipmi__settings(void)
{
	struct ipmi_settings s;

	ipmi_settings__init(&s);
	return in_use_set ? in_use : s;
}

static uint64_t deadline_of(const struct sensor *s)
{
	return clock__boot_ns() + s->settings.timeout_s * NSEC_PER_SEC;
}

static unsigned source_index(struct sensor *s, enum ipmi_way way, uint16_t record)
{
	unsigned i;

	for (i = 0; i < s->nsources; i++)
		if (s->source[i].way == way && s->source[i].record == record)
			return i;
	s->source[i] = (struct source){.way = way, .record = record};
	s->nsources++;
	return i;
}

static void take_labels(struct sensor *s)
{
	for (unsigned i = 0; i < s->settings.nlabels; i++) {
		const struct ipmi_label *from = &s->settings.label[i];
		struct label *to = &s->label[s->nlabels++];

		for (unsigned k = 0; k < from->n; k++)
			to->source[to->n++] =
				source_index(s, from->source[k].way, from->source[k].record);
	}
}

static bool readable_power(const struct ipmi_sensor *sensor)
{
	return sensor->unit == IPMI_UNIT_WATTS && sensor->format <= 2 &&
	       sensor->owner == IPMI_BMC_ADDR;
}

static int match_record(void *context, const struct ipmi_sensor *sensor)
{
	struct sensor *s = context;
	unsigned missing = 0;

	for (unsigned i = 0; i < s->nsources; i++) {
		struct source *src = &s->source[i];

		if (src->way == IPMI_BY_RECORD && src->record == sensor->record &&
		    readable_power(sensor)) {
			src->sensor = *sensor;
			src->found = true;
		}
		missing += src->way == IPMI_BY_RECORD && !src->found;
	}
	return !missing;
}

static int first_power(void *context, const struct ipmi_sensor *sensor)
{
	struct source *src = context;

	if (!readable_power(sensor))
		return 0;
	src->sensor = *sensor;
	src->record = sensor->record;
	src->way = IPMI_BY_RECORD;
	src->found = true;
	return 1;
}

static int find_window(struct sensor *s, struct source *src)
{
	const struct ipmi_request req = dcmi__window_request();
	uint8_t data[IPMI_MAX_ANSWER];
	int n = ipmi_link__ask(&s->link, &req, data, deadline_of(s));

	return n < 0 ? n : dcmi__parse_window(data, n, &src->window);
}

static int ask_dcmi(struct sensor *s, struct source *src, struct dcmi_power *p,
		    uint64_t deadline_ns)
{
	const struct ipmi_request req = dcmi__power_request(
		src->way == IPMI_BY_DCMI ? DCMI_SYSTEM : DCMI_ENHANCED, src->window);
	uint8_t data[IPMI_MAX_ANSWER];
	int n = ipmi_link__ask(&s->link, &req, data, deadline_ns);
	int err = n < 0 ? n : dcmi__parse_power(data, n, p);

	if (!err) {
		src->active |= p->active;
		src->deactivated = !src->active && p->now;
	}
	return err;
}

/* Chooses DCMI if it measures, else the first sensor in watts, else DCMI that may measure later. */
static int choose_source(struct sensor *s)
{
	struct source *src = &s->source[source_index(s, IPMI_BY_DCMI, 0)];
	struct dcmi_power p = {0};
	int dcmi = ask_dcmi(s, src, &p, deadline_of(s)), err;

	if (dcmi == -ETIMEDOUT || dcmi == -EBUSY)
		return dcmi;
	s->label[0] = (struct label){.n = 1};
	s->nlabels = 1;
	src->found = true;
	if (!dcmi && (p.active || src->deactivated))
		return 0;
	src->found = false;
	err = sdr_walk(&s->link, first_power, src, clock__boot_ns() + WALK_NS);
	if (src->found)
		return 0;
	src->found = !dcmi;
	return src->found ? 0 : err && err != -EOPNOTSUPP ? err : -ENOENT;
}

/* Finds all sources in the configuration; one that is missing makes its label's sum unknown. */
static int find_sources(struct sensor *s)
{
	bool records = false;
	int err = 0;

	take_labels(s);
	for (unsigned i = 0; i < s->nsources && !err; i++) {
		struct source *src = &s->source[i];

		records |= src->way == IPMI_BY_RECORD;
		src->found = src->way != IPMI_BY_RECORD;
		if (src->way == IPMI_BY_DCMI_ENHANCED)
			err = find_window(s, src);
	}
	if (!err && records)
		err = sdr_walk(&s->link, match_record, s, clock__boot_ns() + WALK_NS);
	for (unsigned i = 0; i < s->nsources && !err; i++)
		if (!s->source[i].found) {
			log_error("EnergyIPMIPowerSensors: the BMC has no sensor of its own in "
				  "watts with record id %u; ipmi-sensors lists them",
				  s->source[i].record);
			err = -ENODEV;
		}
	return err;
}

static double larger(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

static void describe_channels(struct sensor *s)
{
	for (unsigned i = 0; i < s->nlabels; i++) {
		struct sensor_channel *c = &s->channel[i];

		*c = sensor__channel(s->settings.nlabels ? s->settings.label[i].name : "Node");
		snprintf(c->unit, sizeof(c->unit), "W");
		c->quantity = QUANTITY_POWER;
		c->part = !strcasecmp(c->name, "Node") ? PART_NODE : PART_OTHER;
		c->step = c->error = 0;
		for (unsigned k = 0; k < s->label[i].n; k++) {
			const struct source *src = &s->source[s->label[i].source[k]];
			bool record = src->way == IPMI_BY_RECORD;

			c->step = larger(c->step, record ? ipmi__step(&src->sensor) : 1);
			c->error = larger(c->error, record ? src->sensor.error : NAN);
		}
	}
}

static bool same_power(const struct dcmi_power *a, const struct dcmi_power *b)
{
	return a->time && a->time == b->time && a->now == b->now && a->least == b->least &&
	       a->most == b->most && a->average == b->average;
}

/* Reads DCMI's power; 0 W is unknown, for a running machine takes power. */
static int read_dcmi(struct sensor *s, struct source *src, double *watts, bool *repeated,
		     uint64_t deadline_ns)
{
	struct dcmi_power p;
	int err = ask_dcmi(s, src, &p, deadline_ns);

	if (err)
		return err;
	if (!p.now || !(p.active || src->deactivated))
		return -ENODATA;
	*repeated = src->seen && same_power(&p, &src->last);
	src->last = p;
	src->seen = true;
	*watts = p.now;
	return 0;
}

static int read_record(struct sensor *s, struct source *src, double *watts, uint64_t deadline_ns)
{
	const struct ipmi_request req = ipmi__reading_request(&src->sensor);
	uint8_t data[IPMI_MAX_ANSWER], raw;
	int n = ipmi_link__ask(&s->link, &req, data, deadline_ns);
	int err = n < 0 ? n : ipmi__parse_reading(data, n, s->settings.unscanned, &raw);

	if (err)
		return err;
	*watts = ipmi__convert(&src->sensor, raw);
	return isnan(*watts) || *watts < 0 ? -ENODATA : 0;
}

static int read_source(struct sensor *s, struct source *src, uint64_t deadline_ns)
{
	uint64_t start = clock__boot_ns(), before = src->value.time_ns;
	bool repeated = false;
	double watts = NAN;
	int err = src->way == IPMI_BY_RECORD ? read_record(s, src, &watts, deadline_ns)
					     : read_dcmi(s, src, &watts, &repeated, deadline_ns);

	if (err) {
		src->value = sensor__no_value(sensor__quality_of(err));
		src->seen = false;
		return err;
	}
	src->value = (struct sensor_value){
		.value = watts,
		.time_ns = repeated ? before : start + (clock__boot_ns() - start) / 2,
		.quality = repeated ? READING_REPEATED : READING_GOOD,
	};
	return 0;
}

static struct sensor_value sum_of(const struct sensor *s, const struct label *l)
{
	struct sensor_value sum = {.quality = READING_REPEATED};

	for (unsigned k = 0; k < l->n; k++) {
		const struct sensor_value *v = &s->source[l->source[k]].value;

		if (isnan(v->value))
			return *v;
		sum.value += v->value;
		if (v->time_ns > sum.time_ns)
			sum.time_ns = v->time_ns;
		if (v->quality == READING_GOOD)
			sum.quality = READING_GOOD;
	}
	return sum;
}

static int ipmi_read(struct sensor *s, struct sensor_value *values)
{
	uint64_t deadline_ns = deadline_of(s);
	int err = 0;

	/* after a timeout the BMC is not asked the other questions */
	for (unsigned i = 0; i < s->nsources; i++) {
		if (err == -ETIMEDOUT)
			s->source[i].value = sensor__no_value(READING_NONE);
		else
			err = read_source(s, &s->source[i], deadline_ns);
	}
	for (unsigned i = 0; i < s->nlabels; i++) {
		values[i] = sum_of(s, &s->label[i]);
		if (isnan(values[i].value))
			values[i].time_ns = clock__boot_ns();
	}
	return sensor__any_value(values, s->nlabels) ? (err ? ipmi_link__error(err) : -ENODATA) : 0;
}

/* Sets the period: the least time between two changes of the first label's first source. */
static void learn_period(struct sensor *s, uint64_t learn_ns)
{
	const struct timespec pause = {.tv_nsec = LEARN_PAUSE};
	uint64_t end = clock__boot_ns() + learn_ns, changed = 0, least = UINT64_MAX;
	struct source *src = &s->source[s->label[0].source[0]];
	double last = NAN;

	while (clock__boot_ns() < end && !read_source(s, src, deadline_of(s))) {
		if (!isnan(last) && src->value.value != last) {
			if (changed && src->value.time_ns - changed < least)
				least = src->value.time_ns - changed;
			changed = src->value.time_ns;
		}
		last = src->value.value;
		nanosleep(&pause, NULL);
	}
	for (unsigned i = 0; i < s->nlabels && least != UINT64_MAX; i++)
		s->channel[i].period_ns = least;
	src->seen = false;
}

/* Marks in the names, for readers, a BMC whose power is used although it reports that it does not
 * measure. */
static void mark_channels(struct sensor *s)
{
	for (unsigned i = 0; i < s->nlabels; i++)
		for (unsigned k = 0; k < s->label[i].n; k++)
			if (s->source[s->label[i].source[k]].deactivated)
				snprintf(s->channel[i].about, sizeof(s->channel[i].about),
					 "DCMI, which the BMC calls deactivated");
}

static void ipmi_close(struct sensor *s)
{
	ipmi_link__close(&s->link);
}

static int begin_link(struct sensor *s, const struct ipmi_link *link,
		      const struct ipmi_settings *settings, uint64_t learn_ns)
{
	int err;

	s->link = *link;
	s->settings = *settings;
	err = s->settings.nlabels ? find_sources(s) : choose_source(s);
	if (err)
		return ipmi_link__error(err);
	describe_channels(s);
	learn_period(s, learn_ns);
	mark_channels(s);
	return 0;
}

int ipmi__open_link(struct sensor **out, struct ipmi_link *link,
		    const struct ipmi_settings *settings, uint64_t learn_ns)
{
	struct sensor *s = calloc(1, sizeof(*s));
	int err = s ? begin_link(s, link, settings, learn_ns) : -ENOMEM;

	if (!s)
		ipmi_link__close(link);
	if (err)
		sensor__close(&sensor_ipmi, s);
	else
		*out = s;
	return err;
}

/* The device in the settings; NULL: the first one. */
static const char *device_of(const struct ipmi_settings *s)
{
	return *s->device ? s->device : NULL;
}

static int ipmi_open(struct sensor *s, const struct sensor_ops *ops,
		     const struct sensor_roots *roots)
{
	struct ipmi_settings settings = ipmi__settings();
	struct ipmi_link link;
	int err = ipmi_link__open(&link, roots->dev, device_of(&settings), NULL, 0);

	return err ? err : begin_link(s, &link, &settings, LEARN_NS);
}

static int ipmi_probe(const struct sensor_ops *ops, const struct sensor_roots *roots, char *text,
		      size_t len)
{
	struct ipmi_settings settings = ipmi__settings();

	return ipmi_link__probe(roots->dev, device_of(&settings),
				"with a BMC: modprobe ipmi_si ipmi_devintf", text, len);
}

static unsigned ipmi_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->channel;
	return s->nlabels;
}

const struct sensor_ops sensor_ipmi = {
	.name = "ipmi",
	.doc = "node power as the BMC measures it (DCMI, or sensors in watts)",
	.slow = true,
	.size = sizeof(struct sensor),
	.open = ipmi_open,
	.probe = ipmi_probe,
	.channels = ipmi_channels,
	.read = ipmi_read,
	.close = ipmi_close,
};
