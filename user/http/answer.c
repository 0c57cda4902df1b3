/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs what answers, with its own standard output, in a process that ends with it. */
#include "http/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "http/socket.h"

#define MAGIC		0x6a706177u
#define SMALL		1000 /* bytes that are not worth to be compressed */
#define SIZE_MAX_ANSWER (256u << 20)
#define MEMORY		(UINT64_C(8) << 30)
#define EVENT_MAX	(16 << 20)

static int put(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -EIO;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static int put_gzip(int out, const struct answer_head *head, const void *text, size_t n)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
	const size_t room = c ? libdeflate_gzip_compress_bound(c, n) : 0;
	void *packed = c ? malloc(room) : NULL;
	size_t size = packed ? libdeflate_gzip_compress(c, text, n, packed, room) : 0;
	struct answer_head h = *head;
	int err = size ? 0 : -ENOMEM;

	h.is_gzip = 1;
	if (!err)
		err = put(out, &h, sizeof(h));
	if (!err)
		err = put(out, packed, size);
	free(packed);
	if (c)
		libdeflate_free_compressor(c);
	return err;
}

static int send(int out, int from, struct answer_head *head, bool takes_gzip)
{
	struct stat st;
	void *text;
	int err;

	if (fstat(from, &st) || st.st_size > SIZE_MAX_ANSWER)
		return -EFBIG;
	if (!st.st_size)
		return put(out, head, sizeof(*head));
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, from, 0);
	if (text == MAP_FAILED)
		return -errno;
	if (takes_gzip && st.st_size > SMALL)
		return put_gzip(out, head, text, (size_t)st.st_size);
	err = put(out, head, sizeof(*head));
	return err ? err : put(out, text, (size_t)st.st_size);
}

/* An event is one line, and an empty one. */
static int send_event(int out, int from, struct answer_head *head, const void *flags, size_t nflags)
{
	const off_t n = lseek(from, 0, SEEK_END);
	char *text = n >= 0 && n <= EVENT_MAX ? malloc((size_t)n + 1) : NULL, *end;
	int err = text && pread(from, text, (size_t)n, 0) == n ? 0 : -EFBIG;

	if (!err) {
		text[n] = '\0';
		end = strchr(text, '\n');
		if (end && end[1])
			err = -EINVAL;
		else if (end)
			*end = '\0';
	}
	head->hash = 0xcbf29ce484222325;
	for (const char *p = err ? "" : text; *p; p++)
		head->hash = (head->hash ^ (uint8_t)*p) * 0x100000001b3;
	if (!err)
		err = put(out, head, sizeof(*head));
	if (!err)
		err = put(out, flags, nflags);
	if (!err)
		err = put(out, "data: ", 6);
	if (!err)
		err = put(out, text, strlen(text));
	if (!err)
		err = put(out, "\n\n", 2);
	free(text);
	return err;
}

/* Makes the process one that answers. 0, and 3 is what it answers to. */
static void become_child(const struct http_server *s, int out)
{
	const struct rlimit cpu = {s->seconds, s->seconds + 1}, memory = {MEMORY, MEMORY};
	const int text = memfd_create("text", MFD_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CPU, &cpu);
#ifndef __SANITIZE_ADDRESS__ /* which maps more than there is */
	setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Other requests' sockets and answers are none of its. */
	if (text < 0 || dup2(out, 3) < 0 || dup2(text, STDOUT_FILENO) < 0)
		_exit(1);
	close_range(4, ~0u, 0);
}

/* Makes a peer's number a name. False: a proxy names somebody whom this machine does not know. */
static bool find_user(char user[static HTTP_USER])
{
	if (strncmp(user, HTTP_PEER, strlen(HTTP_PEER)) != 0)
		return getpwnam(user) != NULL;
	http_peer__name(user, HTTP_USER, (uid_t)strtoul(user + strlen(HTTP_PEER), NULL, 10));
	return true;
}

_Noreturn void answer__make(const struct http_server *s, struct http_request *r, int out,
			    bool takes_gzip)
{
	struct answer_head head = {.magic = MAGIC, .status = 403, .type = HTTP_TEXT};
	int err;

	become_child(s, out);
	if (find_user(r->user))
		head.status = (uint32_t)s->answer(s->arg, r, &head.type);
	if (fflush(stdout))
		_exit(1);
	if (head.type == HTTP_EVENTS && head.status == 200 && s->rights) {
		s->rights(s->arg, &r->address, r->user, head.rights);
		err = send_event(3, STDOUT_FILENO, &head, NULL, 0);
	} else {
		err = send(3, STDOUT_FILENO, &head, takes_gzip);
	}
	_exit(err ? 1 : 0);
}

