// SPDX-License-Identifier: GPL-2.0-or-later
// What is read and not drawn: input and output, programs, steps, PIKA's numbers.
import { el, grid, low, name, section } from './dom.js';
import { count, mb, number, plural as many, rate, share, time } from './format.js';
import { lanesOf, markName } from './marks.js';
import { isOfRanks } from './pop.js';

const MB = 1048576;

// Bytes of an interval more than c are activity: El Sayed et al.
function ioRow(label, c) {
	if (c.status !== 'OK')
		return [label, el('span', { class: 'soft' }, `not judged: ${(c.reason ?? '').replaceAll('_', ' ')}`), '', '', '', '', ''];
	return [label, mb(c.volume / MB), rate(c.bw_max / MB), rate(c.bw_mean / MB), c.io_active ? share(c.intensity) : 'never',
		c.io_active ? number(c.burstiness) : '\u2013', c.io_active ? share(c.parallel) : '\u2013'];
}

const SERVERS = [['node', 'Programs, by node'], ['mount', 'Network file systems'], ['blkdev', 'Disks of nodes']];

// The paper's interval, else the one of the bins.
const usualOf = (kind) => kind['120'] ?? Object.values(kind).find((v) => v?.read);

export function io(report) {
	const f = report.facts, usual = usualOf(report.io.node);
	const words = [];

	if (f.read_calls > 0)
		words.push(`${many(f.read_calls, 'read')} of ${mb(f.read_mb / f.read_calls)}`);
	if (f.write_calls > 0)
		words.push(`${many(f.write_calls, 'write')} of ${mb(f.write_mb / f.write_calls)}`);
	if (f.blk_ops > 0)
		words.push(`${many(f.blk_ops, 'disk request')}${f.blk_p99_s > 0 ? `, 99 % below ${time(f.blk_p99_s)}` : ''}`);
	if (!usual && !words.length)
		return null;
	return low(section('io', 'Input and output', usual ? `in intervals of ${time(usual.dt_s)}` : '',
		words.length ? el('p', { class: 'words' }, words.join('; ')) : '',
		usual ? grid(['', 'moved', 'most in an interval', 'mean', 'active', 'burstiness', 'servers at once'], SERVERS.flatMap(([key, label]) => {
			const of = usualOf(report.io[key] ?? {});

			return of ? [ioRow(`${label}: read`, of.read.c0), ioRow(`${label}: written`, of.write.c0)] : [];
		})) : ''));
}

export function programs(report) {
	const all = report.facts.cpu_s;
	// A name that no process ended under is that of a moment between fork and exec.
	const c = report.commands.filter((p) => p.processes > 0 || !(p.cpu_s < 0.01 * all));

	if (!c.length)
		return null;
	return low(section('programs', 'Programs by CPU time', c.length > 12 ? `12 of ${count(c.length)}; all: --json` : '',
		grid(['', 'CPU time', 'share', 'processes', 'peak', 'read', 'written'], c.slice(0, 12).map((p) => [name(p.name, 40), time(p.cpu_s),
			all > 0 ? share(p.cpu_s / all) : '?', count(p.processes), mb(p.peak_mb), mb(p.read_mb), mb(p.write_mb)]))));
}

const PHASES = 60; // in the table

// The phases that are known: steps, those between marks, and periods that PIKA detects.
export function phases(report, view, clock) {
	const { steps } = report.job, p = report.pika.periodic ?? {}, marked = lanesOf(report).flatMap((l) => l.phases), marks = report.marks?.of.length ?? 0;
	const found = [p.iob > 0 && `It stopped for input or output every ${time(p.iob)}.`, p.so > 0 && `CPU and GPU took turns every ${time(p.so)}.`].filter(Boolean);

	if (steps.length < 2 && !found.length && !marks)
		return null;
	const bar = (from, to) => {
		const i = el('i'), box = el('div', { class: 'span' }, i);

		view.onShow(() => {
			const [a, b] = [from, to].map((t) => Math.min(1, Math.max(0, view.place(t))));

			i.style.left = `${100 * a}%`;
			i.style.width = `${100 * (b - a)}%`;
		});
		return box;
	};
	const row = (head, from, to, more) => el('tr', {}, el('th', { scope: 'row' }, head), el('td', {}, clock.span(from, to)), el('td', {}, more), el('td', { class: 'dist' }, bar(from, to)));
	const left = Math.max(0, marked.length - PHASES) + (report.marks?.left_out ?? 0), note = [plural(steps.length), marks ? `${count(marks)} mark${marks === 1 ? '' : 's'}` : ''].filter(Boolean).join(', ');

	return low(section('phases', 'Phases', note,
		el('div', { class: 'wide' }, el('table', { class: 'rk ph' }, el('tbody', {},
			steps.slice(0, 40).map((s) => row(['step ', name(s.name, 24)], s.begin_s ?? 0, s.end_s ?? 0, `${time(s.cpu_s)} CPU`)),
			marked.slice(0, PHASES).map((q) => row(name(markName(q.mark), 60), q.from, q.to, [steps.length > 1 ? ['step ', name(q.mark.step, 24), ' '] : '', q.mark.times > 1 ? `set ${count(q.mark.times)} times` : '']))))),
		left ? el('p', { class: 'words soft' }, `${count(left)} more marks`) : '', found.map((t) => el('p', { class: 'words' }, t))));
}

