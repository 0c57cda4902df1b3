// SPDX-License-Identifier: GPL-2.0-or-later
/* The loaded programs, with the kernel's run statistics for them. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kern/internal.h"

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
		p->family = kern_family_of(i);
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
