/* SPDX-License-Identifier: GPL-2.0-only */
/* Results on their way from one process of ours to another, or through a buffer. */
#ifndef JP_POOL_WIRE_H
#define JP_POOL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
	uint8_t *p;
	size_t len, room, at;
	bool bad; /* no memory, or taken more than there is */
};

/* An empty message, in the room there is. */
void wire__begin(struct wire *w);
void wire__put(struct wire *w, const void *p, size_t n);
void wire__put_text(struct wire *w, const char *s);
const void *wire__take(struct wire *w, size_t n); /* NULL: there is no more */
const char *wire__take_text(struct wire *w);	  /* "" when there is none */
int wire__send(int fd, const struct wire *w);
/* The same as send_fully does it. */
int wire__send_socket(int fd, const struct wire *w);
/* 1: a message is in *w; 0: the other end is gone; -errno. */
int wire__receive(int fd, struct wire *w);

#endif
