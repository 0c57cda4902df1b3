// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands of Slurm's, which may print anything, hang or fail. */
#include "unit.h"

#include "base/clock.h"
#include "identity/slurm_lines.h"
#include "index/accounting.h"

#define SAID "slurm_load: no"

static char seen[256];
static unsigned lines, longest;

static int take(void *arg, const char *line)
{
	const size_t len = strlen(line);

	lines++;
	longest = len > longest ? (unsigned)len : longest;
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "[%.20s]", line);
	return arg && lines == 2 ? -EPROTO : 0;
}

/* Runs a shell script in the place of the command. */
static int run(const char *script, struct slurm_lines *l)
{
	char *const argv[] = {"command", "a b", NULL};
	char text[512];

	snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
	put_text(unit_dir, "command", text);
	chmod(in_dir("command"), 0755);
	seen[0] = '\0';
	lines = longest = 0;
	l->dir = unit_dir;
	l->argv = argv;
	l->take = take;
	l->seconds = l->seconds > 0 ? l->seconds : 10;
	l->most = l->most ? l->most : 1u << 30;
	return slurm_lines__read(l);
}

TEST(lines_are_cut)
{
	struct slurm_lines l = {0};

	assert_int_equal(run("echo \"$1\"; echo; printf 'no end'", &l), 0);
	assert_string_equal(seen, "[a b][][no end]");
	assert_int_equal(run("echo $SLURM_TIME_FORMAT $TZ", &l), 0);
	assert_string_equal(seen, "[%s UTC]");
	assert_int_equal(run("head -c 3000000 /dev/zero | tr '\\0' x", &l), 0);
	assert_int_equal(lines, 3);
	assert_int_equal(longest, (1 << 20) - 1);
	assert_int_equal(run("cat", &l), 0); /* nobody types */
}

TEST(errors_are_told_apart)
{
	struct slurm_lines l = {.seconds = 0.3};
	const uint64_t began = clock__mono_ns();

	assert_int_equal(run("echo a; sleep 60 & sleep 60", &l), -ETIME);
	assert_string_equal(seen, "[a]");
	l = (struct slurm_lines){0};
	assert_int_equal(run("exec >&- 2>&-; exec sleep 0.1", &l), 0);
	assert_int_equal(run("echo " SAID " >&2; echo more >&2; echo b; exit 1", &l), -EIO);
	assert_string_equal(l.said, SAID);
	assert_string_equal(seen, "[b]");
	assert_int_equal(run("kill -9 $$", &l), -EIO);
	assert_non_null(strstr(l.said, "killed"));
	assert_int_equal(run("exit 3", &l), -EIO);
	assert_non_null(strstr(l.said, "status 3"));
	l = (struct slurm_lines){.most = 1000000};
	assert_int_equal(run("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done", &l), -EFBIG);
	l = (struct slurm_lines){.arg = &l};
	assert_int_equal(run("echo a; echo b; sleep 60", &l), -EPROTO);
	assert_true(clock__mono_ns() - began < 50 * NSEC_PER_SEC);
}

TEST(a_command_may_not_be_there)
{
	char *const argv[] = {"no-such-command", NULL};
	struct slurm_lines l = {.argv = argv, .take = take, .seconds = 5, .most = 100};

	assert_int_equal(slurm_lines__read(&l), -ENOENT);
	l.dir = unit_dir;
	assert_int_equal(slurm_lines__read(&l), -ENOENT);
}
