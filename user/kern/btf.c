// SPDX-License-Identifier: GPL-2.0-or-later
/* Types (BTF): the kernel's, which are open while the features of this kernel are probed, and those
 * of the maps. Helpers that this kernel's programs may call. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kern/internal.h"
#include "kern/probe.h"

int kern_btf_open(struct kern *k)
{
	const char *path = k->opts.btf;
	struct btf *btf;
	char text[128];
	long err;

	libbpf_set_print(NULL);
	btf = path ? btf__parse(path, NULL) : btf__load_vmlinux_btf();
	err = libbpf_get_error(btf);
	if (!err) {
		k->btf = btf;
		return 0;
	}
	if (!path)
		return 0; /* the load reports what is missing */
	libbpf_strerror(err, text, sizeof(text));
	return kern_fail(-EINVAL, "%s holds no BTF: %s: give the file made for this kernel", path,
			 text);
}

void kern_btf_close(struct kern *k)
{
	btf__free(k->btf);
	k->btf = NULL;
}

struct btf *kern__types(const struct kern *k)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(k->map[M_CONTROL], &info, &len))
		return NULL;
	return btf__load_from_kernel_by_id(info.btf_id);
}

unsigned kern_tracepoint_args(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *t;
	char name[96];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	while (id > 0) {
		t = btf__type_by_id(btf, id);
		if (btf_is_func_proto(t))
			return btf_vlen(t) - 1; /* the first is the tracepoint's own */
		id = btf_is_typedef(t) || btf_is_ptr(t) ? (int)t->type : 0;
	}
	return 0;
}

/* Index of a v1 controller in css_set.subsys: it depends on the kernel's configuration. */
static int subsystem(const struct btf *btf, const char *controller)
{
	char name[64];
	const struct btf_type *t;
	const struct btf_enum *e;
	int id, i, ssid = -ENOENT;

	if (!btf)
		return -ENOENT;
	/* the file system and cgroupfs call this one blkio, the kernel io */
	snprintf(name, sizeof(name), "%s_cgrp_id", strcmp(controller, "blkio") ? controller : "io");
	id = btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM);
	if (id > 0) {
		t = btf__type_by_id(btf, id);
		e = btf_enum(t);
		for (i = 0; i < btf_vlen(t); i++)
			if (!strcmp(btf__name_by_offset(btf, e[i].name_off), name))
				ssid = e[i].val;
	}
	return ssid;
}

int kern_choose_carriers(struct kern *k)
{
	unsigned i;

	for (i = 0; i < k->opts.nroots; i++) {
		const char *controller = k->opts.roots[i].controller;

		k->ssid[i] = controller[0] ? subsystem(k->btf, controller) : -1;
		if (controller[0] && k->ssid[i] < 0)
			return kern_fail(-ENOENT,
					 "cgroup controller %s is not in the kernel's BTF: choose "
					 "another hierarchy",
					 controller);
	}
	return 0;
}

bool kern_has_enumerator(const struct btf *btf, const char *type, const char *name)
{
	int i, id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
			return true;
	return false;
}

/* libbpf 1.1 takes a refusal in newer kernels' words, the last ones here, for success. */
int kern_has_helper(enum bpf_prog_type type, enum bpf_func_id helper)
{
	static const char *const refusals[] = {"unknown func", "invalid func", "cannot use helper"};
	const struct bpf_insn insns[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = (int)helper},
		{.code = BPF_JMP | BPF_EXIT},
	};
	char log[4096] = "";
	LIBBPF_OPTS(bpf_prog_load_opts, o, .log_level = 1, .log_buf = log, .log_size = sizeof(log));
	int fd = bpf_prog_load(type, "jp_try", "GPL", insns, sizeof(insns) / sizeof(insns[0]), &o);

	if (fd >= 0) {
		close(fd);
		return 1;
	}
	if (!log[0])
		return errno == EPERM ? -EPERM : 0;
	for (unsigned i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (strstr(log, refusals[i]))
			return 0;
	return 1; /* the verifier misses its arguments */
}
