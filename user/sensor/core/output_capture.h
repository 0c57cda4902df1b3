/* SPDX-License-Identifier: GPL-2.0-only */
/* For libraries that print to stdout and stderr by themselves. */
#ifndef JP_SENSOR_CORE_OUTPUT_CAPTURE_H
#define JP_SENSOR_CORE_OUTPUT_CAPTURE_H

struct output_capture {
	int out, err; /* what stdout and stderr were */
	int said;     /* what was printed meanwhile */
};

/* Between the two, what the process prints to stdout and stderr is kept from both, and logged for
 * LogLevel=debug. For moments only: other threads print there too. */
void output_capture__begin(struct output_capture *q);
void output_capture__end(struct output_capture *q);

#endif
