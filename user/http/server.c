/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread and one loop: libmicrohttpd reads requests, whose connections are suspended until the
 * child that answers has ended. A child's answer is a file in memory, which the connection is given
 * as it is; one that is a stream of events stays open, and others follow (stream.h).
 */
#include "http/http.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/answer.h"
#include "http/child.h"
#include "http/library.h"
#include "http/socket.h"
#include "http/stream.h"

#ifdef HAS_MICROHTTPD

#define CONNECTIONS 1024
#define FILES	    (4 * CONNECTIONS)
#define MEMORY	    65536u /* of a connection */
#define IDLE_S	    30u	   /* a connection may be slow */
#define APART_S	    180u   /* and as long may be between two questions for the one page */
#define CHILDREN    64
#define OF_USER	    (CONNECTIONS / 4) /* of this machine, but for the proxy's */
#define ACCEPTS	    50		      /* tens of connections that are taken in a turn */
#define ASKED	    64		      /* requests of one user, behind a proxy, too */
#define UNREAD	    (64u << 20)	      /* bytes of answers to one user, beyond which none is made */

/* A request from its first byte to the last one of its answer. */
struct exchange {
	struct MHD_Connection *connection;
	struct http_request request;
	char *uri; /* as it came */
	enum { HEADERS, BODY, WAITS, RUNS, ANSWERED } state;
	bool takes_gzip; /* what the browser accepts */
	unsigned status; /* without a child: what is wrong with the request */
	struct child child;
	uint64_t size; /* of the answer that is on its way */
	struct exchange *next;
};

/* A user of this machine who has connections. */
struct guest {
	uid_t uid;
	unsigned n; /* 0: nobody */
};

struct server {
	const struct http_server *s;
	struct guest guests[CONNECTIONS + 1];
	int strangers[OF_USER]; /* sockets of the page's guests whose user is not known, as they
				 * came; 0: none */
	unsigned stranger;
	unsigned accepted;
	struct MHD_Daemon *daemon;
	struct exchange *first, *last; /* all, as they came */
	struct exchange *running[CHILDREN];
	unsigned nrunning;
	struct streams *streams;
	struct dying dying;
	int signals;
};

/* ---- what is wrong with a request */

struct header {
	const char *name, *value;
	unsigned n;
};

static enum MHD_Result look(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct header *h = arg;

	(void)kind;
	if (!strcasecmp(name, h->name)) {
		h->value = value ? value : "";
		h->n++;
	}
	return MHD_YES;
}

/* The one header of that name; NULL: there is none, or more than one. */
static const char *header(struct exchange *e, const char *name, unsigned *n)
{
	struct header h = {.name = name};

	mhd.MHD_get_connection_values(e->connection, MHD_HEADER_KIND, look, &h);
	if (n)
		*n = h.n;
	return h.n == 1 ? h.value : NULL;
}

static int socket_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		mhd.MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static int ask_peer(const struct http_server *s, uid_t *uid, struct MHD_Connection *c)
{
	return s->is_local ? http_peer__of_unix(uid, socket_of(c))
			   : http_peer__of_loopback(uid, socket_of(c));
}

/* Who has opened the connection: to find that out takes longer than to answer. */
static uid_t guest_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		mhd.MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct guest *g = info ? info->socket_context : NULL;

	return g ? g->uid : (uid_t)-1;
}

static bool is_reader(const struct http_page *p, uid_t uid)
{
	for (unsigned i = 0; i < p->nreaders; i++)
		if (p->readers[i] == uid)
			return true;
	return !uid;
}

/* Who asks: the peer, or whom the proxy names. 0, or the status. Whether there is such a user the
 * child finds out, as a directory of users may be slow. */
static unsigned identify(const struct http_server *s, struct exchange *e)
{
	const char *name;
	uid_t uid;

	if (s->page)
		return s->page->is_open || is_reader(s->page, guest_of(e->connection)) ? 0 : 403;
	if (ask_peer(s, &uid, e->connection))
		return 403;
	if (s->proxy != (uid_t)-1 && uid == s->proxy) {
		name = header(e, s->user_header, NULL);
		if (!name || !http_name__is_user(name))
			return 403;
		snprintf(e->request.user, sizeof(e->request.user), "%s", name);
		return 0;
	}
	if (s->is_for_owner && uid != getuid())
		return 403;
	snprintf(e->request.user, sizeof(e->request.user), HTTP_PEER "%u", (unsigned)uid);
	return 0;
}

