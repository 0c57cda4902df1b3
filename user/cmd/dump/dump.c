// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprof-dump: prints the steps and tasks of the pinned maps, with or without a living jobprofd.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/config/config.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "cmd/dump/dump.h"

#define DEFAULT_CONFIG JOBPROF_SYSCONFDIR "/jobprof/jobprof.conf"
#define WATCH_MIN      0.1
#define SECONDS_MAX    86400.0

struct args {
	const char *config, *pin, *columns;
	bool json, raw, self, culprits;
	double watch; /* seconds between rounds; 0: one round */
	double time;  /* --self samples so long */
	uint32_t count;
};

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

static int set_seconds(void *to, const struct opt *o, const char *text)
{
	double *s = to;

	if (!parse_double(text, s) && *s >= WATCH_MIN && *s <= SECONDS_MAX)
		return 0;
	log_error("--%s %s: want seconds from %g to %g", o->name, text, WATCH_MIN, SECONDS_MAX);
	return 2;
}

static int set_count(void *to, const struct opt *o, const char *text)
{
	uint32_t *n = to;

	if (!parse_u32(text, n) && *n)
		return 0;
	log_error("--count %s: want a number of rounds", text);
	return 2;
}

static int print_version(void *to, const struct opt *o, const char *arg)
{
	printf("jobprof-dump %s\n", JOBPROF_VERSION);
	exit(0);
}

static const struct opt opts[] = {
	{'j', "json", NULL, "as JSON: an array with an object per step",
	 OPT_FLAG(struct args, json)},
	{'r', "raw", NULL, "every slot in use and CPU, as the maps hold it",
	 OPT_FLAG(struct args, raw)},
	{'s', "self", NULL, "what the collector costs: programs, memory, jobprofd",
	 OPT_FLAG(struct args, self)},
	{0, "culprits", NULL, "which step waited for a CPU that which one had (CulpritMatrix=yes)",
	 OPT_FLAG(struct args, culprits)},
	{'t', "time", "S", "--self watches the programs so long (default 1)",
	 OPT_CALL_AT(set_seconds, struct args, time)},
	{'w', "watch", "S", "again every S seconds, 0.1 to 86400, with rates per second",
	 OPT_CALL_AT(set_seconds, struct args, watch)},
	{'n', "count", "N", "end after N rounds (without --watch: one a second)",
	 OPT_CALL_AT(set_count, struct args, count)},
	{'C', "columns", "LIST", "of the table: names of jobprof list -s Tasks",
	 OPT_TEXT(struct args, columns)},
	{'c', "config", "FILE", "whose PinDir is looked at (default " DEFAULT_CONFIG ")",
	 OPT_TEXT(struct args, config)},
	{0, "pin", "DIR", "instead of PinDir", OPT_TEXT(struct args, pin)},
	{0, "version", NULL, "print the version", OPT_CALL(print_version)},
	{0},
};

static const struct command cmd = {
	.name = "jobprof-dump",
	.usage = "[OPTION]...",
	.about = "Shows what jobprofd's pinned maps hold: steps, tasks, and what they have used.",
	.opts = opts,
};

static int check_args(struct args *a, int argc, char **argv)
{
	if (optind != argc)
		return options__wrong(&cmd, "\"%s\" means nothing here", argv[optind]);
	if (a->raw + a->self + a->culprits > 1)
		return options__wrong(&cmd, "--raw, --self and --culprits: choose one");
	if (a->count && !a->watch)
		a->watch = 1;
	return 0;
}

/* A broken configuration is reported, and the default PinDir is read then. */
static int find_pins(const struct args *a, struct config *cfg)
{
	const char *file = a->config ? a->config : DEFAULT_CONFIG;
	int err = config__init(cfg);

	if (err || a->pin)
		return err;
	if (!a->config && access(file, R_OK))
		return 0;
	err = config__load(cfg, file);
	if (err && a->config)
		return err;
	if (err)
		log_warn("looking at PinDir %s: choose another with --pin", cfg->pin_dir);
	return 0;
}

