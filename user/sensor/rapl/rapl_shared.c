/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all ways to read RAPL share: joules from raw counts, documented properties of processors,
 * and the channel of a counter. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/room.h"
#include "sensor/rapl/rapl.h"

/* ---- from raw values of an energy counter to joules */

/* Part of late_j that may pass between two readings at the highest power; the rest allows for an
 * error of that power. */
#define LATE 0.8
/* The hardware makes a new value every 1 ms with jitter, so a short time may hold the energy of a
 * longer one. */
#define JITTER_S 0.02

uint64_t (*rapl_clock)(void) = clock__boot_ns;

/* The joules counted since the last reading. False: unknown. */
static bool passed(const struct rapl_counter *c, const struct rapl_raw *raw, double *joules)
{
	double seconds = (double)(raw->time_ns - c->last_ns) / NSEC_PER_SEC;
	uint64_t counts = raw->count - c->last;

	if (c->late_j > 0 && seconds * c->pmax_w > LATE * c->late_j)
		return false;
	if (c->range) {
		if (raw->count >= c->range || c->last >= c->range)
			return false;
		if (raw->count < c->last)
			counts += c->range;
	}
	*joules = (double)counts * c->unit;
	return *joules <= c->pmax_w * (seconds + JITTER_S);
}

struct sensor_value rapl_counter__take(struct rapl_counter *c, const struct rapl_raw *raw)
{
	struct sensor_value v = {.time_ns = raw->time_ns, .quality = READING_GAP};
	double joules;

	if (raw->err) {
		c->based = false;
		v.value = NAN;
		v.quality =
			raw->err == -EACCES || raw->err == -EPERM ? READING_DENIED : READING_NONE;
		return v;
	}
	if (c->based && passed(c, raw, &joules)) {
		c->joules += joules;
		v.quality = READING_GOOD;
	}
	c->based = true;
	c->last = raw->count;
	c->last_ns = raw->time_ns;
	v.value = c->joules;
	return v;
}

/* ---- documented units, errors and powers of processor models */

#define INTEL_FAMILY 6

#define UNIT_2_16 (1.0 / 65536)

/* On servers from Haswell to Ice Lake and on Xeon Phi, DRAM counts in units of 2^-16 J (15.3 uJ)
 * whatever the unit register says: Intel's datasheet of the E5 v3 (330784, volume 2), and the
 * tables in arch/x86/events/rapl.c and drivers/powercap/intel_rapl_common.c of Linux. These tables
 * also have the 1 J of the platform counter since Sapphire Rapids, and the unit of the Atoms. */
static const struct {
	unsigned model;
	struct rapl_model is;
} intel[] = {
	{63, {.dram_unit = UNIT_2_16, .psys_unit = NAN}},  /* Haswell-EP */
	{79, {.dram_unit = UNIT_2_16, .psys_unit = NAN}},  /* Broadwell-EP */
	{85, {.dram_unit = UNIT_2_16, .psys_unit = NAN}},  /* Skylake-SP, Cascade Lake */
	{87, {.dram_unit = UNIT_2_16, .psys_unit = NAN}},  /* Knights Landing */
	{106, {.dram_unit = UNIT_2_16, .psys_unit = NAN}}, /* Ice Lake-SP */
	{108, {.dram_unit = UNIT_2_16, .psys_unit = NAN}}, /* Ice Lake-D */
	{133, {.dram_unit = UNIT_2_16, .psys_unit = NAN}}, /* Knights Mill */
	{143, {.dram_unit = NAN, .psys_unit = 1}},	   /* Sapphire Rapids */
	{207, {.dram_unit = NAN, .psys_unit = 1}},	   /* Emerald Rapids */
	{55, {.dram_unit = NAN, .psys_unit = NAN, .atom_unit = true}}, /* Silvermont */
	{74, {.dram_unit = NAN, .psys_unit = NAN, .atom_unit = true}}, /* Merrifield */
	{76, {.dram_unit = NAN, .psys_unit = NAN, .atom_unit = true}}, /* Airmont */
	{90, {.dram_unit = NAN, .psys_unit = NAN, .atom_unit = true}}, /* Moorefield */
};

void rapl_model__find(struct rapl_model *m, const struct cpus *c)
{
	*m = (struct rapl_model){NAN, NAN, false, c->vendor == VENDOR_AMD};
	if (c->vendor != VENDOR_INTEL || c->family != INTEL_FAMILY)
		return;
	for (unsigned i = 0; i < sizeof(intel) / sizeof(intel[0]); i++)
		if (intel[i].model == c->model)
			*m = intel[i].is;
}

