/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the stand-in for NVIDIA's library tells, for tests to set: dlsym(library, "stub"). */
#ifndef JP_TESTS_STUB_NVML_H
#define JP_TESTS_STUB_NVML_H

#define STUB_GPUS      4
#define STUB_PROCESSES 512

struct stub_process {
	unsigned pid;
	unsigned long long memory;
	unsigned instance, compute_instance;
};

struct stub_sample {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, memory, encoder, decoder;
};

struct stub_gpu {
	int err; /* of every call; 15: fell off the bus */
	int power_err, energy_err, utilization_err, samples_err, list_err;
	unsigned power_mw;
	unsigned long long energy_mj;
	unsigned busy, memory_busy;
	unsigned long long memory_used, memory_total;
	unsigned celsius, sm_mhz, memory_mhz;
	unsigned long long throttle;
	unsigned mig;
	unsigned ncompute, ngraphics, nsamples;
	struct stub_process compute[STUB_PROCESSES], graphics[STUB_PROCESSES];
	struct stub_sample sample[STUB_PROCESSES];
};

struct stub {
	int init_err;
	unsigned inits, shutdowns;
	unsigned ngpus;
	struct stub_gpu gpu[STUB_GPUS];
};

#endif
