// SPDX-License-Identifier: GPL-2.0-or-later
/* RAPL by the registers, /dev/cpu/N/msr: the last way, for kernels without a driver for them.
 * Counters have 32 bits. A register that is 0 or cannot be read has no counter, as in most virtual
 * machines. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sensor/rapl/rapl.h"

#define RANGE	    (1ull << 32)
#define PMAX_SANE_W 4000

/* Intel: SDM volume 4. AMD: PPR of family 17h and later. */
#define INTEL_UNIT	 0x606
#define INTEL_POWER_INFO 0x614
#define AMD_UNIT	 0xc0010299

static const struct msr_counter {
	enum cpu_vendor vendor;
	uint32_t reg;
	enum sensor_part part;
} registers[] = {
	{VENDOR_INTEL, 0x611, PART_PACKAGE},  {VENDOR_INTEL, 0x619, PART_DRAM},
	{VENDOR_INTEL, 0x639, PART_CORES},    {VENDOR_INTEL, 0x641, PART_UNCORE},
	{VENDOR_INTEL, 0x64d, PART_PLATFORM}, {VENDOR_AMD, 0xc001029b, PART_PACKAGE},
	{VENDOR_AMD, 0xc001029a, PART_CORE},
};

#define N_REGISTERS (sizeof(registers) / sizeof(registers[0]))

static int open_cpu(const struct rapl *r, int cpu)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/cpu/%d/msr", r->roots.dev, cpu);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Reads a register. The offset in the device is its number; a recorded tree has a file with 8 bytes
 * per register. */
static int read_msr(const struct rapl *r, int fd, uint32_t reg, uint64_t *v)
{
	off_t at = strcmp(r->roots.dev, "/dev") ? (off_t)reg * (off_t)sizeof(*v) : reg;
	ssize_t n = pread(fd, v, sizeof(*v), at);

	if (n < 0)
		return -errno;
	return n == sizeof(*v) ? 0 : -EIO;
}

/* J per count by the unit register's value; 0: no unit. */
static double energy_unit(uint64_t v, const struct rapl_model *m)
{
	unsigned n = v >> 8 & 0x1f;

	if (!v)
		return 0;
	return m->atom_unit ? ldexp(1e-6, (int)n) : ldexp(1, -(int)n);
}

static double unit_of(enum sensor_part part, double unit, const struct rapl_model *m)
{
	double own = part == PART_DRAM ? m->dram_unit : part == PART_PLATFORM ? m->psys_unit : NAN;

	return isnan(own) ? unit : own;
}

/* Raises pmax_w to the highest power that the package's own register gives. */
static void set_pmax(const struct rapl *r, struct rapl_counter *c, int fd, uint64_t units)
{
	uint64_t info;
	double w;

	if (read_msr(r, fd, INTEL_POWER_INFO, &info))
		return;
	w = ldexp((double)(info >> 32 & 0x7fff), -(int)(units & 0xf));
	if (w > c->pmax_w && w < PMAX_SANE_W)
		c->pmax_w = w;
}

/* Adds a counter, with a duplicate of fd. 1; 0: the register has no counter; -ENOMEM. */
static int add_counter(struct rapl *r, const struct msr_counter *reg, const struct cpu_place *p,
		       int fd, uint64_t units)
{
	struct rapl_counter *c;
	struct rapl_model m;
	uint64_t v;
	int err = 0;

	if (read_msr(r, fd, reg->reg, &v) || !(v & (RANGE - 1)))
		return 0;
	c = rapl__add(r, reg->part, p->package, p->die, p->cpu, &err);
	if (!c)
		return err;
	rapl_model__find(&m, &r->cpus);
	c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	c->reg = reg->reg;
	c->range = RANGE;
	c->unit = unit_of(reg->part, energy_unit(units, &m), &m);
	c->late_j = (double)RANGE * c->unit;
	r->channels[r->n - 1].step = c->unit;
	if (r->cpus.vendor == VENDOR_INTEL && reg->part == PART_PACKAGE)
		set_pmax(r, c, fd, units);
	return 1;
}