/* Intel: before Haswell estimated from activity, since then measured at the voltage regulators,
 * within 2 to 5 % of a reference (Hackenberg and others, HPPAC 2015); the upper end is taken. DRAM
 * has an offset from its reference, largest when idle (Desrochers and others, MEMSYS 2016). AMD
 * Zen: estimated, and blind to operand data (Schoene and others, CLUSTER 2021). */
#define ERROR_INTEL	     0.05
#define ERROR_INTEL_MODELLED 0.10
#define ERROR_INTEL_DRAM     0.20
#define ERROR_AMD	     0.10

/* The documented largest relative error of a part's counter; NAN: not documented. */
static double model_error(const struct cpus *c, enum sensor_part part)
{
	/* Sandy Bridge, Ivy Bridge; client and server */
	bool modelled = c->family == INTEL_FAMILY &&
			(c->model == 42 || c->model == 45 || c->model == 58 || c->model == 62);

	if (part == PART_PLATFORM)
		return NAN;
	if (c->vendor == VENDOR_AMD)
		return ERROR_AMD;
	if (c->vendor != VENDOR_INTEL)
		return NAN;
	if (part == PART_DRAM)
		return ERROR_INTEL_DRAM;
	return modelled ? ERROR_INTEL_MODELLED : ERROR_INTEL;
}

/* Power in W that no such part exceeds; packages: of the node. It is above what is sold in 2026
 * (500 W a package), and low enough for a 32-bit counter of 2^-16 J to be read once a minute. */
static double model_pmax(enum sensor_part part, int packages)
{
	switch (part) {
	case PART_PLATFORM:
		return 1000.0 * (packages > 1 ? packages : 1);
	case PART_DRAM:
		return 300;
	case PART_CORE:
		return 60;
	default:
		return 600;
	}
}

/* ---- adding a counter */

#define COUNTERS_MAX 8192
#define PERIOD_NS    1000000 /* all counters: Intel's SDM volume 3, AMD's PPR of family 17h */

static void name_channel(struct rapl *r, struct sensor_channel *ch, int package, int die)
{
	static const char *const names[] = {
		[PART_PLATFORM] = "psys", [PART_PACKAGE] = "package", [PART_CORES] = "cores",
		[PART_CORE] = "core",	  [PART_UNCORE] = "uncore",   [PART_DRAM] = "dram",
	};
	const char *name = names[ch->part];

	if (ch->part == PART_PLATFORM)
		snprintf(ch->name, sizeof(ch->name), "%s", name);
	else if (ch->part == PART_CORE || r->cpus.dies <= 1 || die < 0)
		snprintf(ch->name, sizeof(ch->name), "%s-%d", name, ch->index);
	else
		snprintf(ch->name, sizeof(ch->name), "%s-%d-die-%d", name, package, die);
}

static int index_of(const struct rapl *r, enum sensor_part part, int package, int die, int cpu)
{
	const struct cpu_place *p;

	if (part == PART_PLATFORM)
		return -1;
	if (part == PART_CORE) {
		p = cpus__find(&r->cpus, cpu);
		return p ? p->core : cpu;
	}
	return r->cpus.dies > 1 ? package * r->cpus.dies + (die > 0 ? die : 0) : package;
}

static int add_room(struct rapl *r)
{
	if (room__grow(&r->channels, r->n, 1, sizeof(*r->channels)) ||
	    room__grow(&r->counters, r->n, 1, sizeof(*r->counters)))
		return -ENOMEM;
	memset(&r->channels[r->n], 0, sizeof(*r->channels));
	memset(&r->counters[r->n], 0, sizeof(*r->counters));
	return 0;
}

struct rapl_counter *rapl__add(struct rapl *r, enum sensor_part part, int package, int die, int cpu,
			       int *err)
{
	int index = index_of(r, part, package, die, cpu);
	struct sensor_channel *ch;
	struct rapl_counter *c;

	for (unsigned i = 0; i < r->n; i++)
		if (r->channels[i].part == part && r->channels[i].index == index)
			return NULL;
	*err = r->n < COUNTERS_MAX ? add_room(r) : -E2BIG;
	if (*err)
		return NULL;
	ch = &r->channels[r->n];
	c = &r->counters[r->n++];
	*ch = (struct sensor_channel){.unit = "J",
				      .part = part,
				      .quantity = QUANTITY_ENERGY,
				      .index = index,
				      .cpu = cpu,
				      .step = NAN,
				      .error = model_error(&r->cpus, part),
				      .period_ns = PERIOD_NS};
	name_channel(r, ch, package, die);
	c->pmax_w = model_pmax(part, r->cpus.packages);
	c->package = package;
	c->die = die;
	c->cpu = cpu;
	c->fd = -1;
	return c;
}
