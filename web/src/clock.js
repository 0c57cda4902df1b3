// SPDX-License-Identifier: GPL-2.0-or-later
// Instants: times of day where the start is known and the run is not short, with the day where it has several; else since the start.
import { instant, places } from './format.js';

const STEPS = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

const two = (n) => String(n).padStart(2, '0');

// The median length of a step, of the curve whose steps are shortest.
export function spacing(curves) {
	const mids = curves.map((c) => c.end_s.map((t, i) => t - c.begin_s[i]).sort((a, b) => a - b)[c.end_s.length >> 1]).filter((s) => s > 0);

	return mids.length ? Math.min(...mids) : 1;
}

const DAY = 86400;

export class Clock {
	constructor(report) {
		this.start = report.job.start;
		this.wall = report.page.lines.end_s ?? report.facts.wall_s ?? 0;
		this.dt = Math.min(report.page.lines.dt_s, this.wall || Infinity); // between points
		this.isOfDay = this.start > 0 && this.start < 1e11 && this.wall >= 600;
		this.isOfDays = this.isOfDay && this.wall >= DAY;
	}

	// s: seconds since the start, told from others that are `step` apart
	text(s, step = this.dt) {
		if (!this.isOfDay)
			return instant(Math.max(0, s), step);
		return `${this.isOfDays ? `${this.day(s)} ` : ''}${this.hours(s, step)}`;
	}

	// Of a tick: the day stands at midnight alone.
	tick(s, step) {
		if (!this.isOfDay)
			return this.text(s, step);
		const hours = this.hours(s, step);

		return /^[0:.]+$/.test(hours) ? this.day(s) : hours;
	}

	day(s) {
		return new Date((this.start + s) * 1000).toLocaleDateString('en', { month: 'short', day: 'numeric' });
	}

	hours(s, step) {
		const p = places(step), at = Number((this.start + s).toFixed(p)), d = new Date(at * 1000);
		const seconds = `:${two(d.getSeconds())}${p ? (at % 1).toFixed(p).slice(1) : ''}`;

		return `${two(d.getHours())}:${two(d.getMinutes())}${step < 60 ? seconds : ''}`;
	}

	// An instant between points: to a tenth of their distance, or of a window that is shorter.
	at(s, window = this.dt) {
		return this.text(s, this.step(window));
	}

	step(window) {
		return 10 ** Math.min(0, Math.floor(Math.log10(Math.min(this.dt, Math.abs(window) || Infinity)) + 1e-9) - 1);
	}

	span(from, to, step = this.step(to - from)) {
		const isOneDay = this.isOfDays && this.day(from) === this.day(to);

		return `${this.text(from, step)} to ${isOneDay ? this.hours(to, step) : this.text(to, step)}`;
	}

	// How far local time is ahead at an instant; a run of days may go on into summer time.
	zone(s) {
		return this.isOfDay ? -60 * new Date((this.start + s) * 1000).getTimezoneOffset() : 0;
	}

	// Instants between from and to that are round, at most `most` of them.
	ticks(from, to, most) {
		const step = STEPS.find((s) => (to - from) / s <= most) ?? DAY * Math.ceil((to - from) / DAY / most);
		const base = this.isOfDay ? this.start + this.zone(from) : 0, ticks = new Set();

		for (let k = Math.ceil((from + base) / step - 1e-9); k * step - base <= to; k++) {
			const t = k * step - base;

			ticks.add(Number((step < 3600 ? t : t + this.zone(from) - this.zone(t)).toFixed(6)));
		}
		return { ticks: [...ticks].filter((t) => t >= from && t <= to), step };
	}

	date(s = 0) {
		if (!(this.start > 0) || this.start > 1e11)
			return '';
		const d = new Date((this.start + s) * 1000);

		return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
	}
}
