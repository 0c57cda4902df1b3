/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprofd: the service, one per node. */
#include "cmd/jobprofd/jobprofd.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config/config.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "client/client.h"
#include "daemon/child/publication.h"
#include "daemon/config/check.h"
#include "daemon/daemon.h"
#include "identity/cpulist.h"

/* ---- jobprofd --status: asks the jobprofd that runs */

#define PATIENCE_MS 5000

/* wrong: the error in the file that may be the cause, or NULL. */
static int failed(const char *path, int err, const char *wrong)
{
	if (wrong)
		log_error("%s", wrong);
	if (err == -ENOENT || err == -ECONNREFUSED)
		log_error("no jobprofd listens at %s: systemctl status jobprofd", path);
	else if (err == -ETIMEDOUT)
		log_error("jobprofd does not answer at %s for %d s", path, PATIENCE_MS / 1000);
	else
		log_error("%s: %s", path,
			  err == -EPROTO ? "jobprofd is of another version" : strerror(-err));
	return 1;
}

/* Whether jobprofd says itself that it runs with the old settings because of this. */
static bool is_said(const char *text, const char *wrong)
{
	_cleanup_free_ char *escaped = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&escaped, &len);

	if (!f)
		return false;
	print__escaped(f, wrong);
	fclose(f);
	return escaped && strstr(text, escaped);
}

/* The text, and then what it comes to; with as_json the text is the members of the object. wrong:
 * what the file that jobprofd reads has, or NULL. */
static int hear(struct client *c, const char *path, const char *wrong, bool as_json)
{
	union {
		struct jpc_head head;
		struct jpc_status status;
		struct jpc_reply reply;
		char bytes[JPC_MAX];
	} m;
	_cleanup_free_ char *text = NULL;
	int n = client__receive(c, &m, sizeof(m), PATIENCE_MS);

	if (n > 0 && m.head.type == JPC_STATUS && !m.bytes[n - 1]) {
		text = strdup(m.status.text);
		if (!as_json)
			fputs(m.status.text, stdout);
		if (wrong && is_said(m.status.text, wrong))
			wrong = NULL;
		n = client__receive(c, &m, sizeof(m), PATIENCE_MS);
	}
	if (n < 0)
		return failed(path, n, wrong);
	if (m.head.type != JPC_REPLY || n != sizeof(m.reply) ||
	    (as_json && text && *text != '"')) /* an older jobprofd knows text alone */
		return failed(path, -EPROTO, wrong);
	if (m.reply.error) {
		m.reply.text[sizeof(m.reply.text) - 1] = '\0';
		log_error("%s", m.reply.text);
		return 1;
	}
	if (wrong)
		log_error("running with the old settings, %s", wrong);
	if (as_json)
		printf("{\"healthy\":%s,%s}\n", m.reply.number || wrong ? "false" : "true",
		       text ? text : "\"version\":null");
	else
		printf("status: %s\n", m.reply.number || wrong ? "there are problems" : "healthy");
	return m.reply.number || wrong ? 1 : 0;
}

/* Asks the jobprofd that listens at that path: 0 healthy, 1 not, or it does not run. wrong: the
 * error that its file has now, or NULL. */
static int jobprofd_status(const char *path, const char *wrong, bool as_json)
{
	struct jpc_status question = {};
	struct client c;
	int err = client__open(&c, path), status;

	if (err)
		return failed(path, err, wrong);
	client__head(&c, &question, JPC_STATUS, sizeof(question));
	question.head.flags = as_json ? JPC_F_JSON : 0;
	err = client__send(&c, &question);
	status = err ? failed(path, err, wrong) : hear(&c, path, wrong, as_json);
	client__close(&c);
	return status;
}

#define DEFAULT_CONFIG JOBPROF_SYSCONFDIR "/jobprof/jobprof.conf"
#define FINISH_S       60

struct args {
	const char *config;
	const char *pin;
	const char *btf;
	const char *state_dir;
	bool config_given, foreground, check, check_config, check_bpf, status, json, raw_tp,
		net_skb;
	int verbose;
};

static int set_config(void *to, const struct opt *o, const char *arg)
{
	struct args *a = to;

	a->config = arg;
	a->config_given = true;
	return 0;
}

static int say_more(void *to, const struct opt *o, const char *arg)
{
	struct args *a = to;

	a->verbose++;
	return 0;
}

static int print_version(void *to, const struct opt *o, const char *arg)
{
	printf("jobprofd %s\n", JOBPROF_VERSION);
	exit(0);
}

