// SPDX-License-Identifier: GPL-2.0-only
/* Documented units, errors and powers of processor models. */
#include "sensor/rapl/rapl.h"

#define INTEL_FAMILY 6

#define UNIT_2_16 (1.0 / 65536)

/*
 * DRAM of the servers from Haswell to Ice Lake and of Xeon Phi counts 2^-16 J (15.3 uJ) whatever
 * the unit register says: Intel's datasheet of the E5 v3 (330784, volume 2), and the kernel's
 * tables in arch/x86/events/rapl.c and drivers/powercap/intel_rapl_common.c, which also have the
 * 1 J of the platform counter since Sapphire Rapids and the Atoms' other unit.
 */
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

/*
 * Intel: before Haswell a model of activity, since then measured at the voltage regulators
 * (Hackenberg and others, HPPAC 2015), within 2 to 5 % of a reference; the upper end is taken. DRAM
 * follows its reference with an offset, worst when idle (Desrochers and others, MEMSYS 2016). AMD
 * Zen: modelled, blind to what data are worked on (Schoene and others, CLUSTER 2021).
 */
#define ERROR_INTEL	     0.05
#define ERROR_INTEL_MODELLED 0.10
#define ERROR_INTEL_DRAM     0.20
#define ERROR_AMD	     0.10

double rapl_model__error(const struct cpus *c, enum sensor_part part)
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

/* Above what is sold in 2026 (500 W a package), and low enough that a 32-bit counter of 2^-16 J may
 * be read every minute. */
double rapl_model__pmax(enum sensor_part part, int packages)
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
