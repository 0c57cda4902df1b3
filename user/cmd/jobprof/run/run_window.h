/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "jobprof run" without root: the window of a profiled step in which the command ran. */
#ifndef JP_CMD_JOBPROF_RUN_WINDOW_H
#define JP_CMD_JOBPROF_RUN_WINDOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "cmd/jobprof/run/run_user.h"
#include "hdf5/nodestep.h"

struct journal_file {
	const struct nodestep_window *window;
	char dir[256], path[300];
	int dir_fd, journal_fd; /* -1: not open */
	bool is_copy;
};

/* Makes a file of a journal, in a directory of its own below TMPDIR. The journal is a file, or a
 * pipe that is read to its end; for window see nodestep__build(). 0 or an error;
 * journal_file__remove() in all cases. */
int journal_file__make(struct journal_file *f, int journal, const struct nodestep_window *window);
void journal_file__remove(struct journal_file *f);

/* The columns of Step and Tasks/<n> that are read, in the order of their names in run_window.c. */
enum window_column {
	WINDOW_TIME_NS,
	WINDOW_CPU,
	WINDOW_USER,
	WINDOW_SYSTEM,
	WINDOW_WAIT,
	WINDOW_DISK_WAIT,
	WINDOW_VOLUNTARY,
	WINDOW_FORCED,
	WINDOW_READ,
	WINDOW_WRITE,
	WINDOW_DISK_READ,
	WINDOW_DISK_WRITE,
	WINDOW_NET_RX,
	WINDOW_NET_TX,
	WINDOW_PEAK,
	N_WINDOW_COLUMNS
};

enum window_table { WINDOW_STEP, WINDOW_TASK, N_WINDOW_TABLES };

/* What a step and this process's task of it have used since the step's start; NaN: not known. */
struct window_totals {
	char step[64]; /* "42.0" */
	int64_t time_ns;
	double v[N_WINDOW_TABLES][N_WINDOW_COLUMNS];
};

struct window {
	char **argv;
	char *command; /* argv as one line, or NULL */
	uint32_t task; /* JPC_UNKNOWN: not known */
	double cores;  /* that this process may use; NaN: not known */
	int64_t begin_ns;
	int status; /* exit status as a shell has it */
	struct window_totals before, after;
	int journal;	   /* a pipe with the step's journal; -1: it cannot be had */
	struct rusage use; /* of the command */
};

/*
 * Runs the command between two marks in the step of this process, and prints what held the step
 * back meanwhile and what the step used; json: a file for the same as JSON, or NULL. option: a
 * given option that needs root, or NULL. Returns the exit status of "jobprof run".
 */
int run_window__run(char **argv, const char *option, const char *json, bool quiet);

/* Finds out, before there is anything to write, whether the user may write the file. "-" is
 * standard output. Logs. 0 or 1. */
int run_json__try(const struct run_user *u, const char *path);
/* Writes what fn writes to the user's file. fn returns 0, or has logged an error. Logs. 0 or 1. */
int run_json__write(const struct run_user *u, const char *path, int (*fn)(void *arg, FILE *out),
		    void *arg);

#endif
