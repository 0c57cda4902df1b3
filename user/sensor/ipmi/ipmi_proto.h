/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages and records of IPMI 2.0 and DCMI 1.5 about power: bytes in, numbers out. */
#ifndef JP_SENSOR_IPMI_IPMI_PROTO_H
#define JP_SENSOR_IPMI_IPMI_PROTO_H

#include "sensor/ipmi/ipmi_link.h"

/* DCMI 6.6.1, Get Power Reading. */
struct dcmi_power {
	unsigned now, least, most, average; /* W; the last three over period_ms */
	uint32_t time;			    /* unix time by the BMC's clock */
	uint32_t period_ms;
	bool active;
};

enum dcmi_mode { DCMI_SYSTEM = 1, DCMI_ENHANCED = 2 };

/* window: of the enhanced mode, as dcmi__window() found it. */
struct ipmi_request dcmi__power_request(enum dcmi_mode mode, uint8_t window);
/* data[len]: the answer behind its completion code. 0; -EPROTO: it is too short, or not of DCMI. */
int dcmi__parse_power(const uint8_t *data, int len, struct dcmi_power *p);
struct ipmi_request dcmi__window_request(void);
/* Finds the shortest time over which the BMC averages, in the form for the enhanced mode. -EPROTO,
 * -ENOENT. */
int dcmi__parse_window(const uint8_t *data, int len, uint8_t *window);

#define SDR_FULL      0x01 /* record type: a sensor with all its factors */
#define SDR_HEADER    5
#define SDR_MAX	      (SDR_HEADER + 255)
#define IPMI_BMC_ADDR 0x20

/* IPMI 43.1, Full Sensor Record: the parts that reading a sensor needs. */
struct ipmi_sensor {
	uint16_t record;
	uint8_t owner, lun, number;
	uint8_t unit;	   /* 6: watts; 0 if it is a ratio, a rate or a product */
	uint8_t format;	   /* of the raw value: 0 unsigned, 1 one's, 2 two's complement */
	uint8_t linearize; /* 0: it is linear already */
	int m, b, b_exp, r_exp;
	double error; /* relative, NAN: the record does not say */
	char name[17];
};

#define IPMI_UNIT_WATTS 6

/* A whole record of type SDR_FULL. -EPROTO: it is shorter than it says or than it must be. */
int ipmi__parse_sensor(const uint8_t *record, size_t len, struct ipmi_sensor *s);
/* A raw value in the sensor's unit (IPMI 36.3); NAN: the conversion is not known. */
double ipmi__convert(const struct ipmi_sensor *s, uint8_t raw);
/* The resolution of a linear sensor; NAN: the sensor is not linear. */
double ipmi__step(const struct ipmi_sensor *s);
struct ipmi_request ipmi__reading_request(const struct ipmi_sensor *s);
/* -ENODATA: the BMC says that there is no reading now; -EPROTO. unscanned: accepts the reading of a
 * sensor that is not scanned. */
int ipmi__parse_reading(const uint8_t *data, int len, bool unscanned, uint8_t *raw);

#endif
