/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jobs that are merged when they have ended on this node, and the merges that run. */
#include "daemon/files/automerge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/str.h"
#include "bpf/jobprof.h"
#include "daemon/child/child.h"
#include "daemon/child/publication.h"
#include "daemon/follow/daemon_state.h"

struct merge_record {
	uint32_t job_id;
	uid_t uid;
	gid_t gid;
	char user[64];				 /* name of the directory */
	char dir[PUBLISH_PATH];			 /* it is in */
	char cgroup[PUBLISH_PATH + JP_PATH_LEN]; /* directory of the job, while there is one */
};

/* ---- the merges that are due, in a file per job: written, read again and removed */

/* The file is a list of texts, each with its NUL: paths may hold any other character. */
#define MAGIC "merge 1"

struct words {
	const char *at, *end;
};

static const char *next_word(struct words *w)
{
	const char *word = w->at, *nul = memchr(w->at, 0, (size_t)(w->end - w->at));

	if (!nul)
		return "";
	w->at = nul + 1;
	return word;
}

/* Writes the file, which appears as a whole. 0 or -errno. */
static int merge_record_write(const char *dir, const struct merge_record *r)
{
	char text[sizeof(*r) + 64], tmp[PUBLISH_PATH + 32], path[PUBLISH_PATH + 32];
	_cleanup_close_ int fd = -1;
	int len = snprintf(text, sizeof(text), "%s%c%u%c%u%c%s%c%s%c%s%c", MAGIC, 0, r->uid, 0,
			   r->gid, 0, r->user, 0, r->dir, 0, r->cgroup, 0);

	snprintf(path, sizeof(path), "%s/%u", dir, r->job_id);
	snprintf(tmp, sizeof(tmp), "%s/.tmp", dir);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)len) != len)
		return errno ? -errno : -ENOSPC;
	return rename(tmp, path) ? -errno : 0;
}

