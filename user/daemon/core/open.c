// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprofd's start, in order: limits, locks, cgroups, programs, sensors, socket, earlier journals.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/child/child.h"
#include "daemon/child/job_infos.h"
#include "daemon/config/cgroup_roots.h"
#include "daemon/config/check.h"
#include "daemon/files/automerge.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/follow.h"
#include "daemon/follow/kernel_watch.h"
#include "daemon/lookup/unwinding.h"
#include "daemon/node/node.h"
#include "daemon/socket/control.h"
#include "daemon/step/probed_regions.h"
#include "pool/confine.h"
#include "sensor/ipmi/ipmi.h"

#define LOCK_FD	     1000 /* below the usual limit, above what is usually open */
#define LOCK_WAIT_MS 1000
#define FILES_LEAST  256
#define FILES_WANTED 8192 /* users' connections take up to a quarter */

static int watch_fd(int epfd, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	return fd < 0 || epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* Raises the limits of open descriptors and of the size of files: one that Slurm passes on from a
 * login is meant for what the job writes. This comes first: later calls would fail without
 * descriptors. */
static int raise_limits(struct daemon *d)
{
	struct rlimit lim;

	if (!getrlimit(RLIMIT_FSIZE, &lim)) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_FSIZE, &lim);
	}
	if (getrlimit(RLIMIT_NOFILE, &lim))
		return -errno;
	if (lim.rlim_cur < FILES_WANTED) {
		lim.rlim_cur = lim.rlim_max < FILES_WANTED ? lim.rlim_max : FILES_WANTED;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
	d->files = lim.rlim_cur;
	if (d->files >= FILES_LEAST)
		return 0;
	log_error("%zu files may be open at once (ulimit -n, LimitNOFILE=): %d are needed, %d "
		  "wanted",
		  d->files, FILES_LEAST, FILES_WANTED);
	return -EMFILE;
}

/* The daemon also works without a socket: steps are found by their cgroups. */
static void open_control(struct daemon *d)
{
	if (control__open(&d->control, d))
		return;
	if (watch_fd(d->epfd, control__fd(d->control))) {
		control__free(d->control, false);
		d->control = NULL;
	}
	/* jobprof run knows what is asked for */
	d->env.can_ask = d->control && !d->opts.embedded;
}

