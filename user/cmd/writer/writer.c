/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobprof-writer: turns a step's journal into its HDF5 file. jobprofd starts it with the ids of the
 * job's user already set, so that everything in the user's directory is opened with the user's
 * rights only.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/program.h"
#include "daemon/child/publication.h"
#include "jobfile/publish.h"
#include "pool/confine.h"

#define FILES_MAX 64

enum mode { MODE_NONE, MODE_LIVE, MODE_FINAL, MODE_REMOVE };

struct options {
	int journal_fd;
	int dir_fd;
	const char *name;
	enum mode mode;
	unsigned deadline;
};

static int usage(void)
{
	fprintf(stderr, "usage: jobprof-writer -j FD -d DIRFD -n NAME.h5 -m live|final|remove "
			"[-D SECONDS]\n");
	return 2;
}

static int number(const char *s, int *out)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < 0 || v > 1000000)
		return -EINVAL;
	*out = v;
	return 0;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	int c, seconds = 0, err = 0;

	*o = (struct options){.journal_fd = -1, .dir_fd = -1};
	while (!err && (c = getopt(argc, argv, "j:d:n:m:D:")) != -1) {
		switch (c) {
		case 'j':
			err = number(optarg, &o->journal_fd);
			break;
		case 'd':
			err = number(optarg, &o->dir_fd);
			break;
		case 'n':
			o->name = optarg;
			break;
		case 'm':
			o->mode = !strcmp(optarg, "live")     ? MODE_LIVE
				  : !strcmp(optarg, "final")  ? MODE_FINAL
				  : !strcmp(optarg, "remove") ? MODE_REMOVE
							      : MODE_NONE;
			break;
		case 'D':
			err = number(optarg, &seconds);
			o->deadline = seconds;
			break;
		default:
			err = -EINVAL;
		}
	}
	if (err || optind != argc || o->journal_fd < 0 || o->dir_fd < 0 || !o->name || !o->mode)
		return -EINVAL;
	return 0;
}

/* Drops the rights of root, too, who starts the writer for root's own jobs. */
static int drop_rights(void)
{
	struct rlimit none = {0, 0}, files = {FILES_MAX, FILES_MAX};

	if (setrlimit(RLIMIT_CORE, &none) || setrlimit(RLIMIT_MEMLOCK, &none) ||
	    setrlimit(RLIMIT_NOFILE, &files))
		return -errno;
	return confine__process(CONFINE_WRITER);
}

static void on_alarm(int sig)
{
	static const char text[] = "jobprof-writer: not done at its deadline, given up\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

static int publish(const struct options *o)
{
	struct nodestep_stats st = {0};
	struct kept kept = {0};
	int err;

	if (o->mode == MODE_REMOVE)
		err = publish__remove(o->dir_fd, o->name);
	else if (o->mode == MODE_LIVE)
		err = publish__live(o->journal_fd, o->dir_fd, o->name, &st);
	else
		err = publish__final(o->journal_fd, o->dir_fd, o->name, &st, &kept);
	if (*kept.path)
		fprintf(stderr, "jobprof-writer: %s: %s is %s\n", o->name,
			kept.by_slurm ? "is a file of Slurm's own plugin, which stays: jobprof's"
				      : "the file of the earlier run",
			kept.path);
	if (err) {
		fprintf(stderr, "jobprof-writer: %s: %s\n", o->name,
			err == -EBADMSG	  ? "the journal is not one"
			: err == -ENODATA ? "the journal names no node"
					  : strerror(-err));
		return err == -EBADMSG || err == -ENODATA ? WRITER_NO_JOURNAL : 1;
	}
	if (st.rejected || st.torn_bytes)
		fprintf(stderr,
			"jobprof-writer: %s: %llu records rejected, %llu bytes (at least %llu "
			"rows) cut off at the journal's end\n",
			o->name, (unsigned long long)st.rejected, (unsigned long long)st.torn_bytes,
			(unsigned long long)st.torn_rows);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o;
	int err;

	program__close_to_user();
	if (parse_options(argc, argv, &o))
		return usage();
	err = drop_rights();
	if (err) {
		fprintf(stderr, "jobprof-writer: cannot give up rights: %s\n", strerror(-err));
		return 1;
	}
	signal(SIGALRM, on_alarm);
	signal(SIGXFSZ, SIG_IGN);
	umask(022 | publish__mask(o.dir_fd));
	alarm(o.deadline);
	return publish(&o);
}
