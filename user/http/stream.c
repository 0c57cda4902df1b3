/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Feeds, which children make, and their streams. */
#include "http/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#ifdef HAS_MICROHTTPD

#define PERIOD_S 5
#define SLOW	 6		      /* periods that an event may be on its way */
#define OF_USER	 6		      /* streams of one user; a further one ends the oldest */
#define HELD	 (UINT64_C(64) << 20) /* bytes of events that are on their way, in all */
#define BLOCK	 16384
#define FAILURES 3 /* one after the other, after which a feed ends */

/* What a child made. */
struct event {
	int fd;
	unsigned refs;
	uint64_t at, size; /* of the file */
};

struct stream {
	struct streams *all;
	struct feed *feed;
	struct stream *next; /* of the feed */
	struct MHD_Connection *connection;
	int socket;
	char user[HTTP_USER];
	uint64_t serial;
	struct event *event; /* on its way; NULL: none */
	uint64_t sent, since_ns;
	char beat[64]; /* the line with the time, as far as there is one to send */
	size_t nbeat, beaten;
	bool is_suspended, is_ended;
};

struct feed {
	struct feed *next;
	char *uri;
	char rights[HTTP_RIGHTS];
	struct stream *streams;
	unsigned n;
	uint64_t hash, next_ns;
	unsigned failures;
	struct child child;
	struct stream *asked[STREAMS]; /* for whom the child asks; NULL: it has gone */
	unsigned nasked;
};

struct streams {
	const struct http_server *s;
	struct dying *dying;
	struct feed *feeds;
	unsigned n, nchildren;
	uint64_t serial, held, period_ns;
};

struct streams *streams__new(const struct http_server *s, struct dying *d)
{
	struct streams *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->s = s;
	w->dying = d;
	w->period_ns = (uint64_t)((s->period_s > 0 ? s->period_s : PERIOD_S) * 1e9);
	return w;
}

/* ---- events */

static struct event *event__new(struct streams *w, int fd, uint64_t at)
{
	struct event *e = calloc(1, sizeof(*e));
	struct stat st;

	if (!e || fstat(fd, &st) || (uint64_t)st.st_size <= at) {
		free(e);
		return NULL;
	}
	*e = (struct event){.fd = fd, .refs = 1, .at = at, .size = (uint64_t)st.st_size};
	w->held += e->size;
	return e;
}

static void event__drop(struct streams *w, struct event *e)
{
	if (!e || --e->refs)
		return;
	w->held -= e->size;
	close(e->fd);
	free(e);
}

/* ---- one stream */

static void wake(struct stream *s)
{
	if (!s->is_suspended)
		return;
	s->is_suspended = false;
	mhd.MHD_resume_connection(s->connection);
}

static void end_stream(struct stream *s)
{
	s->is_ended = true;
	wake(s);
}

/* The library waits for a socket that cannot be written to: only a dead one ends it. */
static void cut(struct stream *s)
{
	log_info("serve: a stream of %s is ended: its reader is too slow", s->user);
	s->is_ended = true;
	shutdown(s->socket, SHUT_RDWR);
	wake(s);
}

static void give(struct stream *s, struct event *e, uint64_t now)
{
	e->refs++;
	s->event = e;
	s->sent = 0;
	s->since_ns = now;
	wake(s);
}

static void give_time(struct stream *s)
{
	s->nbeat = (size_t)snprintf(s->beat, sizeof(s->beat), "event: same\ndata: %lld\n\n",
				    (long long)time(NULL));
	s->beaten = 0;
	wake(s);
}

