// SPDX-License-Identifier: GPL-2.0-only
/* How clusters and times are written in the tables and lines of clusters. */
#include <math.h>
#include <stdio.h>

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