static const struct opt opts[] = {
	{'c', "config", "FILE", "settings (default " DEFAULT_CONFIG ", if there)",
	 OPT_CALL(set_config)},
	{'f', "foreground", NULL, "stay in the foreground", OPT_FLAG(struct args, foreground)},
	{0, "check", NULL, "what this kernel and node support, and exit",
	 OPT_FLAG(struct args, check)},
	{0, "check-config", NULL,
	 "print the settings in force, and whether they fit the node and Slurm, and exit",
	 OPT_FLAG(struct args, check_config)},
	{0, "check-bpf", NULL, "load every program, print the verifier's counts, and exit",
	 OPT_FLAG(struct args, check_bpf)},
	{0, "status", NULL,
	 "whether the jobprofd that runs is healthy, or what is wrong and since when, and exit",
	 OPT_FLAG(struct args, status)},
	{0, "json", NULL, "with --status: as JSON", OPT_FLAG(struct args, json)},
	{0, "pin", "DIR", "instead of PinDir=", OPT_TEXT(struct args, pin)},
	{0, "state-dir", "DIR", "instead of StateDir=", OPT_TEXT(struct args, state_dir)},
	{0, "btf", "FILE", "instead of BTF=", OPT_TEXT(struct args, btf)},
	{0, "raw-tp", NULL, NULL, OPT_FLAG(struct args, raw_tp)},
	{0, "net-skb", NULL, NULL, OPT_FLAG(struct args, net_skb)},
	{'v', "verbose", NULL, "say more", OPT_CALL(say_more)},
	{0, "version", NULL, "print the version", OPT_CALL(print_version)},
	{0},
};

static void print_keys(FILE *out)
{
	fprintf(out, "\nKeys of the configuration:\n");
	config__print_keys(out);
}

static const struct command cmd = {
	.name = "jobprofd",
	.usage = "[OPTION]...",
	.about = "Profiles the steps of this node, see jobprofd(8). SIGHUP reads the settings\n"
		 "again; SIGTERM ends every file and leaves; SIGUSR1 leaves everything to the\n"
		 "next jobprofd, which goes on without losing a count.",
	.opts = opts,
	.more = print_keys,
};

/* Options have precedence over the file. Logs everything that is wrong. */
static int load_config(const struct args *a, struct config *c, struct check_families *f)
{
	const struct {
		const char *key, *value;
	} given[] = {
		{"PinDir", a->pin},
		{"BTF", a->btf},
		{"StateDir", a->state_dir},
		{"LogLevel", a->verbose ? log__level_name(LOGL_DEBUG) : NULL},
	};
	int err = check__load(c, a->config, a->config_given, f);

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].value && config__override(c, given[i].key, given[i].value))
			err = -EINVAL;
	return err;
}

/* The parent waits until the child is ready, and leaves with its verdict. */
static int daemonize(void)
{
	int p[2], fd;
	char verdict = 1;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		close(p[1]);
		if (read(p[0], &verdict, 1) != 1)
			verdict = 1;
		_exit(verdict);
	}
	close(p[0]);
	setsid();
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		dup2(fd, 0);
		dup2(fd, 1);
	}
	return chdir("/") ? -errno : p[1];
}

/* In the background the log goes to syslog from here on; where there is none, to stderr as it was
 * given. fd: the parent's, 0: jobprofd stays in the foreground. */
static void report_ready(int fd)
{
	char ok = 0;

	if (fd > 0 && log__to_syslog())
		dup2(STDIN_FILENO, STDERR_FILENO);

	sd_notify(0, "READY=1");
	if (fd > 0 && write(fd, &ok, 1) == 1)
		close(fd);
}

/* Behind the name of the file. */
static const char *if_missing(const struct args *a)
{
	return access(a->config, F_OK) ? ", which is not there," : "";
}

/* The first line of a log: the build that runs, and its options. */
static void log_start(const struct config *c, const struct args *a)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	config__print_given(c, f);
	fclose(f);
	log_info("version %s, node %s; by %s%s and options:%s", JOBPROF_VERSION, c->node_name,
		 a->config, if_missing(a), len ? text : " nothing that is not the default");
}

/* Threads and children have the CPUs of who makes them. Of a list for all nodes of a site a node
 * may have a part. */
