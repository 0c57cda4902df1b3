// SPDX-License-Identifier: GPL-2.0-or-later
/* Busy time of CPUs, of made-up contents of /proc/stat. */
#include "tests/unit/unit.h"

#include "sample/cpu_busy.h"

TEST(busy_is_what_is_not_idle)
{
	struct cpu_busy *b;
	double s[3];

	put_text(unit_dir, "proc/stat",
		 "cpu  9 9 9 9 9 9 9 9 9 9\n"
		 "cpu0 100 10 50 1000 7 3 2 4 1 0\n"
		 "cpu2 100 10 50 1000 7 3 2 4 1 0\nintr 5\n");
	b = cpu_busy__new(in_dir("proc"), 3);
	assert_non_null(b);
	assert_int_equal(cpu_busy__take(b, s), 0);
	near(s[0] + s[1] + s[2], 0);
	put_text(unit_dir, "proc/stat",
		 "cpu  9 9 9 9 9 9 9 9 9 9\n"
		 "cpu0 120 11 52 1900 99 7 10 400 3 1\n"
		 "cpu2 100 10 50 1100 7 3 2 4 1 0\n"
		 "cpu7 1 1 1 1 1 1 1 1\nintr 5\n");
	assert_int_equal(cpu_busy__take(b, s), 0);
	near(s[0], (20 + 1 + 2 + 4 + 8) / (double)sysconf(_SC_CLK_TCK));
	near(s[1] + s[2], 0);
	cpu_busy__free(b);
}
