// SPDX-License-Identifier: GPL-2.0-only
/* How clusters, their figures and times are written in the tables and lines of clusters. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/cluster/cluster_view.h"

const char *cluster_name__of(unsigned k, cluster_name buf)
{
	if (!k)
		snprintf(buf, CLUSTER_NAME, "noise");
	else if (k <= 26)
		snprintf(buf, CLUSTER_NAME, "%c", 'A' + (int)k - 1);
	else
		snprintf(buf, CLUSTER_NAME, "%c%u", 'A' + (int)((k - 1) % 26), (k - 1) / 26 % 1000);
	return buf;
}

char cluster_name__letter(unsigned k)
{
	return !k ? '.' : (char)(k <= 26 ? 'A' + (int)k - 1 : k <= 52 ? 'a' + (int)k - 27 : '+');
}

const char *cluster_time__of(double s, cluster_time buf)
{
	if (isnan(s))
		snprintf(buf, sizeof(cluster_time), "?");
	else if (s < 0.0009995)
		snprintf(buf, sizeof(cluster_time), "%.3g us", s * 1e6);
	else if (s < 0.9995)
		snprintf(buf, sizeof(cluster_time), "%.3g ms", s * 1e3);
	else
		snprintf(buf, sizeof(cluster_time), "%.*f s", s < 99.95 ? 2 : 0, s);
	return buf;
}

void cluster_cells__of(const struct burst_cluster *c, unsigned k, cluster_cells cells)
{
	report_text__count((double)c->n, cells[0]);
	report_text__share(c->share, cells[1]);
	cluster_time__of(c->run, cells[2]);
	if (k)
		report_text__share(c->spread, cells[3]);
	else
		strcpy(cells[3], "");
	if (isnan(c->gap))
		strcpy(cells[4], "none");
	else
		cluster_time__of(c->gap, cells[4]);
	report_text__share(c->on_cpu, cells[5]);
}

const char *burst_code__share(const struct burst_code *c, report_number buf)
{
	report_number share, n;

	snprintf(buf, REPORT_NUMBER, "%.10s of %.20s sample%s",
		 report_text__share((double)c->samples / (double)c->all, share),
		 report_text__count((double)c->all, n), report_text__s((double)c->all));
	return buf;
}
