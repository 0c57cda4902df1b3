// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measures what our programs cost per switch, and gives the collector's own processes their slot.
 * The kernel's run statistics have only a half to two thirds of the switch program's cost: they
 * leave out what comes before and after the program, and what the program displaces from the
 * caches. So the cost is measured with two processes that send a byte back and forth on one CPU,
 * alternately with and without the program.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "kern/internal.h"

#define TRIES  4
#define TURNS  5
#define BURSTS 8
#define ROUNDS 32 /* of a burst, which is over before the tick or another task disturbs it */

/* The process counts for the collector, from the beginning of the process on. */
static int track_pid(struct kern *k, pid_t pid)
{
	char value[1024] = {};
	uint32_t *v = (uint32_t *)value;
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);
	int fd, err;

	if (bpf_obj_get_info_by_fd(k->map[M_TASKS], &info, &len) || info.value_size > sizeof(value))
		return -EINVAL;
	/* slot, next_slot; flags and ready; bases 0: from the process's beginning */
	v[0] = v[1] = JP_SLOT_SELF;
	v[2] = 1u << 16;
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

struct pair {
	pid_t echo;
	int to, from;
};

static void echo_bytes(int in, int out)
{
	char c;

	while (read(in, &c, 1) == 1 && write(out, &c, 1) == 1)
		;
	_exit(0);
}

static int start_pair(struct kern *k, struct pair *p)
{
	int to[2], from[2];

	if (pipe(to))
		return -errno;
	if (pipe(from)) {
		close(to[0]), close(to[1]);
		return -errno;
	}
	p->to = to[1];
	p->from = from[0];
	p->echo = fork();
	if (!p->echo) {
		close(to[1]), close(from[0]);
		echo_bytes(to[0], from[1]);
	}
	close(to[0]), close(from[1]);
	return p->echo < 0 ? -errno : track_pid(k, p->echo);
}

static void end_pair(const struct pair *p)
{
	close(p->to), close(p->from);
	if (p->echo > 0)
		waitpid(p->echo, NULL, 0);
}

/* ns of two switches: the quickest burst's mean, that of others is disturbed. 0: the echo ended. */
static double round_ns(const struct pair *p)
{
	double least = 0;
	char c = 0;

	for (int burst = 0; burst < BURSTS; burst++) {
		uint64_t from = clock__mono_ns();
		double ns;

		for (int i = 0; i < ROUNDS; i++)
			if (write(p->to, &c, 1) != 1 || read(p->from, &c, 1) != 1)
				return 0;
		ns = (double)(clock__mono_ns() - from) / ROUNDS;
		if (!burst || ns < least)
			least = ns;
	}
	return least;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Stores the median of the time that the program adds to a switch. */
static int compare(struct kern *k, const struct pair *p)
{
	double added[TURNS];

	for (int i = 0; i < TURNS; i++) {
		double without = round_ns(p), with;
		int err = kern_attach_one(k, P_SWITCH);

		if (err)
			return err;
		with = round_ns(p);
		kern_close_fd(&k->link[P_SWITCH]);
		added[i] = (with - without) / 2;
	}
	qsort(added, TURNS, sizeof(*added), by_size);
	if (added[TURNS / 2] < 1)
		return -ERANGE;
	k->control->probe_ns = (uint64_t)llround(added[TURNS / 2]);
	return 0;
}

/* Stores what the kernel's statistics say of such a run: they leave out what comes before and after
 * the program, and have the clocks in it that they read. */
static void ask_statistics(struct kern *k, const struct pair *p)
{
	struct bpf_prog_info before = {}, after = {};
	uint32_t len = sizeof(before), again = sizeof(after);
	int on = kern__stats_on();

	if (on < 0)
		return;
	if (!bpf_obj_get_info_by_fd(k->prog[P_SWITCH], &before, &len) &&
	    !kern_attach_one(k, P_SWITCH)) {
		round_ns(p);
		kern_close_fd(&k->link[P_SWITCH]);
		if (!bpf_obj_get_info_by_fd(k->prog[P_SWITCH], &after, &again) &&
		    after.run_cnt > before.run_cnt)
			k->control->probe_run_ns = (after.run_time_ns - before.run_time_ns) /
						   (after.run_cnt - before.run_cnt);
	}
	close(on);
}

int kern__calibrate(struct kern *k)
{
	struct pair p = {-1, -1, -1};
	cpu_set_t all, one;
	int cpu = sched_getcpu(), err = 0;

	if (kern__attached(k) || cpu < 0 || sched_getaffinity(0, sizeof(all), &all))
		return -EBUSY;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return -errno;
	err = start_pair(k, &p);
	if (!err)
		err = compare(k, &p);
	/* other programs may have disturbed most turns */
	for (int i = 1; i < TRIES && err == -ERANGE; i++)
		err = compare(k, &p);
	if (!err)
		ask_statistics(k, &p);
	end_pair(&p);
	kern_sample_calibrate(k);
	sched_setaffinity(0, sizeof(all), &all);
	return err;
}
