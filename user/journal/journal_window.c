// SPDX-License-Identifier: GPL-2.0-only
#include "journal/journal_window.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WINDOW_SIZE (64u * 1024)
#define WINDOW_UNIT 4096u

/* A disk that fails, or a file cut short by somebody, is a signal here, where write(2) has an
 * error. */
static __thread sigjmp_buf *on_fault;

static void take_fault(int sig)
{
	if (on_fault)
		siglongjmp(*on_fault, 1);
	signal(sig, SIG_DFL); /* not ours: it comes again */
}

static void guard_faults(void)
{
	struct sigaction now, own = {.sa_handler = take_fault, .sa_flags = SA_NODEFER};

	if (!sigaction(SIGBUS, NULL, &now) && now.sa_handler != take_fault)
		sigaction(SIGBUS, &own, NULL);
}

static void unmap(struct journal_window *w)
{
	if (w->mem)
		munmap(w->mem, w->to - w->from);
	w->mem = NULL;
	w->from = w->to = 0;
}

static bool move(struct journal_window *w, int fd, uint64_t pos)
{
	void *mem;

	unmap(w);
	guard_faults();
	w->from = pos / WINDOW_UNIT * WINDOW_UNIT;
	w->to = w->from + WINDOW_SIZE;
	if (fallocate(fd, 0, pos, w->to - pos))
		return false;
	mem = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, w->from);
	if (mem == MAP_FAILED)
		return false;
	w->mem = mem;
	return true;
}

static bool copy(char *to, const char *frame, size_t len)
{
	sigjmp_buf fault;
	uint64_t header;

	if (sigsetjmp(fault, 0)) {
		on_fault = NULL;
		return false;
	}
	on_fault = &fault;
	memcpy(&header, frame, sizeof(header));
	memcpy(to + sizeof(header), frame + sizeof(header), len - sizeof(header));
	__atomic_store_n((uint64_t *)to, header, __ATOMIC_RELEASE);
	on_fault = NULL;
	return true;
}

bool journal_window__put(struct journal_window *w, int fd, uint64_t pos, const void *frame,
			 size_t len)
{
	if (w->refused || len > WINDOW_SIZE - WINDOW_UNIT)
		return false;
	if ((!w->mem || pos < w->from || pos + len > w->to) && !move(w, fd, pos))
		w->refused = true;
	else if (!copy(w->mem + (pos - w->from), frame, len))
		w->refused = true;
	if (w->refused)
		journal_window__close(w, fd, pos);
	return !w->refused;
}

void journal_window__close(struct journal_window *w, int fd, uint64_t size)
{
	bool grown = w->to > size;

	unmap(w);
	if (grown && ftruncate(fd, size))
		w->refused = true; /* zeros stay at its end, which readers take for none */
}
