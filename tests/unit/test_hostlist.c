// SPDX-License-Identifier: GPL-2.0-or-later
/* Host lists: what `scontrol show hostnames` makes of them, sorted and each once. */

#include "tests/unit/unit.h"
#include "base/hostlist.h"

static const struct {
	const char *text, *names;
} lists[] = {
	{"n1", "n1"},
	{"n[1-3,7],login1", "login1 n1 n2 n3 n7"},
	{"n[1-3,07]", "n07 n1 n2 n3"},
	{"n[01-3]", "n01 n02 n03"},
	{"n[9-11]", "n10 n11 n9"},
	{"n[1-010]", "n1 n10 n2 n3 n4 n5 n6 n7 n8 n9"},
	{"n[0009-0011]", "n0009 n0010 n0011"},
	{"n[98-101]", "n100 n101 n98 n99"},
	{"r[1-2]c[01-02]", "r1c01 r1c02 r2c01 r2c02"},
	{"a[1-2]b[3]c[5-6]", "a1b3c5 a1b3c6 a2b3c5 a2b3c6"},
	{"n[1,1,1],n1", "n1"},
	{"b,,a,", "a b"},
	{"a b\tc\nd", "a b c d"},
	{"n1-3", "n1-3"},
	{"[1-3]", "1 2 3"},
	{"a_b.c[7]", "a_b.c7"},
};

static const char *const bad_lists[] = {
	"",	  ",",	     " ",	 "n[",	  "n]",	    "n[]",
	"n[3-1]", "n[a]",    "n[1-3-5]", "n[1-]", "n[[1]]", "n]1[",
	"n[1]]",  "n[,1]",   "n[1,]",	 "n[-1]", "n[1",    "n[ 1]",
	"n[+1]",  "n[0x10]", "n[1..3]",	 "a,n[",  "n[1]2]", "n[99999999999999999999]",
};

static void joined(const struct string_list *l, char *out, size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < l->n; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? " " : "", l->v[i]);
}

TEST(lists_are_expanded_as_slurm_does)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct string_list l;
		char names[512], bad[64];

		assert_int_equal(hostlist__parse(&l, lists[i].text, bad, sizeof(bad)), 0);
		joined(&l, names, sizeof(names));
		assert_string_equal(names, lists[i].names);
		for (unsigned k = 0; k < l.n; k++)
			assert_true(hostlist__has(&l, l.v[k]));
		assert_false(hostlist__has(&l, "n"));
		assert_false(hostlist__has(&l, ""));
		string_list__free(&l);
	}
}

TEST(what_is_no_list_is_refused)
{
	char bad[16];
	struct string_list l;

	for (size_t i = 0; i < sizeof(bad_lists) / sizeof(bad_lists[0]); i++) {
		assert_int_equal(hostlist__parse(&l, bad_lists[i], bad, sizeof(bad)), -EINVAL);
		assert_null(l.v);
	}
	assert_int_equal(hostlist__parse(&l, "a,n[2-1],b", bad, sizeof(bad)), -EINVAL);
	assert_string_equal(bad, "n[2-1]");
	assert_int_equal(hostlist__parse(&l, "a,n[", NULL, 0), -EINVAL);
}

TEST(the_first_host_is_the_first_as_written)
{
	static const struct {
		const char *text, *name; /* NULL: there is none */
	} firsts[] = {
		{"n1", "n1"},
		{"n[07-9,1],a", "n07"},
		{"r[2,1]c[03-04]x", "r2c03x"},
		{", \tb[5]", "b5"},
		{"a,n[2-1]", "a"},
		{"[1-3]", "1"},
		{"a_b.c[7]", "a_b.c7"},
		{"", NULL},
		{" ,", NULL},
		{"n[1-3", NULL},
		{"n]1", NULL},
		{"n[]", NULL},
		{"n[3-1]", NULL},
		{"n[1-x]", NULL},
		{"n[1;2]", NULL},
		{"0123456789abcdef", NULL},
		{"0123456789abcde", "0123456789abcde"},
		{"0123456789abcd[10]", NULL},
		{"n[[1]]", NULL},
	};
	char name[16];

	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		int err = hostlist__first(firsts[i].text, name, sizeof(name));

		assert_int_equal(err, firsts[i].name ? 0 : -EINVAL);
		if (firsts[i].name)
			assert_string_equal(name, firsts[i].name);
	}
}

TEST(the_same_as_the_installed_slurm)
{
	char command[256], line[128];
	unsigned n = 0;
	FILE *f;

	put_text(unit_dir, "slurm.conf", "ClusterName=x\nSlurmctldHost=localhost\n");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct string_list l;
		bool newline = strchr(lists[i].text, '\n');

		if (newline)
			continue;
		snprintf(command, sizeof(command),
			 "SLURM_CONF=%s scontrol show hostnames '%s' 2>/dev/null"
			 " | LC_ALL=C sort -u",
			 in_dir("slurm.conf"), lists[i].text);
		assert_int_equal(hostlist__parse(&l, lists[i].text, NULL, 0), 0);
		f = popen(command, "r");
		assert_non_null(f);
		for (n = 0; fgets(line, sizeof(line), f); n++) {
			line[strcspn(line, "\n")] = '\0';
			assert_true(n < l.n);
			assert_string_equal(line, l.v[n]);
		}
		pclose(f);
		if (!n)
			break; /* it is not installed */
		assert_int_equal(n, l.n);
		string_list__free(&l);
	}
	if (!n)
		skip();
}

TEST(size_is_bounded)
{
	char name[300], bad[16];
	struct string_list l;

	assert_int_equal(hostlist__parse(&l, "n[0-262143]", bad, sizeof(bad)), 0);
	assert_int_equal(l.n, 262144);
	assert_true(hostlist__has(&l, "n262143"));
	string_list__free(&l);
	assert_int_equal(hostlist__parse(&l, "n[0-262144]", bad, sizeof(bad)), -E2BIG);
	assert_int_equal(hostlist__parse(&l, "n[0-999999999999]", bad, sizeof(bad)), -E2BIG);
	assert_int_equal(hostlist__parse(&l, "a[1-9999]b[1-9999]c[1-9999]", bad, sizeof(bad)),
			 -E2BIG);
	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	assert_int_equal(hostlist__parse(&l, name, bad, sizeof(bad)), 0);
	string_list__free(&l);
	strcpy(name + 254, "[10]");
	assert_int_equal(hostlist__parse(&l, name, bad, sizeof(bad)), -EINVAL);
	name[255] = 'n';
	name[256] = '\0';
	assert_int_equal(hostlist__parse(&l, name, bad, sizeof(bad)), -EINVAL);
}
