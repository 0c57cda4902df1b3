// SPDX-License-Identifier: GPL-2.0-or-later
// The verdict: what held the job back, the dearest first. A click zooms to a finding's time, and again to its next one.
import { el, section, soft } from './dom.js';
import { cores, plural, share, spoken, time } from './format.js';

const FIRST = 3; // on the first screen; a button shows the others, and paper has all

const WORDS = { note: 'NOTE', warn: 'WARN', bad: 'BAD' };

// What was observed is the first sentence, how to read it the others.
export function sentences(text) {
	const m = /^(.*?[^.\d]\.|.*?\d\.) (?=[A-Z0-9])(.*)$/s.exec(text);

	return m ? [m[1].replace(/\.$/, ''), m[2]] : [text.replace(/\.$/, ''), ''];
}

// Where a part of the cost cannot be known from outside of the program.
const bound = (f) => (f.cost.is_at_least ? 'at least ' : '');

function cost(f, report) {
	const wall = report.facts.wall_s, all = report.time_budget.core_s, c = f.cost.core_s;
	const less = f.cost.saving > 0.0005;

	if (less)
		return [`${bound(f)}${spoken(f.cost.saving * wall)}`,
			`${share(f.cost.saving)} of the time${c > 0 ? ` \u00b7 ${cores(c)}` : ''}`];
	if (c > 0)
		return [`${bound(f)}${cores(c)}`, all > 0 ? `${share(c / all)} of the core time` : ''];
	return ['', ''];
}

const TIMES = 8; // of a finding; where it has as many, there may be others

// Of one time from when to when; of several, when the first two begin.
export function when({ times }, report, clock) {
	if (!times.length)
		return '';
	const [[from, to], second] = times, step = !clock.isOfDay ? report.coverage.bin_s : to - from < 600 ? 1 : 60;
	const at = (s) => clock.text(s, step), more = times.length - 2, end = `${clock.isOfDay ? '' : ' of the run'}.`;

	if (!second)
		return `From ${clock.span(from, to, step)}${end}`;
	if (!more)
		return `At ${at(from)} and ${at(second[0])}${end}`;
	return `At ${at(from)}, ${at(second[0])} and ${times.length < TIMES ? plural(more, 'more time') : `${more} times or more`}${end}`;
}

// Options of commands, which are not broken at their hyphens.
const withOptions = (text) => text.split(/(\S*--\S+)/).map((part, i) => (i % 2 ? el('span', { class: 'opt' }, part) : part));

// A line of a job script or a command ends the remedy, and is an element that can be copied.
function remedy(f) {
	if (!f.remedy)
		return null;
	const code = f.remedy_code ?? '', said = f.remedy.slice(0, f.remedy.length - code.length);

	return el('span', { class: 'do' }, withOptions(said), code ? el('code', {}, code) : null);
}

function finding(f, i, report, view, clock) {
	const [observed, reading] = sentences(f.text), [big, sub] = cost(f, report);
	const evidence = [reading, when(f, report, clock)].filter(Boolean).join(' ');

	return el('li', { class: `${f.severity}${i >= FIRST ? ' later' : ''}`, 'data-rule': f.id },
		el('button', { type: 'button', 'aria-pressed': 'false', onclick: () => view.pick(i, f) },
			el('span', { class: 'no' }, i + 1), el('span', { class: 'sev' }, WORDS[f.severity] ?? f.severity),
			el('span', { class: 'tx' }, el('b', {}, observed),
				evidence ? el('span', { class: 'ev' }, evidence) : null,
				remedy(f)),
			el('span', { class: 'cost' }, el('span', { class: 'big' }, big), el('span', { class: 'sub' }, sub))));
}

function none(report) {
	const others = report.not_given, judged = others.filter((r) => r.judged).length, left = others.length - judged;
	const need = left ? ` ${left === 1 ? 'One needs' : `${left} need`} what is missing or longer runs.` : '';

	return el('p', { class: 'none' }, el('b', {}, 2 * judged < others.length ? 'Too little is known to say what held it back.' : 'Nothing held it back that jobprof can see.'),
		` ${judged} of ${others.length} rules were judged.`, need);
}

// How far the verdict reaches, where something was found.
function others(report) {
	const n = report.not_given.length, not = report.not_given.filter((r) => !r.judged).length, more = n - not;

	return el('p', { class: 'soft reach' }, `${plural(more, 'other rule')} found nothing`, not ? `; ${not} ${not === 1 ? 'was' : 'were'} not judged, as what ${not === 1 ? 'it needs' : 'they need'} is missing or the run was short` : '', '.');
}

function best(report) {
	const [first] = report.findings;
	const saving = first?.cost.saving ?? 0, wall = report.facts.wall_s;

	if (!(saving > 0.005))
		return null;
	const [now, then] = [time(wall), time(wall * (1 - saving))];

	return soft(bound(first) || 'at best ', el('b', {}, `${share(saving)} less time`), now === then ? '' : `: ${then} instead of ${now}`);
}

export function findings(report, view, clock) {
	const list = el('ol', { class: 'find' }, report.findings.map((f, i) => finding(f, i, report, view, clock)));
	const s = section('findings', 'What held it back', best(report));
	const left = report.findings.length - FIRST;

	for (const e of report.rule_errors)
		s.append(el('p', { class: 'wrong' }, e));
	s.append(report.findings.length ? list : none(report));
	if (left > 0)
		s.append(el('button', { type: 'button', class: 'more', 'aria-expanded': 'false', onclick: (e) => {
			const open = list.classList.toggle('all');

			e.currentTarget.textContent = open ? 'Fewer' : `${left} more`;
			e.currentTarget.setAttribute('aria-expanded', open);
		} }, `${left} more`));
	if (report.findings.length)
		s.append(others(report));
	view.onShow(() => {
		list.querySelectorAll('button').forEach((b, i) => b.setAttribute('aria-pressed', i === view.finding));
		if (view.finding >= FIRST && !list.classList.contains('all'))
			s.querySelector('.more')?.click();
	});
	return s;
}

