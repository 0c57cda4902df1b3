// SPDX-License-Identifier: GPL-2.0-only
/* Clusters of bursts as a page: the table of the terminal, and the plot. */
#include "base/escape.h"
#include "view/cluster/cluster_view.h"

#define TEXT_MAX (16u << 10) /* longer than what is said of all regions */
#define SPREAD	 3	     /* among the cells */
#define ON_CPU	 5
#define FINE	 " class=\"fine\"" /* left out where the page is narrow */

/* The colours and the type of the other pages (web/page.css), which this one needs no script for.
 */
static const char page_head[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'\">\n"
	"<style>\n"
	":root{color-scheme:light dark;--bg:#fff;--ink:#1b1f23;--soft:#59626c;--line:#dfe3e7}\n"
	"@media (prefers-color-scheme:dark){:root{--bg:#15181b;--ink:#e8eaec;--soft:#9aa3ad;"
	"--line:#2c3238}svg circle[fill=\"#000000\"]{fill:#e8eaec}svg "
	"circle[fill=\"#0072b2\"]{fill:#4ba3dd}}\n"
	"html{background:var(--bg);color:var(--ink)}body{margin:0 auto;max-width:1480px;"
	"padding:12px 20px 40px;font:13px/18px -apple-system,BlinkMacSystemFont,\"Segoe UI\","
	"Roboto,\"Noto Sans\",\"Liberation Sans\",Arial,sans-serif;"
	"font-variant-numeric:tabular-nums}\n"
	"header{border-bottom:1px solid var(--line);padding-bottom:8px;margin-bottom:10px}"
	"h1{font-size:20px;line-height:24px;font-weight:650;margin:0}"
	"header p{margin:2px 0 0;font-size:12px;color:var(--soft)}p{overflow-wrap:anywhere}\n"
	".wide{overflow-x:auto}table{border-collapse:collapse;min-width:100%}td,th{padding:3px "
	"10px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}"
	"thead th,tr:first-child th{font-weight:400;color:var(--soft)}th:first-child,.code{"
	"text-align:left}\n"
	"svg{display:block;width:100%;height:auto;min-width:520px;max-width:820px;"
	"margin-top:16px}svg "
	".paper{fill:transparent}svg text{fill:var(--ink)}svg .axis{stroke:var(--soft)}\n"
	/* as wide as a phone, with every other tick's text and what matters of the table */
	"@media (max-width:620px){body{padding:12px 14px 32px}svg{min-width:0}svg text{font-size:"
	"13px}svg text.x:nth-of-type(even),.fine{display:none}table{font-size:12px}td,th{padding:"
	"3px 6px 3px 0;white-space:normal}.code{overflow-wrap:anywhere}}\n"
	"</style>\n";

static void put_head(const struct cluster_view *v, FILE *out)
{
	fputs(page_head, out);
	fputs("<title>Clusters of bursts", out);
	if (*v->title) {
		fputs(": ", out);
		print__xml(out, v->title, TEXT_MAX);
	}
	fputs("</title></head><body>\n<header><h1>Clusters of bursts</h1><p>", out);
	print__xml(out, *v->title ? v->title : v->path, TEXT_MAX);
	fputs("</p></header>\n", out);
}

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
		fprintf(out, "<td%s>%s</td>", i == SPREAD || i == ON_CPU ? FINE : "", cells[i]);
	if (v->codes)
		put_code(&v->codes[k], out);
	fputs("</tr>\n", out);
}

void cluster_view__html(const struct cluster_view *v, FILE *out)
{
	put_head(v, out);
	put_line(v->bursts->paused, out);
	fprintf(out,
		"<div class=\"wide\"><table>\n<tr><th>cluster</th><th>bursts</th><th>share of run "
		"time</th>"
		"<th>run time, median</th><th" FINE ">spread</th><th>gap before, median</th>"
		"<th" FINE ">on CPU</th>%s</tr>\n",
		v->codes ? "<th class=\"code\">most samples in</th>" : "");
	for (unsigned k = 1; k <= v->clusters->k; k++)
		put_cluster(v, k, out);
	put_cluster(v, 0, out);
	fputs("</table></div>\n", out);
	put_line(cluster_view__hint(v), out);
	fputs("<div class=\"wide\">", out);
	cluster_view__svg(v, out);
	fputs("</div></body></html>\n", out);
}
