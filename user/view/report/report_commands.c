/* SPDX-License-Identifier: GPL-2.0-only */
/* Which programs used the CPU. */
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

#define FIRST_PAGE  4
#define LEAST_SHARE 0.01 /* of the CPU time; --all has the others */

static void print_command(const struct job_command *c, double all, FILE *out)
{
	report_number cpu, share, count, peak;
	int pad = 16 - (int)strnlen(c->name, 16);

	fputs("  ", out);
	print__escaped(out, c->name);
	fprintf(out, "%*s %10s %6s", pad, "", report_text__time(c->cpu_s, cpu),
		report_text__share(c->cpu_s / all, share));
	if (c->processes > 0) /* none ended under the name of what another program replaced */
		fprintf(out, "  %s process%s", report_text__count(c->processes, count),
			c->processes == 1 ? "" : "es");
	if (!isnan(c->peak_mb))
		fprintf(out, "%s peak %s", c->processes > 0 ? "," : " ",
			report_text__mb(c->peak_mb, peak));
	putc('\n', out);
}

void report_commands__print(const struct report *r, FILE *out)
{
	const struct model_job *j = r->job;
	double all = 0;
	unsigned shown = 0;

	for (unsigned i = 0; i < j->ncommands; i++)
		all += isnan(j->commands[i].cpu_s) ? 0 : j->commands[i].cpu_s;
	while (shown < j->ncommands &&
	       (j->commands[shown].cpu_s > 0 || j->commands[shown].processes > 0) &&
	       (r->all || (shown < FIRST_PAGE && j->commands[shown].cpu_s >= LEAST_SHARE * all)))
		shown++;
	if (shown < 2 || !(all > 0)) /* of one program the head of the page says it all */
		return;
	fputs("\nPrograms by CPU time\n", out);
	for (unsigned i = 0; i < shown; i++)
		print_command(&j->commands[i], all, out);
	if (shown < j->ncommands)
		fprintf(out, "  and %u other%s\n", j->ncommands - shown,
			report_text__s(j->ncommands - shown));
}
