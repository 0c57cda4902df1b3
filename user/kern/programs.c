// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's run statistics of our programs, and the collector's own processes among the tasks.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kern/internal.h"
#include "kern/link.h"

int kern__programs(const struct kern *k, struct kern_prog *out, unsigned max)
{
	unsigned i, n = 0;

	for (i = 0; i < P_N && n < max; i++) {
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);
		struct kern_prog *p = &out[n];

		if (k->prog[i] < 0 || bpf_obj_get_info_by_fd(k->prog[i], &info, &len))
			continue;
		memset(p, 0, sizeof(*p));
		snprintf(p->name, sizeof(p->name), "%s", kern_progs[i].name);
		p->attached = k->link[i] >= 0;
		p->id = info.id;
		p->runs = info.run_cnt;
		p->ns = info.run_time_ns;
		p->missed = info.recursion_misses;
		p->insns = info.verified_insns;
		n++;
	}
	return n;
}

uint64_t kern__skipped(const struct kern *k)
{
	struct kern_prog progs[P_N];
	int n = kern__programs(k, progs, P_N);
	uint64_t sum = 0;

	while (n-- > 0)
		sum += progs[n].missed;
	return sum;
}

int kern__stats_on(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}

int kern_track_pid(struct kern *k, pid_t pid)
{
	char value[512] = {};
	uint32_t *v = (uint32_t *)value;
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);
	int fd, err;

	if (bpf_obj_get_info_by_fd(k->map[M_TASKS], &info, &len) || info.value_size > sizeof(value))
		return -EINVAL;
	v[0] = v[1] = JP_SLOT_SELF; /* slot, next_slot; bases 0: from the process's beginning */
	fd = syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	err = bpf_map_update_elem(k->map[M_TASKS], &fd, value, BPF_ANY) ? -errno : 0;
	close(fd);
	return err;
}

int kern__track_self(struct kern *k)
{
	return kern_track_pid(k, getpid());
}
