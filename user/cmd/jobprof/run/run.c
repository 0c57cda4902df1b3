// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprof run -- CMD: the service's loop around one command, in a cgroup of its own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command_line.h"
#include "base/config/config.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/report.h"
#include "cmd/jobprof/run/run_region.h"
#include "cmd/jobprof/run/run_user.h"
#include "cmd/jobprof/run/run_window.h"
#include "cmd/jobprof/verbs.h"
#include "daemon/child/publication.h"
#include "daemon/config/perf_columns.h"
#include "daemon/daemon.h"
#include "daemon/step/step.h"
#include "jobfile/publish.h"
#include "kern/kern.h"
#include "schema/series.h"

#define GIVE_UP_AFTER 3 /* failed writers */
#define COURTESY_NS   (3 * NSEC_PER_SEC)
#define LEAVING_TRIES 25 /* helpers of a program may end just after it: so many times 2 ms */
#define LEAVING_US    2000

struct run {
	struct daemon *d;
	struct run_cgroup cgroup;
	char **argv;
	struct run_user user;
	char out_dir[4096], writer[4200], cwd[PATH_MAX];
	char *command; /* for the file */
	char socket[64];
	struct rlimit files, file_size; /* what CMD gets: ours are raised */
	const char *json;		/* the file of --json; NULL: none */
	bool quiet, wait_all;
	struct run_regions regions;
	pid_t pid;
	int status; /* of wait(2); below 0: it runs */
	bool ended, removed;
	const struct step *failed; /* its file cannot be written */
	bool json_failed, interrupted;
	uint64_t written_ns; /* when there was nothing more to do for CMD */
};

static uint32_t job_id(void)
{
	const char *slurm = getenv("SLURM_JOB_ID");
	uint32_t id;

	return slurm && !parse_u32(slurm, &id) && id ? id : (uint32_t)getpid();
}

static void exec_command(const struct run *r)
{
	sigset_t none;
	int s, err;

	for (s = 1; s < 32; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_NOFILE, &r->files);
	setrlimit(RLIMIT_FSIZE, &r->file_size);
	if (run_user__become(&r->user))
		_exit(126);
	/* for jobprof mark and emit, and programs that are linked with libjobprof */
	setenv("JOBPROF_SOCKET", r->socket, 1);
	execvp(r->argv[0], r->argv);
	err = errno;
	log_error("cannot run %s: %s", r->argv[0], strerror(err));
	_exit(RUN_STATUS(err));
}

/* What is used before exec counts for the program of the name that a child has at its birth: CMD's,
 * not ours. */
static pid_t fork_named(const struct run *r)
{
	char own[16] = "";
	pid_t pid;

	prctl(PR_GET_NAME, own);
	prctl(PR_SET_NAME, basename(r->argv[0]));
	pid = run_cgroup__fork(&r->cgroup);
	if (pid)
		prctl(PR_SET_NAME, own);
	return pid;
}

static void on_child(void *ctx, pid_t pid, int status)
{
	struct run *r = ctx;

	if (pid != r->pid)
		return;
	r->status = status;
	r->ended = true;
}

/* A signal typed at the terminal has reached CMD already; one sent to us alone is passed on. Once
 * CMD has ended it ends the wait for the background processes, and then that for the file. */
static void on_interrupt(void *ctx, int sig, bool from_terminal)
{
	struct run *r = ctx;

	if (r->ended && r->wait_all && !r->removed)
		r->wait_all = false;
	else
		r->interrupted = r->ended;
	if (!from_terminal && !r->ended && r->pid > 0)
		kill(r->pid, sig);
}

/* The step whose file could not be written, or NULL. */
static const struct step *find_failed(const struct run *r)
{
	const struct step *s = daemon__steps(r->d);

	while (s && !r->interrupted &&
	       (s->state != STEP_FINISHING || s->pub.failures < GIVE_UP_AFTER))
		s = s->next;
	return s;
}

static bool is_done(void *ctx)
{
	struct run *r = ctx;

	if (!r->ended)
		return false;
	if (!r->removed) {
		for (int i = 0; !r->wait_all && i < LEAVING_TRIES && run_cgroup__remove(&r->cgroup);
		     i++)
			usleep(LEAVING_US);
		if (!r->wait_all && run_cgroup__evict(&r->cgroup))
			daemon__leave_behind(r->d);
		r->removed = !run_cgroup__remove(&r->cgroup);
		if (!r->interrupted)
			return false;
	}
	r->failed = find_failed(r);
	if (r->interrupted)
		return true;
	if (!r->failed && daemon__steps(r->d))
		return false;
	if (!r->written_ns)
		r->written_ns = clock__boot_ns();
	/* files of killed runs are a courtesy, so not for long */
	return !daemon__finishing(r->d) || clock__boot_ns() > r->written_ns + COURTESY_NS;
}

