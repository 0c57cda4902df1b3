/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprofd's socket. client/protocol.h has its messages. */
#ifndef JP_DAEMON_SOCKET_CONTROL_H
#define JP_DAEMON_SOCKET_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

struct control;
struct daemon;
struct step;

/* Listens at the configured path, and replaces the socket of a dead jobprofd. Logs. -EADDRINUSE:
 * another jobprofd lives; -errno. */
int control__open(struct control **out, struct daemon *d);
/* A descriptor that is readable when control__turn() has work. */
int control__fd(const struct control *c);
/* When a turn is due though the descriptor is not readable; UINT64_MAX: never. NULL is fine. */
uint64_t control__due(const struct control *c);
/* Handles messages that have come, a limited number from each peer. */
void control__turn(struct control *c, uint64_t now_ns);
/* Reads the regions of all processes that have a ring. NULL is fine. */
void control__read_rings(struct control *c, uint64_t now_ns);
/* Reads the regions of the processes of a step that ends: regions that are still open are lost. */
void control__read_last(struct control *c, const struct step *s, uint64_t now_ns);
/* Sends new findings of running steps to those that want them. NULL is fine. */
void control__send_findings(struct control *c, uint64_t now_ns);
/* leave: the socket's file stays, for the jobprofd that takes over. NULL is fine. */
void control__free(struct control *c, bool leave);

#endif