static bool is_one_of(const char *text, const char *a, const char *b)
{
	return text && (!strcmp(text, a) || !strcmp(text, b));
}

/* Pages of others may link here, and not take parts of ours; other ports of this host are others,
 * too. Who may have a page in a frame, FrameAncestors says. */
static bool is_foreign(const struct http_server *s, struct exchange *e)
{
	const char *site = header(e, "Sec-Fetch-Site", NULL),
		   *mode = header(e, "Sec-Fetch-Mode", NULL),
		   *as = header(e, "Sec-Fetch-Dest", NULL);

	if (!site || is_one_of(site, "same-origin", "none"))
		return false;
	if (is_one_of(as, "iframe", "frame"))
		return !s->frame_ancestors;
	return is_one_of(as, "object", "embed") || !mode || strcmp(mode, "navigate") != 0;
}

static bool is_gzip_taken(struct exchange *e)
{
	const char *text = header(e, "Accept-Encoding", NULL);

	return text && strstr(text, "gzip") && !strstr(text, "gzip;q=0");
}

/* Where a body ends, a proxy and a server may see in different ways. */
static bool has_body(struct exchange *e)
{
	unsigned lengths, codings;
	const char *length = header(e, "Content-Length", &lengths);

	header(e, "Transfer-Encoding", &codings);
	return codings || (lengths && (!length || strcmp(length, "0") != 0));
}

static unsigned check(const struct http_server *s, struct exchange *e, const char *method)
{
	const char *host = header(e, "Host", NULL);

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return 405;
	if (has_body(e))
		return 413;
	if (e->status)
		return e->status;
	if (s->is_for_owner && (!host || !http_host__is_loopback(host)))
		return 403;
	if (is_foreign(s, e))
		return 403;
	e->takes_gzip = is_gzip_taken(e);
	return identify(s, e);
}

/* ---- answers */

static void add_headers(const struct http_server *s, struct MHD_Response *r, enum http_type type,
			bool is_gzip)
{
	struct answer_header headers[ANSWER_HEADERS];
	char policy[ANSWER_POLICY];
	const unsigned n = answer__headers(s, type, policy, headers);

	for (unsigned i = 0; i < n; i++)
		mhd.MHD_add_response_header(r, headers[i].name, headers[i].value);
	if (type == HTTP_EVENTS)
		mhd.MHD_add_response_header(r, "X-Accel-Buffering", "no"); /* of nginx */
	if (is_gzip)
		mhd.MHD_add_response_header(r, "Content-Encoding", "gzip");
}

static enum MHD_Result send_text(const struct http_server *s, struct exchange *e, unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} texts[] = {
		{400, "The address makes no sense.\n"},
		{403, "You may not see this, or it does not exist.\n"},
		{404, "There is no such page.\n"},
		{405, "GET and HEAD are all there is.\n"},
		{413, "A request has no body here.\n"},
		{429,
		 "There are as many requests of yours, or streams of events, as there may be.\n"},
		{503, "This took too long. A shorter time or a narrower filter is faster.\n"},
	};
	const char *text = "This failed; the log of the server says why.\n";
	struct MHD_Response *r;
	enum MHD_Result result;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].status == status)
			text = texts[i].text;
	r = mhd.MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
	if (!r)
		return MHD_NO;
	add_headers(s, r, HTTP_TEXT, false);
	if (status == 405)
		mhd.MHD_add_response_header(r, "Allow", "GET, HEAD");
	result = mhd.MHD_queue_response(e->connection, status, r);
	mhd.MHD_destroy_response(r);
	return result;
}

/* The answer is the first event. */
static struct MHD_Response *begin_stream(struct server *w, struct exchange *e,
					 const struct answer_head *head)
{
	const struct stream_request r = {e->connection, socket_of(e->connection), e->uri,
					 e->request.user};

	return streams__begin(w->streams, &r, head, e->child.out);
}

