// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chains of x = x * factor + term in registers. A chain waits for its own last result; there are as
 * many chains as the registers hold, which is more than latency times units of any CPU known, so
 * the units are always busy. The compiler makes one instruction of the two operations where the
 * target has it.
 */
#include "peaks/flops.h"

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

const struct flops_kernel *flops__widest(void)
{
	const struct flops_kernel *k = kernels;

#ifdef __x86_64__
	__builtin_cpu_init();
#endif
	while (!k->is_there())
		k++;
	return k;
}
