// SPDX-License-Identifier: GPL-2.0-or-later
/* What the family wait can measure on this kernel, and its clock. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kern/internal.h"
#include "kern/probe.h"

bool kern_has_registers(void)
{
	/* helpers are not probed for tracing programs, raw tracepoints have the same */
	return kern_has_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_task_pt_regs) == 1;
}

bool kern_can_cast(const struct btf *btf)
{
	int cast = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC);
	int file = btf__find_by_name_kind(btf, "file", BTF_KIND_STRUCT);
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = file},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = cast},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd;

	if (cast <= 0 || file <= 0)
		return false;
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "jp_try", "GPL", insns,
			   sizeof(insns) / sizeof(insns[0]), NULL);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return true;
	return false;
}

void kern_choose_wait(struct kern *k)
{
	if (!(k->families & (FAM_WAIT | FAM_SAMPLE)) || !k->btf)
		return;
	k->has_regs = kern_has_registers();
	k->can_cast = kern_can_cast(k->btf);
	if (!has_member(k->btf, "task_struct", "throttled") ||
	    !has_member(k->btf, "cfs_rq", "throttled_clock_self_time"))
		k->blind |= JP_BLIND_THROTTLE;
}

const char *kern_wait_mode(const struct kern *k)
{
	return kern_has_registers()
		       ? "exact"
		       : "exact, but by system call: causes are disk, kernel and other";
}

void kern_wait_clock(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
}