const plural = (n) => `${count(n)} step${n === 1 ? '' : 's'}`;

const FOOTPRINT = { cpu_usage: ['CPU', share], gpu_usage: ['GPU', share], ipc: ['instructions a cycle', number], net_bw: ['network', (v) => rate(v / MB)],
	read_bytes: ['read', (v) => mb(v / MB)], write_bytes: ['written', (v) => mb(v / MB)], cpu_power: ['CPU power', (v) => `${number(v)} W`] };

function pairs(list) {
	return el('dl', { class: 'dl' }, list.flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));
}

export function statistics(report) {
	const p = report.pika, f = report.facts, fp = p.footprint ?? {}, list = [];

	for (const [k, [label, text]] of Object.entries(FOOTPRINT))
		if (fp[k] !== null && fp[k] !== undefined)
			list.push([label, text(fp[k])]);
	if (p.tags?.given?.length)
		list.push(['tags (PIKA)', p.tags.given.join(', ')]);
	for (const [k, label] of [['vol_switches', 'voluntary switches'], ['invol_switches', 'involuntary switches'], ['migrations', 'moves to another CPU'],
		['forks', 'processes made'], ['minor_faults', 'minor page faults'], ['major_faults', 'major page faults'], ['tcp_retrans', 'TCP segments sent again']])
		if (f[k] !== undefined)
			list.push([label, count(f[k])]);
	return list.length ? low(section('statistics', 'Statistics', p.status === 'OK' ? `footprint over ${count(p.bins)} intervals of ${time(p.bin_s)}` : '', pairs(list))) : null;
}

const MISSED = { wait_s: 'Waiting for CPUs', disk_wait_s: 'Waiting for disks', instructions: 'Instructions, IPC', blk_ops: 'Disk requests', net_tx_mb: 'Network', energy_j: 'Energy',
	others_s: 'Other programs on its cores', limit_s: 'Time limit', limit_mb: 'Memory limit', user_s: 'User and kernel time',
	thread_s: 'What threads did', waited_own_task_s: 'What had the CPU', parallel_efficiency: 'How ranks work together', samples: 'Where the code was' };

// Of ranks their section says it, and others have none; a run has no limit of time.
const isElsewhere = (k, report) => (k === 'parallel_efficiency' && (isOfRanks(report) || report.facts.has_mpi !== 1)) || (k === 'limit_s' && report.job.command);

export function missing(report) {
	const list = [];

	if (report.page.is_slurms)
		list.push(['This profile', 'Slurm\u2019s own plugin wrote it: waiting, IPC, disk requests, network and energy are not in it']);
	for (const [k, label] of Object.entries(MISSED))
		if (k in report.missing && !isElsewhere(k, report))
			list.push([label, (report.missing[k] ?? 'the profile does not have it').replace('UNSUITABLE: ', '')]);
	for (const [label, part] of [['Kinds of bursts', report.clusters], ['Inside one execution', report.fold], ['Which functions ran', report.page.flame]])
		if (part && part.status !== 'OK')
			list.push([label, (part.reason || part.status).replaceAll('_', ' ')]);
	if (report.clusters?.status === 'OK' && report.clusters.clusters.length < 2)
		list.push(['Kinds of bursts', `no kind stands out of ${count(report.clusters.bursts)} bursts`]);
	const not = report.not_given.filter((r) => !r.judged);

	for (const part of report.coverage.not_readable.slice(0, 20))
		list.push([el('span', {}, 'node ', name(part.node, 40), ', step ', name(part.step, 20)), el('b', { class: 'bad' }, 'left out: ', name(part.trouble, 300))]);
	const rules = not.length ? el('details', {}, el('summary', {}, `${count(not.length)} of ${count(report.not_given.length + report.findings.length)} rules were not judged`),
		pairs(not.map((r) => [el('code', {}, r.id), name(r.reason, 300)]))) : '';

	return low(section('missing', 'What is not known', '', list.length ? pairs(list) : el('p', { class: 'none' }, 'All that this page asks for is known.'), rules));
}

export function method(report, clock) {
	const { coverage: c, facts: f } = report, lines = report.page.lines;
	const zone = clock.isOfDay ? Intl.DateTimeFormat().resolvedOptions().timeZone : '';
	const list = [['Resolution', `rows every ${time(c.row_s)}; the lines have points of ${time(lines.dt_s)}, findings are judged on ${time(c.bin_s)}`],
		['Coverage', `${c.share === null ? '?' : share(c.share)} of the time, ${count(c.parts)} part${c.parts === 1 ? '' : 's'} (a node\u2019s rows of a step)`],
		...(c.collector === 'slurm' ? [['Source', 'Slurm\u2019s own profile: what the kernel said of the tasks\u2019 processes at each row']]
			: [['Exact', 'CPU time, waits for a CPU, bytes, calls and requests are counted at each event'],
				['Estimated', `user and kernel time by ticks${f.energy_j === undefined ? '' : '; energy within its bounds'}`]])];

	if (f.probe_s >= 0 && f.cpu_s > 0)
		list.push(['Own cost', `${f.probe_s < 1e-5 * f.cpu_s ? 'below 0.001' : (100 * f.probe_s / f.cpu_s).toFixed(3)} % of the CPU time of the job`]);
	if (zone)
		list.push(['Times of day', `of this browser: ${zone}`]);
	return low(section('method', 'How it was measured', '', pairs(list)));
}

