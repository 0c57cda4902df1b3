/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes its own memory map unreadable, as any user may who can mount a file system with FUSE: a
 * thread waits with the lock of the memory map held for a page that is never delivered, and
 * another one wants to map memory, so that nobody gets the lock any more. Who then reads
 * /proc/<pid>/environ, cmdline or maps of the process waits until the process is killed, and so do
 * ps and pgrep. With -r the lock is that of a file which jobprofd has made and given away: the
 * memory of the process's regions. A write to the file from such a page never ends, and nobody else
 * can write there.
 */
#include "tests/tools/tool.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "user/client/protocol.h"

static const char help[] = "[-o FILE] [-c] [-s] [-r SOCKET]\n"
			   "  -o FILE  write the process id to FILE when the memory map is locked\n"
			   "  -c       a child process does it, this one waits for the child\n"
			   "  -s       a thread of it computes while the map is locked\n"
			   "  -r SOCKET  not the map: the file of a region ring of jobprofd's\n"
			   "Ends when the process, or the child, is killed.";

#define AT	  "/mnt"
#define FILE_SIZE (64 * 4096)
#define FILE_ID	  2

struct answer {
	struct fuse_out_header head;
	union {
		struct fuse_init_out init;
		struct fuse_attr_out attr;
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} body;
};

static void fill_attr(struct fuse_attr *a, uint64_t id)
{
	a->ino = id;
	a->mode = id == FILE_ID ? S_IFREG | 0644 : S_IFDIR | 0755;
	a->nlink = 1;
	a->size = id == FILE_ID ? FILE_SIZE : 0;
}

/* Bytes of the answer's body, or -errno. */
static int answer_to(const struct fuse_in_header *in, struct answer *a)
{
	const struct fuse_init_in *init = (const void *)(in + 1);

	switch (in->opcode) {
	case FUSE_INIT:
		a->body.init.major = FUSE_KERNEL_VERSION;
		a->body.init.minor = init->minor < FUSE_KERNEL_MINOR_VERSION
					     ? init->minor
					     : FUSE_KERNEL_MINOR_VERSION;
		a->body.init.max_write = 4096;
		return sizeof(a->body.init);
	case FUSE_LOOKUP:
		a->body.entry.nodeid = FILE_ID;
		fill_attr(&a->body.entry.attr, FILE_ID);
		return sizeof(a->body.entry);
	case FUSE_GETATTR:
		fill_attr(&a->body.attr.attr, in->nodeid);
		return sizeof(a->body.attr);
	case FUSE_OPEN:
		return sizeof(a->body.open);
	case FUSE_READ:
		/* the first try was without the lock, and the kernel comes back with it */
		return -EIO;
	default:
		return -ENOSYS;
	}
}

/* Of all processes: a thread is ready to compute, and may. */
static volatile bool *ready, *locked;

static bool write_ring; /* in place of locking the map */

/* The other thread waits for the lock by then. */
static void say_hung(const char *state)
{
	char pid[16];
	int out;

	sleep_s(0.3);
	*locked = true;
	if (!state)
		return;
	out = open(state, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (out < 0)
		die("cannot write %s: %s", state, strerror(errno));
	snprintf(pid, sizeof(pid), "%d\n", getppid());
	write_all(out, pid, strlen(pid));
	close(out);
}

static void __attribute__((noreturn)) serve(int fd, const char *state)
{
	static char buf[FUSE_MIN_READ_BUFFER + 4096];
	const struct fuse_in_header *in = (const void *)buf;
	unsigned reads = write_ring; /* the first of a map is another one */

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct answer a = {};
		int n;

		if (read(fd, buf, sizeof(buf)) < (ssize_t)sizeof(*in)) {
			if (errno == EINTR || errno == EAGAIN || errno == ENOENT)
				continue;
			_exit(0);
		}
		if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET ||
		    in->opcode == FUSE_INTERRUPT)
			continue;
		if (in->opcode == FUSE_READ && ++reads > 1) {
			say_hung(state);
			continue;
		}
		n = answer_to(in, &a);
		a.head.unique = in->unique;
		a.head.error = n < 0 ? n : 0;
		a.head.len = sizeof(a.head) + (n < 0 ? 0 : n);
		if (write(fd, &a, a.head.len) < 0)
			_exit(1);
	}
}

