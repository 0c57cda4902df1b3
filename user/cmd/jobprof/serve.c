/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof serve: the site's index as pages for a browser, or the user's own jobs. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config/config.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/serve_page.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "http/socket.h"
#include "pool/confine.h"

#define SOCKET	 "/run/jobprof-web/web.sock"
#define SECONDS	 30
#define FIRST_FD 3 /* of systemd, sd_listen_fds(3) */

#define JOBPROF_CONF JOBPROF_SYSCONFDIR "/jobprof/jobprof.conf"
#define HEADER	     "X-Remote-User"
#define FRAMES_MAX   256

struct options {
	struct site_args site;
	const char *socket, *port, *page, *proxy, *header, *frames, *period;
	bool own;
};

static const struct opt opts[] = {
	{0, "user", NULL, "your own jobs for yourself, at a port of this machine",
	 OPT_FLAG(struct options, own)},
	{0, "port", "N", "with --user: this port; default: any, which it prints",
	 OPT_TEXT(struct options, port)},
	{0, "page", "ADDRESS",
	 "with --user: prints the page at this address, as a CGI program does, and ends",
	 OPT_TEXT(struct options, page)},
	{0, "socket", "PATH", "a Unix socket there (default " SOCKET "; with --user a port)",
	 OPT_TEXT(struct options, socket)},
	{0, "proxy-user", "USER",
	 "the user of a web server that names who asks in a header; default: ProxyUser of "
	 "jobprof.conf",
	 OPT_TEXT(struct options, proxy)},
	{0, "user-header", "NAME", "the header; default: UserHeader, else " HEADER,
	 OPT_TEXT(struct options, header)},
	{0, "frame-ancestors", "LIST",
	 "other sites that may show pages in a frame; default: FrameAncestors",
	 OPT_TEXT(struct options, frames)},
	{0, "period", "SECONDS", NULL, OPT_TEXT(struct options, period)}, /* between events */
	OPTS_DATABASE(struct options),
	{0},
};

const struct command cmd_serve = {
	.name = "jobprof serve",
	.usage = "[--user] [OPTION]...",
	.about = "The index as pages for a browser, at a Unix socket behind the site's web\n"
		 "server: users see their jobs, staff all. With --user your own jobs alone.",
	.opts = opts,
};

static int listen_at(struct http_server *s, const char *path, mode_t mode)
{
	const int err = http_listener__unix(&s->listener, path, mode);

	s->is_local = true;
	if (err)
		log_error("%s: %s", path, strerror(-err));
	return err ? 1 : 0;
}

/* 0, or the exit status, logged. */
static int listen_own(struct http_server *s, const struct options *o)
{
	uint32_t number = 0;
	unsigned short port;
	int err;

	if (o->socket)
		return listen_at(s, o->socket, 0600);
	if (o->port && (parse_u32(o->port, &number) || number > 65535)) {
		log_error("--port %s: it is a number up to 65535", o->port);
		return 2;
	}
	port = (unsigned short)number;
	err = http_listener__loopback(&s->listener, &port);
	if (err) {
		log_error("127.0.0.1:%u: %s", (unsigned)port, strerror(-err));
		return 1;
	}
	printf("http://127.0.0.1:%u/\n", (unsigned)port);
	fflush(stdout);
	return 0;
}

/* systemd's socket, or one of our own. */
static int listen_site(struct http_server *s, const struct options *o)
{
	const char *path = o->socket ? o->socket : SOCKET, *fds = getenv("LISTEN_FDS"),
		   *pid = getenv("LISTEN_PID");
	uint32_t n;

	s->is_local = true;
	if (fds && pid && !parse_u32(pid, &n) && n == (uint32_t)getpid()) {
		s->listener = FIRST_FD;
		return fcntl(FIRST_FD, F_SETFL, O_NONBLOCK) ? 1 : 0;
	}
	return listen_at(s, path, 0666);
}

