// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads numbers from the bytes of IPMI and DCMI messages. */
#include "sensor/ipmi/ipmi_proto.h"

#include <errno.h>
#include <string.h>

#define NETFN_SENSOR 0x04
#define NETFN_GROUP  0x2c
#define GROUP_DCMI   0xdc

static unsigned le16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static uint32_t le32(const uint8_t *p)
{
	return le16(p) | (uint32_t)le16(p + 2) << 16;
}

static int sign_extend(unsigned v, unsigned bits)
{
	return v & 1u << (bits - 1) ? (int)v - (1 << bits) : (int)v;
}

struct ipmi_request dcmi__power_request(enum dcmi_mode mode, uint8_t window)
{
	return (struct ipmi_request){
		.netfn = NETFN_GROUP,
		.cmd = 0x02,
		.len = 4,
		.data = {GROUP_DCMI, (uint8_t)mode, mode == DCMI_ENHANCED ? window : 0, 0},
	};
}

int dcmi__parse_power(const uint8_t *data, int len, struct dcmi_power *p)
{
	if (len < 18 || data[0] != GROUP_DCMI)
		return -EPROTO;
	*p = (struct dcmi_power){
		.now = le16(data + 1),
		.least = le16(data + 3),
		.most = le16(data + 5),
		.average = le16(data + 7),
		.time = le32(data + 9),
		.period_ms = le32(data + 13),
		.active = data[17] & 0x40,
	};
	return 0;
}

struct ipmi_request dcmi__window_request(void)
{
	return (struct ipmi_request){
		.netfn = NETFN_GROUP, .cmd = 0x01, .len = 2, .data = {GROUP_DCMI, 5}};
}

/* Reads a window: the low six bits are a number of seconds, minutes, hours or days, by the high two
 * bits. */
int dcmi__parse_window(const uint8_t *data, int len, uint8_t *window)
{
	static const uint32_t unit[] = {1, 60, 3600, 86400};
	uint32_t best = UINT32_MAX;

	if (len < 5 || data[0] != GROUP_DCMI || len < 5 + data[4])
		return -EPROTO;
	for (unsigned i = 0; i < data[4]; i++) {
		uint8_t w = data[5 + i];
		uint32_t seconds = (w & 0x3fu) * unit[w >> 6];

		if (seconds < best) {
			best = seconds;
			*window = w;
		}
	}
	return data[4] ? 0 : -ENOENT;
}

/* Copies the name of a record; bytes that are not text of the common encoding become '?'. */
static void copy_name(const uint8_t *text, size_t len, char *name, size_t size)
{
	size_t n = len < size - 1 ? len : size - 1;

	for (size_t i = 0; i < n; i++)
		name[i] = text[i] >= 0x20 && text[i] < 0x7f ? (char)text[i] : '?';
	name[n] = '\0';
}

int ipmi__parse_sensor(const uint8_t *record, size_t len, struct ipmi_sensor *s)
{
	unsigned accuracy;
	size_t name;

	if (len < 48 || len < SDR_HEADER + (size_t)record[4] || record[3] != SDR_FULL)
		return -EPROTO;
	name = record[47] & 0x1f;
	if (48 + name > len)
		return -EPROTO;
	accuracy = (record[27] & 0x3f) | (record[28] & 0xf0u) << 2;
	*s = (struct ipmi_sensor){
		.record = (uint16_t)le16(record),
		.owner = record[5],
		.lun = record[6] & 3,
		.number = record[7],
		.unit = record[20] & 0x3f ? 0 : record[21],
		.format = record[20] >> 6,
		.linearize = record[23] & 0x7f,
		.m = sign_extend(record[24] | (record[25] & 0xc0u) << 2, 10),
		.b = sign_extend(record[26] | (record[27] & 0xc0u) << 2, 10),
		.r_exp = sign_extend(record[29] >> 4, 4),
		.b_exp = sign_extend(record[29] & 0xf, 4),
		.error = accuracy ? accuracy * exp10(record[28] >> 2 & 3) / 10000 : NAN,
	};
	copy_name(record + 48, name, s->name, sizeof(s->name));
	return 0;
}

static double inverse(double x)
{
	return 1 / x;
}

static double square(double x)
{
	return x * x;
}

static double cube(double x)
{
	return x * x * x;
}

double ipmi__convert(const struct ipmi_sensor *s, uint8_t raw)
{
	static double (*const linear[])(double) = {
		NULL, log, log10, log2, exp, exp10, exp2, inverse, square, cube, sqrt, cbrt,
	};
	double x = raw, y;

	if (s->format > 2 || s->linearize >= sizeof(linear) / sizeof(linear[0]))
		return NAN;
	if (s->format && raw & 0x80)
		x = s->format == 1 ? -(double)(uint8_t)~raw : (double)raw - 256;
	y = (s->m * x + s->b * exp10(s->b_exp)) * exp10(s->r_exp);
	y = linear[s->linearize] ? linear[s->linearize](y) : y;
	return isfinite(y) ? y : NAN;
}

double ipmi__step(const struct ipmi_sensor *s)
{
	return s->linearize || !s->m ? NAN : fabs(s->m * exp10(s->r_exp));
}

struct ipmi_request ipmi__reading_request(const struct ipmi_sensor *s)
{
	return (struct ipmi_request){
		.netfn = NETFN_SENSOR, .lun = s->lun, .cmd = 0x2d, .len = 1, .data = {s->number}};
}

int ipmi__parse_reading(const uint8_t *data, int len, bool unscanned, uint8_t *raw)
{
	if (len < 2)
		return -EPROTO;
	if (data[1] & 0x20 || (!(data[1] & 0x40) && !unscanned))
		return -ENODATA;
	*raw = data[0];
	return 0;
}