/* Reads the file. 0; -EBADMSG: it is not such a file; -errno. */
static int merge_record_read(const char *dir, uint32_t job_id, struct merge_record *r)
{
	char text[sizeof(*r) + 64], path[PUBLISH_PATH + 32];
	struct words w = {text, text};
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u", dir, job_id);
	n = read_file(AT_FDCWD, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	w.end = text + n;
	*r = (struct merge_record){.job_id = job_id};
	if (strcmp(next_word(&w), MAGIC) || parse_u32(next_word(&w), &r->uid) ||
	    parse_u32(next_word(&w), &r->gid) ||
	    str__copy(r->user, sizeof(r->user), next_word(&w)) ||
	    str__copy(r->dir, sizeof(r->dir), next_word(&w)) ||
	    str__copy(r->cgroup, sizeof(r->cgroup), next_word(&w)))
		return -EBADMSG;
	return str__safe_name(r->user) && r->dir[0] == '/' && r->cgroup[0] == '/' ? 0 : -EBADMSG;
}

static void merge_record_remove(const char *dir, uint32_t job_id)
{
	char path[PUBLISH_PATH + 32];

	snprintf(path, sizeof(path), "%s/%u", dir, job_id);
	unlink(path);
}

/* How many merges run at once, most of them waiting: of all users, and of one user. A user's merge
 * may wait in vain until its deadline. */
#define RUNNING_MAX	 64
#define OF_USER_MAX	 16
#define JOBS_MAX	 4096
#define JOBS_OF_USER_MAX 1024
#define CHECK_NS	 (NSEC_PER_SEC / 2) /* between two looks for jobs that have ended */
#define TRIES_MAX	 3 /* of a merge that somebody ends: the kernel, where memory is short */
/* How long a merge waits for the other nodes' files, and how long merging thousands of files may
 * take. */
#define WAIT_S	    900
#define DEADLINE_NS ((WAIT_S + 4 * 3600) * NSEC_PER_SEC)

struct merge {
	struct merge *next;
	struct merge_record job;
	pid_t pid;  /* 0: the job has not ended, or waits for its turn */
	bool again; /* a step has come since it was started */
	bool killed;
	unsigned tries;
	uint64_t deadline_ns;
};

struct automerge {
	struct merge *merges; /* the oldest first */
	unsigned n;
	const struct merge *running[RUNNING_MAX]; /* NULL: room for one */
	uint64_t next_ns;
	bool report;		/* is stored in the job file */
	char dir[PUBLISH_PATH]; /* of the records */
	char program[PUBLISH_PATH + 64];
	struct log_limit full;
};

static void job_file(const struct merge *m, char *buf, size_t len)
{
	snprintf(buf, len, "%s/%s/job_%u.h5", m->job.dir, m->job.user, m->job.job_id);
}

static struct merge *find_merge(const struct automerge *a, uint32_t job_id)
{
	struct merge *m;

	for (m = a->merges; m && m->job.job_id != job_id; m = m->next)
		;
	return m;
}

static struct merge *add_merge(struct automerge *a, const struct merge_record *job)
{
	struct merge **at = &a->merges, *m;
	unsigned of_user = 0;

	for (; *at; at = &(*at)->next)
		of_user += (*at)->job.uid == job->uid;
	if (a->n >= JOBS_MAX || of_user >= JOBS_OF_USER_MAX) {
		if (log_every(&a->full, 600))
			log_warn("%u jobs wait to be merged, %u of uid %u: job %u is left to its "
				 "user",
				 a->n, of_user, job->uid, job->job_id);
		return NULL;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->job = *job;
	*at = m;
	a->n++;
	return m;
}

static void remove_merge(struct automerge *a, struct merge *m)
{
	struct merge **at = &a->merges;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	a->n--;
	merge_record_remove(a->dir, m->job.job_id);
	free(m);
}

static int read_records(struct automerge *a)
{
	_cleanup_closedir_ DIR *list = opendir(a->dir);
	struct merge_record job;
	struct dirent *e;
	uint32_t id;

	if (!list)
		return -errno;
	while ((e = readdir(list))) {
		if (parse_u32(e->d_name, &id))
			continue;
		if (!merge_record_read(a->dir, id, &job)) {
			add_merge(a, &job);
			continue;
		}
		log_warn("job %u: what was written down of its merge is lost: its user can, with "
			 "\"jobprof merge -j %u\"",
			 id, id);
		merge_record_remove(a->dir, id);
	}
	return 0;
}

int automerge__new(struct automerge **out, const char *state_dir, bool report)
{
	struct automerge *a = calloc(1, sizeof(*a));
	int err = 0;

	*out = NULL;
	if (!a)
		return -ENOMEM;
	a->report = report;
	snprintf(a->dir, sizeof(a->dir), "%s/merges", state_dir);
	/* the program is installed so that users may run but not read it: they cannot trace it
	 * then */
	program__find("jobprof", "../bin", a->program, sizeof(a->program));
	if (access(a->program, X_OK)) {
		err = -errno;
		log_error("AutoMerge: cannot run %s: %s: no job is merged", a->program,
			  strerror(errno));
		goto out;
	}
	err = mkdir(a->dir, 0700) && errno != EEXIST ? -errno : read_records(a);
	if (err)
		log_error("AutoMerge: %s: %s: no job is merged", a->dir, strerror(-err));
out:
	if (err)
		automerge__free(a);
	else
		*out = a;
	return err;
}

void automerge__free(struct automerge *a)
{
	while (a && a->merges) {
		struct merge *m = a->merges;

		a->merges = m->next;
		free(m);
	}
	free(a);
}

/* The path of the job's cgroup directory on this node. 0; -E2BIG; -ENOENT. */
static int job_cgroup(const struct step *s, const struct step_env *env, char *buf, size_t len)
{
	const struct cgroup_roots *cgroups = env->cgroups;
	unsigned i;
	int n;

	for (i = 0; i < cgroups->nroots; i++) {
		if (cgroups->root[i].hier != s->hier)
			continue;
		n = snprintf(buf, len, "%s%.*s", cgroups->root[i].mount, (int)s->ids.job_end,
			     s->path);
		return n < (int)len ? 0 : -E2BIG;
	}
	return -ENOENT;
}

static void note_job_of_step(struct automerge *a, const struct step_env *env, const struct step *s)
{
	struct merge_record job = {.job_id = s->ids.job_id, .uid = s->uid, .gid = s->gid};
	struct merge *m = find_merge(a, s->ids.job_id);
	int err;

	if (m && m->pid)
		m->again = true;
	if (m)
		return;
	err = job_cgroup(s, env, job.cgroup, sizeof(job.cgroup));
	if (!err)
		err = str__copy(job.user, sizeof(job.user), s->pub.user);
	if (!err)
		err = str__copy(job.dir, sizeof(job.dir), s->pub.dir);
	if (!err && add_merge(a, &job)) {
		log_debug("job %u will be merged here", job.job_id);
		err = merge_record_write(a->dir, &job);
	}
	if (err)
		log_warn("job %u: it is not written down that it is to be merged: %s", job.job_id,
			 strerror(-err));
}

static void note_steps(struct automerge *a, const struct step_env *env)
{
	struct step *s;

	for (s = *env->steps; s; s = s->next) {
		if (s->merge_noted || s->state == STEP_NEW || s->state == STEP_IGNORED ||
		    !s->ids.has_job || !s->pub.user[0] || !s->ids.row ||
		    s->ids.row->family != LAYOUT_SLURM)
			continue;
		if (!s->job_host[0] && s->state != STEP_FINISHING)
			continue;
		s->merge_noted = true;
		if (!s->job_host[0])
			log_debug("%s: nobody has told the job's first node: it is not merged for "
				  "this step",
				  s->pub.name);
		else if (!strcmp(s->job_host, step__node_name(s, env->node_name)))
			note_job_of_step(a, env, s);
	}
}

/* The job's cgroup directory is gone, and all files of the job on this node are in place. */
static bool has_ended(const struct merge *m, const struct step *steps,
		      const struct pending_file *pending_files)
{
	const struct pending_file *o;
	const struct step *s;
	char begin[16];

	for (s = steps; s; s = s->next)
		if (s->state != STEP_IGNORED && s->ids.has_job && s->ids.job_id == m->job.job_id)
			return false;
	snprintf(begin, sizeof(begin), "%u_", m->job.job_id);
	for (o = pending_files; o; o = o->next)
		if (str__starts(o->pub.name, begin))
			return false;
	return access(m->job.cgroup, F_OK) && errno == ENOENT;
}

/* Runs in the child. Never returns. */
static void run_merge(const struct automerge *a, const struct merge *m, pid_t parent)
{
	struct child_user u = {m->job.user, m->job.uid, m->job.gid};
	char id[16], output[PUBLISH_PATH + 128], wait[16];
	int err;

	child__begin();
	child__silence();
	child__yield();
	err = child__become(&u);
	if (!err)
		err = child__drop_capabilities();
	if (!err)
		err = child__end_with(parent, SIGTERM);
	if (!err && chdir("/"))
		err = -errno;
	if (err == -ESRCH) /* jobprofd has ended: the next one merges */
		_exit(1);
	if (err) {
		log_error("cannot become uid %u to merge job %u: %s", u.uid, m->job.job_id,
			  strerror(-err));
		_exit(1);
	}
	job_file(m, output, sizeof(output));
	snprintf(id, sizeof(id), "%u", m->job.job_id);
	snprintf(wait, sizeof(wait), "%d", WAIT_S);
	execl(a->program, "jobprof", "merge", "-q", "-j", id, "-p", m->job.dir, "-u", m->job.user,
	      "-o", output, "--wait", wait, "--threads", "1", a->report ? "--report" : (char *)NULL,
	      (char *)NULL);
	log_error("cannot run %s: %s", a->program, strerror(errno));
	_exit(1);
}

static void start_merge(struct automerge *a, struct merge *m, const struct merge **entry,
			uint64_t now)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid)
		run_merge(a, m, parent);
	if (pid < 0) {
		log_error("cannot start a merge: %s", strerror(errno));
		return;
	}
	log_debug("job %u has ended: its merge is process %d", m->job.job_id, pid);
	m->pid = pid;
	m->deadline_ns = now + DEADLINE_NS;
	*entry = m;
}

