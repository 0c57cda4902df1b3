/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for slurmstepd: has its name and title, starts the tasks of one step, moves each into
 * its cgroup while it waits at a pipe, and only then lets it exec, as the real one does.
 */
#include "tests/tools/tool.h"

#include <getopt.h>
#include <limits.h>
#include <sys/prctl.h>

static const char help[] =
	"[-j JOB] [-s STEP] [-n TASKS] [-f FIRST] [-c DIR]... [-S] [-P] [-d DIR]... [-e K=V]...\n"
	"       [-u UID] [-b SECONDS] [-w SECONDS] -- CMD ...\n"
	"  -j JOB      job id (default 1000)\n"
	"  -s STEP     0, 1 ..., batch, extern, interactive, 0+1 (default 0)\n"
	"  -n TASKS    tasks to start (default 1)\n"
	"  -f FIRST    global id of the first one (default 0)\n"
	"  -c DIR      cgroup of a task; %d is its number on this node; once per hierarchy\n"
	"  -S          shared: all tasks in DIR as it stands\n"
	"  -P          no SLURM_PROCID in the tasks' environment but that of a later -e\n"
	"  -d DIR      cgroup of this process itself\n"
	"  -e K=V      more environment for the tasks\n"
	"  -u UID      the tasks' user and group\n"
	"  -b SECONDS  spin so long in this process once the tasks run\n"
	"  -w SECONDS  wait so long between the last exec and the end of the step at least\n"
	"Directories that are not there are made, and removed at the end. A %d in CMD's arguments "
	"is\n"
	"the task's number. Exits with the highest status; 128 + signal for a killed task.";

#define MAX_TASKS 1024
#define MAX_DIRS  16
#define MAX_MADE  4096

struct stepd {
	const char *job, *step;
	unsigned long tasks, first;
	const char *dirs[MAX_DIRS], *own[MAX_DIRS];
	unsigned n_dirs, n_own;
	bool shared, no_procid;
	uid_t uid;
	double busy, linger;
	char **cmd;
};

static pid_t pids[MAX_TASKS];
static volatile sig_atomic_t n_pids;
static char *made[MAX_MADE];
static unsigned n_made;

/* Replaces the first "%d" of pattern by n. */
static char *expand(const char *pattern, unsigned long n)
{
	const char *at = strstr(pattern, "%d");
	char *s;

	if (!at)
		s = strdup(pattern);
	else if (asprintf(&s, "%.*s%lu%s", (int)(at - pattern), pattern, n, at + 2) < 0)
		s = NULL;
	if (!s)
		die("out of memory");
	return s;
}

static void make_one(const char *dir)
{
	if (!mkdir(dir, 0755)) {
		if (n_made == MAX_MADE)
			die("more than %d directories", MAX_MADE);
		made[n_made] = strdup(dir);
		if (!made[n_made++])
			die("out of memory");
	} else if (errno != EEXIST) {
		die("cannot make %s: %s", dir, strerror(errno));
	}
}

static void make_dirs(char *dir)
{
	char *p;

	for (p = dir + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		make_one(dir);
		*p = '/';
	}
	make_one(dir);
}

/* A directory with a dying process is busy for a moment. */
static void remove_dirs(void)
{
	int tries;

	while (n_made) {
		n_made--;
		for (tries = 0; rmdir(made[n_made]) && errno == EBUSY && tries < 2000; tries++)
			sleep_s(0.01);
		free(made[n_made]);
	}
}

