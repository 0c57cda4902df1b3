/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the job, step and task of a cgroup by its path. One table of layouts serves three readers:
 * layout__compile makes the trie that the kernel walks as directories appear, layout__child walks
 * the same trie here, and layout__parse_rows reads the ids in a whole path.
 */
#ifndef JP_IDENTITY_LAYOUT_H
#define JP_IDENTITY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jobprof.h"
#include "identity/sluid.h"

/* The id that a component of a path holds. */
enum comp_id {
	COMP_NONE,
	COMP_NODE,    /* the slurmd's node name where the star is; absent in some builds */
	COMP_UID,     /* uid_<number> */
	COMP_JOB,     /* job_<number> */
	COMP_SLUID,   /* the job's SLUID */
	COMP_STEP,    /* step_<name> */
	COMP_STEPD,   /* slurmstepd's own directory */
	COMP_SPECIAL, /* processes of the step that belong to no task's directory */
	COMP_TASK,    /* task_<number>; local to the node or global, see Slurm's task plugins */
	COMP_NAME,    /* a step of a CgroupPattern, which has a name and no number */
};

#define LAYOUT_COMPS 8
#define LAYOUT_V1    1
#define LAYOUT_V2    2

enum layout_family { LAYOUT_SLURM, LAYOUT_RUN, LAYOUT_PATTERN };

struct layout {
	const char *name;
	enum layout_family family;
	uint8_t on;    /* LAYOUT_V1, LAYOUT_V2 or both */
	bool absolute; /* begins at the hierarchy's root whatever the prefix */
	unsigned n;
	struct {
		const char *glob; /* alternatives separated by '|', each with at most one '*' */
		uint8_t kind;	  /* enum jp_kind */
		uint8_t flags;	  /* JP_COMPONENT_* */
		enum comp_id id;
	} comp[LAYOUT_COMPS];
};

extern const struct layout layouts[];
extern const unsigned n_layouts;

/* The built-in rows of a family: at most max to out; returns how many. */
unsigned layout__rows(enum layout_family family, const struct layout **out, unsigned max);

/*
 * A CgroupPattern: an absolute path whose components hold at most one '*' each. The last one is
 * the step ("/machine.slice/docker-*.scope"). Where a double slash comes before the last component,
 * that one is the tasks', and the component before is the step: "/batch/run-N//rank-*". text is
 * changed and must live as long as out. 0, or -EINVAL with the reason in err.
 */
int layout__from_pattern(struct layout *out, char *text, char *err, size_t errlen);

/*
 * Adds one hierarchy to the trie in components (all zero at first; component 0 is never used; equal
 * components are shared, also between hierarchies). Rows that are not for this cgroup version are
 * left out. prefix is the cgroup below which rows begin ("" or "/": the root); names in it of more
 * than 23 characters are matched by their first and last 23. More specific globs come first, so
 * that the first match is the best one. *root becomes the component of the hierarchy's root
 * directory. 0; -E2BIG: more than JP_COMPONENTS of them, or more than JP_COMPONENT_CHILDREN kinds
 * of directory in one place; -EINVAL: two rows disagree on what a directory is, or a name is too
 * long; -ENOENT: no row is for this version. On an error components is as before.
 */
int layout__compile(const struct layout *const *rows, unsigned n, const char *prefix, bool v2,
		    struct jp_component components[JP_COMPONENTS], unsigned *root);
/* The child of a component to which a directory's name leads, by the kernel's rule; 0: none. */
unsigned layout__child(const struct jp_component *components, unsigned component, const char *name);

/* Slurm's numbers of steps that have a name. */
#define STEP_MAX_NORMAL	 0xfffffff0u
#define STEP_INTERACTIVE 0xfffffffau
#define STEP_BATCH	 0xfffffffbu
#define STEP_EXTERN	 0xfffffffcu
#define STEP_PENDING	 0xfffffffdu
#define STEP_NONE	 0xfffffffeu

struct cgroup_ids {
	const struct layout *row; /* the row that matches furthest */
	enum jp_kind kind;	  /* of the last component that matched */
	char node[65];		  /* Slurm's name of the node, "" unless the path has it */
	bool has_uid;
	uint32_t uid;
	bool has_job; /* job_id is known from the path: not so for SLUID and patterns */
	uint32_t job_id;
	char sluid[SLUID_LEN + 1]; /* "" unless the path has it */
	bool has_step;
	char step_name[65]; /* as in the path; for patterns changed so that it fits into a file name
			     */
	uint32_t step_id;   /* Slurm's number; STEP_NONE for patterns */
	int32_t het_comp;   /* of "<n>+<comp>", else -1 */
	int32_t task;	    /* number in the path, or -1 */
	bool task_special;
	bool is_stepd;
	size_t job_end;	 /* offset in the path where the job's directory ends */
	size_t step_end; /* the same of the step's, 0 without one */
};

/*
 * Reads a cgroup's path ("/a/b", as in /proc/<pid>/cgroup) by n rows. Rows may begin at any depth
 * from the offset `from` on, at the outermost place that reaches a job; what lies below a row's
 * last component is ignored. Only the trie says whether a path is one that we follow: users can
 * make directories of any name where a cgroup has been delegated to them. 0; -ENOENT: it belongs to
 * no job; -EINVAL: it has the shape of a layout with an impossible name in it, or is not a clean
 * path.
 */
int layout__parse_rows(const struct layout *const *rows, unsigned n, const char *path, size_t from,
		       struct cgroup_ids *ids);

/* A decimal number up to max, as Slurm and the kernel print one: no sign, no leading zero. 0 or
 * -EINVAL. */
int layout__number(const char *s, uint32_t max, uint32_t *v);
/* "batch", "extern", "interactive", "TBD", "<n>" or "<n>+<comp>" into Slurm's number. -EINVAL */
int layout__step_id(const char *name, uint32_t *step_id, int32_t *het_comp);

/*
 * The first two parts of Slurm's file name "<jobid>_<step>_<node>.h5": the batch step by name, all
 * others by number. Where the path has no job id, ids->job_id must have been set from elsewhere
 * (SLUID); a pattern's step is "0_<its name>". 0; -E2BIG; -EINVAL: no job or no step.
 */
int layout__step_file_name(const struct cgroup_ids *ids, char *buf, size_t size);

#endif
