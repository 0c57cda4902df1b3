/* SPDX-License-Identifier: GPL-2.0-only */
/* For libraries that print to stdout and stderr by themselves. */
#ifndef JP_SENSOR_CORE_OUTPUT_CAPTURE_H
#define JP_SENSOR_CORE_OUTPUT_CAPTURE_H

struct output_capture {
	int out, err; /* duplicates of stdout and stderr */
	int captured; /* what was printed meanwhile */
};

/* Between the two calls the process's stdout and stderr are captured, and then logged for
 * LogLevel=debug. For moments only: the output of other threads is captured as well. */
void output_capture__begin(struct output_capture *q);
void output_capture__end(struct output_capture *q);

#endif
