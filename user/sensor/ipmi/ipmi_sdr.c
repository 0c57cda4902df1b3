// SPDX-License-Identifier: GPL-2.0-only
/* Walks the BMC's sensor data records for a sensor of power. */
#include "sensor/ipmi/ipmi_sdr.h"

#include <errno.h>
#include <string.h>

#define NETFN_STORAGE	0x0a
#define CMD_RESERVE	0x22
#define CMD_GET		0x23
#define CHUNK		16 /* what every BMC can give at once */
#define LAST		0xffff
#define MAX_RECORDS	4096
#define MAX_RESERVATION 8 /* lost ones, before it is given up */

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

	/* A repository in one piece needs no reservation. */
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

/* len bytes of a record from offset; *next is the record behind it. */
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
	/* Only full sensor records are worth the rest. */
	if (out[3] != SDR_FULL)
		return 0;
	for (size_t at = SDR_HEADER; at < *len && !err;) {
		size_t part = *len - at < CHUNK ? *len - at : CHUNK;

		err = get_part(w, record, (unsigned)at, (unsigned)part, out + at, next);
		at += part;
	}
	return err;
}

int ipmi_sdr__walk(struct ipmi_link *link, sdr_fn each, void *context, uint64_t deadline_ns)
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
