// SPDX-License-Identifier: GPL-2.0-or-later
// What the reader looks at: a window of time, a finding, a row, an instant. The address keeps it.

const KEYS = ['finding', 'row', 'from', 'to', 'at'];
const SAME_S = 0.001; // that an address may move a window

export class View {
	// end: of the job, in seconds
	constructor(end) {
		this.end = end;
		this.shown = [];
		this.moved = [];
		this.reset(true);
	}

	reset(quiet) {
		Object.assign(this, { from: 0, to: this.end, finding: -1, row: -1, at: NaN, pin: NaN });
		if (!quiet)
			this.show();
	}

	// Is called after each change of what is shown, or of the instant alone.
	onShow(f) { this.shown.push(f); }
	onMove(f) { this.moved.push(f); }

	show() {
		for (const f of this.shown)
			f(this);
		this.move(this.at);
	}

	move(at) {
		this.at = at;
		for (const f of this.moved)
			f(this);
	}

	set(changes) {
		Object.assign(this, changes);
		this.show();
	}

	get isWhole() { return this.from <= 0 && this.to >= this.end; }

	zoom(a, b) {
		const least = this.end / 2000, from = Math.max(0, Math.min(a, b)), to = Math.min(this.end, Math.max(a, b));

		if (to - from < least)
			return;
		this.set({ from, to });
	}

	// Each of a finding's times with a tenth of it on both sides; all the time where it has none.
	windows(finding) {
		return (finding.times.length ? finding.times : [[0, this.end]]).map(([a, b]) => {
			const room = (b - a) / 10, from = Math.max(0, a - room), to = Math.min(this.end, b + room);

			return to > from ? { from, to } : { from: 0, to: this.end };
		});
	}

	// The first of a finding's times; again: the next one, and after the last one, or another window, back.
	pick(number, finding) {
		const windows = this.windows(finding);
		const at = windows.findLastIndex((w) => Math.abs(w.from - this.from) < SAME_S && Math.abs(w.to - this.to) < SAME_S);
		const next = this.finding !== number ? windows[0] : at >= 0 ? windows[at + 1] : null;

		if (next)
			this.set({ finding: number, row: -1, ...next });
		else
			this.reset();
	}

	// Where t is in the window, 0 to 1 inside of it.
	place(t) { return (t - this.from) / (this.to - this.from); }

	time(place) { return this.from + Math.min(1, Math.max(0, place)) * (this.to - this.from); }

	address() {
		const has = { finding: this.finding >= 0 && this.finding + 1, row: this.row >= 0 && this.row,
			from: !this.isWhole && +this.from.toFixed(3), to: !this.isWhole && +this.to.toFixed(3),
			at: !Number.isNaN(this.pin) && +this.pin.toFixed(3) };

		return KEYS.filter((k) => has[k] !== false).map((k) => `${k}=${has[k]}`).join('&');
	}

	// What an address says, as far as it is true of this job.
	load(address, findings, rows) {
		const has = Object.fromEntries(address.replace(/^#/, '').split('&').map((p) => p.split('=')));
		const within = (v, least, most) => (Number(v) >= least && Number(v) <= most ? Number(v) : NaN);

		this.reset(true);
		this.finding = Math.trunc(within(has.finding, 1, findings) || 0) - 1;
		this.row = Math.trunc(within(has.row, 0, rows - 1) + 1 || 0) - 1;
		const from = within(has.from, 0, this.end), to = within(has.to, 0, this.end);

		if (to > from)
			Object.assign(this, { from, to });
		this.pin = this.at = within(has.at, 0, this.end);
		this.show();
	}
}