_Noreturn void answer__make_event(const struct http_server *s, struct http_request *r,
				  const struct answer_users *users, int out)
{
	struct answer_head head = {.magic = MAGIC, .type = HTTP_TEXT};
	uint8_t *has = calloc(users->n + 1, 1);

	become_child(s, out);
	for (unsigned i = 0; has && i < users->n; i++) {
		char rights[HTTP_RIGHTS] = "", user[HTTP_USER];

		snprintf(user, sizeof(user), "%s", users->names[i]);
		if (find_user(user))
			s->rights(s->arg, &r->address, user, rights);
		has[i] = *rights && !strcmp(rights, users->rights);
		if (has[i] && !*r->user)
			memcpy(r->user, user, sizeof(user));
	}
	if (*r->user) {
		r->is_again = true;
		head.status = (uint32_t)s->answer(s->arg, r, &head.type);
	} else {
		head.status = 403;
	}
	if (!has || fflush(stdout))
		_exit(1);
	_exit(send_event(3, STDOUT_FILENO, &head, has, users->n) ? 1 : 0);
}

unsigned answer__headers(const struct http_server *s, enum http_type type,
			 char policy[ANSWER_POLICY], struct answer_header h[ANSWER_HEADERS])
{
	static const char *const types[] = {
		[HTTP_HTML] = "text/html; charset=utf-8",
		[HTTP_JSON] = "application/json",
		[HTTP_CSV] = "text/csv; charset=utf-8",
		[HTTP_TEXT] = "text/plain; charset=utf-8",
		[HTTP_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
		[HTTP_SCRIPT] = "text/javascript; charset=utf-8",
		[HTTP_STYLE] = "text/css; charset=utf-8",
		[HTTP_EVENTS] = "text/event-stream",
	};
	const bool is_asset = type == HTTP_SCRIPT || type == HTTP_STYLE;
	const struct answer_header all[ANSWER_HEADERS] = {
		{"Content-Type", types[type]},
		{"Content-Security-Policy", policy},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		/* Names of assets are their contents' hashes. */
		{"Cache-Control",
		 is_asset ? "public, max-age=31536000, immutable" : "private, no-store"},
		{"Vary", "Accept-Encoding"},
	};

	snprintf(policy, ANSWER_POLICY,
		 "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
		 "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors %s",
		 s->frame_ancestors ? s->frame_ancestors : "'none'");
	memcpy(h, all, sizeof(all));
	return ANSWER_HEADERS;
}

static int print_answer(const struct http_server *s, unsigned status, enum http_type type, int text)
{
	struct answer_header h[ANSWER_HEADERS];
	char policy[ANSWER_POLICY], buf[16384];
	const unsigned n = answer__headers(s, type, policy, h);
	ssize_t got;

	printf("Status: %u\r\n", status);
	for (unsigned i = 0; i < n; i++)
		printf("%s: %s\r\n", h[i].name, h[i].value);
	fputs("\r\n", stdout);
	for (off_t at = 0; (got = pread(text, buf, sizeof(buf), at)) > 0; at += got)
		fwrite(buf, 1, (size_t)got, stdout);
	return got < 0 || fflush(stdout) ? -EIO : 0;
}

int http_page__print(const struct http_server *s, const char *address, const char *user)
{
	struct http_request r = {0};
	enum http_type type = HTTP_TEXT;
	const int text = memfd_create("text", MFD_CLOEXEC), before = dup(STDOUT_FILENO);
	int status = 400, err = text < 0 || before < 0 || dup2(text, STDOUT_FILENO) < 0 ? -EIO : 0;

	snprintf(r.user, sizeof(r.user), "%s", user);
	if (!err && !http_address__parse(&r.address, address))
		status = s->answer(s->arg, &r, &type);
	else
		puts("The address makes no sense.");
	if (type == HTTP_EVENTS) { /* more would have to follow: who asks is to ask for .json */
		type = HTTP_TEXT;
		status = 404;
	}
	if (fflush(stdout))
		err = -EIO;
	if (before >= 0)
		dup2(before, STDOUT_FILENO);
	if (!err)
		err = print_answer(s, (unsigned)status, type, text);
	http_address__free(&r.address);
	if (text >= 0)
		close(text);
	if (before >= 0)
		close(before);
	return err;
}

int answer__check(int fd, struct answer_head *head, uint64_t *size)
{
	struct stat st;

	if (pread(fd, head, sizeof(*head), 0) != sizeof(*head) || fstat(fd, &st) ||
	    head->magic != MAGIC || head->status < 200 || head->status > 599 ||
	    head->type > HTTP_EVENTS)
		return -EBADMSG;
	*size = (uint64_t)st.st_size - sizeof(*head);
	return 0;
}
