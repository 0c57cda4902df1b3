// SPDX-License-Identifier: GPL-2.0-only
// Instants: times of day where the start is known and a day is enough, else since the start.
import { time } from './format.js';

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

const two = (n) => String(n).padStart(2, '0');

export class Clock {
	constructor(report) {
		this.start = report.job.start;
		this.wall = report.page.lines.end_s ?? report.facts.wall_s ?? 0;
		this.isOfDay = this.start > 0 && this.wall >= 600 && this.wall < 86400;
	}

	// s: seconds since the start
	text(s, withSeconds) {
		if (!this.isOfDay)
			return time(Math.max(0, s));
		const d = new Date((this.start + s) * 1000);

		return `${two(d.getHours())}:${two(d.getMinutes())}${withSeconds ? `:${two(d.getSeconds())}` : ''}`;
	}

	// Instants between from and to that are round, at most `most` of them.
	ticks(from, to, most) {
		const step = STEPS.find((s) => (to - from) / s <= most) ?? 86400 * Math.ceil((to - from) / 86400 / most);
		const zone = this.isOfDay ? -60 * new Date(this.start * 1000).getTimezoneOffset() : 0;
		const base = this.isOfDay ? this.start + zone : 0, ticks = [];
		const first = Math.ceil((from + base) / step - 1e-9);

		for (let k = first; k * step - base <= to; k++)
			ticks.push(Number((k * step - base).toFixed(6)));
		return { ticks, withSeconds: step < 60 };
	}

	date() {
		if (!(this.start > 0) || this.start > 1e11)
			return '';
		const d = new Date(this.start * 1000);

		return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
	}
}
