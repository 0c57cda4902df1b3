/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof index watch, prune and forget: the service that updates the index, and the removal of
 * names and rows. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "cmd/jobprof/index_actions.h"
#include "cmd/jobprof/mail.h"
#include "cmd/jobprof/site_when.h"
#include "index/accounting.h"
#include "index/coordinators.h"
#include "index/privacy.h"
#include "index/queue.h"
#include "index/running.h"
#include "index/scan.h"
#include "jobfile/profiles.h"
#include "pool/confine.h"

/* ---- watch */

static volatile sig_atomic_t ended;

static void on_end(int sig)
{
	ended = sig;
}

/* Scans the directories for one round. The index is open only meanwhile, so that others can write
 * between two rounds. 0 or -errno; *how counts the rounds that leave something. */
static int look(struct scan_options *how, const char *where, const struct string_list *dirs)
{
	struct scan_result res = {0};
	struct index ix;
	int err = index__open(&ix, where, DB_WRITE);

	if (err)
		return err;
	for (unsigned i = 0; !err && !ended && i < dirs->n; i++)
		err = scan__path(&ix, dirs->v[i], how, &res);
	index__close(&ix);
	how->round = !err && res.more ? how->round + 1 : 0;
	if (res.jobs || res.refused || res.unreadable || res.left.gone)
		log_info("%lu job%s of %lu file%s; %lu refused, %lu not readable, %lu older than "
			 "what prune keeps",
			 res.jobs, res.jobs == 1 ? "" : "s", res.files, res.files == 1 ? "" : "s",
			 res.refused, res.unreadable, res.left.gone);
	return err;
}

/* Which jobs run and wait, and what those do. Errors are logged; the next round looks again. */
static void look_at_running(const struct index_options *o, const struct scan_options *how,
			    const char *where, const struct string_list *dirs)
{
	const struct queue_options queue = {o->squeue, how->cluster, NULL, o->wait_s};
	const bool asks = !o->squeue || strcmp(o->squeue, "none") != 0;
	struct index ix;
	int err = ended ? -EINTR : index__open(&ix, where, DB_WRITE);

	if (err)
		return;
	if (asks)
		queue__read(&ix, &queue);
	for (unsigned i = 0; !err && !ended && i < dirs->n; i++)
		err = running__scan(&ix, dirs->v[i], how);
	index__close(&ix);
}

#define SYNC_AGAIN_S 600 /* after an error; else each round */

/* The other work of a service: reads Slurm's accounting, writes comments, sends mails. Errors are
 * logged, and the work is tried again. */
static void serve(const struct index_options *o, const char *where, bool comments, double *sync_at)
{
	const struct accounting_options how = {o->sacct, o->cluster, NAN, o->wait_s};
	const bool syncs = !o->sacct || strcmp(o->sacct, "none") != 0;
	struct accounting_result res = {0};
	const double now = (double)clock__boot_ns() / 1e9; /* a clock that nobody sets back */
	struct index ix;
	struct stat st;

	if (syncs && !ended && now >= *sync_at && !index__open(&ix, where, DB_WRITE)) {
		*sync_at = accounting__sync(&ix, &how, &res) ? now + SYNC_AGAIN_S : 0;
		coordinators__sync(&ix, &how);
		index__close(&ix);
	}
	if (comments && !ended)
		index_comment__run(o, where, 0, NULL);
	if (o->spool && !ended && !stat(o->spool, &st))
		index_mail__run(o, where, 0, NULL);
}

static void pause_for(double s)
{
	struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

	while (!ended && nanosleep(&t, &t) && errno == EINTR)
		;
}

/* By their real paths, as scan has them: a directory that is reached by a link is one in the index.
 */
static int find_dirs(struct string_list *dirs, int n, char **words)
{
	char *own[] = {NULL};
	int err = n ? 0 : profile_dir__find(&own[0]);

	if (own[0]) {
		words = own;
		n = 1;
	}
	for (int i = 0; !err && i < n; i++) {
		err = string_list__take(dirs, realpath(words[i], NULL));
		if (err)
			log_error("%s: %s", words[i], strerror(errno));
	}
	free(own[0]);
	return err;
}