static enum MHD_Result send_answer(struct server *w, struct exchange *e)
{
	const struct http_server *s = w->s;
	struct MHD_Response *r;
	struct answer_head head;
	enum MHD_Result result;
	uint64_t size;

	if (e->child.out < 0 || answer__check(e->child.out, &head, &size))
		return send_text(s, e, e->status ? e->status : 500);
	if (!size && head.status >= 400)
		return send_text(s, e, head.status);
	if (head.type == HTTP_EVENTS && head.status == 200)
		r = begin_stream(w, e, &head);
	else
		r = mhd.MHD_create_response_from_fd_at_offset64(size, e->child.out, sizeof(head));
	if (!r)
		return head.type == HTTP_EVENTS ? send_text(s, e, 429) : MHD_NO;
	e->child.out = -1; /* the response's */
	e->size = size;
	add_headers(s, r, head.type, head.is_gzip);
	result = mhd.MHD_queue_response(e->connection, head.status, r);
	mhd.MHD_destroy_response(r);
	return result;
}

static enum MHD_Result send_page(const struct http_server *s, struct exchange *e)
{
	struct MHD_Response *r = NULL;
	enum MHD_Result result;
	char *text = NULL;
	size_t n = 0;
	FILE *f;
	int err;

	if (strcmp(e->request.address.path, s->page->path) != 0)
		return send_text(s, e, 404);
	f = open_memstream(&text, &n);
	err = f ? s->page->print(s->arg, f) : -ENOMEM;
	if (f && fclose(f))
		err = -ENOMEM;
	if (!err)
		r = mhd.MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(text);
		return send_text(s, e, 500);
	}
	add_headers(s, r, s->page->type, false);
	result = mhd.MHD_queue_response(e->connection, 200, r);
	mhd.MHD_destroy_response(r);
	return result;
}

/* ---- children */

static void start(struct server *w, struct exchange *e)
{
	const struct http_server *s = w->s;
	const pid_t pid = child__start(&e->child, &w->dying, s->seconds);

	if (!pid)
		answer__make(s, &e->request, e->child.out, e->takes_gzip);
	if (pid < 0) {
		e->state = ANSWERED;
		e->status = pid == -EBUSY ? 503 : 500;
		mhd.MHD_resume_connection(e->connection);
		return;
	}
	e->state = RUNS;
	w->running[w->nrunning++] = e;
}

static unsigned running_of(const struct server *w, const char *user)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->nrunning; i++)
		n += !strcmp(w->running[i]->request.user, user);
	return n;
}

/* What a user has asked for and has not got yet. */
struct share {
	unsigned n;
	uint64_t unread; /* bytes that are answered */
};

static struct share share_of(const struct server *w, const char *user)
{
	struct share s = {0};

	for (const struct exchange *e = w->first; e; e = e->next)
		if (e->state >= WAITS && !strcmp(e->request.user, user)) {
			s.n++;
			s.unread += e->size;
		}
	return s;
}

/* The next one of the user who has the fewest children at work, who is left all but one of them:
 * one who asks much, or does not read the answers, holds up nobody else. NULL: there is none. */
static struct exchange *find_next(const struct server *w)
{
	const unsigned all = w->s->children < CHILDREN ? w->s->children : CHILDREN;
	struct exchange *best = NULL;
	unsigned least = w->s->is_local && all > 1 ? all - 1 : all;

	for (struct exchange *e = w->first; e && least && w->nrunning < all; e = e->next) {
		const unsigned n = e->state == WAITS ? running_of(w, e->request.user) : least;

		if (n < least && share_of(w, e->request.user).unread <= UNREAD) {
			least = n;
			best = e;
		}
	}
	return best;
}

static void start_waiting(struct server *w)
{
	struct exchange *e;

	while ((e = find_next(w)))
		start(w, e);
}

static void end(struct server *w, unsigned i, bool is_late)
{
	struct exchange *e = w->running[i];

	if (!child__end(&e->child, &w->dying, is_late)) {
		e->status = is_late ? 503 : 500;
		child__close_file(&e->child);
		log_warn("serve: %s: %s", e->request.address.path,
			 is_late ? "it took too long" : "its process did not end well");
	}
	e->state = ANSWERED;
	w->running[i] = w->running[--w->nrunning];
	mhd.MHD_resume_connection(e->connection);
}

