// SPDX-License-Identifier: GPL-2.0-or-later
/* Executes the code of several files in turn, in slices of random length, and prints how much CPU
 * time each had: the mathematical library 40 %, its own, the C library's and code that it made
 * itself 20 % each. */
#include <math.h>

#include "tool.h"

enum { LIBM, OWN, LIBC, MADE, KINDS };

static const char *const names[KINDS] = {"Library", "Own", "LibC", "Generated"};
static const double shares[KINDS] = {0.4, 0.2, 0.2, 0.2};
static volatile double kept = 1.1;
static char *room;
static void (*made)(unsigned n);

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Counts down from n. */
static void make_code(void)
{
#if defined(__x86_64__)
	static const unsigned char code[] = {0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
#elif defined(__aarch64__)
	static const uint32_t code[] = {0x71000400, 0x54ffffe1, 0xd65f03c0};
#else
#error "no code for this processor"
#endif
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, (char *)p + sizeof(code));
	if (mprotect(p, 4096, PROT_READ | PROT_EXEC))
		die("mprotect: %s", strerror(errno));
	made = (void (*)(unsigned))p;
}

static void run(int kind, int n)
{
	volatile unsigned own = 0;

	for (int i = 0; kind == LIBM && i < n; i++) /* long calls: the loop is our own */
		kept += jn(200, 3.0 + 1e-3 * i) * 1e-30;
	for (int i = 0; kind == OWN && i < n * 2000; i++)
		own += (unsigned)i;
	for (int i = 0; kind == LIBC && i < n; i++)
		memset(room, i, 1 << 16);
	if (kind == MADE)
		made((unsigned)n * 3000);
}

int main(int argc, char **argv)
{
	double used[KINDS] = {}, all = 0, seconds = argc > 1 ? atof(argv[1]) : 1;

	room = malloc(1 << 16);
	make_code();
	while (all < seconds) {
		int next = 0;
		double from = cpu_s(), took;

		for (int i = 1; i < KINDS; i++)
			if (shares[i] * all - used[i] > shares[next] * all - used[next])
				next = i;
		run(next, 1 + rand() % 1000);
		took = cpu_s() - from;
		used[next] += took;
		all += took;
	}
	for (int i = 0; i < KINDS; i++)
		printf("%s %.6f\n", names[i], used[i]);
	return 0;
}