static void wait_s(double seconds)
{
	struct timespec ts = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};

	while (!ended && nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static json_t *build_json(const struct args *a, const struct dump *d, const struct self *self)
{
	if (a->self)
		return self__json(self, d);
	return a->culprits ? culprits__json(d) : a->raw ? raw__json(d) : steps__json(d);
}

static void print_text(const struct args *a, const struct dump *d, const struct self *self)
{
	static unsigned rounds;

	if (a->watch > 0 && isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	else if (rounds++)
		putchar('\n');
	if (a->self)
		self__text(self, d, stdout);
	else if (a->raw)
		raw__text(d, stdout);
	else if (a->culprits)
		culprits__text(d, stdout);
	else
		steps__text(d, stdout);
	if (!a->culprits)
		counters__print(d, stdout);
}

/* The columns are known once the maps are read: hardware counters have names of their own. */
static int choose_columns(const struct args *a, const struct dump *d)
{
	char bad[64];

	if (!steps__choose(d, a->columns, bad, sizeof(bad)))
		return 0;
	log_error("--columns: no column \"%s\" in the maps; jobprof list -s Tasks shows them, and "
		  "--json those of hardware counters",
		  bad);
	return 2;
}

static void skip_pair(const struct jp_pair_key *pair, uint64_t ns, void *ctx)
{
	(void)pair, (void)ns, (void)ctx;
}

/* 0, -errno, or the exit status. */
static int print_round(const struct args *a, struct kern *k, struct dump *d,
		       const struct dump *prev)
{
	static struct self self;
	int err = a->self ? self__sample(&self, k, a->time, wait_s) : 0;

	if (!err)
		err = dump__take(d, k, prev);
	if (err) {
		log_error("cannot read the maps: %s", strerror(-err));
		return err;
	}
	err = choose_columns(a, d);
	if (err)
		return err;
	if (a->culprits && kern__pairs(k, skip_pair, NULL)) {
		log_error("--culprits: jobprofd does not count pairs: set CulpritMatrix=yes and "
			  "restart it");
		return 1;
	}
	if (a->raw && !(d->types = kern__types(k))) {
		log_error("--raw: the kernel does not give the types (BTF) of the maps: %s",
			  strerror(errno));
		return 1;
	}
	/* one line per round, so that a reader of --watch knows where each ends */
	if (a->json)
		err = json__print(build_json(a, d, &self), stdout,
				  a->watch > 0 ? JSON_COMPACT : JSON_INDENT(2));
	else
		print_text(a, d, &self);
	if (fflush(stdout) || ferror(stdout))
		err = errno ? -errno : -EIO;
	if (err)
		log_error("cannot write: %s", strerror(-err));
	return err;
}

/* A restarted jobprofd may have made new maps: each round opens what is pinned then. */
static int watch(const struct args *a, const char *pin_dir)
{
	struct dump dumps[2] = {};
	uint32_t round = 0;
	uint64_t born = 0;
	int err = 0;

	do {
		struct dump *now = &dumps[round % 2], *prev = &dumps[(round + 1) % 2];
		struct kern *k;

		if (round)
			wait_s(a->watch);
		if (ended)
			break;
		err = kern__open_pinned(&k, pin_dir);
		if (err) {
			log_error("%s", kern__error());
			break;
		}
		dump__free(now);
		err = print_round(a, k, now,
				  round && kern__control(k)->born_ns == born ? prev : NULL);
		born = kern__control(k)->born_ns;
		kern__free(k);
	} while (!err && !ended && a->watch > 0 && (++round < a->count || !a->count));
	dump__free(&dumps[0]);
	dump__free(&dumps[1]);
	return err;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal};
	struct args a = {.time = 1};
	struct config cfg = {};
	int status;

	log__init("jobprof-dump", LOGL_WARN);
	if (argc == 2 && !strcmp(argv[1], "--completion")) {
		options__completion(&cmd, stdout);
		return 0;
	}
	status = options__read(&cmd, argc, argv, &a);
	if (status != OPTIONS_GO_ON)
		return status;
	status = check_args(&a, argc, argv);
	if (status)
		return status;
	if (geteuid()) {
		log_error("the maps are root's: run as root");
		return 1;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (find_pins(&a, &cfg))
		status = 1;
	else
		status = watch(&a, a.pin ? a.pin : cfg.pin_dir);
	if (status < 0)
		status = 1;
	config__free(&cfg);
	return status;
}
