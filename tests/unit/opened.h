/* SPDX-License-Identifier: GPL-2.0-only */
/* A source, open on a machine of tests/data/sensors. */
#ifndef JP_TESTS_OPENED_H
#define JP_TESTS_OPENED_H

#include "sensor/core/sensor.h"

#define MAX_READ 512

struct opened {
	struct machine m;
	const struct sensor_ops *ops;
	struct sensor *s;
	const struct sensor_channel *c;
	unsigned n;
	struct sensor_value v[MAX_READ];
};

/* A copy of the directory tests/data/sensors/NAME. */
static void machine_copy(struct machine *m, const char *name)
{
	char cmd[256];

	strcpy(m->dir, "/tmp/jobprof-sensors.XXXXXX");
	assert_non_null(mkdtemp(m->dir));
	assert_int_equal(chmod(m->dir, 0755), 0);
	snprintf(cmd, sizeof(cmd), "cp -r tests/data/sensors/%s/. %s", name, m->dir);
	assert_int_equal(system(cmd), 0);
	snprintf(m->sys, sizeof(m->sys), "%s/sys", m->dir);
	snprintf(m->proc, sizeof(m->proc), "%s/proc", m->dir);
	snprintf(m->dev, sizeof(m->dev), "%s/dev", m->dir);
	m->roots = (struct sensor_roots){.sys = m->sys, .proc = m->proc, .dev = m->dev};
}

static void read_it(struct opened *o)
{
	memset(o->v, 0xff, sizeof(o->v));
	assert_int_equal(o->ops->read(o->s, o->v), 0);
}

/* On tests/data/sensors/MACHINE.tree, or the directory of that name; read once. */
static void set_up(struct opened *o, const struct sensor_ops *ops, const char *machine)
{
	char why[128] = "", tree[128];

	snprintf(tree, sizeof(tree), "tests/data/sensors/%s.tree", machine);
	if (access(tree, F_OK))
		machine_copy(&o->m, machine);
	else
		machine_make(&o->m, machine);
	o->ops = ops;
	assert_int_equal(sensor__probe(ops, &o->m.roots, why, sizeof(why)), 0);
	assert_true(*why);
	assert_int_equal(sensor__open(ops, &o->s, &o->m.roots), 0);
	o->n = ops->channels(o->s, &o->c);
	assert_in_range(o->n, 1, MAX_READ);
	read_it(o);
}

static void close_it(struct opened *o)
{
	sensor__close(o->ops, o->s);
	machine_remove(&o->m, "");
}

/* Sources that are not there: a probe and an open say so. */
__attribute__((unused)) static void are_absent(const struct sensor_ops *const *all, size_t n,
					       const struct sensor_roots *roots)
{
	struct sensor *s = NULL;
	char text[128];

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(sensor__probe(all[i], roots, text, sizeof(text)), -ENOENT);
		assert_int_equal(sensor__open(all[i], &s, roots), -ENOENT);
		sensor__close(all[i], NULL);
	}
}

static const struct sensor_channel *channel_of(struct opened *o, const char *series,
					       const char *column)
{
	for (unsigned i = 0; i < o->n; i++)
		if (!strcmp(o->c[i].series, series) && !strcmp(o->c[i].column, column))
			return &o->c[i];
	return NULL;
}

/* NAN: it has no value. */
static void expect(struct opened *o, const char *series, const char *column,
		   enum sensor_quality quality, double value)
{
	const struct sensor_channel *c = channel_of(o, series, column);
	const struct sensor_value *v;

	if (!c)
		fail_msg("no channel %s %s", series, column);
	v = &o->v[c - o->c];
	if (v->quality != quality || isnan(v->value) != isnan(value) ||
	    fabs(v->value - value) > 1e-9 * fabs(value))
		fail_msg("%s %s: %.17g %s, not %.17g %s", series, column, v->value,
			 sensor__quality_name(v->quality), value, sensor__quality_name(quality));
	if (!isnan(value))
		assert_true(v->time_ns);
}

#endif
