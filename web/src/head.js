// SPDX-License-Identifier: GPL-2.0-or-later
// What the report is about: job, place, time, and how much of it is known.
import { el, name, soft } from './dom.js';
import { count, mb, plural, share, time } from './format.js';
import { link, site } from './site.js';

const jobName = (report) => report.job.command || report.job.name || report.job.program || report.commands[0]?.name || '';

const ROOM = 100; // characters of a name, where a command's paths have no directories

const short = (text) => (text.length > ROOM ? text.replace(/(^| )\/\S*\/(?=[^\s/])/g, '$1') : text);

export function title(report) {
	const id = report.job.id ? `Job ${report.job.id}` : 'A job';

	if (report.job.command) // of jobprof run, which is named by its process
		return `Run ${report.job.id}`;
	return report.job.steps.length === 1 && report.job.steps[0].name ? `${id} step ${report.job.steps[0].name}` : id;
}

// On a server's page a link, whose page says more of it.
const led = (page, args, word) => (site && !site.is_static ? link(page, args, name(word, 40)) : name(word, 40));

// The server's clock may be another one than the browser's.
const utc = (s) => (s > 0 && s < 1e11 ? new Date(1000 * Math.floor(s)).toISOString().replace(/\.\d+/, '') : null);

// What else was on a node while the job ran is on the node's page.
function nodes(report) {
	const n = report.facts.nodes, [first, last] = report.page.nodes, begin = utc(report.job.start), end = utc(report.job.start + report.facts.wall_s + 1);
	const one = (node) => led('node', { node, cluster: report.job.cluster, since: begin, until: end }, node);

	return el('span', {}, plural(n, 'node'), ' (', one(first), n > 1 ? [n > 2 ? ' to ' : ', ', one(last)] : '', ')');
}

function coverage(report) {
	const c = report.coverage, bad = c.not_readable.length;
	const parts = [c.rows <= 3 ? plural(c.rows, 'row') : `a row every ${time(c.row_s)}`];
	const left = report.facts.left_cgroup_s ?? null, counts = Boolean(report.job.command);

	if (c.lost_rows === null)
		parts.push(el('b', {}, 'its end is not in the file'));
	else if (c.share > 0.995 && !c.lost_rows && !c.lost_counts && c.missed_cpu_s === 0 && (left === null || counts))
		parts.push('none missing');
	else if (c.lost_rows)
		parts.push(el('b', {}, `${plural(c.lost_rows, 'row')} missing`));
	else if (c.share !== null && c.share <= 0.995)
		parts.push(el('b', {}, `${share(c.share)} of the time recorded`));
	if (c.missed_cpu_s !== 0)
		parts.push(el('b', {}, c.missed_cpu_s === null ? 'ran before it was counted' : `used ${time(c.missed_cpu_s)} of CPU time before it was counted`));
	if (c.lost_counts)
		parts.push(el('b', {}, c.lost_what ? `${time(c.lost_s)} of ${c.lost_what} counts lost at a restart` : 'counts lost: a restart or a damaged journal', c.lost_cpu_s > 0 ? `, ${time(c.lost_cpu_s)} of CPU time` : ''));
	if (left !== null)
		parts.push(el('b', {}, `left its cgroup after ${time(left)}: ${counts ? 'counted on, but for limits, quota and pressure' : 'what left is not counted from then on'}`));
	if (bad)
		parts.push(el('b', { class: 'bad' }, `${plural(bad, 'file')} not readable`));
	return parts;
}

function between(parts, separator) {
	return parts.filter((p) => p !== null && p !== '').flatMap((p, i) => (i ? [separator, p] : [p]));
}

export function head(report, clock) {
	const f = report.facts, j = report.job;
	const has = (v, word) => (v > 0 ? plural(v, word) : null);
	const who = [j.user && led('jobs', { user: j.user, since: '30d' }, j.user), j.partition && name(j.partition, 40)].filter(Boolean);
	const span = clock.isOfDay ? `${clock.date()} ${clock.hours(0, 1)} to ${clock.isOfDays ? `${clock.date(clock.wall)} ` : ''}${clock.hours(clock.wall, 1)}` : clock.date();
	const ran = `ran ${time(f.wall_s)}${f.limit_s ? ` of ${time(f.limit_s)}` : ''}`;

	return el('header', {},
		el('h1', {}, name(title(report), 60), ' ', el('code', {}, name(short(jobName(report)), 120))),
		el('p', { class: 'st' }, name(j.state ?? j.end_reason ?? '', 60)),
		el('p', { class: 'about' }, ...between([
			el('span', {}, ...between(who, ', ')), nodes(report),
			between([has(f.cores, 'core'), has(f.tasks, 'task'), has(f.gpus, 'GPU')], ', ').join(''),
			j.steps.length > 1 ? `${count(j.steps.length)} steps` : null, span, ran,
			f.peak_mb > 0 ? el('b', {}, `peak memory ${mb(f.peak_mb)}${f.nodes > 1 ? ' on the fullest node' : ''}`) : null,
			...coverage(report)].filter((p) => !(p instanceof Node) || p.childNodes.length), ' \u00b7 ')),
		el('p', { class: 'keys keyed' }, report.findings.length ? [el('kbd', {}, 'j'), ' ', el('kbd', {}, 'k'), ' next, previous finding  '] : '',
			el('kbd', {}, 'esc'), ' whole job'));
}

export function foot(report) {
	return el('footer', {}, `jobprof ${report.page.version} \u00b7 every number on this page comes from `,
		el('code', {}, report.job.id ? `jobprof report -j ${report.job.id} --json` : 'jobprof report --json FILE'),
		' \u00b7 charts: uPlot (MIT)', soft());
}
