/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobprof.h: marks and values of a program's own in the profile of its step.
 *
 *	jobprof_mark("phase 2");
 *
 *	static const char *const columns[] = {"Residual", "Cells[1e6]", "Iterations+"};
 *	int solver = jobprof_series("solver", 3, columns);
 *	jobprof_add(solver, residual, cells / 1e6, 12);
 *
 * Marks and rows go to jobprofd(8) on this node, which finds the step by the sender's cgroup. No
 * function waits (apart from jobprof_live()), prints, ends the program, changes errno or leaves a
 * descriptor to programs that are executed; without jobprofd, or outside of a job, a call costs
 * some 50 ns. Marks and rows that could not be sent are counted. All functions may be called from
 * several threads, and after fork(2): the child has a connection of its own. None may be called
 * from a signal handler.
 */
#ifndef JOBPROF_LIB_H
#define JOBPROF_LIB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JOBPROF_COLUMNS_MAX 128 /* of one series */
#define JOBPROF_SERIES_MAX  64	/* of one process */
#define JOBPROF_REGIONS_MAX 256 /* of one process */

/*
 * A mark at this instant, or at a unix time in ns, in the table Marks. name is 1 to 63 bytes.
 * 0: sent. -EINVAL: bad name. All other negative numbers are losses: -ENOTCONN: there is no
 * jobprofd; -ESRCH: this process is in no step that is profiled; -EAGAIN: jobprofd is behind.
 */
int jobprof_mark(const char *name);
int jobprof_mark_at(const char *name, int64_t unix_ns);

/*
 * A table User/<name> of n columns of doubles, each given as NAME or NAME[UNIT], and with "+" after
 * it if its values are changes since the row before (else they are values at the instant). Names
 * are letters, digits and "_", at most 47 of them, and 63 of the series; a unit is at most 13
 * bytes. Sends nothing, keeps no pointer; the same name with the same columns is the same series.
 * The number of the series, from 0; -EINVAL; -EEXIST: the name has other columns; -ENOSPC: too
 * many; -ENOMEM.
 */
int jobprof_series(const char *name, unsigned n, const char *const columns[]);

/* One row at this instant, or at a unix time in ns: n values, as many as there are columns. NaN is
 * an unknown one. Returns as jobprof_mark() does; -EINVAL also if jobprofd refuses the series. */
int jobprof_add_row(int series, const double values[], unsigned n);
int jobprof_add_row_at(int series, int64_t unix_ns, const double values[], unsigned n);

/*
 * The number of the region of that name (1 to 63 bytes, as of a mark): a part of the program that
 * is executed many times, such as one iteration; jobprof fold shows what happens inside. The same
 * name is the same region. Keeps no pointer. -EINVAL; -ENOSPC: there are JOBPROF_REGIONS_MAX.
 */
int jobprof_region(const char *name);

/*
 * This thread enters and leaves a region. Regions may be nested. Some 50 ns: the instant goes to
 * memory that jobprofd reads with its next row. Instants that it did not read in time are lost, and
 * counted in the profile. A number that is no region's does nothing.
 */
void jobprof_region_begin(int region);
void jobprof_region_end(int region);

/* How many marks and rows of this process were lost since it began. */
uint64_t jobprof_dropped(void);

/* A table of jobprof_live(): its last rows. */
struct jobprof_table {
	const char *step;   /* "0", "batch" */
	const char *series; /* "Step", "Tasks/3", "User/solver" */
	unsigned ncols;
	unsigned nrows;
	const struct jobprof_live_column {
		const char *name;
		const char *unit; /* "": none */
		int is_double;
	} * columns;
	const union jobprof_cell {
		uint64_t u;
		double d;
	} * cells; /* nrows times ncols */
};

/*
 * The last rows of a job's steps on this node: of the step of the caller with job 0, else of the
 * job with that id (its user's, or any for administrators), all of its steps or the one of that
 * name. fn is called for each table, which lasts until fn returns. Waits at most
 * timeout_ms. Returns the number of tables, or a negative errno with jobprofd's reason there (may
 * be NULL): -ENOTCONN, -ESRCH, -EACCES, -ETIMEDOUT, -EPROTO.
 */
int jobprof_live(uint32_t job, const char *step, unsigned timeout_ms,
		 void (*fn)(const struct jobprof_table *t, void *arg), void *arg, char *reason,
		 size_t len);

#ifdef __cplusplus
}
#if __cplusplus >= 201103L
/* jobprof_add(series, value, ...) */
template <class... Values> inline int jobprof_add(int series, Values... values)
{
	const double row[] = {static_cast<double>(values)...};

	return jobprof_add_row(series, row, sizeof...(values));
}
#endif
#else
/* jobprof_add(series, value, ...): numbers of any type. */
#define jobprof_add(series, ...)                                 \
	jobprof_add_row((series), (const double[]){__VA_ARGS__}, \
			sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
#endif

#endif