static int mount_fuse(void)
{
	char opts[128];
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("cannot have mounts of its own: %s", strerror(errno));
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("cannot open /dev/fuse: %s", strerror(errno));
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd, getuid(),
		 getgid());
	if (mount("jphang", AT, "fuse.jphang", MS_NOSUID | MS_NODEV, opts))
		die("cannot mount FUSE: %s", strerror(errno));
	return fd;
}

static void *touch(void *at)
{
	return (void *)(uintptr_t) * (volatile char *)at;
}

/*
 * A jump to itself, in a file that nobody has looked at before the lock, for nothing ran there; the
 * page is there before the lock.
 */
static void (*endless_code(void))(void)
{
#ifdef __x86_64__
	static const uint8_t jump[] = {0xeb, 0xfe};
#else
	static const uint8_t jump[] = {0, 0, 0, 0x14};
#endif
	int file = memfd_create("endless", MFD_CLOEXEC);
	volatile uint8_t *at;

	if (file < 0)
		die("memfd_create: %s", strerror(errno));
	write_all(file, jump, sizeof(jump));
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
	if (at == MAP_FAILED || at[0] != jump[0])
		die("mmap: %s", strerror(errno));
	return (void (*)(void))(uintptr_t)at;
}

static void *spin(void *unused)
{
	void (*run)(void) = endless_code();

	while (!*locked) {
		sleep_s(0.01);
		*ready = true;
	}
	run();
	return unused;
}

static int connected(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (s < 0 || connect(s, (struct sockaddr *)&to, sizeof(to)))
		die("cannot connect to %s: %s", path, strerror(errno));
	return s;
}

static bool ask_for_ring(int s)
{
	const struct jpc_ring_message m = {{.magic = JPC_MAGIC,
					    .version = JPC_VERSION,
					    .type = JPC_RING,
					    .length = sizeof(m)}};

	return send(s, &m, sizeof(m), MSG_NOSIGNAL) == sizeof(m);
}

/* The descriptor of the ring; the first message asks for the ring, and later ones have it read. */
static int take_ring(int s)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control;
	char text[512];
	struct iovec v = {text, sizeof(text)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	int fd;

	if (!ask_for_ring(s) || recvmsg(s, &m, MSG_CMSG_CLOEXEC) <= 0 || !CMSG_FIRSTHDR(&m))
		die("jobprofd gives no ring");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static int ring_fd;

static void *write_to_ring(void *page)
{
	if (pwrite(ring_fd, page, 8, offsetof(struct jpc_ring, lost)) < 0)
		die("write to the ring: %s", strerror(errno));
	return NULL;
}

/* Has the ring read while the write goes on, and jobprofd is there. */
static void __attribute__((noreturn)) hold_ring(const char *socket, void *page)
{
	int s = connected(socket);
	pthread_t writer;

	ring_fd = take_ring(s);
	if (pthread_create(&writer, NULL, write_to_ring, page))
		die("cannot make a thread");
	for (;;) {
		sleep_s(0.1);
		(void)ask_for_ring(s);
	}
}

static void __attribute__((noreturn)) hang(const char *state, bool spins, const char *socket)
{
	int fd = mount_fuse(), file;
	pthread_t toucher, spinner;
	void *at;

	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ready == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	locked = ready + 1;
	*ready = !spins;
	if (!fork())
		serve(fd, state);
	close(fd); /* with the server's end ends the file system */
	file = open(AT "/f", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		die("cannot open " AT "/f: %s", strerror(errno));
	at = mmap(NULL, FILE_SIZE, PROT_READ, MAP_PRIVATE, file, 0);
	if (at == MAP_FAILED || madvise(at, FILE_SIZE, MADV_RANDOM))
		die("mmap: %s", strerror(errno));
	if (socket)
		hold_ring(socket, at);
	if (spins && pthread_create(&spinner, NULL, spin, NULL))
		die("cannot make a thread");
	while (!*ready)
		sleep_s(0.01);
	if (pthread_create(&toucher, NULL, touch, at))
		die("cannot make a thread");
	sleep_s(0.1); /* it has the lock by now, for reading */
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	die("the memory map is not locked");
}

int main(int argc, char **argv)
{
	const char *state = NULL, *socket = NULL;
	bool child = false, spins = false;
	const struct opt opts[] = {
		OPT('o', &state), OPT('c', &child), OPT('s', &spins), OPT('r', &socket), {}};

	options(argc, argv, opts, help);
	write_ring = socket;
	if (child && fork()) {
		wait(NULL);
		return 0;
	}
	hang(state, spins, socket);
}
