/* SPDX-License-Identifier: GPL-2.0-only */
/* A source of GPUs on a stub of its maker's library: open, and its last values; after unit.h. */
#ifndef JP_TESTS_GPU_H
#define JP_TESTS_GPU_H

#include <dlfcn.h>
#include <libgen.h>

#include "sensor/gpu/gpu_internal.h"

#define MAX_READ 64

static char stub_dir[PATH_MAX], library_dir[PATH_MAX + 8]; /* library_dir is below stub_dir */
static const struct sensor_roots roots = {.sys = "/sys", .proc = "/proc", .lib = library_dir};
static struct sensor *s;
static const struct sensor_channel *channel;
static struct sensor_value value[MAX_READ];
static unsigned n;

/* A symbol of the stub SUB/LIBRARY; library_dir becomes its directory. */
static void *stub_symbol(const char *sub, const char *library, const char *symbol)
{
	char exe[PATH_MAX] = "", path[PATH_MAX + 64];
	void *handle;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return NULL;
	snprintf(stub_dir, sizeof(stub_dir), "%.4000s/stub", dirname(dirname(exe)));
	snprintf(library_dir, sizeof(library_dir), "%s%s", stub_dir, sub);
	snprintf(path, sizeof(path), "%s/%s", library_dir, library);
	handle = dlopen(path, RTLD_NOW);
	return handle ? dlsym(handle, symbol) : NULL;
}

static void open_it(const struct sensor_ops *ops)
{
	assert_int_equal(sensor__open(ops, &s, &roots), 0);
	n = ops->channels(s, &channel);
	assert_in_range(n, 1, MAX_READ);
}

static unsigned find(const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(channel[i].name, name))
			return i;
	fail_msg("no channel \"%s\"", name);
	return 0;
}

static void expect(const char *name, enum sensor_quality quality, double v)
{
	unsigned i = find(name);

	assert_int_equal(value[i].quality, quality);
	if (isnan(v))
		assert_true(isnan(value[i].value));
	else
		assert_float_equal(value[i].value, v, 1e-9);
}

struct no_gpu {
	int init_err, want;
};

/* Each error of the library's initialization, and what probing and opening make of it. */
static void check_errors(const struct sensor_ops *ops, int *init_err, const struct no_gpu *cases,
			 size_t ncases)
{
	const struct sensor_roots none = {.lib = "/nonexistent"};
	char why[128];

	assert_int_equal(sensor__probe(ops, &none, why, sizeof(why)), -ENOENT);
	for (size_t i = 0; i < ncases; i++) {
		*init_err = cases[i].init_err;
		assert_int_equal(sensor__probe(ops, &roots, why, sizeof(why)), cases[i].want);
		assert_int_equal(sensor__open(ops, &s, &roots), cases[i].want);
	}
	*init_err = 0;
}

static void check_file_of_text(const struct sensor_ops *ops, const char *library)
{
	char dir[] = "/tmp/jp-gpu-XXXXXX", path[64], why[128];
	const struct sensor_roots bad = {.lib = dir};
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/%s", dir, library);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("no library\n", f);
	fclose(f);
	assert_int_equal(sensor__probe(ops, &bad, why, sizeof(why)), -ELIBBAD);
	assert_non_null(strstr(why, "cannot be loaded"));
	unlink(path);
	rmdir(dir);
}

#endif
