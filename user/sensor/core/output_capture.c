// SPDX-License-Identifier: GPL-2.0-only
/* Captures what libraries print to stdout and stderr. */
#include "sensor/core/output_capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

void output_capture__begin(struct output_capture *q)
{
	fflush(stdout);
	q->captured = memfd_create("said", MFD_CLOEXEC);
	q->out = q->err = -1;
	if (q->captured < 0)
		return;
	q->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	q->err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (q->out >= 0)
		dup2(q->captured, STDOUT_FILENO);
	if (q->err >= 0)
		dup2(q->captured, STDERR_FILENO);
}

static void log_captured(int fd)
{
	char text[2048], *rest = text, *line;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	while ((line = strsep(&rest, "\n")))
		if (*line)
			log_debug("a library says: %s", line);
}

static void put_back(int *fd, int where)
{
	if (*fd < 0)
		return;
	dup2(*fd, where);
	close(*fd);
	*fd = -1;
}

void output_capture__end(struct output_capture *q)
{
	fflush(stdout);
	put_back(&q->out, STDOUT_FILENO);
	put_back(&q->err, STDERR_FILENO);
	if (q->captured < 0)
		return;
	log_captured(q->captured);
	close(q->captured);
}
