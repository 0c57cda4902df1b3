/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of what sensors say, made of the channels that there are. */
#ifndef JP_DAEMON_SENSOR_TABLES_H
#define JP_DAEMON_SENSOR_TABLES_H

#include <stdbool.h>

struct node;

/* The tables of the channels known by now. 0 or -ENOMEM. */
int sensor_tables__update(struct node *n);
void sensor_tables__free(struct node *n);
/* Whether steps' files have a series of that name from here. */
bool sensor_tables__has(const struct node *n, const char *series);

#endif
