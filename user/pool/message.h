/* SPDX-License-Identifier: GPL-2.0-only */
/* Results on their way from one process of ours to another, or through a buffer. */
#ifndef JP_POOL_MESSAGE_H
#define JP_POOL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message {
	uint8_t *p;
	size_t len, room, at;
	bool bad; /* no memory, or taken more than there is */
};

/* An empty message, in the room there is. */
void message__begin(struct message *w);
void message__put(struct message *w, const void *p, size_t n);
void message__put_text(struct message *w, const char *s);
const void *message__take(struct message *w, size_t n); /* NULL: there is no more */
const char *message__take_text(struct message *w);	/* "" when there is none */
int message__send(int fd, const struct message *w);
/* The same as send_fully does it. */
int message__send_socket(int fd, const struct message *w);
/* 1: a message is in *w; 0: the other end is gone; -errno. */
int message__receive(int fd, struct message *w);

#endif
