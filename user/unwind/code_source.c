// SPDX-License-Identifier: GPL-2.0-or-later
/* Questions about the code of processes, and their answers. */
#include "unwind/code_source.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd_message.h"

struct question {
	pid_t pid;
	uint64_t addr; /* 0: asks for all code; else for the file at addr */
};

struct answer {
	unsigned n;
	struct code code[PROC_MAPS];
};

static size_t size_of(const struct answer *a)
{
	return offsetof(struct answer, code) + a->n * sizeof(a->code[0]);
}

/* Receives an answer. Returns the descriptor that came with it, or -1. */
static int receive_answer(int socket, struct answer *a)
{
	int fds[FD_MESSAGE_FILES];
	ssize_t n = fd_message__receive(socket, a, sizeof(*a), fds);

	if (n <= 0)
		_exit(1);
	if (n < (ssize_t)offsetof(struct answer, code) || n != (ssize_t)size_of(a))
		a->n = 0;
	return fds[0];
}

static int ask(int socket, struct question q, struct answer *a)
{
	if (send(socket, &q, sizeof(q), MSG_NOSIGNAL) < 0)
		_exit(1);
	return receive_answer(socket, a);
}

unsigned code_source__read(int socket, pid_t pid, struct code code[PROC_MAPS])
{
	static struct answer a;

	ask(socket, (struct question){.pid = pid}, &a);
	memcpy(code, a.code, a.n * sizeof(code[0]));
	return a.n;
}

int code_source__open(int socket, pid_t pid, uint64_t addr)
{
	static struct answer a;
	int fd = ask(socket, (struct question){pid, addr}, &a);

	return fd < 0 ? -ENOENT : fd;
}

/* ---- the other side */

static void put_code(struct answer *a, const struct proc_map *maps, unsigned n)
{
	for (a->n = 0; a->n < n; a->n++) {
		const struct proc_map *m = &maps[a->n];

		a->code[a->n] = (struct code){.range = m->range,
					      .kind = m->name[0] != '['		   ? CODE_FILE
						      : !strcmp(m->name, "[vdso]") ? CODE_CLOCKS
										   : CODE_NONE};
	}
}

static int open_code(const struct question *q, const struct proc_map *maps, unsigned n)
{
	const struct proc_map *m = bsearch(&q->addr, maps, n, sizeof(*maps), code_range__compare);

	return m ? proc_maps__open(q->pid, m->range.start, m->range.end) : -ENOENT;
}

void code_source__serve(int socket)
{
	static struct proc_map maps[PROC_MAPS];
	static struct answer a;
	struct question q;

	while (recv(socket, &q, sizeof(q), 0) == sizeof(q)) {
		int fds[FD_MESSAGE_FILES] = {-1, -1};
		unsigned n;
		bool cut;

		a.n = 0;
		if (proc_maps__read(q.pid, false, maps, &n, &cut))
			n = 0;
		if (q.addr)
			fds[0] = open_code(&q, maps, n);
		else
			put_code(&a, maps, n);
		fd_message__send(socket, &a, size_of(&a), fds, 0);
		if (fds[0] >= 0)
			close(fds[0]);
	}
}
