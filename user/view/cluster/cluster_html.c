// SPDX-License-Identifier: GPL-2.0-only
/* Clusters of bursts as a page: the table of the terminal, and the plot. */
#include "base/escape.h"
#include "view/cluster/cluster_view.h"

#define TEXT_MAX (16u << 10) /* longer than what is said of all regions */

static const char page_head[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'\">\n<title>Clusters of bursts</title>\n"
	"<style>body{font:14px sans-serif;margin:2em}td,th{padding:.2em .8em;text-align:right}"
	".code{text-align:left}</style></head><body>\n<h1>Clusters of bursts</h1>\n";

static void put_line(const char *text, FILE *out)
{
	if (!text)
		return;
	fputs("<p>", out);
	print__xml(out, text, TEXT_MAX);
	fputs("</p>\n", out);
}

static void put_code(const struct burst_code *c, FILE *out)
{
	report_number share;

	fputs("<td class=\"code\">", out);
	if (c->name) {
		print__xml(out, c->name, TEXT_MAX);
		fprintf(out, ", %s", burst_code__share(c, share));
	}
	fputs("</td>", out);
}

static void put_cluster(const struct cluster_view *v, unsigned k, FILE *out)
{
	const struct burst_cluster *c = &v->clusters->clusters[k];
	cluster_cells cells;
	cluster_name name;

	if (!c->n)
		return;
	cluster_cells__of(c, k, cells);
	fprintf(out, "<tr><th>%s</th>", cluster_name__of(k, name));
	for (int i = 0; i < CLUSTER_CELLS; i++)
		fprintf(out, "<td>%s</td>", cells[i]);
	if (v->codes)
		put_code(&v->codes[k], out);
	fputs("</tr>\n", out);
}

void cluster_view__html(const struct cluster_view *v, FILE *out)
{
	fputs(page_head, out);
	put_line(v->bursts->paused, out);
	fprintf(out,
		"<table>\n<tr><th>cluster</th><th>bursts</th><th>share of run time</th>"
		"<th>run time, median</th><th>spread</th><th>gap before, median</th><th>on "
		"CPU</th>%s</tr>\n",
		v->codes ? "<th class=\"code\">most samples in</th>" : "");
	for (unsigned k = 1; k <= v->clusters->k; k++)
		put_cluster(v, k, out);
	put_cluster(v, 0, out);
	fputs("</table>\n", out);
	put_line(cluster_view__hint(v), out);
	cluster_view__svg(v, out);
	fputs("</body></html>\n", out);
}
