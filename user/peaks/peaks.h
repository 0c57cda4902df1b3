/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room peaks: the highest rates of a node. jobprof calibrate measures them (measure.h) and
 * writes them into a file (peaks__replace()); analyses read them here and compare jobs with them.
 *
 * The file has the syntax of base/config/conf_file.h. "Nodes=LIST" begins the keys of the nodes in
 * LIST, a host list or names with a '*'; keys before the first Nodes are those of all nodes. Where
 * a key is given several times for a node, the last one counts. A peak is VALUE or VALUE,MIN,MAX,
 * numbers with an SI prefix: 41.5G.
 */
#ifndef JP_PEAKS_PEAKS_H
#define JP_PEAKS_PEAKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum peak_kind {
	PEAK_MEMORY,	    /* MemBandwidthPeak, B/s */
	PEAK_FLOPS,	    /* FlopsPeak, FLOP/s in double precision */
	PEAK_DISK_WRITE,    /* DiskWritePeak, B/s */
	PEAK_DISK_READ,	    /* DiskReadPeak, B/s */
	PEAK_DISK_READ_OPS, /* DiskReadOpsPeak, random reads of 4 KiB in a second */
	PEAK_NETWORK,	    /* NetworkPeak, B/s in one direction */
	PEAK_IPC,	    /* IpcPeak, instructions per cycle; by hand only */
	PEAK_CPUS, /* CPUs, Cores, Sockets: with how many the first two peaks were measured */
	PEAK_CORES,
	PEAK_SOCKETS,
	PEAK_KINDS
};

/* NaN: not known. */
struct peak {
	double value;	 /* the median of the passes that were measured, or as given by hand */
	double min, max; /* of the passes; NaN where only the value is given */
};

struct peaks {
	struct peak of[PEAK_KINDS];
};

/* The key in the file, and its unit; "" has none. */
const char *peak__key(enum peak_kind kind);
const char *peak__unit(enum peak_kind kind);

/* The file that is read and written unless another is asked for: $JOBPROF_PEAKS, else the one of
 * the installation. */
const char *peaks__default_path(void);
/* Makes all peaks unknown. */
void peaks__init(struct peaks *p);
/*
 * Reads the peaks of a node; path NULL: from the default file. 0; -ENOENT: there is no such file,
 * which is not logged. Logged, and all peaks are unknown then: -EINVAL: something in the file is
 * wrong; -EPERM and other -errno: it cannot be read, see conf_file__read().
 */
int peaks__read(struct peaks *p, const char *path, const char *node);
/* A number made of all that the default file says; 0: there is no such file. */
uint64_t peaks__digest(void);

#define PEAKS_NODES    "Nodes" /* the key that begins a section */
#define PEAKS_LIST_MAX 4096u   /* bytes of its value */

/* Whether the list of a section names the node: 1 or 0; -EINVAL: it is no list, and err has the
 * reason; -ENOMEM. */
int peaks__list_has(const char *list, const char *node, char *err, unsigned errlen);
/* Prints "Key=Value\n", or nothing if the peak is unknown. */
void peak__print(enum peak_kind kind, const struct peak *p, FILE *f);
/*
 * Copies a file of peaks, and puts the known peaks of p into the section of exactly this list,
 * which is appended where there is none. All other lines stay as they are. from NULL: there is no
 * file yet. note: a line of text that is put before the peaks as a comment. 0, -ENOMEM or -EIO.
 */
int peaks__replace(FILE *from, FILE *to, const char *list, const struct peaks *p, const char *note);

#endif