static int exit_status(const struct run *r)
{
	return WIFSIGNALED(r->status) ? 128 + WTERMSIG(r->status) : WEXITSTATUS(r->status);
}

static void print_evicted(const struct run_cgroup *c)
{
	fprintf(stderr,
		"%u background process%s ran on after the command's end, not counted "
		"(--wait-all waits): ",
		c->evicted, c->evicted == 1 ? "" : "es");
	print__escaped(stderr, c->names);
	fputs(c->more_names ? ", ...\n" : "\n", stderr);
}

static int write_json(void *path, FILE *out)
{
	const struct job_input in = {.path = path};
	const struct report_opts how = {.form = REPORT_JSON};

	return report__files(&in, 1, &how, out);
}

/* The page, and the same as JSON. */
static void report_on(struct run *r, char *path, const struct report_opts *page)
{
	if (!r->quiet)
		report__on_stderr(path, page);
	if (r->json && run_json__write(&r->user, r->json, write_json, path))
		r->json_failed = true;
}

/* The page of a run whose file cannot be written, from its journal, and what becomes of the file.
 */
static void summary_without_file(struct run *r)
{
	const struct publication *p = r->failed ? &r->failed->pub : NULL;
	char path[2 * PUBLISH_PATH], more[sizeof(path) + 40];
	const struct report_opts how = {
		.is_run = true,
		.more = more,
		.lines_after = 1,
	};
	struct journal_file f;
	bool lost = p && (p->unnamed || p->unreadable);

	if (!p || lost) {
		log_error(
			"no file was written%s",
			lost ? ", and its rows are lost, as another program has changed the journal"
			     : "");
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", p->dir, p->name);
	snprintf(more, sizeof(more), "jobprof report --all %s", path);
	if (!r->quiet || r->json) {
		int journal = open(p->journal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		if (!journal_file__make(&f, journal, NULL))
			report_on(r, f.path, &how);
		journal_file__remove(&f);
		if (journal >= 0)
			close(journal);
	}
	fprintf(stderr,
		"file: not written (%s): the next jobprof run, of any command, writes %s when it "
		"can\n",
		p->error[0] ? p->error : "interrupted", path);
}

static void print_troubles(const char *text)
{
	fputs("regions: ", stderr);
	print__escaped(stderr, text);
	fputc('\n', stderr);
}

static void summary(struct run *r)
{
	char troubles[KERN_REGIONS_TEXT], more[PUBLISH_PATH + 500], path[PUBLISH_PATH + 300];
	bool has_troubles = daemon__region_troubles(r->d, troubles, sizeof(troubles)) > 0;
	const struct report_opts how = {
		.is_run = true,
		.more = more,
		.lines_after = 2 + (r->cgroup.evicted > 0) + has_troubles,
	};
	struct rusage self;

	snprintf(path, sizeof(path), "%s", daemon__last_file(r->d));
	if (!path[0]) {
		summary_without_file(r);
		return;
	}
	snprintf(more, sizeof(more), "jobprof report --all %s", path);
	report_on(r, path, &how);
	if (has_troubles)
		print_troubles(troubles);
	if (r->quiet)
		return;
	if (r->cgroup.evicted)
		print_evicted(&r->cgroup);
	if (!getrusage(RUSAGE_SELF, &self))
		fprintf(stderr, "jobprof itself: %.3f s of CPU, %.1f MiB, its start included\n",
			self.ru_utime.tv_sec + self.ru_stime.tv_sec +
				(self.ru_utime.tv_usec + self.ru_stime.tv_usec) / 1e6,
			self.ru_maxrss / 1024.0);
	fprintf(stderr, "file: %s\n", path);
}

static int profile(struct run *r, struct daemon_opts *o)
{
	int err = daemon__open(&r->d, o);

	if (err)
		return 1;
	err = run_cgroup__make(&r->cgroup, daemon__root(r->d), job_id());
	if (!err) {
		r->pid = fork_named(r);
		if (!r->pid)
			exec_command(r);
		if (r->pid < 0) {
			log_error("cannot start %s: %s", r->argv[0], strerror(errno));
			run_cgroup__remove(&r->cgroup);
			err = -errno;
		}
	}
	if (!err)
		err = daemon__loop(r->d);
	if (!err)
		summary(r);
	daemon__free(r->d);
	if (err)
		return 1;
	return exit_status(r) ? exit_status(r) : r->failed || r->json_failed;
}

struct args {
	const char *interval, *series, *out, *user, *perf_mode;
	const char *region[JP_REGIONS], *region_budget;
	unsigned nregions;
	bool deep;
	const char *rooted; /* the first option that needs root */
};

static int set_string(char **field, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

struct run_options {
	struct run r;
	struct daemon_opts o;
	struct config cfg;
	struct args a;
};

static int set_unwind(void *to, const struct opt *o, const char *arg)
{
	struct run_options *all = to;

	if (!config__parse_unwind(arg, &all->cfg.unwind))
		return 0;
	log_error("--unwind %s: want fp or dwarf", arg);
	return 2;
}

/* A text that the configuration frees. */
static int set_copy(void *to, const struct opt *o, const char *arg)
{
	return set_string(to, arg) ? 1 : 0;
}

static int add_region(void *to, const struct opt *o, const char *arg)
{
	struct args *a = to;

	a->region[a->nregions++ % JP_REGIONS] = arg;
	return 0;
}

static void note_rooted(void *to, const struct opt *o)
{
	struct run_options *all = to;

	if (!all->a.rooted && o->letter != 'j' && o->letter != 'q')
		all->a.rooted = o->name;
}

#define ALL struct run_options

static const struct opt opts[] = {
	{'i', "interval", "S", "seconds between rows, 0.1 to 86400 (default 1)",
	 OPT_TEXT(ALL, a.interval)},
	{'s', "series", "LIST",
	 "families to record: base, sched, memory, file, self, cgroup, latency, wait, culprit, "
	 "sample, stack, fold, burst, block, network, perf, files, energy, gpu, interconnect, "
	 "filesystem, node; default all, which is every one but stack, fold, burst and "
	 "files; deep is all and these; "
	 "see jobprof list",
	 OPT_TEXT(ALL, a.series), .values = family__print_words},
	{0, "deep", NULL,
	 "records stack, fold, burst and files, too, as --series deep does: what the code "
	 "did, for some more of a CPU",
	 OPT_FLAG(ALL, a.deep)},
	{'e', "events", "LIST",
	 "hardware events to count, by perf's names, rHEX or PMU/TERMS/ "
	 "(default " PERF_EVENTS_DEFAULT ")",
	 OPT_CALL_AT(set_copy, ALL, cfg.perf_events)},
	{0, "perf-mode", "MODE",
	 "exact, sampled, off, or auto (the default): the first of them that costs at most a "
	 "hundredth of a CPU",
	 OPT_TEXT(ALL, a.perf_mode), .values = config__print_perf_words},
	{0, "unwind", "HOW",
	 "how stacks are followed: fp, by frame pointers (the default), or dwarf, by .eh_frame",
	 OPT_CALL(set_unwind), .values = config__print_unwind_words},
	{0, "region", "FILE:FUNCTION",
	 "each execution of the function is a row of Regions; "
	 "usdt:FILE:PROVIDER:BEGIN,END: from one probe to another; wait:FILE:FUNCTION: it is a "
	 "wait, which ends a burst; may be given 16 times",
	 OPT_CALL_AT(add_region, ALL, a)},
	{0, "region-budget", "PERCENT",
	 "of a CPU that all regions may cost; above that the dearest pauses (default 1)",
	 OPT_TEXT(ALL, a.region_budget)},
	{'o', "output", "DIR|FILE.h5",
	 "where the file goes, made if it is not there (default: here), or the file itself; one "
	 "that is there is moved to restart0/",
	 OPT_TEXT(ALL, a.out)},
	{'j', "json", "FILE", "writes the page there as JSON; \"-\": standard output, behind CMD's",
	 OPT_TEXT(ALL, r.json)},
	OPT_OVERWRITE,
	{'q', "quiet", NULL, "print no page", OPT_FLAG(ALL, r.quiet)},
	{'u', "user", "USER", "run CMD as USER (default: who called sudo)", OPT_TEXT(ALL, a.user)},
	{'w', "wait-all", NULL, "wait for background processes of CMD too",
	 OPT_FLAG(ALL, r.wait_all)},
	{0, "pin", "DIR", "pin the maps there, so that jobprof-dump can look",
	 OPT_TEXT(ALL, o.pin_dir)},
	{0, "btf", "FILE", "kernel type information instead of the running kernel's",
	 OPT_CALL_AT(set_copy, ALL, cfg.btf)},
	{0, "raw-tp", NULL, NULL, OPT_FLAG(ALL, o.raw_tp)},
	{0, "block-issue", NULL, NULL, OPT_FLAG(ALL, o.block_issue)},
	{0, "net-skb", NULL, NULL, OPT_FLAG(ALL, o.net_skb)},
	{0, "state-dir", "DIR", "where the journal is kept (default /var/lib/jobprof)",
	 OPT_CALL_AT(set_copy, ALL, cfg.state_dir)},
	{0},
};

const struct command cmd_run = {
	.name = "jobprof run",
	.usage = "[OPTION]... [--] CMD [ARG]...",
	.about = "Runs CMD, profiles it and all its children, writes <id>_0_<node>.h5 and\n"
		 "prints on standard error what held it back, as jobprof report does.\n"
		 "The exit status is CMD's (127: not found, 126: cannot be run, 128+n: killed by\n"
		 "signal n). Without root, or as root of a container, in a step that jobprofd\n"
		 "profiles: reports on what the step did meanwhile.",
	.opts = opts,
	.runs_another = true,
	.see = note_rooted,
};

static int apply_events(struct config *cfg, const struct args *a)
{
	char reason[512];

	if (perf_columns__parse(NULL, cfg->perf_events, reason, sizeof(reason)) < 0) {
		log_error("--events %s: %s", cfg->perf_events, reason);
		return -EINVAL;
	}
	if (a->perf_mode && config__parse_perf(a->perf_mode, &cfg->perf_mode)) {
		log_error("--perf-mode %s: want auto, exact, sampled or off", a->perf_mode);
		return -EINVAL;
	}
	return 0;
}

static int apply_args(struct run *r, struct daemon_opts *o, struct config *cfg,
		      const struct args *a)
{
	const char *interval = a->interval ? a->interval : "1";
	char bad[64], err[160];
	unsigned deep;

	o->families = FAM_ALL;
	if (a->series && family__parse(a->series, &o->families, bad, sizeof(bad))) {
		const char *near = family__nearest(bad);

		log_error("--series %s: no family \"%s\"; %s%s%s", a->series, bad,
			  near ? "did you mean \"" : "jobprof list shows them", near ? near : "",
			  near ? "\"?" : "");
		return 2;
	}
	if (a->deep && !family__parse("deep", &deep, bad, sizeof(bad)))
		o->families |= deep;
	if (!o->families) {
		log_error("--series %s: nothing of it is measured here", a->series);
		return 2;
	}
	if (freq__parse(interval, &cfg->freq, err, sizeof(err))) {
		if (strchr(interval, '='))
			log_error("--interval %s: %s", interval, err);
		else
			log_error("--interval %s: want 0.1 to 86400 seconds", interval);
		return 2;
	}
	if (!freq__interval(&cfg->freq, FREQ_TASK) && !freq__interval(&cfg->freq, FREQ_STEP) &&
	    !freq__interval(&cfg->freq, FREQ_LATENCY)) {
		log_error("--interval %s: no row would be written: want 0.1 to 86400 seconds",
			  a->interval);
		return 2;
	}
	if (apply_events(cfg, a))
		return 2;
	return 0;
}

/* "DIR/NAME.h5" is a file: its name goes to o, and out is its directory, which the caller frees.
 * 0, or the exit status. */
static int split_output(char **out, struct daemon_opts *o, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(name);
	struct stat st;

	if (len < 4 || strcmp(name + len - 3, ".h5") || (!stat(path, &st) && S_ISDIR(st.st_mode))) {
		*out = strdup(path);
	} else if (*name == '.' || len > PUBLISH_NAME_MAX) {
		log_error("-o %s: a file's name has at most %d bytes and no dot in front", path,
			  PUBLISH_NAME_MAX);
		return 2;
	} else {
		o->file = name;
		*out = slash ? strndup(path, slash - path + 1) : strdup(".");
	}
	return *out ? 0 : 1;
}

/* 0, or the exit status. */
static int apply_user(struct run *r, struct daemon_opts *o, const struct args *a)
{
	_cleanup_free_ char *out = NULL;
	int status;

	if (run_user__find(&r->user, a->user))
		return 2;
	status = split_output(&out, o, a->out ? a->out : ".");
	if (status)
		return status;
	return run_user__output(&r->user, out, r->out_dir) ? 1 : 0;
}

static int check_waits(const struct daemon_opts *o)
{
	for (unsigned i = 0; i < o->nregions; i++) {
		if (!o->regions[i].wait || o->families & FAM_BURST)
			continue;
		log_error("--region %s is a wait, which ends bursts, but the family burst is not "
			  "recorded: give --series all,burst",
			  o->regions[i].name);
		return 2;
	}
	return 0;
}

/* 0, or the exit status. */
static int apply_regions(struct run *r, struct daemon_opts *o, const struct args *a)
{
	int status = 0;

	o->region_budget = 1;
	if (a->region_budget && (parse_double(a->region_budget, &o->region_budget) ||
				 !(o->region_budget > 0 && o->region_budget <= 100))) {
		log_error("--region-budget %s: want more than 0 and at most 100 percent",
			  a->region_budget);
		return 2;
	}
	if (a->nregions > JP_REGIONS) {
		log_error("--region is given %u times: at most %d functions can be regions",
			  a->nregions, JP_REGIONS);
		return 2;
	}
	for (unsigned i = 0; !status && i < a->nregions; i++)
		status = run_regions__add(&r->regions, a->region[i]);
	o->regions = r->regions.list;
	o->nregions = r->regions.n;
	return status ? status : check_waits(o);
}

/* Removes the sockets of runs that were killed. */
static void remove_stale_sockets(void)
{
	_cleanup_closedir_ DIR *d = opendir(CLIENT_CONN_RUN_DIR);
	struct dirent *e;
	int pid;

	while (d && (e = readdir(d)))
		if (sscanf(e->d_name, CLIENT_CONN_RUN_FORM, &pid) == 1 && pid > 0 && kill(pid, 0) &&
		    errno == ESRCH)
			unlinkat(dirfd(d), e->d_name, 0);
}

static int run_as_root(struct run *r, struct daemon_opts *o, const struct args *a)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	int status = apply_user(r, o, a);

	if (status)
		return status;
	setrlimit(RLIMIT_FSIZE, &none); /* the hard limit is one of CMD's files alone, too */
	r->command = command_line__of(r->argv);
	o->command = r->command;
	o->cwd = getcwd(r->cwd, sizeof(r->cwd));
	o->user = r->user.name[0] ? r->user.name : NULL;
	publication__find_writer(o->cfg->writer, r->writer, sizeof(r->writer));
	o->writer = r->writer;
	o->out_dir = r->out_dir;
	o->uid = r->user.uid;
	o->gid = r->user.gid;
	status = run_user__command(&r->user, r->argv[0]);
	if (!status && r->json)
		status = run_json__try(&r->user, r->json);
	if (!status)
		status = apply_regions(r, o, a);
	if (!status)
		status = profile(r, o);
	run_regions__free(&r->regions);
	free(r->command);
	return status;
}

static void prepare(struct run_options *all)
{
	struct run *r = &all->r;

	r->status = -1;
	all->o = (struct daemon_opts){.cfg = &all->cfg,
				      .embedded = true,
				      .ctx = r,
				      .command_status = &r->status,
				      .child = on_child,
				      .interrupt = on_interrupt,
				      .done = is_done};
	all->cfg.max_slots = 128; /* half of them for ranks */
	snprintf(r->socket, sizeof(r->socket), CLIENT_CONN_RUN_DIR "/" CLIENT_CONN_RUN_FORM,
		 getpid());
	set_string(&all->cfg.socket, r->socket);
	getrlimit(RLIMIT_NOFILE, &r->files);
	getrlimit(RLIMIT_FSIZE, &r->file_size);
}

int verb_run(int argc, char **argv)
{
	struct run_options all = {};
	struct run *r = &all.r;
	bool done = false; /* with --help */
	int status;

	if (config__init(&all.cfg))
		return 1;
	remove_stale_sockets();
	log__set_level(LOGL_WARN);
	prepare(&all);
	status = options__read(&cmd_run, argc, argv, &all);
	r->argv = argv + optind;
	if (status == OPTIONS_GO_ON)
		status = optind < argc ? apply_args(r, &all.o, &all.cfg, &all.a)
				       : options__wrong(&cmd_run, "there is no command to run");
	else
		done = true;
	if (!done && !status)
		status = !geteuid() && kern__may_load()
				 ? run_as_root(r, &all.o, &all.a)
				 : run_window__run(r->argv, all.a.rooted, r->json, r->quiet);
	config__free(&all.cfg);
	return status;
}
