/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of facts, for those who write rules. */
#include <math.h>

#include "base/escape.h"
#include "view/report/report.h"

static const char *const scopes[N_SCOPES] = {
	[SCOPE_JOB] = "job", [SCOPE_NODE] = "node", [SCOPE_TASK] = "task",
	[SCOPE_GPU] = "gpu", [SCOPE_BIN] = "bin",
};

/* Prints the least, the mean and the highest of the known values. false: there is none. */
static bool print_spread(const struct facts *f, int fact, FILE *out)
{
	double min = NAN, max = NAN, sum = 0;
	size_t n = f->count[fact_infos[fact].scope], known = 0;

	for (size_t i = 0; i < n; i++) {
		double v = f->values[fact][i];

		if (isnan(v))
			continue;
		min = fmin(min, v);
		max = fmax(max, v);
		sum += v;
		known++;
	}
	if (known)
		fprintf(out, "%.6g..%.6g, mean %.6g, of %zu", min, max, sum / known, known);
	return known > 0;
}

void report__print_facts(const struct facts *f, FILE *out)
{
	for (int i = 0; i < N_FACTS; i++) {
		const struct fact_info *info = &fact_infos[i];
		bool known = info->scope != SCOPE_JOB || !isnan(f->values[i][0]);

		fprintf(out, "%s.%-22s ", scopes[info->scope], info->name);
		if (info->scope != SCOPE_JOB)
			known = print_spread(f, i, out);
		else if (known)
			fprintf(out, "%.9g", f->values[i][0]);
		if (!known)
			fputs("not known", out);
		else
			fprintf(out, "%s%s", *info->unit ? " " : "", info->unit);
		if (f->missing[i]) {
			fputs(": ", out);
			print__escaped(out, f->missing[i]);
		}
		fprintf(out, "  # %s\n", info->doc);
	}
}