/* ---- what the library calls */

/* Who reads the page is done within ms: of strangers, who may be on other machines, the one that is
 * there longest goes. */
static void take_stranger(struct server *w, int fd)
{
	int *place = &w->strangers[w->stranger++ % OF_USER];

	if (*place)
		shutdown(*place, SHUT_RDWR);
	*place = fd;
}

static void forget_stranger(struct server *w, int fd)
{
	for (unsigned i = 0; i < OF_USER; i++)
		if (w->strangers[i] == fd)
			w->strangers[i] = 0;
}

/* One user who opens many connections and says nothing holds up nobody else. */
static void count_connection(void *arg, struct MHD_Connection *c, void **context,
			     enum MHD_ConnectionNotificationCode what)
{
	struct server *w = arg;
	struct guest *g = *context, *all = w->guests;
	uid_t uid = (uid_t)-1; /* of somebody */

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (g)
			g->n--;
		forget_stranger(w, socket_of(c));
		return;
	}
	w->accepted++;
	if (!w->s->page || !w->s->page->is_open)
		ask_peer(w->s, &uid, c);
	for (unsigned i = CONNECTIONS + 1; i-- > 0 && !(g && g->n);)
		if (!all[i].n || all[i].uid == uid)
			g = &all[i];
	*context = g;
	g->uid = uid;
	g->n++;
	if (w->s->page && uid == (uid_t)-1)
		take_stranger(w, socket_of(c));
	else if (g->n > OF_USER && (uid == (uid_t)-1 || uid != w->s->proxy))
		shutdown(socket_of(c), SHUT_RDWR);
}

static void *begin_exchange(void *arg, const char *uri, struct MHD_Connection *c)
{
	struct exchange *e = calloc(1, sizeof(*e));
	struct server *w = arg;
	int err;

	if (!e)
		return NULL;
	*(w->first ? &w->last->next : &w->first) = e;
	w->last = e;
	e->connection = c;
	e->child.pidfd = e->child.out = -1;
	err = http_address__parse(&e->request.address, uri);
	e->uri = err ? NULL : strdup(uri);
	err = err || e->uri ? err : -ENOMEM;
	if (err)
		e->status = err == -ENOMEM ? 500 : 400;
	return e;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *size, void **context)
{
	struct server *w = arg;
	struct exchange *e = *context;

	(void)c, (void)url, (void)version, (void)body;
	if (!e)
		return MHD_NO;
	if (e->state == HEADERS) {
		e->state = BODY;
		e->status = check(w->s, e, method);
		return e->status ? send_text(w->s, e, e->status) : MHD_YES;
	}
	if (*size)
		return MHD_NO; /* a body: the connection is closed */
	if (e->state == ANSWERED)
		return send_answer(w, e);
	if (e->state != BODY)
		return MHD_YES;
	if (w->s->page)
		return send_page(w->s, e);
	if (share_of(w, e->request.user).n >= ASKED)
		return send_text(w->s, e, 429);
	e->state = WAITS;
	mhd.MHD_suspend_connection(c);
	return MHD_YES;
}

/* A suspended connection is not closed before it is resumed, so no child is left. */
static void end_exchange(void *arg, struct MHD_Connection *c, void **context,
			 enum MHD_RequestTerminationCode why)
{
	struct exchange *e = *context, *before = NULL;
	struct server *w = arg;

	(void)c, (void)why;
	if (!e)
		return;
	for (struct exchange *o = w->first; o != e; o = o->next)
		before = o;
	*(before ? &before->next : &w->first) = e->next;
	w->last = w->last == e ? before : w->last;
	child__close_file(&e->child);
	http_address__free(&e->request.address);
	free(e->uri);
	free(e);
	*context = NULL;
}

/* ---- the loop */