/* Adds the counters that no earlier CPU has. Returns as add_counter(), or another -errno. */
static int add_counters(struct rapl *r, const struct cpu_place *p)
{
	uint32_t unit_reg = r->cpus.vendor == VENDOR_AMD ? AMD_UNIT : INTEL_UNIT;
	int fd = open_cpu(r, p->cpu), added = 0, one = 0;
	struct rapl_model m;
	uint64_t units;

	if (fd < 0)
		return fd;
	rapl_model__find(&m, &r->cpus);
	one = read_msr(r, fd, unit_reg, &units);
	if (!one && energy_unit(units, &m) > 0) {
		for (unsigned i = 0; one >= 0 && i < N_REGISTERS; i++) {
			if (registers[i].vendor != r->cpus.vendor ||
			    (registers[i].part == PART_CORE) != r->cores)
				continue;
			one = add_counter(r, &registers[i], p, fd, units);
			added |= one > 0;
		}
	}
	close(fd);
	if (one == -EIO) /* the register does not exist */
		one = 0;
	return one < 0 ? one : added;
}

/* Whether the package and die, or the core, of this CPU has its counters. */
static bool is_done(const struct rapl *r, const struct cpu_place *p)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct rapl_counter *c = &r->counters[i];

		if (r->cores ? r->channels[i].index == p->core
			     : c->package == p->package && c->die == p->die)
			return true;
	}
	return false;
}

static int error_text(char *reason, size_t len, int err)
{
	if (err == -EACCES || err == -EPERM)
		snprintf(reason, len,
			 "/dev/cpu/*/msr: not permitted: run as root (CAP_SYS_RAWIO; kernel "
			 "lockdown forbids it)");
	else if (err == -ENOENT)
		snprintf(reason, len, "no /dev/cpu/*/msr: \"modprobe msr\" makes it");
	else
		snprintf(reason, len, "/dev/cpu/*/msr: %s", strerror(-err));
	return err;
}

static int msr_open(struct rapl *r, char *reason, size_t len)
{
	int err = -ENOENT, one;
	bool opened = false;

	if (r->cpus.vendor == VENDOR_OTHER || (r->cores && r->cpus.vendor != VENDOR_AMD)) {
		snprintf(reason, len, "this processor has no such registers");
		return -ENOENT;
	}
	for (unsigned i = 0; i < r->cpus.n; i++) {
		if (is_done(r, &r->cpus.at[i]))
			continue;
		one = add_counters(r, &r->cpus.at[i]);
		if (one == -ENOMEM)
			return one;
		if (one < 0 && one != -ENXIO)
			err = one;
		opened |= one >= 0;
		if (opened && !r->n && i >= 16)
			break; /* where none of 16 CPUs has a counter, none has */
	}
	if (r->n)
		return 0;
	if (!opened)
		return error_text(reason, len, err);
	snprintf(reason, len, "the registers read 0 or do not exist, as in a virtual machine");
	return -ENOENT;
}

/* Opens the counter at another CPU of the same part, where the first has gone. */
static int reopen(struct rapl *r, struct rapl_counter *c)
{
	unsigned from = 0;
	int cpu, err = -ENODEV;

	for (;;) {
		cpu = c->cpu;
		if (!r->cores)
			cpu = cpus__next(&r->cpus, c->package, c->die, &from);
		if (cpu < 0)
			return err;
		c->fd = open_cpu(r, cpu);
		if (c->fd >= 0)
			return 0;
		err = c->fd;
		if (r->cores)
			return err;
	}
}

static int read_count(struct rapl *r, struct rapl_counter *c, uint64_t *count)
{
	int err = c->fd < 0 ? reopen(r, c) : 0;

	if (!err)
		err = read_msr(r, c->fd, c->reg, count);
	*count &= RANGE - 1;
	return err;
}

static void msr_read(struct rapl *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		struct rapl_counter *c = &r->counters[i];
		struct rapl_raw *raw = &r->raw[i];
		bool was_open = c->fd >= 0;

		raw->count = 0;
		raw->err = read_count(r, c, &raw->count);
		if (raw->err && was_open) {
			close(c->fd);
			c->fd = -1;
			raw->count = 0;
			raw->err = read_count(r, c, &raw->count);
		}
		raw->time_ns = rapl_clock();
		if (raw->err && c->fd >= 0) {
			close(c->fd);
			c->fd = -1;
		}
	}
}

const struct rapl_way rapl_msr = {"msr", msr_open, msr_read};
