// SPDX-License-Identifier: GPL-2.0-or-later
// How long single waits took: buckets of powers of two, counted and not sampled.
import { el, fits, low, section, table, widthOf } from './dom.js';
import { count, share, time } from './format.js';
import { quantile } from './data.js';

const SIDE = 2; // empty buckets shown on both sides
const GAP = 8; // pixels between texts of the axis

// The first bucket is what took no time that a clock tells.
const below = (what, v) => (v <= upper(0) ? `${what}: none` : `${what} below ${time(v)}`);

const upper = (k) => 2 ** (k + 1) / 1e9;

function mark(at, text, side) {
	const line = el('span', { class: `p ${side}` }, el('span', {}, text));

	line.style.left = `${100 * at}%`;
	return line;
}

// Where the marks are, 0 to 1, and their sides: r: the text is left of its line; under: both begin a row lower. A line
// that begins lower is not in the other's text, and the text of the lower one is on the side where the other line is not.
export function sides(half, most) {
	if (most <= 0.58)
		return ['', 'under'];
	return [half > 0.28 ? 'r under' : 'under', 'r'];
}

export function range(counts) {
	const known = counts.map((n, k) => [n, k]).filter(([n]) => n > 0).map(([, k]) => k);
	const first = Math.max(0, known[0] - SIDE), last = Math.min(counts.length - 1, known.at(-1) + SIDE);

	return [first, Math.max(last, first + 9)];
}

// Every third bucket's bound, where there is room; else every sixth, and so on.
function ticks(first, last) {
	const n = last - first + 1, at = [];

	for (let k = first + 1; k <= last; k += 3)
		at.push(k);
	const texts = at.map((k) => time(upper(k))), wide = Math.max(...texts.map(widthOf)) + GAP;

	return at.map((k, i) => {
		// How many buckets are between this one and the next that is shown with it. The last one's text is left of its place.
		const tick = el('span', {}, texts[i]), every = k === last ? 2 : 3 * (i & -i);

		tick.style.left = `${100 * (k + 1 - first) / n}%`;
		tick.classList.toggle('end', k === last);
		return i ? fits(tick, n / every * wide) : tick;
	});
}

// noun: "waits"; about: what stands beside the heading
export function histogram(id, heading, counts, noun, source) {
	const all = counts.reduce((a, n) => a + n, 0);

	if (!counts.length)
		return null;
	if (!(all > 0)) {
		return low(section(id, heading, '', el('p', { class: 'none' }, `No ${noun} were counted.`)));
	}
	const [first, last] = range(counts), n = last - first + 1, most = Math.max(...counts);
	const p50 = quantile(counts, 0.5), p99 = quantile(counts, 0.99);
	const bars = el('div', { class: 'hist', role: 'img', 'aria-label': `${heading}: ${below('half', p50)}, ${below('99 of 100', p99)}` });
	const line = el('div', { class: 'hx', 'aria-hidden': 'true' });

	for (let k = first; k <= last; k++) {
		const bar = el('div', { title: `${count(counts[k] ?? 0)} below ${time(upper(k))}` });

		bar.style.height = counts[k] > 0 ? `${Math.max(1.5, 100 * counts[k] / most)}%` : '0';
		bars.append(bar);
	}
	line.append(...ticks(first, last));
	const at = [p50, p99].map((v) => (Math.log2(v * 1e9) - first) / n), of = sides(...at);

	bars.append(mark(at[0], below('half', p50), of[0]), mark(at[1], below('99 of 100', p99), of[1]));
	return low(section(id, heading, `${count(all)} ${noun}`, bars, line,
		table('Table: buckets', ['below', 'count', 'share'], () => counts.map((c, k) => [c, k]).filter(([c]) => c > 0)
			.map(([c, k]) => [time(upper(k)), count(c), share(c / all)]), source, `buckets, ${heading}`)));
}
