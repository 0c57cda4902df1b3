/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A message from one process of this program to another: values one after the other in a buffer. */
#ifndef JP_POOL_MESSAGE_H
#define JP_POOL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins zeroed. */
struct message {
	uint8_t *p;
	size_t len, room; /* bytes of content, of memory */
	size_t at;	  /* the next byte to be taken */
	bool bad;	  /* memory ran out, or more was taken than the message has */
};

/* Empties the message and keeps its memory. */
void message__begin(struct message *m);
void message__free(struct message *m);

void message__put(struct message *m, const void *p, size_t n);
void message__put_text(struct message *m, const char *text);

/* The next n bytes, in the message's memory, aligned to 8. NULL: the message has no more. */
const void *message__take(struct message *m, size_t n);
/* The next text; "" where there is none. */
const char *message__take_text(struct message *m);

/* 0 or -errno; -ENOMEM for a bad message. */
int message__send(int fd, const struct message *m);
/* 1: *m is a message; 0: the other end is closed, or the message was cut short; -errno. */
int message__receive(int fd, struct message *m);

#endif
