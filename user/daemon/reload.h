/* SPDX-License-Identifier: GPL-2.0-only */
/* What SIGHUP asks for: the configuration is read again. */
#ifndef JP_DAEMON_RELOAD_H
#define JP_DAEMON_RELOAD_H

struct daemon;

void daemon_reload(struct daemon *d);

#endif