static void enter_cgroup(char *dir, pid_t pid)
{
	char path[PATH_MAX], text[32];
	int fd, n;

	make_dirs(dir);
	n = snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	if (n >= (int)sizeof(path))
		die("path too long: %s", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		die("cannot open %s: %s", path, strerror(errno));
	n = snprintf(text, sizeof(text), "%d", (int)pid);
	if (write(fd, text, n) != n)
		die("cannot move %d to %s: %s", (int)pid, dir, strerror(errno));
	close(fd);
}

/* The title goes where the arguments and the environment lie, so the environment moves first. */
static void set_title(char **argv, const char *title)
{
	extern char **environ;
	char *start = argv[0], *end = start;
	size_t n, i;
	char **env;

	for (i = 0; argv[i]; i++)
		end = argv[i] + strlen(argv[i]) + 1;
	for (n = 0; environ[n]; n++)
		if (environ[n] == end)
			end += strlen(environ[n]) + 1;
	env = calloc(n + 1, sizeof(*env));
	for (i = 0; env && i < n; i++)
		env[i] = strdup(environ[i]);
	if (!env)
		die("out of memory");
	environ = env;
	memset(start, 0, end - start);
	snprintf(start, end - start, "%s", title);
	prctl(PR_SET_NAME, "slurmstepd");
}

/* Copies of what getopt points at: set_title() overwrites the arguments. */
static char **copy_cmd(char **argv)
{
	size_t n = 0, i;
	char **cmd;

	while (argv[n])
		n++;
	cmd = calloc(n + 1, sizeof(*cmd));
	for (i = 0; cmd && i < n; i++)
		cmd[i] = strdup(argv[i]);
	if (!cmd)
		die("out of memory");
	return cmd;
}

static const char *keep(const char *s)
{
	s = strdup(s);
	if (!s)
		die("out of memory");
	return s;
}

static void set_number(const char *name, unsigned long v)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", v);
	setenv(name, text, 1);
}

