/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files in slurm.conf's syntax: Key=Value pairs separated by blanks, keys without regard to case,
 * values in double quotes where they hold blanks, '#' starts a comment and "\#" does not, a
 * backslash at the end of a line continues it, "Include FILE" reads another file, relative to this
 * one; in its name %h stands for the host's name, %n for the node's, and %c, as in Slurm, for the
 * cluster's.
 */
#ifndef JP_BASE_CONFIG_CONF_FILE_H
#define JP_BASE_CONFIG_CONF_FILE_H

#include <stdbool.h>

struct conf_pair {
	struct conf_file *from;
	const char *file;
	unsigned line;
	const char *key, *value;
	bool slurm; /* from slurm.conf or acct_gather.conf, or what they include */
};

struct conf_file {
	const char *const *node_name; /* for %n; it may change as pairs are taken */
	const char *const *cluster;   /* for %c, in lower case; NULL or "": not known so far */
	void (*take)(void *ctx, const struct conf_pair *p); /* each pair, in their order */
	void *ctx;
	unsigned errors;  /* number of complaints; a value without sense in Slurm's files is none */
	char first[1400]; /* the first complaint: "FILE has an error in line N: TEXT" */
};

/* Logs what is wrong with a pair, after its file and line, and counts it as an error. */
void __attribute__((format(printf, 2, 3)))
conf_file__complain(const struct conf_pair *p, const char *fmt, ...);

/* 0; -errno: path could not be read; -EPERM: root would read a file that others may write;
 * -ENOTSUP: it is no regular file, or too large. A file that is included and cannot be read counts
 * as an error. */
int conf_file__read(struct conf_file *c, const char *path);
/* A text for people on an error of conf_file__read(). */
const char *conf_file__reason(int err);

#endif