/* A free entry of the table of running merges. NULL: no merge of that user may start now. */
static const struct merge **free_running_entry(struct automerge *a, uid_t uid)
{
	const struct merge **entry = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < RUNNING_MAX; i++) {
		if (!a->running[i])
			entry = &a->running[i];
		else
			n += a->running[i]->job.uid == uid;
	}
	return n < OF_USER_MAX ? entry : NULL;
}

void automerge__advance(struct automerge *a, const struct daemon *d, uint64_t now_ns)
{
	struct merge *m;

	note_steps(a, &d->env);
	if (now_ns < a->next_ns)
		return;
	a->next_ns = now_ns + CHECK_NS;
	for (m = a->merges; m && !d->finishing; m = m->next) {
		const struct merge **entry = m->pid ? NULL : free_running_entry(a, m->job.uid);

		if (entry && has_ended(m, d->steps, d->pending_files)) {
			start_merge(a, m, entry, now_ns);
		} else if (m->pid && now_ns > m->deadline_ns && !m->killed) {
			log_error("the merge of job %u hangs: killing it", m->job.job_id);
			m->killed = true;
			kill(m->pid, SIGKILL);
		}
	}
}

static void take_status(struct merge *m, int status)
{
	char path[PUBLISH_PATH + 128];

	job_file(m, path, sizeof(path));
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		log_debug("merged %s", path);
	} else if (WIFSIGNALED(status) && !m->killed && ++m->tries < TRIES_MAX) {
		log_debug("the merge of job %u was ended by signal %d, and begins again",
			  m->job.job_id, WTERMSIG(status));
		m->again = true;
	} else {
		log_warn("job %u is not merged, or not all of it (%s %d): its user can, with "
			 "\"jobprof merge -j %u\"",
			 m->job.job_id, WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			 m->job.job_id);
	}
}

bool automerge__reaped(struct automerge *a, pid_t pid, int status)
{
	struct merge *m;

	for (m = a->merges; m && m->pid != pid; m = m->next)
		;
	if (!m)
		return false;
	take_status(m, status);
	for (unsigned i = 0; i < RUNNING_MAX; i++)
		if (a->running[i] == m)
			a->running[i] = NULL;
	m->pid = 0;
	m->killed = false;
	if (!m->again)
		remove_merge(a, m);
	else
		m->again = false;
	return true;
}

bool automerge__busy(const struct automerge *a)
{
	return a && a->merges;
}