/* Returns a descriptor that the signals are read from. */
static int block_signals(bool for_command)
{
	/* the last three are for the command of jobprof run */
	static const int signals[] = {SIGCHLD, SIGTERM, SIGINT,	 SIGHUP,
				      SIGUSR1, SIGQUIT, SIGUSR2, SIGALRM};
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < (for_command ? 8 : 5); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* ulimit -f: the write says EFBIG */
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_fds(struct daemon *d)
{
	struct itimerspec far = {.it_value = {.tv_sec = 1ll << 40}};
	int err;

	d->sigfd = block_signals(d->opts.embedded);
	d->epfd = epoll_create1(EPOLL_CLOEXEC);
	err = d->epfd < 0 ? -errno : 0;
	d->clockfd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	kern__events(d->env.k, NULL, NULL);
	timerfd_settime(d->clockfd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);
	if (!err)
		err = watch_fd(d->epfd, d->clockfd);
	if (!err)
		err = watch_fd(d->epfd, d->sigfd);
	if (!err)
		err = watch_fd(d->epfd, kern__event_fd(d->env.k));
	if (!err)
		err = lookups__new(&d->env.lookups, daemon_answered, d);
	if (!err)
		err = watch_fd(d->epfd, lookups__fd(d->env.lookups));
	if (!err && kern__unwinds(d->env.k))
		err = unwinding__start(&d->env.unwinding, kern__copies_fd(d->env.k));
	if (!err && d->env.unwinding)
		err = watch_fd(d->epfd, unwinding__fd(d->env.unwinding));
	if (!d->env.embedded)
		d->env.jobs = job_infos__new();
	if (err)
		log_error("cannot set up the event loop: %s", strerror(-err));
	return err;
}

/*
 * A child that a killed daemon has just forked holds the daemon's locks until it closes them, from
 * the lowest descriptor up. This lock has the highest descriptor: when it is free, so are those of
 * the journals.
 */
static int last_fd(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, LOCK_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int wait_lock(int fd)
{
	unsigned i;

	for (i = 0; i < LOCK_WAIT_MS; i += 10) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		usleep(10000);
	}
	return -EBUSY;
}

/* There is one daemon per state directory. Journals of jobprof run are in the same directory, each
 * with a lock of its own. */
static int lock_state(struct daemon *d)
{
	const struct step_env *env = &d->env;
	char path[PUBLISH_PATH];

	if (mkdir(env->state_dir, 0700) && errno != EEXIST) {
		log_error("cannot make StateDir %s: %s", env->state_dir, strerror(errno));
		return -errno;
	}
	if (env->embedded)
		return 0;
	if (check__root_alone(d->opts.cfg))
		return -EPERM;
	snprintf(path, sizeof(path), "%s/lock", env->state_dir);
	d->lockfd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (d->lockfd < 0) {
		log_error("cannot open %s: %s", path, strerror(errno));
		return -errno;
	}
	d->lockfd = last_fd(d->lockfd);
	if (wait_lock(d->lockfd)) {
		log_error("another jobprofd uses StateDir %s: give this one its own StateDir and "
			  "PinDir",
			  env->state_dir);
		return -EBUSY;
	}
	return 0;
}

static int find_perf_events(struct daemon *d)
{
	const char *list = d->opts.cfg->perf_events;
	struct perf_columns *perf = &d->perf;
	struct step_env *env = &d->env;
	char err[512];
	int n = perf_columns__parse(perf, list, err, sizeof(err));

	if (n < 0) {
		log_error("events %s: %s", list, err);
		return n;
	}
	if (perf->left_out[0])
		log_warn("events %s", perf->left_out);
	env->npmu = perf->n;
	memcpy(env->pmu_cols, perf->cols, sizeof(env->pmu_cols));
	point_table__init(&env->points[0], NULL, 0);
	point_table__init(&env->points[1], perf->cols, perf->n);
	for (unsigned i = 0; i < perf->n; i++) {
		struct column *c = &env->burst_cols[i];

		*c = perf->cols[i];
		c->kind = COL_GAUGE;
		c->how = HOW_GIVEN;
		c->arg = BURST_EVENT + (int)i;
		c->blind = "NaN: not counted, or not in all of the burst.";
	}
	return 0;
}

static int open_kern(struct daemon *d)
{
	static const enum kern_perf_mode modes[] = {[PERF_MODE_AUTO] = PERF_AUTO,
						    [PERF_MODE_EXACT] = PERF_EXACT,
						    [PERF_MODE_SAMPLED] = PERF_SAMPLED,
						    [PERF_MODE_OFF] = PERF_OFF};
	struct kern_opts o = {.pin_dir = d->opts.pin_dir,
			      .btf = d->opts.cfg->btf,
			      .nslots = d->opts.cfg->max_slots,
			      .nstacks = d->opts.cfg->max_stacks,
			      .ncgroups = d->opts.cfg->max_cgroups,
			      .ring_kb = d->opts.cfg->ring_size,
			      .nroots = d->cgroups.nroots,
			      .components = d->cgroups.components,
			      .families = d->opts.families | d->opts.may_ask,
			      .events = d->perf.ev,
			      .nevents = d->perf.n,
			      .perf_mode = modes[d->opts.cfg->perf_mode],
			      .burst_min_ns = (uint64_t)(d->opts.cfg->burst_min * 1e6),
			      .perf_budget = d->opts.cfg->perf_budget,
			      .regions = d->opts.regions,
			      .nregions = d->opts.nregions,
			      .raw_tp = d->opts.raw_tp,
			      .culprit_matrix = d->opts.cfg->culprit_matrix,
			      .follow = d->opts.embedded,
			      .unwind = d->opts.cfg->unwind == UNWIND_DWARF,
			      .by_cycles = d->opts.cfg->by_cycles,
			      .block_issue = d->opts.block_issue,
			      .net_skb = d->opts.net_skb};
	int err;

	memcpy(o.roots, d->cgroups.root, sizeof(o.roots));
	err = kern__open(&d->env.k, &o);
	if (err)
		log_error("%s", kern__error());
	d->asked_families = o.families;
	return err;
}

static void fill_env(struct daemon *d)
{
	const struct config *c = d->opts.cfg;

	d->env.node_name = c->node_name;
	d->env.state_dir = c->state_dir;
	d->env.hdf5_dir = d->opts.embedded ? d->opts.out_dir : c->hdf5_dir;
	d->env.cluster = c->cluster;
	d->env.node_tables = c->node_tables;
	d->env.extern_all = c->extern_all;
	d->env.families = d->opts.families;
	d->env.embedded = d->opts.embedded;
	d->env.file = d->opts.file;
	d->env.command = d->opts.command;
	d->env.command_status = d->opts.command_status;
	d->env.cwd = d->opts.cwd;
	d->env.user = d->opts.user;
	d->env.uid = d->opts.uid;
	d->env.gid = d->opts.gid;
	d->env.cgroups = &d->cgroups;
	d->env.steps = &d->steps;
	d->env.requests = &d->requests;
	d->watch.env = &d->env;
	d->env.users = &d->users;
	/* the user of jobprof run has asked for what it does */
	overhead__init(&d->overhead, d->opts.embedded ? 0 : c->overhead_budget);
	d->env.overhead = &d->overhead;
	d->env.uses = d->opts.embedded ? NULL : &d->uses;
}

static int use_ipmi(struct daemon *d)
{
	struct ipmi_settings s;
	int err = check__ipmi(d->opts.cfg, &s);

	if (!err)
		ipmi__use(&s);
	return err;
}

/* The sensors are opened only where steps may ask for one of their families. */
static int open_node(struct daemon *d)
{
	const struct daemon_opts *opts = &d->opts;
	const struct config *c = opts->cfg;
	struct node_opts o = {.roots = {c->sys_root, c->proc_root, c->dev_root, NULL},
			      .only = c->sensors,
			      .plugins = c->sensor_dir,
			      .state_dir = opts->embedded ? NULL : c->state_dir};
	int err;

	if (!((opts->families | opts->may_ask) & FAM_SENSORS))
		return 0;
	err = node__open(&d->env.node, &o);
	if (err)
		log_error("cannot open the sensors: %s", strerror(-err));
	return err;
}

static int open_regions(struct daemon *d)
{
	const struct daemon_opts *o = &d->opts;

	if (!o->nregions)
		return 0;
	d->env.probed =
		probed_regions__new(o->regions, o->nregions, o->region_budget, clock__boot_ns());
	return d->env.probed ? 0 : -ENOMEM;
}

static int find_cgroups(struct daemon *d)
{
	return cgroup_roots__find(&d->cgroups, d->opts.cfg, d->opts.embedded);
}

static int open_snapshot(struct daemon *d)
{
	d->env.snap = snapshot__new(d->env.k);
	return d->env.snap ? 0 : -ENOMEM;
}

/* Finds steps that run already, and journals of earlier runs. */
static int find_running_steps(struct daemon *d)
{
	unsigned found = 0;
	int err = 0;

	kern__track_self(d->env.k);
	if (!kern__control(d->env.k)->probe_ns && kern__calibrate(d->env.k))
		log_debug("the cost of a probe could not be measured: ProbeTime is unknown");
	if (kern__rescan(d->env.k, &found)) {
		log_error("%s", kern__error());
		return -EIO;
	}
	daemon_resume(d);
	if (d->opts.embedded || ((found || d->steps) && d->opts.families)) {
		err = kernel_watch__attach(d->env.k);
		if (!err && kern__rescan(d->env.k, NULL))
			err = -EIO;
	}
	daemon_tell_losses(d);
	d->watch.sync = true;
	return err;
}

/* Finds steps. What those of an earlier run have used so far belongs to none of the sensors'
 * intervals. */
static int begin(struct daemon *d)
{
	int err;

	daemon_set_intervals(d);
	if (d->env.uses)
		job_uses__load(d->env.uses, d->env.state_dir);
	open_control(d);
	if (d->opts.cfg->auto_merge && !d->opts.embedded)
		automerge__new(&d->automerge, d->env.state_dir, d->opts.cfg->auto_report);
	err = find_running_steps(d);
	if (err)
		return err;
	if (d->steps && d->env.node)
		snapshot__take(d->env.snap);
	node__begin(d->env.node, d->steps, &d->env);
	return 0;
}

/* The check runs in a child, and the daemon does not wait: it reads the shared file system, which
 * may hang. */
static void check_slurm(const struct config *c)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return;
	child__begin();
	if (!child__end_with(parent, SIGKILL))
		check__slurm(c);
	_exit(0);
}