/* What the library sends next. */
static ssize_t read_stream(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = arg;
	size_t n = s->nbeat - s->beaten;
	ssize_t done;

	(void)pos;
	if (n) { /* a line that was begun comes before an event */
		n = n < max ? n : max;
		memcpy(buf, s->beat + s->beaten, n);
		s->beaten += n;
		return (ssize_t)n;
	}
	if (s->event) {
		done = pread(s->event->fd, buf, max, (off_t)(s->event->at + s->sent));
		if (done > 0) {
			s->sent += (uint64_t)done;
			return done;
		}
		event__drop(s->all, s->event);
		s->event = NULL;
		if (done < 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	if (s->is_ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	s->is_suspended = true;
	mhd.MHD_suspend_connection(s->connection);
	return 0;
}

static void free_feed(struct streams *w, struct feed *f)
{
	struct feed **at = &w->feeds;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	if (f->child.pid) {
		child__end(&f->child, w->dying, true);
		child__close_file(&f->child);
		w->nchildren--;
	}
	free(f->uri);
	free(f);
}

/* The library has closed the connection. */
static void free_stream(void *arg)
{
	struct stream *s = arg, **at = &s->feed->streams;
	struct feed *f = s->feed;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	for (unsigned i = 0; i < f->nasked; i++)
		if (f->asked[i] == s)
			f->asked[i] = NULL;
	f->n--;
	s->all->n--;
	event__drop(s->all, s->event);
	if (!f->n)
		free_feed(s->all, f);
	free(s);
}

/* ---- begin */

static struct feed *feed_of(struct streams *w, const char *uri, const char *rights)
{
	struct feed *f = w->feeds;

	while (f && (strcmp(f->uri, uri) != 0 || strcmp(f->rights, rights) != 0))
		f = f->next;
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f || !(f->uri = strdup(uri))) {
		free(f);
		return NULL;
	}
	snprintf(f->rights, sizeof(f->rights), "%s", rights);
	f->child.pidfd = f->child.out = -1;
	f->next_ns = clock__mono_ns() + w->period_ns;
	f->next = w->feeds;
	w->feeds = f;
	return f;
}

/* A user whose browsers have forgotten streams is not to have all of them. */
static void end_oldest(struct streams *w, const char *user)
{
	struct stream *oldest = NULL;
	unsigned n = 0;

	for (struct feed *f = w->feeds; f; f = f->next)
		for (struct stream *s = f->streams; s; s = s->next) {
			if (s->is_ended || strcmp(s->user, user) != 0)
				continue;
			n++;
			oldest = !oldest || s->serial < oldest->serial ? s : oldest;
		}
	if (n < OF_USER)
		return;
	if (oldest->event) /* it would be there until it is read */
		cut(oldest);
	else
		end_stream(oldest);
}

static struct stream *make_stream(struct streams *w, const struct stream_request *r, struct feed *f)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->all = w;
	s->feed = f;
	s->connection = r->connection;
	s->socket = r->socket;
	s->serial = ++w->serial;
	snprintf(s->user, sizeof(s->user), "%s", r->user);
	s->next = f->streams;
	f->streams = s;
	f->n++;
	w->n++;
	return s;
}

struct MHD_Response *streams__begin(struct streams *w, const struct stream_request *r,
				    const struct answer_head *head, int out)
{
	char rights[HTTP_RIGHTS];
	struct MHD_Response *response;
	struct stream *s;
	struct feed *f;

	if (w->n >= STREAMS || w->held > HELD)
		return NULL;
	snprintf(rights, sizeof(rights), "%.*s", (int)sizeof(rights) - 1, head->rights);
	end_oldest(w, r->user);
	f = feed_of(w, r->uri, rights);
	s = f ? make_stream(w, r, f) : NULL;
	if (!s) {
		if (f && !f->n)
			free_feed(w, f);
		return NULL;
	}
	s->event = event__new(w, out, sizeof(*head));
	s->since_ns = clock__mono_ns();
	response = s->event ? mhd.MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK,
								    read_stream, s, free_stream)
			    : NULL;
	if (response && f->n == 1)
		f->hash = head->hash;
	if (!response) {
		if (s->event)
			s->event->fd = -1; /* the caller's */
		free_stream(s);
	}
	return response;
}

/* ---- the next event */

static void ask_in_child(const struct streams *w, const struct feed *f)
{
	const char *names[STREAMS];
	const struct answer_users users = {names, f->nasked, f->rights};
	struct http_request r = {0};

	for (unsigned i = 0; i < f->nasked; i++)
		names[i] = f->asked[i]->user;
	if (http_address__parse(&r.address, f->uri))
		_exit(1);
	answer__make_event(w->s, &r, &users, f->child.out);
}

