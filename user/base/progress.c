/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the line of progress on a terminal. */
#include "base/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define WIDTH	 30
#define DRAW_NS	 (NSEC_PER_SEC / 10)
#define QUIET_NS NSEC_PER_SEC

void progress__begin(struct progress *p, const char *activity, uint64_t total)
{
	*p = (struct progress){
		.activity = activity,
		.total = total ? total : 1,
		.start_ns = clock__mono_ns(),
		.on = total && isatty(STDERR_FILENO) == 1,
	};
	p->next_ns = p->start_ns + QUIET_NS;
}

void progress__at(struct progress *p, uint64_t done)
{
	static const char full[] = "##############################";
	uint64_t now, left;
	int bar;

	if (!p->on)
		return;
	now = clock__mono_ns();
	if (now < p->next_ns)
		return;
	p->next_ns = now + DRAW_NS;
	done = done > p->total ? p->total : done;
	bar = (int)(done * WIDTH / p->total);
	left = done ? (now - p->start_ns) / done * (p->total - done) / NSEC_PER_SEC : 0;
	fprintf(stderr, "\r%s [%.*s%*s] %llu of %llu, %llu s left \033[K", p->activity, bar, full,
		WIDTH - bar, "", (unsigned long long)done, (unsigned long long)p->total,
		(unsigned long long)left);
	p->shown = true;
}

void progress__clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
