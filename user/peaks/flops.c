/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations per second in double precision: a thread on each CPU runs the widest loop there is. A
 * fused multiply-add counts as two operations. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "peaks/measure.h"

struct flops_kernel {
	const char *name;
	bool (*is_there)(void); /* whether this CPU has the instructions */
	/* Multiplies and adds rounds times; what it returns has no meaning, but is used. */
	double (*run)(uint64_t rounds, double factor, double term);
	unsigned flops; /* in a round */
};

/* ---- chains of x = x * factor + term in registers. A chain waits for its own last result; there
 * are as many chains as the registers hold, which is more than latency times units of any CPU
 * known, so the units are always busy. The compiler makes one instruction of the two operations
 * where the target has it */

#define CHAINS_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CHAINS_24(X) \
	CHAINS_12(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

#define BEGIN(i) vec x##i = t * (double)(i);
#define STEP(i)	 x##i = x##i * f + t;
#define SUM(i)	 sum += x##i;

/* bytes: of a vector */
#define KERNEL(name, chains, bytes, attribute)                                                \
	attribute static double name(uint64_t rounds, double factor, double term)             \
	{                                                                                     \
		typedef double vec __attribute__((vector_size(bytes)));                       \
		vec sum = {0}, f = sum + factor, t = sum + term;                              \
		double total = 0;                                                             \
                                                                                              \
		chains(BEGIN) while (rounds--){chains(STEP)} chains(                          \
			SUM) for (unsigned i = 0; i < (bytes) / sizeof(double); i++) total += \
			sum[i];                                                               \
		return total;                                                                 \
	}

#define FLOPS(chains, bytes) (2 * (chains) * (bytes) / sizeof(double))

static bool always(void)
{
	return true;
}

#ifdef __x86_64__
KERNEL(run_avx512, CHAINS_24, 64, __attribute__((target("avx512f,prefer-vector-width=512"))))
KERNEL(run_fma, CHAINS_12, 32, __attribute__((target("avx2,fma"))))
KERNEL(run_avx, CHAINS_12, 32, __attribute__((target("avx"))))
KERNEL(run_sse2, CHAINS_12, 16, )

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

static bool has_fma(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx(void)
{
	return __builtin_cpu_supports("avx");
}

static const struct flops_kernel kernels[] = {
	{"AVX-512, fused multiply-add", has_avx512, run_avx512, FLOPS(24, 64)},
	{"AVX2, fused multiply-add", has_fma, run_fma, FLOPS(12, 32)},
	{"AVX, multiply and add", has_avx, run_avx, FLOPS(12, 32)},
	{"SSE2, multiply and add", always, run_sse2, FLOPS(12, 16)},
};
#else
KERNEL(run_plain, CHAINS_24, 16, )

static const struct flops_kernel kernels[] = {
	{"vectors of 16 bytes", always, run_plain, FLOPS(24, 16)},
};
#endif

/* The widest that this CPU has. */
static const struct flops_kernel *flops_widest(void)
{
	const struct flops_kernel *k = kernels;

#ifdef __x86_64__
	__builtin_cpu_init();
#endif
	while (!k->is_there())
		k++;
	return k;
}

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
	struct turn t = {flops_widest(), TRIAL_ROUNDS};
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