static int find_proxy(struct http_server *s, const char *name)
{
	const struct passwd *p = name ? getpwnam(name) : NULL;

	s->proxy = p ? p->pw_uid : (uid_t)-1;
	if (!name || p)
		return 0;
	log_error("ProxyUser %s: there is no such user", name);
	return 2;
}

/* What the command line leaves to jobprof.conf. Errors in the file are logged. 0 or 1. */
static int take_config(struct options *o, struct config *c)
{
	if (config__init(c))
		return 1;
	if (!access(JOBPROF_CONF, R_OK) && config__load(c, JOBPROF_CONF))
		return 1;
	o->proxy = o->proxy ? o->proxy : c->proxy_user;
	o->header = o->header ? o->header : c->user_header ? c->user_header : HEADER;
	o->frames = o->frames ? o->frames : c->frame_ancestors;
	return 0;
}

/* Both become parts of HTTP: a name of a header, and a part of the policy that ";" would end. */
static int check_words(const struct options *o)
{
	static const char name[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	if (!*o->header || o->header[strspn(o->header, name)]) {
		log_error("UserHeader %s: it is letters, digits, - and _", o->header);
		return 2;
	}
	for (const char *p = o->frames ? o->frames : ""; *p; p++) {
		if (*p >= ' ' && *p <= '~' && !strchr(";,\"", *p) && p - o->frames < FRAMES_MAX)
			continue;
		log_error("FrameAncestors: it is a list of sites, as https://ondemand.example.org, "
			  "with blanks between them, of at most %d characters",
			  FRAMES_MAX);
		return 2;
	}
	return 0;
}

static int check(const struct options *o)
{
	if (!o->own && (o->port || o->page))
		return options__wrong(&cmd_serve, "--port and --page go with --user");
	if (o->own && (o->proxy || o->header || o->frames))
		return options__wrong(&cmd_serve, "--user goes with --port or --socket, --page, "
						  "--database and -p alone");
	if (!!o->socket + !!o->port + !!o->page > 1)
		return options__wrong(&cmd_serve, "--socket, --port or --page: one of them");
	return 0;
}

static int run(const struct options *o, struct serve_site *site)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct http_server s = {
		.answer = serve_page__answer,
		.rights = serve_page__rights,
		.arg = site,
		.user_header = o->header ? o->header : HEADER,
		.frame_ancestors = o->frames,
		.is_for_owner = o->own,
		.seconds = SECONDS,
		.children = cpus > 1 ? 2 * (unsigned)cpus : 2,
		.period_s = o->period ? atof(o->period) : 0,
	};
	char user[72];
	sigset_t stop;
	int status = o->own ? 0 : check_words(o);

	if (o->page) {
		http_peer__name(user, sizeof(user), getuid());
		return http_page__print(&s, o->page, user) ? 1 : 0;
	}

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGHUP);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!status)
		status = find_proxy(&s, o->proxy);
	if (!status)
		status = o->own ? listen_own(&s, o) : listen_site(&s, o);
	if (status)
		return status;
	confine__service(CONFINE_VERB);
	return http_server__run(&s, &stop) ? 1 : 0;
}

int verb_serve(int argc, char **argv)
{
	struct serve_site site = {0};
	struct options o = {0};
	struct config c = {0};
	char *where = NULL;
	bool is_own = true;
	int status;

	site_args__init(&o.site, "all");
	status = options__read(&cmd_serve, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_serve, "\"%s\": it takes options alone", argv[optind]);
	status = check(&o);
	if (status)
		return status;
	site.is_own = o.own;
	if (!o.own && take_config(&o, &c)) {
		config__free(&c);
		return 1;
	}
	if (o.own) {
		site.where = o.site.database;
	} else {
		where = site_args__where(&o.site, &is_own);
		if (!where || is_own) {
			log_error("serve: there is no index of the site: --database PATH names it; "
				  "your "
				  "own jobs are --user");
			free(where);
			config__free(&c);
			return 1;
		}
		site.where = where;
	}
	status = serve_site__open(&site);
	if (!status) {
		status = run(&o, &site);
		serve_site__close(&site);
	}
	free(where);
	config__free(&c);
	return status;
}