static int prepare_children(struct daemon *d)
{
	if (d->opts.embedded)
		return 0;
	user_dir__share(d->opts.cfg->profile_group);
	child_group__make();
	check_slurm(d->opts.cfg);
	return 0;
}

/* Before threads of sensors are started, which have what this one has. The command of jobprof run
 * keeps what root has. */
static int give_up_rights(struct daemon *d)
{
	if (!d->opts.embedded)
		confine__service(CONFINE_DAEMON);
	return 0;
}

int daemon__open(struct daemon **out, const struct daemon_opts *opts)
{
	static int (*const stages[])(struct daemon * d) = {
		raise_limits,	find_perf_events, use_ipmi, lock_state,	   prepare_children,
		find_cgroups,	open_kern,	  open_fds, open_snapshot, open_regions,
		give_up_rights, open_node,	  begin,
	};
	struct daemon *d = calloc(1, sizeof(*d));
	int err = 0;

	*out = NULL;
	if (!d)
		return -ENOMEM;
	d->opts = *opts;
	d->started_ns = clock__boot_ns();
	d->epfd = d->clockfd = d->sigfd = d->lockfd = -1;
	fill_env(d);
	for (size_t i = 0; !err && i < sizeof(stages) / sizeof(stages[0]); i++)
		err = stages[i](d);
	if (err) {
		daemon__free(d);
		return err;
	}
	*out = d;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void free_lists(struct daemon *d)
{
	while (d->requests) {
		struct request *r = d->requests;

		d->requests = r->next;
		request__free(r);
	}
	while (d->steps) {
		struct step *s = d->steps;

		d->steps = s->next;
		step__free(s);
	}
	while (d->pending_files) {
		struct pending_file *o = d->pending_files;

		d->pending_files = o->next;
		publication__end(&o->pub);
		free(o);
	}
}

void daemon__free(struct daemon *d)
{
	if (!d)
		return;
	control__free(d->control, d->handover);
	lookups__free(d->env.lookups);
	unwinding__stop(d->env.unwinding);
	job_infos__free(d->env.jobs);
	if (d->env.uses && (d->stop || d->handover))
		job_uses__save(&d->uses, d->env.state_dir);
	job_uses__free(&d->uses);
	automerge__free(d->automerge);
	free_lists(d);
	free(d->env.probed);
	snapshot__free(d->env.snap);
	node__free(d->env.node);
	kern__free(d->env.k);
	if (d->opts.pin_dir && !d->handover && (d->stop || d->opts.embedded))
		kern__unpin(d->opts.pin_dir);
	child_group__remove();
	cgroup_roots__free(&d->cgroups);
	close_fd(d->epfd);
	close_fd(d->clockfd);
	close_fd(d->sigfd);
	/* a child that has just been forked has the descriptor, too, until it runs */
	flock(d->lockfd, LOCK_UN);
	close_fd(d->lockfd);
	free(d->refused);
	free(d);
}

unsigned daemon__region_troubles(const struct daemon *d, char *text, size_t len)
{
	return d->env.probed ? probed_regions__text(d->env.probed, d->env.k, text, len) : 0;
}

const struct kern_root *daemon__root(const struct daemon *d)
{
	return &d->cgroups.root[0];
}
