/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the stand-in for ROCm's library tells, for tests to set: dlsym(library, "stub_rsmi"). */
#ifndef JP_TESTS_STUB_RSMI_H
#define JP_TESTS_STUB_RSMI_H

#include <stdint.h>

#define STUB_RSMI_GPUS	    4
#define STUB_RSMI_PROCESSES 512

struct stub_rsmi_gpu {
	int err; /* of every call */
	int power_err, energy_err, edge_err, busy_err;
	uint64_t power_uw, energy;
	float resolution;
	uint32_t busy, memory_busy;
	uint64_t memory_used, memory_total;
	int64_t edge, junction; /* thousandths of a degree */
	uint64_t system_hz, memory_hz;
};

struct stub_rsmi_process {
	uint32_t pid;
	uint32_t ngpus, gpu[STUB_RSMI_GPUS];
	uint64_t memory[STUB_RSMI_GPUS]; /* on each of these */
	uint32_t occupancy;
};

struct stub_rsmi {
	int init_err;
	unsigned inits, shutdowns;
	uint32_t ngpus;
	int old_clocks;	  /* the layout before ROCm 6 */
	int old_energy;	  /* no resolution, as before ROCm 4.1 */
	int bad_clock;	  /* an index behind the end */
	uint32_t growing; /* processes that come after the first count */
	struct stub_rsmi_gpu gpu[STUB_RSMI_GPUS];
	uint32_t nprocesses;
	struct stub_rsmi_process process[STUB_RSMI_PROCESSES];
};

#endif
