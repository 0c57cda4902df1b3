// SPDX-License-Identifier: GPL-2.0-only
/* What our programs cost: the kernel's run statistics, and one calibration at start. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

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

static int track_pid(struct kern *k, pid_t pid)
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
	return track_pid(k, getpid());
}

static void echo_bytes(int in, int out)
{
	char c;

	while (read(in, &c, 1) == 1 && write(out, &c, 1) == 1)
		;
	_exit(0);
}

static void ping_pong(int out, int in, unsigned rounds)
{
	char c = 0;

	while (rounds--)
		if (write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
			return;
}

#define ROUNDS 2000

/* A child answers bytes through two pipes: each round is two switches, or four with idle between.
 */
int kern__calibrate(struct kern *k)
{
	struct bpf_prog_info before = {}, after = {};
	uint32_t len = sizeof(before);
	uint64_t reads = 0, reads_ns;
	int to[2], from[2], stats, err = -EIO;
	pid_t pid;

	kern_pmu_calibrate(k);
	stats = kern__stats_on();
	if (stats < 0)
		return stats;
	if (pipe2(to, 0) || pipe2(from, 0)) {
		close(stats);
		return -errno;
	}
	pid = fork();
	if (!pid) {
		close(to[1]);
		close(from[0]);
		echo_bytes(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	if (pid > 0) {
		track_pid(k, pid);
		reads = kern_pmu_reads(k);
		bpf_obj_get_info_by_fd(k->prog[P_SWITCH], &before, &len);
		ping_pong(to[1], from[0], ROUNDS);
		len = sizeof(after);
		bpf_obj_get_info_by_fd(k->prog[P_SWITCH], &after, &len);
	}
	close(to[1]);
	close(from[0]);
	close(stats);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (after.run_cnt > before.run_cnt + ROUNDS) {
		uint64_t ns = after.run_time_ns - before.run_time_ns;

		/* readings of counters have a cost of their own */
		reads_ns = (kern_pmu_reads(k) - reads) * k->control->pmu_read_ns;
		ns -= reads_ns < ns ? reads_ns : ns;
		k->control->probe_ns = ns / (after.run_cnt - before.run_cnt);
		err = 0;
	}
	return err;
}
