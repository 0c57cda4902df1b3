/* SPDX-License-Identifier: GPL-2.0-only */
/* What jobprof calibrate has measured, and the ways in which it is shown. */
#ifndef JP_CMD_JOBPROF_CALIBRATE_H
#define JP_CMD_JOBPROF_CALIBRATE_H

#include <stdio.h>

#include "peaks/measure.h"

#define CALIBRATION_WARNINGS 16

struct calibration {
	char node[256];
	unsigned cpus, online;	 /* that may be used; of the node */
	unsigned cores, sockets; /* of the CPUs that may be used; 0: not known */
	double load;		 /* average of a minute, before */
	double busy, steal;	 /* parts of all CPUs: before, by others; during the measures */
	bool asked[MEASURE_GROUPS];
	struct measures m;
	char warning[CALIBRATION_WARNINGS][256];
	unsigned nwarnings;
};

/* 0 or -ENOMEM. */
int calibration__print_json(const struct calibration *c, FILE *out);
void calibration__print_text(const struct calibration *c, FILE *out);
/*
 * Puts the peaks into the section of the nodes in the file, which is read back before it takes the
 * place of the old one. 0; -EINVAL: the list is none, or the file says otherwise behind that
 * section; -errno. Logged.
 */
int calibration__write(const struct calibration *c, const char *path, const char *nodes);
/* Whether that is possible, as far as it can be known before there are peaks. As above. */
int calibration__may_write(const struct calibration *c, const char *path, const char *nodes);

#endif
