/* SPDX-License-Identifier: GPL-2.0-only */
/* What a page leaves open that a family would answer which was not recorded. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

#define MUCH	    0.1	 /* of the core time that was computed */
#define MUCH_KERNEL 0.2	 /* of the CPU time */
#define MUCH_DISK   0.02 /* of the core time that threads waited for a disk */

static bool computes(const struct facts *f)
{
	return facts__job(f, FACT_JOB_cpu_share) >= MUCH;
}

static bool calls_much(const struct facts *f)
{
	return facts__job(f, FACT_JOB_system_s) >= MUCH_KERNEL * facts__job(f, FACT_JOB_cpu_s) ||
	       facts__job(f, FACT_JOB_disk_wait_s) >= MUCH_DISK * facts__job(f, FACT_JOB_core_s);
}

static bool has_ranks(const struct facts *f)
{
	return f->count[SCOPE_TASK] > 1 && computes(f);
}

static const struct question {
	const char *family, *text;
	bool (*matters)(const struct facts *f);
} questions[] = {
	{"sample", "which libraries ran", computes},
	{"stack", "which functions ran", computes},
	{"files", "calls for files", calls_much},
	{"burst", "how even ranks compute", has_ranks},
};

static bool was_left_out(const struct model_job *j, const char *family)
{
	const struct model_attr *mode;
	char name[32];

	snprintf(name, sizeof(name), "Mode %s", family);
	mode = model_job__attr(j, name);
	return mode && mode->text && str__starts(mode->text, "off: not asked for");
}

void report_open__print(const struct report *r, FILE *out)
{
	/* not of a run inside a step, which takes the step's series */
	bool is_run = model_job__attr(r->job, "Command Line");
	char text[256];
	int len = 0;

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		const struct question *q = &questions[i];

		if (!q->matters(r->facts) || !was_left_out(r->job, q->family))
			continue;
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%s (%s)",
				len	 ? ", "
				: is_run ? "run --deep also tells: "
					 : "srun --jobprof=deep also tells: ",
				q->text, q->family);
	}
	if (len)
		report_text__paragraph(out, text, 0, 0);
}