static void start(struct streams *w, struct feed *f, uint64_t now)
{
	pid_t pid;

	f->nasked = 0;
	for (struct stream *s = f->streams; s; s = s->next)
		if (!s->is_ended)
			f->asked[f->nasked++] = s;
	f->next_ns = now + w->period_ns;
	if (!f->nasked)
		return;
	pid = child__start(&f->child, w->dying, w->s->seconds);
	if (!pid)
		ask_in_child(w, f);
	if (pid > 0)
		w->nchildren++;
}

static void end_all(struct feed *f)
{
	for (struct stream *s = f->streams; s; s = s->next)
		end_stream(s);
}

/* Those who have their rights still get the event, where it is another one, else the time. */
static void deliver(struct streams *w, struct feed *f, const uint8_t *has, uint64_t hash,
		    uint64_t now)
{
	const uint64_t at = sizeof(struct answer_head) + f->nasked;
	struct event *e =
		hash != f->hash && w->held < HELD ? event__new(w, f->child.out, at) : NULL;
	const bool is_new = e != NULL;

	if (is_new) {
		f->hash = hash;
		f->child.out = -1;
	}
	for (unsigned i = 0; i < f->nasked; i++) {
		struct stream *s = f->asked[i];

		if (!s || s->is_ended)
			continue;
		if (!has[i])
			end_stream(s);
		else if (s->event && (is_new || now - s->since_ns > SLOW * w->period_ns))
			cut(s);
		else if (is_new)
			give(s, e, now);
		else if (!s->event)
			give_time(s);
	}
	event__drop(w, e);
}

static void take(struct streams *w, struct feed *f, bool is_late)
{
	const uint64_t now = clock__mono_ns();
	struct answer_head head;
	uint8_t has[STREAMS];
	uint64_t size;
	bool is_good = child__end(&f->child, w->dying, is_late);

	w->nchildren--;
	f->next_ns = now + w->period_ns;
	is_good = is_good && !answer__check(f->child.out, &head, &size) &&
		  pread(f->child.out, has, f->nasked, sizeof(head)) == (ssize_t)f->nasked;
	if (is_good && head.status == 200 && head.type == HTTP_EVENTS) {
		f->failures = 0;
		deliver(w, f, has, head.hash, now);
	} else if ((is_good && head.status == 403) || ++f->failures >= FAILURES) {
		end_all(f);
	}
	f->nasked = 0;
	child__close_file(&f->child);
}

/* ---- the loop */

unsigned streams__poll(const struct streams *w, struct pollfd *fds)
{
	unsigned n = 0;

	for (const struct feed *f = w->feeds; f; f = f->next)
		if (f->child.pid)
			fds[n++] = (struct pollfd){f->child.pidfd, POLLIN, 0};
	return n;
}

int streams__wait_ms(const struct streams *w, uint64_t now_ns, int ms)
{
	for (const struct feed *f = w->feeds; f; f = f->next) {
		const uint64_t at = f->child.pid ? f->child.until_ns : f->next_ns;
		const int left = at > now_ns ? (int)((at - now_ns) / 1000000) + 1 : 0;

		if (!f->child.pid && w->nchildren == STREAM_CHILDREN)
			continue;
		ms = left < ms ? left : ms;
	}
	return ms;
}

static bool has_ended(const struct feed *f, const struct pollfd *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (fds[i].fd == f->child.pidfd)
			return fds[i].revents != 0;
	return false;
}

/* The one that has waited longest. */
static struct feed *next_due(const struct streams *w, uint64_t now)
{
	struct feed *due = NULL;

	for (struct feed *f = w->feeds; f; f = f->next)
		if (!f->child.pid && f->next_ns <= now && (!due || f->next_ns < due->next_ns))
			due = f;
	return due;
}

void streams__turn(struct streams *w, const struct pollfd *fds)
{
	const uint64_t now = clock__mono_ns();
	const unsigned n = w->nchildren;
	struct feed *f;

	for (f = w->feeds; f; f = f->next) {
		const bool ended = f->child.pid && has_ended(f, fds, n);

		if (f->child.pid && (ended || f->child.until_ns <= now))
			take(w, f, !ended);
	}
	while (w->nchildren < STREAM_CHILDREN && (f = next_due(w, now)))
		start(w, f, now);
}

void streams__stop(struct streams *w)
{
	for (struct feed *f = w->feeds; f; f = f->next)
		end_all(f);
}

void streams__free(struct streams *w)
{
	free(w);
}

#endif
