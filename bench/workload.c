// SPDX-License-Identifier: GPL-2.0-or-later
/* The operations whose cost is measured: switches, files, packets, disk, fork, exec, cgroups. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/workload.h"

#define BLOCK	4096
#define MESSAGE 64
#define DEPTH	16

/* Two switches: to the other process and back. */
static int op_switch(struct workload_state *s)
{
	char c = 0;

	return write(s->to_echo, &c, 1) == 1 && read(s->from_echo, &c, 1) == 1 ? 0 : -EIO;
}

static int op_getpid(struct workload_state *s)
{
	return syscall(SYS_getpid) > 0 ? 0 : -EIO;
}

static int op_open(struct workload_state *s)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return fd < 0 || close(fd) ? -errno : 0;
}

static int loopback(int type, struct sockaddr_in *a)
{
	socklen_t len = sizeof(*a);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd >= 0 &&
	    (bind(fd, (struct sockaddr *)a, len) || getsockname(fd, (struct sockaddr *)a, &len))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_udp(struct workload_state *s)
{
	struct sockaddr_in a, b;

	s->fd[0] = loopback(SOCK_DGRAM, &a);
	s->fd[1] = loopback(SOCK_DGRAM, &b);
	if (s->fd[0] < 0 || s->fd[1] < 0 || connect(s->fd[0], (void *)&b, sizeof(b)) ||
	    connect(s->fd[1], (void *)&a, sizeof(a)))
		return -errno;
	return 0;
}

static int open_tcp(struct workload_state *s)
{
	struct sockaddr_in a, b;
	int on = 1, err = 0, l = loopback(SOCK_STREAM, &a);

	s->fd[0] = loopback(SOCK_STREAM, &b);
	if (l < 0 || s->fd[0] < 0 || listen(l, 1) || connect(s->fd[0], (void *)&a, sizeof(a)))
		err = -errno;
	if (!err)
		s->fd[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	if (!err &&
	    (s->fd[1] < 0 || setsockopt(s->fd[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))))
		err = -errno;
	if (l >= 0)
		close(l);
	return err;
}

/* Two calls. */
static int op_message(struct workload_state *s)
{
	char buf[MESSAGE] = {};

	return send(s->fd[0], buf, sizeof(buf), 0) == MESSAGE &&
			       recv(s->fd[1], buf, sizeof(buf), 0) == MESSAGE
		       ? 0
		       : -EIO;
}

static int open_read(struct workload_state *s)
{
	off_t size;

	s->buf = aligned_alloc(BLOCK, DEPTH * BLOCK);
	s->fd[0] = open(s->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (!s->buf || s->fd[0] < 0)
		return s->buf ? -errno : -ENOMEM;
	size = lseek(s->fd[0], 0, SEEK_END);
	s->blocks = size > 0 ? size / BLOCK : 0;
	return s->blocks ? 0 : -ENODATA;
}

static off_t any_block(struct workload_state *s)
{
	s->seed = s->seed * 6364136223846793005ul + 1442695040888963407ul;
	return (off_t)((s->seed >> 33) % s->blocks) * BLOCK;
}

static int op_read(struct workload_state *s)
{
	return pread(s->fd[0], s->buf, BLOCK, any_block(s)) == BLOCK ? 0 : -EIO;
}

static int open_reads(struct workload_state *s)
{
	int err = open_read(s);

	return !err && syscall(SYS_io_setup, DEPTH, &s->aio) ? -errno : err;
}

/* DEPTH reads in flight, and all of them awaited. */
static int op_reads(struct workload_state *s)
{
	struct io_event done[DEPTH];
	struct iocb cb[DEPTH], *list[DEPTH];
	int i;

	for (i = 0; i < DEPTH; i++) {
		cb[i] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD,
				      .aio_fildes = s->fd[0],
				      .aio_buf = (uintptr_t)s->buf + (size_t)i * BLOCK,
				      .aio_nbytes = BLOCK,
				      .aio_offset = any_block(s)};
		list[i] = &cb[i];
	}
	if (syscall(SYS_io_submit, s->aio, DEPTH, list) != DEPTH ||
	    syscall(SYS_io_getevents, s->aio, DEPTH, DEPTH, done, NULL) != DEPTH)
		return -EIO;
	for (i = 0; i < DEPTH; i++)
		if (done[i].res != BLOCK)
			return -EIO;
	return 0;
}

/* Longer than two periods of the sampling clock. */
static int op_compute(struct workload_state *s)
{
	volatile uint64_t x = 0;

	for (uint64_t i = 0; i < 20000000; i++)
		x += i;
	return x ? 0 : -EIO;
}

static int await(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && !status ? 0 : -ECHILD;
}

static int op_fork(struct workload_state *s)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return await(pid);
}

static int op_exec(struct workload_state *s)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	return await(pid);
}

static int enter(const char *dir)
{
	char path[600];
	int fd, err;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	err = fd < 0 || write(fd, "0", 1) != 1 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return err;
}

/* A task's cgroup is made beside our own, entered, left and removed. */
static int op_cgroup(struct workload_state *s)
{
	char dir[560];
	int err;

	snprintf(dir, sizeof(dir), "%s/../task_9", s->path);
	err = mkdir(dir, 0755) ? -errno : 0;
	if (!err)
		err = enter(dir);
	if (!err)
		err = enter(s->path);
	if (rmdir(dir) && !err)
		err = -errno;
	return err;
}

static const struct workload workloads[] = {
	{"switch", 250, 2, 0, NULL, op_switch},	  {"getpid", 5000, 1, 0, NULL, op_getpid},
	{"open", 1000, 1, 0, NULL, op_open},	  {"compute", 1, 1, 0, NULL, op_compute},
	{"udp", 300, 2, 0, open_udp, op_message}, {"tcp", 200, 2, 0, open_tcp, op_message},
	{"read", 20, 1, 0, open_read, op_read},	  {"reads", 4, DEPTH, 0, open_reads, op_reads},
	{"fork", 10, 1, 0, NULL, op_fork},	  {"exec", 4, 1, 0, NULL, op_exec},
	{"cgroup", 1, 1, 8, NULL, op_cgroup},
};

const struct workload *workload__find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		if (!strcmp(workloads[i].name, name))
			return &workloads[i];
	return NULL;
}

void workload__close(struct workload_state *s)
{
	int i;

	if (s->aio)
		syscall(SYS_io_destroy, s->aio);
	s->aio = 0;
	for (i = 0; i < 2; i++) {
		if (s->fd[i] >= 0)
			close(s->fd[i]);
		s->fd[i] = -1;
	}
	free(s->buf);
	s->buf = NULL;
}
