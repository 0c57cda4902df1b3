/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs what answers, with its own standard output, in a process that ends with it. */
#include "http/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define MAGIC		0x6a706177u
#define SMALL		1000 /* bytes that are not worth to be compressed */
#define SIZE_MAX_ANSWER (256u << 20)
#define MEMORY		(UINT64_C(8) << 30)

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

_Noreturn void answer__make(const struct http_server *s, const struct http_request *r, int out,
			    bool takes_gzip)
{
	const struct rlimit cpu = {s->seconds, s->seconds + 1}, memory = {MEMORY, MEMORY};
	struct answer_head head = {.magic = MAGIC, .type = HTTP_TEXT};
	const int text = memfd_create("text", MFD_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_AS, &memory);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Other requests' sockets and answers are none of its. */
	if (text < 0 || dup2(out, 3) < 0 || dup2(text, STDOUT_FILENO) < 0)
		_exit(1);
	close_range(4, ~0u, 0);
	head.status = (uint32_t)s->answer(s->arg, r, &head.type);
	if (fflush(stdout))
		_exit(1);
	_exit(send(3, STDOUT_FILENO, &head, takes_gzip) ? 1 : 0);
}

int answer__check(int fd, struct answer_head *head, uint64_t *size)
{
	struct stat st;

	if (pread(fd, head, sizeof(*head), 0) != sizeof(*head) || fstat(fd, &st) ||
	    head->magic != MAGIC || head->status < 200 || head->status > 599 ||
	    head->type > HTTP_STYLE)
		return -EBADMSG;
	*size = (uint64_t)st.st_size - sizeof(*head);
	return 0;
}
