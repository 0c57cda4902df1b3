// SPDX-License-Identifier: GPL-2.0-or-later
/* bpf/calls.def: numbers against the kernel's headers, and the causes. */

#include "tests/unit/unit.h"
#include "bpf/jobprof.h"

enum { CALL_FILE = JP_CAUSES, CALL_SYNC, CALL_LOCK, CALL_SPAWN, CALL_PAUSE };

static const struct call {
	const char *name;
	int cause, x86, arm64;
} calls[] = {
#define CALL(name, cause, x86, arm64) {#name, cause, x86, arm64},
#define CALL_X86(name, cause, x86)    {#name, cause, x86, -1},
#include "bpf/calls.def"
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static const struct call *find(const char *name)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (!strcmp(calls[i].name, name))
			return &calls[i];
	return NULL;
}

/* Compares all calls that the header defines, as __NR_ or __NR3264_. Returns how many. */
static unsigned compare(const char *header, bool arm64)
{
	FILE *f = fopen(header, "re");
	char line[256], name[64];
	unsigned n = 0;
	int number;

	while (f && fgets(line, sizeof(line), f)) {
		const struct call *c;

		if (sscanf(line, "#define __NR_%63s %d", name, &number) != 2 &&
		    sscanf(line, "#define __NR3264_%63s %d", name, &number) != 2)
			continue;
		c = find(name);
		if (!c)
			continue;
		assert_int_equal(arm64 ? c->arm64 : c->x86, number);
		n++;
	}
	if (f)
		fclose(f);
	return n;
}

TEST(numbers_of_x86_64_are_the_headers)
{
	static const char header[] = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h";

	if (access(header, R_OK))
		skip();
	assert_true(compare(header, false) >= N_CALLS - 2); /* futex_wait is of 6.7 */
}

/* arm64 has the numbers that new architectures have, and none of the calls that these lack. */
TEST(numbers_of_arm64_are_the_generic_ones)
{
	unsigned without = 0;

	for (size_t i = 0; i < N_CALLS; i++)
		without += calls[i].arm64 < 0;
	assert_true(compare("/usr/include/asm-generic/unistd.h", true) >= N_CALLS - without - 2);
}

TEST(numbers_are_below_the_size_of_the_table)
{
	for (size_t i = 0; i < N_CALLS; i++) {
		assert_in_range(calls[i].x86, 0, 511);
		assert_in_range(calls[i].arm64 + 1, 0, 511);
	}
}

TEST(a_call_has_one_line)
{
	for (size_t i = 0; i < N_CALLS; i++)
		for (size_t k = 0; k < i; k++) {
			assert_int_not_equal(calls[i].x86, calls[k].x86);
			assert_true(calls[i].arm64 < 0 || calls[i].arm64 != calls[k].arm64);
		}
}

TEST(causes_are_those_that_a_call_can_say)
{
	for (size_t i = 0; i < N_CALLS; i++)
		assert_true(calls[i].cause == CALL_FILE || calls[i].cause == CALL_SYNC ||
			    calls[i].cause == CALL_LOCK || calls[i].cause == CALL_SPAWN ||
			    calls[i].cause == CALL_PAUSE ||
			    (calls[i].cause > JP_CAUSE_THROTTLED && calls[i].cause < JP_CAUSES));
}
