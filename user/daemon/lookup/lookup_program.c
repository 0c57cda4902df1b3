// SPDX-License-Identifier: GPL-2.0-only
/* The work of a helper process: which process of a task has used most CPU time, and what it
 * executes. */
#include <errno.h>

#include "daemon/lookup/lookup.h"
#include "identity/proc.h"

/* The processes of a task that are looked at, and the longest chain of parents. */
#define PROCESSES_MAX 1024
#define PARENTS_MAX   64

/* above: the parent of root; 0: not known. */
static bool descends_from(pid_t pid, pid_t root, pid_t above)
{
	for (unsigned i = 0; pid > 1 && pid != above && i < PARENTS_MAX; i++)
		if (pid == root || proc__ppid(pid, &pid))
			return pid == root;
	return false;
}

/* The busiest process; 0: there is none. */
static pid_t find_busiest(const struct lookup *q, uint64_t *ticks)
{
	static pid_t pids[PROCESSES_MAX];
	unsigned n = lookup__read_all(q, pids, PROCESSES_MAX);
	pid_t busiest = 0, above = 0;

	*ticks = 0;
	if (q->lineage && proc__ppid(q->pid, &above))
		above = 0;
	for (unsigned i = 0; i < n; i++) {
		uint64_t t;

		/* Most of a cgroup are of other ranks, which is read first: their parent is above.
		 */
		if (pids[i] <= 0 || (q->lineage && !descends_from(pids[i], q->pid, above)) ||
		    proc__is_stepd(pids[i]) == 1 || proc__cpu_ticks(pids[i], &t) ||
		    (busiest && t <= *ticks))
			continue;
		busiest = pids[i];
		*ticks = t;
	}
	return busiest;
}

int lookup__program(const struct lookup *q, struct lookup_program *p)
{
	int err;

	*p = (struct lookup_program){};
	p->pid = find_busiest(q, &p->ticks);
	if (proc_cpus__read(q->pid, &p->cpus))
		p->cpus.cpus = 0;
	if (!p->pid)
		return p->cpus.cpus ? 0 : -ESRCH;
	err = proc_program__read(p->pid, &p->program);
	if (err)
		p->pid = 0; /* it has ended meanwhile */
	return p->pid || p->cpus.cpus ? 0 : err;
}
