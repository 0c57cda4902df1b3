// SPDX-License-Identifier: GPL-2.0-only
/* Operations per second in double precision: a thread on each CPU runs the widest loop there is. A
 * fused multiply-add counts as two operations. */
#include "peaks/flops.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "peaks/crew.h"
#include "peaks/measure.h"

#define PASS_S	     0.2
#define TRIAL_ROUNDS 1000000u

struct turn {
	const struct flops_kernel *kernel;
	uint64_t rounds;
};

static void run_kernel(void *ctx, unsigned i)
{
	const struct turn *t = ctx;
	volatile double result; /* so that it is computed */

	/* the chains converge to 1 and never become tiny, which would be slow */
	result = t->kernel->run(t->rounds, 0.999, 0.001);
	(void)result;
	(void)i;
}

void flops__measure(const struct measure_opts *o, struct measure *m)
{
	struct turn t = {flops__widest(), TRIAL_ROUNDS};
	uint64_t began = clock__mono_ns();
	struct crew_time time;
	int err = crew__run(o->cpus, o->ncpus, run_kernel, &t, &time);

	/* twice: the first turn is short, and the clock of the CPU goes up in it */
	for (unsigned i = 0; !err && i < 2; i++) {
		t.rounds = (uint64_t)((double)t.rounds * PASS_S / time.seconds) + 1;
		err = crew__run(o->cpus, o->ncpus, run_kernel, &t, &time);
	}
	while (!err && measure__goes_on(m, o, began)) {
		err = crew__run(o->cpus, o->ncpus, run_kernel, &t, &time);
		if (err)
			break;
		m->pass[m->npasses++] =
			(double)t.rounds * t.kernel->flops * o->ncpus / time.seconds;
		m->cpu_share += time.cpu_share;
	}
	if (m->npasses)
		m->cpu_share /= m->npasses;
	if (err)
		measure__fail(m, "threads: %s", strerror(-err));
	snprintf(m->how, sizeof(m->how), "%s, double precision", t.kernel->name);
}