static int keep_to_cpus(const struct config *c)
{
	int cpu[CPU_SETSIZE], n;
	cpu_set_t set;

	if (!c->housekeeping_cpus)
		return 0;
	n = cpulist__expand(c->housekeeping_cpus, cpu, CPU_SETSIZE);
	CPU_ZERO(&set);
	for (int i = 0; i < n; i++)
		CPU_SET(cpu[i], &set);
	if (n > 0 && !sched_setaffinity(0, sizeof(set), &set))
		return 0;
	log_error("%s: HousekeepingCPUs=%s: %s: name CPUs of this node that jobprofd may use",
		  config__where(c, "HousekeepingCPUs"), c->housekeeping_cpus,
		  n < 0 ? strerror(-n) : strerror(errno));
	return -EINVAL;
}

static int serve_steps(const struct args *a, struct config *c, const struct check_families *f)
{
	char writer[4200];
	struct daemon_opts o = {.cfg = c,
				.families = f->by_default,
				.may_ask = f->may_ask,
				.writer = writer,
				.pin_dir = c->pin_dir,
				.raw_tp = a->raw_tp,
				.net_skb = a->net_skb,
				.config_path = a->config,
				.config_needed = a->config_given};
	struct daemon *d;
	int err, ready;

	log__timed();
	if (geteuid()) {
		log_error(
			"jobprofd must run as root: it loads BPF programs and writes users' files");
		return 1;
	}
	if (keep_to_cpus(c))
		return EX_CONFIG;
	publication__find_writer(c->writer, writer, sizeof(writer));
	ready = a->foreground ? 0 : daemonize();
	if (ready < 0) {
		log_error("cannot go to the background: %s", strerror(-ready));
		return 1;
	}
	if (daemon__open(&d, &o))
		return 1;
	if (!c->hdf5_dir)
		log_warn("ProfileHDF5Dir is not set: no step can be profiled");
	else if (!c->hdf5_default || !strcasecmp(c->hdf5_default, "none"))
		log_info("ProfileHDF5Default is None: only steps that ask for it are profiled");
	report_ready(ready);
	log_start(c, a);
	err = daemon__loop(d);
	sd_notify(0, "STOPPING=1");
	daemon__finish(d, "jobprofd was stopped", FINISH_S);
	daemon__free(d);
	return err ? 1 : 0;
}

static int check_config(const struct args *a, const struct config *c)
{
	printf("# by %s%s and options\n", a->config, if_missing(a));
	config__print(c, stdout);
	fflush(stdout);
	return check__node(c) + !!keep_to_cpus(c) ? 1 : 0;
}

/* What the options ask for, with settings of which every error has been logged. */
static int run(const struct args *a, struct config *c, const struct check_families *f, bool wrong)
{
	log__set_level(c->log_level);
	if (a->status)
		return jobprofd_status(c->socket, c->error, a->json);
	if (wrong)
		return a->check_config || a->check_bpf ? 1 : EX_CONFIG;
	if (a->check_config)
		return check_config(a, c);
	return a->check_bpf ? jobprofd__check_bpf(c) : serve_steps(a, c, f);
}

/* Of a path that begins in this directory: SIGHUP reads it again when that is left. NULL: of
 * another. */
static char *whole_path(const char *path)
{
	_cleanup_free_ char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);
	char *whole;

	return cwd && asprintf(&whole, "%s/%s", cwd, path) > 0 ? whole : NULL;
}

int main(int argc, char **argv)
{
	_cleanup_free_ char *whole = NULL;
	struct config c = {};
	struct args a = {.config = DEFAULT_CONFIG};
	struct check_families f;
	int status;

	log__init("jobprofd", LOGL_INFO);
	if (argc == 2 && !strcmp(argv[1], "--completion")) {
		options__completion(&cmd, stdout);
		return 0;
	}
	status = options__read(&cmd, argc, argv, &a);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind != argc)
		return options__wrong(&cmd, "\"%s\" means nothing here", argv[optind]);
	if (a.json && !a.status)
		return options__wrong(&cmd, "--json goes with --status");
	if (a.check)
		return jobprofd__check(a.btf);
	if (config__init(&c))
		return 1;
	whole = whole_path(a.config);
	a.config = whole ? whole : a.config;
	/* what is wrong with a file that can be read is said once, with the answer */
	if (a.status && (!access(a.config, R_OK) || errno != EACCES))
		log__set_level(LOGL_NONE);
	status = load_config(&a, &c, &f);
	status = run(&a, &c, &f, status != 0);
	config__free(&c);
	return status;
}
