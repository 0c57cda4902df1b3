// SPDX-License-Identifier: GPL-2.0-or-later
// Instants that the job's programs named: a phase lasts until the next mark of its step, or to the step's end.
import { colour, el, name } from './dom.js';
import { pointAt } from './pointer.js';

const LANES = 3, LINES = 80, READABLE = 22; // pixels of a phase whose name is written

export const markName = (m) => m.name ?? `mark ${m.number}`;

// Phases by step: [{ step, phases: [{ mark, from, to }] }]
export function lanesOf(report) {
	const end = report.page.lines.end_s, steps = new Map(report.job.steps.map((s) => [s.name, s.end_s])), lanes = new Map();

	for (const m of report.marks?.of ?? []) {
		const lane = lanes.get(m.step) ?? lanes.set(m.step, []).get(m.step);

		if (lane.length)
			lane.at(-1).to = m.at_s;
		lane.push({ mark: m, from: m.at_s, to: Math.max(m.at_s, Math.min(end, steps.get(m.step) ?? end)) });
	}
	return [...lanes].map(([step, phases]) => ({ step, phases }));
}

function phase(p, box, view) {
	const e = el('i', {}, el('bdi', { title: [...markName(p.mark)].slice(0, 200).join('') }, [...markName(p.mark)].slice(0, 80).join('')));

	view.onShow(() => {
		const [a, b] = [p.from, p.to].map((t) => Math.min(1, Math.max(0, view.place(t)))), seen = view.place(p.to) >= 0 && view.place(p.from) <= 1;

		e.hidden = !seen;
		e.style.left = `${100 * a}%`;
		e.style.width = `${100 * (b - a)}%`;
		e.classList.toggle('narrow', (b - a) * (box.clientWidth || 800) < READABLE);
	});
	return e;
}

// The children of a grid of timelines: a lane for each of the first steps with marks.
export function lanes(report, view) {
	const all = lanesOf(report);

	return all.slice(0, LANES).flatMap(({ step, phases }) => {
		const box = el('div', { class: 'plot phases', role: 'img', 'aria-label': `Phases of step ${step}: ${phases.length}; the table Phases has them` });

		box.append(...phases.map((p) => phase(p, box, view)));
		pointAt(box, view, { click: (e) => {
			const t = view.time((e.clientX - box.getBoundingClientRect().left) / box.clientWidth), p = phases.findLast((q) => q.from <= t);

			if (p && p.to > t)
				view.zoom(p.from, p.to);
		} });
		return [el('div', { class: 'ln ph' }, el('em', {}, 'phases', all.length > 1 ? [' of step ', name(step, 12)] : '')), box, el('span', { class: 'val e' })];
	});
}

// Lines over a plot, unless they were too many to be told from each other.
export function drawMarks(u, report, view) {
	const shown = (report.marks?.of ?? []).filter((m) => m.at_s >= view.from && m.at_s <= view.to), g = u.ctx;

	if (shown.length > LINES)
		return;
	g.save();
	g.strokeStyle = colour('--soft');
	g.lineWidth = window.devicePixelRatio || 1;
	g.setLineDash([3 * g.lineWidth, 3 * g.lineWidth]);
	for (const m of shown) {
		const x = Math.round(u.valToPos(m.at_s, 'x', true)) + 0.5;

		g.beginPath();
		g.moveTo(x, u.bbox.top);
		g.lineTo(x, u.bbox.top + u.bbox.height);
		g.stroke();
	}
	g.restore();
}