static void __attribute__((noreturn)) task(const struct stepd *d, unsigned long i, int gate)
{
	size_t a;
	char c;

	signal(SIGTERM, SIG_DFL);
	setenv("SLURM_JOB_ID", d->job, 1);
	setenv("SLURM_JOBID", d->job, 1);
	setenv("SLURM_STEP_ID", d->step, 1);
	setenv("SLURM_STEPID", d->step, 1);
	setenv("SLURM_NODEID", "0", 1);
	set_number("SLURM_LOCALID", i);
	set_number("SLURM_NTASKS", d->tasks);
	if (!d->no_procid)
		set_number("SLURM_PROCID", d->first + i);
	for (a = 0; d->cmd[a]; a++)
		d->cmd[a] = expand(d->cmd[a], i);
	if (read(gate, &c, 1) != 1)
		_exit(1);
	close(gate);
	if (d->uid && (setresgid(d->uid, d->uid, d->uid) || setresuid(d->uid, d->uid, d->uid))) {
		fprintf(stderr, "slurmstepd: cannot become user %u: %s\n", d->uid, strerror(errno));
		_exit(1);
	}
	execvp(d->cmd[0], d->cmd);
	fprintf(stderr, "slurmstepd: cannot run %s: %s\n", d->cmd[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Until it waits at its pipe: what a task has run since the kernel last looked, the kernel charges
 * to the cgroup that it is moved to. */
static void await_sleep(pid_t pid)
{
	char path[64], stat[256];
	ssize_t n;
	int fd, tries;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (tries = 0; tries < 10000; tries++) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
		if (fd >= 0)
			close(fd);
		stat[n < 0 ? 0 : n] = '\0';
		if (n < 0 || strstr(stat, ") S "))
			return;
		sleep_s(0.0001);
	}
	die("%d does not come to its pipe", (int)pid);
}

static void start_task(const struct stepd *d, unsigned long i)
{
	int gate[2];
	unsigned k;
	pid_t pid;
	char *dir;

	if (pipe2(gate, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		close(gate[1]);
		task(d, i, gate[0]);
	}
	pids[n_pids++] = pid;
	close(gate[0]);
	await_sleep(pid);
	for (k = 0; k < d->n_dirs; k++) {
		dir = d->shared ? strdup(d->dirs[k]) : expand(d->dirs[k], i);
		if (!dir)
			die("out of memory");
		enter_cgroup(dir, pid);
		free(dir);
	}
	write_all(gate[1], "x", 1);
	close(gate[1]);
}

static int wait_tasks(unsigned long n)
{
	int status, worst = 0, code;

	while (n) {
		if (wait(&status) < 0) {
			if (errno == EINTR)
				continue;
			die("wait: %s", strerror(errno));
		}
		code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		worst = code > worst ? code : worst;
		n--;
	}
	return worst;
}

static void end_tasks(int sig)
{
	int i;

	for (i = 0; i < n_pids; i++)
		kill(pids[i], sig);
}

static void add_dir(const char **list, unsigned *n, const char *dir)
{
	if (*n == MAX_DIRS)
		die("more than %d directories", MAX_DIRS);
	list[(*n)++] = keep(dir);
}

static void parse_args(struct stepd *d, int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	int c;

	while ((c = getopt_long(argc, argv, "+j:s:n:f:c:SPd:e:u:b:w:h", longs, NULL)) != -1) {
		switch (c) {
		case 'j':
			d->job = keep(optarg);
			break;
		case 's':
			d->step = keep(optarg);
			break;
		case 'n':
			d->tasks = to_ulong(optarg);
			break;
		case 'f':
			d->first = to_ulong(optarg);
			break;
		case 'c':
			add_dir(d->dirs, &d->n_dirs, optarg);
			break;
		case 'S':
			d->shared = true;
			break;
		case 'P':
			d->no_procid = true;
			unsetenv("SLURM_PROCID");
			break;
		case 'd':
			add_dir(d->own, &d->n_own, optarg);
			break;
		case 'e':
			putenv((char *)keep(optarg));
			break;
		case 'u':
			d->uid = to_ulong(optarg);
			break;
		case 'b':
			d->busy = to_number(optarg);
			break;
		case 'w':
			d->linger = to_number(optarg);
			break;
		default:
			usage(help, c == 'h');
		}
	}
	if (optind == argc || !d->tasks || d->tasks > MAX_TASKS)
		usage(help, false);
	d->cmd = copy_cmd(argv + optind);
}

/* Back to where it was started: its own cgroup is to be removed. */
static void leave_own(const struct stepd *d)
{
	char *root, *cut;
	unsigned i;

	for (i = 0; i < d->n_own; i++) {
		root = strdup(d->own[i]);
		/* The hierarchy's root is the last parent that has a cgroup.procs. */
		while (root && (cut = strrchr(root, '/')) && cut != root) {
			char path[PATH_MAX];

			*cut = '\0';
			snprintf(path, sizeof(path), "%s/cgroup.procs", root);
			if (access(path, W_OK)) {
				*cut = '/';
				break;
			}
		}
		if (root)
			enter_cgroup(root, getpid());
		free(root);
	}
}

int main(int argc, char **argv)
{
	struct stepd d = {.job = "1000", .step = "0", .tasks = 1};
	struct sigaction sa = {.sa_handler = end_tasks};
	uint64_t start, end;
	unsigned long i;
	char title[256];
	int status;

	parse_args(&d, argc, argv);
	snprintf(title, sizeof(title), "slurmstepd: [%s.%s]", d.job, d.step);
	set_title(argv, title);
	for (i = 0; i < d.n_own; i++) {
		char *dir = strdup(d.own[i]);

		if (!dir)
			die("out of memory");
		enter_cgroup(dir, getpid());
		free(dir);
	}
	sigaction(SIGTERM, &sa, NULL);
	for (i = 0; i < d.tasks; i++)
		start_task(&d, i);
	start = now_ns();
	if (d.busy > 0)
		spin_s(d.busy);
	status = wait_tasks(d.tasks);
	end = start + (uint64_t)(d.linger * 1e9);
	if (now_ns() < end)
		sleep_s((double)(end - now_ns()) / 1e9);
	leave_own(&d);
	remove_dirs();
	return status;
}
