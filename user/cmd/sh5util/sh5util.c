/* SPDX-License-Identifier: GPL-2.0-only */
/* sh5util: the program under Slurm's name. A mode runs once for each job that -j names. */
#include "cmd/sh5util/sh5util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "identity/slurmjob.h"

/* Files of Slurm's own plugin have no SLUID: squeue knows the job for a while after its end. */
static bool ask_slurm(struct jobspec *specs, unsigned n)
{
	struct slurmjob job;

	if (specs->kind != JOBSPEC_SLUID || !slurmjob__ask(specs->sluid, 0, &job))
		return false;
	for (unsigned i = 0; i < n; i++) {
		specs[i].kind = JOBSPEC_JOB;
		specs[i].job = job.id;
	}
	return true;
}

static int do_job_of(struct sh5_options *o, const struct jobspec *specs, unsigned n)
{
	static int (*const modes[])(const struct sh5_options *o, const struct input_file *f) = {
		[SH5_EXTRACT] = sh5__extract,
		[SH5_ITEMS] = sh5__items,
		[SH5_LIST] = sh5__list,
	};
	struct input_file file;
	int status, err;

	if (o->mode == SH5_MERGE)
		return sh5__merge(o, specs, n);
	err = input_file__of(&file, specs, n, o->input);
	if (err)
		return err == -ENOENT ? SH5_UNRESOLVED : SH5_USAGE;
	o->sel.steps = file.steps;
	o->sel.nsteps = file.nsteps;
	status = modes[o->mode](o, &file);
	input_file__free(&file);
	return status;
}

static int do_job(struct sh5_options *o, struct jobspec *specs, unsigned n)
{
	int status = do_job_of(o, specs, n);

	if (status == SH5_UNRESOLVED && ask_slurm(specs, n))
		status = do_job_of(o, specs, n);
	if (status != SH5_UNRESOLVED)
		return status;
	sh5__log_unresolved(specs);
	return SH5_USAGE;
}

/* Brings the specs of the job of specs[0] to the front, in their order. Returns how many. */
static unsigned same_job_first(struct jobspec *specs, unsigned n)
{
	unsigned same = 1;

	for (unsigned i = 1; i < n; i++) {
		struct jobspec s = specs[i];

		if (!jobspec__same_job(&specs[0], &s))
			continue;
		memmove(&specs[same + 1], &specs[same], (i - same) * sizeof(s));
		specs[same++] = s;
	}
	return same;
}

static int do_jobs(struct sh5_options *o)
{
	unsigned same = same_job_first(o->specs, o->nspecs);
	int status = 0;

	o->several = same < o->nspecs;
	if (o->several && (o->output || (o->input && o->mode != SH5_MERGE))) {
		log_error("error: --input and --output name one file, and --jobs several jobs");
		return SH5_USAGE;
	}
	for (unsigned at = 0; at < o->nspecs; at += same) {
		int one;

		same = same_job_first(o->specs + at, o->nspecs - at);
		one = do_job(o, o->specs + at, same);
		if (!status)
			status = one;
	}
	return status;
}

int sh5util__main(int argc, char **argv)
{
	struct sh5_options o = {.sel = {.by_name = true}};
	int status;

	log__init("sh5util", LOGL_INFO);
	if (sh5__options(argc, argv, &o, &status))
		status = do_jobs(&o);
	string_list__free(&o.nodes);
	free(o.specs);
	free(o.user);
	return status;
}