static int wait_ms(const struct server *w)
{
	MHD_UNSIGNED_LONG_LONG library;
	uint64_t now = clock__mono_ns();
	int ms = mhd.MHD_get_timeout(w->daemon, &library) == MHD_YES
			 ? (int)(library < 1000 ? library : 1000)
			 : 1000;

	for (unsigned i = 0; i < w->nrunning; i++) {
		const uint64_t until = w->running[i]->child.until_ns;
		const int left = until > now ? (int)((until - now) / 1000000) + 1 : 0;

		ms = left < ms ? left : ms;
	}
	return streams__wait_ms(w->streams, now, ms);
}

/* The library takes ten connections at a time: who opens many is not to fill the queue of those
 * that wait, from where others would be sent away. */
static void run_library(struct server *w)
{
	unsigned before, rounds = ACCEPTS;

	do {
		before = w->accepted;
		mhd.MHD_run(w->daemon);
	} while (w->accepted != before && --rounds);
}

/* False: a signal says that it is enough. */
static bool turn(struct server *w)
{
	const union MHD_DaemonInfo *info =
		mhd.MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[CHILDREN + 2 + STREAM_CHILDREN] = {{w->signals, POLLIN, 0},
							     {info->epoll_fd, POLLIN, 0}};
	const unsigned n = w->nrunning, m = streams__poll(w->streams, fds + 2 + n);
	int ms = wait_ms(w);

	for (unsigned i = 0; i < n; i++)
		fds[2 + i] = (struct pollfd){w->running[i]->child.pidfd, POLLIN, 0};
	if (w->s->page && w->s->page->tick) {
		const int tick_ms = w->s->page->tick(w->s->arg);

		ms = tick_ms < ms ? tick_ms : ms;
	}
	if (poll(fds, n + 2 + m, ms) < 0 && errno != EINTR)
		return false;
	if (fds[0].revents)
		return false;
	for (unsigned i = n; i-- > 0;) {
		const bool is_late = w->running[i]->child.until_ns <= clock__mono_ns();

		if (fds[2 + i].revents || is_late)
			end(w, i, !fds[2 + i].revents);
	}
	streams__turn(w->streams, fds + 2 + n);
	dying__reap(&w->dying);
	run_library(w);
	start_waiting(w);
	return true;
}

static void stop_children(struct server *w)
{
	streams__stop(w->streams);
	while (w->nrunning)
		end(w, 0, true);
	for (struct exchange *e = w->first; e; e = e->next) {
		if (e->state != WAITS)
			continue;
		e->state = ANSWERED;
		e->status = 503;
		mhd.MHD_resume_connection(e->connection);
	}
	mhd.MHD_run(w->daemon);
}

/* Connections, and the answers that they wait for, are more files than processes begin with. */
static void allow_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= FILES)
		return;
	l.rlim_cur = l.rlim_max < FILES ? l.rlim_max : FILES;
	setrlimit(RLIMIT_NOFILE, &l);
}

int http_server__run(const struct http_server *s, const sigset_t *stop)
{
	struct server w = {.s = s};
	int err = http_library__load();

	if (err)
		return err;
	allow_files();
	getpwuid(getuid()); /* what looks users up is loaded, for all children */
	w.streams = streams__new(s, &w.dying);
	if (!w.streams)
		return -ENOMEM;
	w.signals = signalfd(-1, stop, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w.signals < 0) {
		err = -errno;
		streams__free(w.streams);
		return err;
	}
	w.daemon = mhd.MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, &w,
		MHD_OPTION_LISTEN_SOCKET, s->listener, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
		s->page ? APART_S : IDLE_S, MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, &w,
		MHD_OPTION_NOTIFY_COMPLETED, end_exchange, &w, MHD_OPTION_NOTIFY_CONNECTION,
		count_connection, &w, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!w.daemon) {
		log_error("serve: libmicrohttpd does not start: %s", strerror(errno));
		close(w.signals);
		streams__free(w.streams);
		return -EIO;
	}
	while (turn(&w))
		;
	stop_children(&w);
	mhd.MHD_stop_daemon(w.daemon);
	streams__free(w.streams);
	close(w.signals);
	return 0;
}

#else

int http_server__run(const struct http_server *s, const sigset_t *stop)
{
	(void)s, (void)stop;
	return http_library__load();
}

#endif
