// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of /proc/cpuinfo, of made files and of this machine. */

#include "tests/unit/unit.h"
#include "base/cpuinfo.h"

TEST(values_are_the_first_cpus)
{
	struct cpuinfo c;

	put_text(unit_dir, "cpuinfo",
		 "processor\t: 0\nvendor_id\t: First\ncpu family\t: 6\nmodel\t\t: 85\n"
		 "model name\t: A: CPU  @ 2\npower management:\n\nvendor_id\t: Second\nmodel\t\t: "
		 "7\n");
	cpuinfo__read(&c, unit_dir);
	assert_string_equal(c.vendor, "First");
	assert_int_equal(c.family, 6);
	assert_int_equal(c.model, 85);
	assert_string_equal(c.name, "A: CPU  @ 2");
}

TEST(arm_has_other_keys)
{
	struct cpuinfo c;

	put_text(unit_dir, "cpuinfo",
		 "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: "
		 "0xd4f\n\n");
	cpuinfo__read(&c, unit_dir);
	assert_string_equal(c.vendor, "0x41");
	assert_int_equal(c.family, 8);
	assert_int_equal(c.model, 0xd4f);
	assert_string_equal(c.name, "");
}

TEST(the_highest_clock_is_that_of_any_cpu)
{
	put_text(unit_dir, "cpuinfo",
		 "cpu MHz\t\t: 800.5\n\ncpu MHz\t\t: 3200.25\n\ncpu MHz\t\t: 1e9\n\ncpu MHz\t\t: "
		 "2000\n");
	assert_true(cpuinfo__highest_mhz(unit_dir) == 3200.25);
	put_text(unit_dir, "cpuinfo", "processor\t: 0\n");
	assert_true(cpuinfo__highest_mhz(unit_dir) == 0);
}

TEST(no_file)
{
	struct cpuinfo c;

	cpuinfo__read(&c, "/nowhere");
	assert_string_equal(c.vendor, "");
	assert_int_equal(c.model, 0);
	assert_true(cpuinfo__highest_mhz("/nowhere") == 0);
}

/* sed and sort find the same in the kernel's own file. */
TEST(this_machine)
{
	static const char command[] =
		"sed -n '/^$/q; s/^model name[[:blank:]]*: //p' /proc/cpuinfo; echo;"
		"sed -n 's/^cpu MHz[[:blank:]]*: //p' /proc/cpuinfo | sort -n | tail -n 1";
	char name[256] = "", mhz[64] = "0";
	struct cpuinfo c;
	FILE *f = popen(command, "r");

	assert_non_null(f);
	assert_non_null(fgets(name, sizeof(name), f));
	while (fgets(mhz, sizeof(mhz), f))
		;
	pclose(f);
	name[strcspn(name, "\n")] = '\0';
	cpuinfo__read(&c, "/proc");
	assert_string_equal(c.name, name);
	assert_true(fabs(cpuinfo__highest_mhz("/proc") - atof(mhz)) <= 0.3 * atof(mhz));
}
