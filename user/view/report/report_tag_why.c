/* SPDX-License-Identifier: GPL-2.0-only */
/* Why one of PIKA's tags was given or not, in a line. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/report/report.h"
#include "view/report/report_reason.h"
#include "view/report/report_text.h"

/* What is missing where the metric, or its peak, is not known. */
static const struct {
	const char *of, *metric, *peak;
} needs[JOB_TAGS] = {
	[JOB_TAG_MEMORY] =
		{"memory bandwidth",
		 "MemReadMB and MemWriteMB of CPU are not known (they take a PMU of the "
		 "memory controllers on every node), or other jobs may have used the nodes",
		 "MemBandwidthPeak is not known: jobprof calibrate measures it"},
	[JOB_TAG_COMPUTE] =
		{"floating-point operations",
		 "FLOP/s are not known (PerfEvents=@flops, on Intel's processors), nor are "
		 "Cycles and Instructions, which would do: they take hardware counters",
		 "FlopsPeak is not known: jobprof calibrate measures it"},
	[JOB_TAG_GPU] = {"GPU use", "GPUUtilization is not known: no GPU of the job was seen", ""},
	[JOB_TAG_IO] = {"reading and writing", "ReadMB and WriteMB are not known",
			"DiskReadPeak and DiskWritePeak are not known: jobprof calibrate measures "
			"them"},
	[JOB_TAG_NETWORK] = {"network traffic",
			     "neither TxMB and RxMB of Port nor NetTxMB and NetRxMB are known",
			     "NetworkPeak is not known: jobprof calibrate finds it"},
};

static void describe(const struct pika_job *p, enum job_tag tag, char *text, size_t size)
{
	const struct pika_tag *t = &p->tag[tag];
	const struct tag_metric m =
		tag == JOB_TAG_COMPUTE && isnan(t->metric.value / t->metric.peak) ? p->ipc
										  : t->metric;
	report_number share;

	if (p->verdict.status != ANALYSIS_OK)
		snprintf(text, size, "the job was not judged, as %s",
			 report_reason__words(&p->verdict));
	else if (*t->missing)
		snprintf(text, size, "%s",
			 strcmp(t->missing, "no_peak") ? needs[tag].metric : needs[tag].peak);
	else
		snprintf(text, size, "%s was %s of the peak",
			 m.peak == p->ipc.peak ? "instructions per cycle" : needs[tag].of,
			 report_text__share(m.value / m.peak, share));
}

bool report__print_tag_why(const struct pika_job *p, const char *name, FILE *out)
{
	char text[320];

	for (int i = 0; i < JOB_TAGS; i++) {
		bool given = p->tags & 1u << i;
		int at;

		if (strcmp(job_tag__name(i), name))
			continue;
		if (i == JOB_TAG_UNRESTRAINED)
			snprintf(text, sizeof(text), "%s",
				 given				    ? "no other tag was"
				 : p->verdict.status != ANALYSIS_OK ? "the job was not judged"
								    : "another tag was");
		else
			describe(p, i, text, sizeof(text));
		at = fprintf(out, "%s was %sgiven: ", name, given ? "" : "not ");
		report_text__paragraph(out, text, at, 4);
		return true;
	}
	return false;
}