/* Refuses a second service on the same file, which would read each profile again. The service has a
 * lock file of its own, since SQLite's lock is released between scans. A server's database may have
 * several services, with different directories. 0 or -errno. */
static int lock_service(const char *where)
{
	char *name = NULL;
	int fd, err = 0;

	if (strstr(where, "://"))
		return 0;
	if (asprintf(&name, "%s.watch", where) < 0)
		return -ENOMEM;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
		err = -errno;
	if (err)
		log_error("%s: %s", err == -EWOULDBLOCK ? where : name,
			  err == -EWOULDBLOCK ? "another jobprof index watch works on this index"
					      : strerror(-err));
	free(name);
	return err; /* fd stays open: the lock ends with this process */
}

int index_watch__run(const struct index_options *o, const char *where, int n, char **words)
{
	const struct sigaction act = {.sa_handler = on_end};
	struct index_options service = *o;
	struct mail_settings mail = {0};
	struct turn_waits waits = {0};
	struct scan_options how = {.read = site_read__jobs,
				   .cluster = o->cluster ? o->cluster : o->site.cluster,
				   .waits = &waits};
	struct string_list dirs = {0};
	double sync_at = 0;
	int err = find_dirs(&dirs, n, words);

	if (!err)
		err = lock_service(where);
	if (!err && !o->spool)
		err = mail_settings__read(&mail);
	service.is_service = true;
	service.spool = o->spool ? o->spool : mail.spool;
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	/* a sendmail may be set-group-id, which only the service's unit takes from it */
	if (!service.spool || access(service.spool, W_OK) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		confine__service(CONFINE_VERB);
	while (!err && !ended) {
		err = look(&how, where, &dirs);
		/* These errors pass: the next scan reads what this one could not. */
		if (err == -EBUSY || err == -ENOSPC || err == -ENOMEM || err == -ECONNRESET ||
		    err == -ESTALE)
			err = 0;
		if (!err)
			look_at_running(o, &how, where, &dirs);
		if (!err)
			serve(&service, where, o->site.admin_comment, &sync_at);
		fflush(stdout);
		if (!err && !how.round)
			pause_for(o->every_s);
	}
	turn_waits__free(&waits);
	mail_settings__free(&mail);
	string_list__free(&dirs);
	return err ? 1 : 0;
}

/* ---- prune and forget */

int index_watch__take_age(void *to, const struct opt *opt, const char *arg)
{
	const char **age = to;
	double since;

	*age = arg;
	return site_when__parse(&since, opt->name, arg);
}

int index_watch__prune(const struct index_options *o, const char *where, int n, char **words)
{
	struct privacy_result res = {0};
	double detail, keep;
	struct index ix;
	int err;

	if (site_when__parse(&detail, "detail", o->detail) ||
	    site_when__parse(&keep, "keep", o->keep))
		return 2;
	if (index__open(&ix, where, DB_WRITE))
		return 1;
	err = privacy__prune(&ix, detail, keep, &res);
	index__close(&ix);
	if (!err)
		printf("%.0f jobs lost their names, %.0f were deleted\n", res.renamed, res.deleted);
	return err ? 1 : 0;
}

/* Prints the user's profiles, which are the user's own files and are not removed. */
static int print_files(struct index *ix, const char *user)
{
	const struct db_value arg = db_value__text(user);
	struct db_rows r;
	int err = db__ask(&r, ix->db,
			  "SELECT file FROM job WHERE \"user\" = ? AND file IS NOT NULL", &arg, 1);

	while (!err && db_rows__next(&r)) {
		print__escaped(stdout, r.v[0].text);
		putchar('\n');
	}
	return db_rows__end(&r, err);
}

int index_watch__forget(const struct index_options *o, const char *where, int n, char **words)
{
	struct privacy_result res = {0};
	struct index ix;
	int err;

	if (n != 1) {
		log_error("forget: give the name of one user");
		return 2;
	}
	if (index__open(&ix, where, DB_WRITE))
		return 1;
	err = print_files(&ix, words[0]);
	if (!err)
		err = privacy__forget(&ix, words[0], &res);
	index__close(&ix);
	if (!err)
		printf("%.0f jobs lost their names; their profiles, if any, are the files above\n",
		       res.renamed);
	return err ? 1 : 0;
}
