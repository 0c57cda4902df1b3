/* SPDX-License-Identifier: GPL-2.0-only */
/* Libraries of others that print what nobody asked for. */
#ifndef JP_SENSOR_CORE_QUIET_H
#define JP_SENSOR_CORE_QUIET_H

struct quiet {
	int out, err; /* what stdout and stderr were */
	int said;     /* what was printed meanwhile */
};

/* Between the two, what the process prints to stdout and stderr is kept from both, and logged for
 * LogLevel=debug. For moments only: other threads print there too. */
void quiet__begin(struct quiet *q);
void quiet__end(struct quiet *q);

#endif
