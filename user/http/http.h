/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A web server on one socket, of which only the answers are ours: libmicrohttpd reads requests, and
 * each is answered in a child process, which ends with it. A child that crashes or takes too long
 * is one request that failed. GET and HEAD alone.
 */
#ifndef JP_HTTP_HTTP_H
#define JP_HTTP_HTTP_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "http/request.h"

#define HTTP_USER 72  /* bytes of a name */
#define HTTP_PEER "#" /* of no name */

/* A request, in the child. */
struct http_request {
	struct http_address address;
	char user[HTTP_USER]; /* who asks; in the server HTTP_PEER and the number of a peer */
	bool is_again;	      /* for an event of a stream that is not its first one */
};

enum http_type {
	HTTP_HTML,
	HTTP_JSON,
	HTTP_CSV,
	HTTP_TEXT,
	HTTP_METRICS,
	HTTP_SCRIPT,
	HTTP_STYLE,
	HTTP_EVENTS
};

/* Writes an answer to standard output, and returns its status, as 200. What it writes to standard
 * error goes to the log of the server; of a status of 400 it is the answer. With HTTP_EVENTS it is
 * one line, the first event of a stream; more follow, each time that the answer changes. */
typedef int http_answer(void *arg, const struct http_request *r, enum http_type *type);

/* Writes a word for what the user sees at an address: users with the same word get the same answers
 * there. "": there is no such user any more. In a child. */
#define HTTP_RIGHTS 72
typedef void http_rights(void *arg, const struct http_address *a, const char *user,
			 char word[static HTTP_RIGHTS]);

/* A server of one page, which costs less than a process: the server itself prints it. */
struct http_page {
	const char *path; /* "/metrics" */
	enum http_type type;
	int (*print)(void *arg, FILE *out); /* 0, or -errno: 500 */
	bool is_open;			    /* whoever reaches it may read it; else only */
	const uid_t *readers;		    /* these users of this machine, and root */
	unsigned nreaders;
	/* Called in each turn of the loop; returns the ms until it wants to be called again. */
	int (*tick)(void *arg);
};

struct http_server {
	const struct http_page *page; /* NULL: there are many, by the next */
	http_answer *answer;
	http_rights *rights;
	void *arg;
	int listener;		     /* a socket that listens */
	bool is_local;		     /* a Unix socket; else a port of this machine */
	bool is_for_owner;	     /* it answers its own user alone, by names of this host */
	uid_t proxy;		     /* whose header is believed; (uid_t)-1: nobody's */
	const char *user_header;     /* "X-Remote-User" */
	const char *frame_ancestors; /* CSP's list; NULL: none */
	unsigned seconds;	     /* an answer may take */
	unsigned children;	     /* at a time */
	double period_s;	     /* between two events of a stream; 0: 5 */
};

/* A Unix socket at a path, which takes the place of one that nobody listens at. 0 or -errno. */
int http_listener__unix(int *fd, const char *path, mode_t mode);
/* A port of the loopback; 0: any, and it says which. 0 or -errno. */
int http_listener__loopback(int *fd, unsigned short *port);
/* An address with a port, as 127.0.0.1:80 or [::]:80. 0 or -errno; -EINVAL: it is none. */
int http_listener__address(int *fd, const char *address, bool *is_loopback);

/* Answers one address for a user, and prints the answer as a CGI program does, with the headers
 * that a server would send. 0 or -errno. */
int http_page__print(const struct http_server *s, const char *address, const char *user);

/* Serves until a signal of the set `stop` comes, all of which are blocked. 0; -ENOTSUP: the library
 * is not there, said; -errno, said. */
int http_server__run(const struct http_server *s, const sigset_t *stop);

#endif
