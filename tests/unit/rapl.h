/* SPDX-License-Identifier: GPL-2.0-only */
/* An open RAPL source on a machine made of files, a clock that tests step, and events of perf that
 * tests feed. For test_rapl*.c. */
#ifndef JP_TESTS_RAPL_H
#define JP_TESTS_RAPL_H

#include "base/clock.h"
#include "sensor/core/event.h"
#include "sensor/rapl/rapl.h"
#include "sensor/sensors.h"
#include "tests/unit/sensors.h"

#define POWERCAP "sys/class/powercap/"
#define S	 1000000000ull
#define MAX	 64

static uint64_t now_ns;

static inline uint64_t test_clock(void)
{
	return now_ns;
}

/* An open source and its last reading. */
struct source {
	struct machine m;
	const struct sensor_ops *ops;
	struct sensor *s;
	const struct sensor_channel *ch;
	unsigned n;
	struct sensor_value v[MAX];
	int err;
};

static inline void open_as(struct source *src, const struct sensor_ops *ops)
{
	src->ops = ops;
	assert_int_equal(sensor__open(ops, &src->s, &src->m.roots), 0);
	src->n = ops->channels(src->s, &src->ch);
	assert_in_range(src->n, 1, MAX);
}

static inline void end(struct source *src)
{
	if (src->ops)
		sensor__close(src->ops, src->s);
	machine_remove(&src->m, "");
}

static inline void read_after(struct source *src, double seconds)
{
	now_ns += (uint64_t)(seconds * 1e9);
	src->err = src->ops->read(src->s, src->v);
}

static inline unsigned find(const struct source *src, const char *name)
{
	for (unsigned i = 0; i < src->n; i++)
		if (!strcmp(src->ch[i].name, name))
			return i;
	fail_msg("no channel %s", name);
	return 0;
}

static inline void is_named(const struct source *src, const char *names)
{
	char all[512] = "";

	for (unsigned i = 0; i < src->n; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? " " : "",
			 src->ch[i].name);
	assert_string_equal(all, names);
}

static inline void check(const struct source *src, const char *name, enum sensor_quality q,
			 double joules)
{
	const struct sensor_value *v = &src->v[find(src, name)];

	if (v->quality != q || v->time_ns != now_ns)
		fail_msg("%s: %s at %llu, not %s at %llu", name, sensor__quality_name(v->quality),
			 (unsigned long long)v->time_ns, sensor__quality_name(q),
			 (unsigned long long)now_ns);
	if (isnan(joules) ? !isnan(v->value) : !(fabs(v->value - joules) < 1e-9 + 1e-12 * joules))
		fail_msg("%s: %.12g J, not %.12g", name, v->value, joules);
}

/* Runs fn as nobody; root may read everything. */
static inline void as_nobody(void (*fn)(struct machine *), struct machine *m)
{
	bool root = !geteuid();

	if (root)
		assert_int_equal(seteuid(65534), 0);
	fn(m);
	if (root)
		assert_int_equal(seteuid(0), 0);
}

static inline void forbid(const struct machine *m, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", m->dir, path);
	assert_int_equal(chmod(full, 0), 0);
}

/* Events of a CPU are a pipe of packets, as perf's read(2) gives them. */
static struct {
	int rd, wr, opened, answer;
	uint32_t type;
	uint64_t configs[8];
} fake[4];

static inline void feed(int cpu, uint64_t nr, uint64_t a, uint64_t b)
{
	uint64_t packet[3] = {nr, a, b};

	assert_int_equal(write(fake[cpu].wr, packet, 8 + 8 * nr), 8 + 8 * nr);
}

static inline int fake_open(struct perf_event_attr *attr, int cpu, int group_fd)
{
	assert_in_range(cpu, 0, 3);
	assert_int_equal(attr->size, sizeof(*attr));
	assert_true(attr->read_format == PERF_FORMAT_GROUP);
	assert_true(!attr->sample_period && !attr->exclude_kernel && !attr->exclude_user &&
		    !attr->disabled && !attr->inherit);
	if (fake[cpu].answer)
		return fake[cpu].answer;
	fake[cpu].type = attr->type;
	if (group_fd < 0)
		fake[cpu].opened = 0;
	fake[cpu].configs[fake[cpu].opened++] = attr->config;
	return dup(fake[cpu].rd);
}

static inline void fake_begin(int answer)
{
	int p[2];

	for (int cpu = 0; cpu < 4; cpu++) {
		assert_int_equal(pipe2(p, O_DIRECT | O_NONBLOCK | O_CLOEXEC), 0);
		fake[cpu].rd = p[0];
		fake[cpu].wr = p[1];
		fake[cpu].answer = answer;
		fake[cpu].opened = 0;
	}
	sensor_event_open = fake_open;
}

static inline void fake_end(sensor_event_open_fn *was)
{
	for (int cpu = 0; cpu < 4; cpu++) {
		close(fake[cpu].rd);
		close(fake[cpu].wr);
	}
	sensor_event_open = was;
}

static sensor_event_open_fn *kernel_open;

/* Sets the clock that tests step, and keeps the kernel's own way to open events. */
static inline int rapl_setup(void **state)
{
	now_ns = S;
	rapl_clock = test_clock;
	kernel_open = sensor_event_open;
	return 0;
}

#endif
