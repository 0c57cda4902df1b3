/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A source of GPUs on a stub of its maker's library: open, and its last values; after unit.h. */
#ifndef JP_TESTS_GPU_H
#define JP_TESTS_GPU_H

#include <dlfcn.h>
#include <libgen.h>

#include "sensor/gpu/gpu_internal.h"
#include "tests/unit/machine.h"

static char stub_dir[PATH_MAX], library_dir[PATH_MAX + 8]; /* library_dir is below stub_dir */

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
	m.roots = (struct sensor_roots){.sys = "/sys", .proc = "/proc", .lib = library_dir};
	handle = dlopen(path, RTLD_NOW);
	return handle ? dlsym(handle, symbol) : NULL;
}

struct no_gpu {
	int init_err, want;
};

/* Each error of the library's initialization, and what probing and opening make of it. */
static void check_errors(const struct sensor_ops *ops, int *init_err, const struct no_gpu *cases,
			 size_t ncases)
{
	m.roots.lib = "/nonexistent";
	machine_probe(ops, -ENOENT, "");
	m.roots.lib = library_dir;
	for (size_t i = 0; i < ncases; i++) {
		*init_err = cases[i].init_err;
		machine_probe(ops, cases[i].want, "");
		assert_int_equal(sensor__open(ops, &m.s, &m.roots), cases[i].want);
	}
	*init_err = 0;
}

static void check_file_of_text(const struct sensor_ops *ops, const char *library)
{
	put_text(unit_dir, library, "no library\n");
	m.roots.lib = unit_dir;
	machine_probe(ops, -ELIBBAD, "cannot be loaded");
	m.roots.lib = library_dir;
	unlink(in_dir(library));
}

#endif
