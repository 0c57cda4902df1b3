// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers with their units, as the report prints them in a terminal (user/view/report/report_text.c).

const unknown = (v) => v === null || v === undefined || Number.isNaN(v);

// About three digits.
function digits(v) {
	const a = Math.abs(v);

	if (a > 1e15)
		return v.toPrecision(3);
	if (Number.isInteger(v) && a < 1000)
		return v.toFixed(0);
	return a < 999.5 ? v.toFixed(a < 9.995 ? 2 : a < 99.95 ? 1 : 0) : count(v);
}

function scaled(v, scales) {
	if (unknown(v) || !Number.isFinite(v))
		return '?';
	const [, by, unit] = scales.findLast(([from], i) => i === 0 || Math.abs(v) >= from);

	return `${digits(v / by)} ${unit}`;
}

const SIZES = [[0, 1 / 1048576, 'B'], [1000 / 1048576, 1 / 1024, 'KiB'], [1000 / 1024, 1, 'MiB'],
	[1000, 1024, 'GiB'], [1000 * 1024, 1048576, 'TiB'], [1000 * 1048576, 1073741824, 'PiB']];
const CORES = [[0, 1, 'core-s'], [3600, 3600, 'core-h']];
const ENERGIES = [[0, 1, 'J'], [1000, 1000, 'kJ'], [360000, 3.6e6, 'kWh'], [3.6e9, 3.6e9, 'MWh']];
const POWERS = [[0, 1, 'W'], [1000, 1000, 'kW'], [1e6, 1e6, 'MW']];

export const mb = (v) => scaled(v, SIZES);
export const rate = (v) => (unknown(v) ? '?' : `${scaled(v, SIZES)}/s`);
export const cores = (v) => scaled(v, CORES);
export const energy = (v) => scaled(v, ENERGIES);
export const power = (v) => scaled(v, POWERS);
export const number = (v) => (unknown(v) ? '?' : v > 0 && v < 0.01 ? String(Number(v.toPrecision(2))) : digits(v));

const SI = [[0, 1, ''], [1e3, 1e3, 'k'], [1e6, 1e6, 'M'], [1e9, 1e9, 'G'], [1e12, 1e12, 'T'], [1e15, 1e15, 'P'], [1e18, 1e18, 'E']];

export const mega = (v) => scaled(v, SI); // "2.40 G"

const two = (n) => String(n).padStart(2, '0');

// A length of time: "84 ms", "0.21 s", "17.1 s", "5:12", "1:23:10", "3-04:00:00".
export function time(s) {
	if (unknown(s) || s < 0 || s > 1e11)
		return '?';
	if (s < 5e-12) // what is left of sums
		return '0 s';
	if (s < 0.0000009995)
		return `${digits(s * 1e9)} ns`;
	if (s < 0.0000995)
		return `${digits(s * 1e6)} \u00b5s`;
	if (s < 0.0995)
		return `${(1000 * s).toFixed(s < 0.00995 ? 2 : 0)} ms`;
	if (s < 9.995)
		return Number.isInteger(s) ? `${s} s` : `${s.toFixed(2)} s`;
	if (s < 99.95)
		return `${s.toFixed(Number.isInteger(s) ? 0 : 1)} s`;
	const whole = Math.floor(s + 0.5), days = Math.floor(whole / 86400);
	const h = Math.floor(whole / 3600) % 24, m = Math.floor(whole / 60) % 60, sec = whole % 60;

	if (whole < 3600)
		return `${m}:${two(sec)}`;
	return days ? `${days}-${two(h)}:${two(m)}:${two(sec)}` : `${h}:${two(m)}:${two(sec)}`;
}

// The decimal places that tell instants apart which are `step` apart: 0 of 5, 1 of 0.5, 2 of 0.25.
export function places(step) {
	const least = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))), parts = step * 10 ** least;

	return Math.abs(parts - Math.round(parts)) < 1e-6 ? least : least + 1;
}

// An instant, with the digits that a step has: "17 s" and "17.25 s", "2:05" and "2:05.5", below 10 ms "2.5 ms".
export function instant(s, step) {
	if (unknown(s) || s < 0 || s > 1e11 || !(step > 0))
		return time(s);
	if (step < 0.01 && s < 1)
		return s === 0 ? '0 s' : `${(1000 * s).toFixed(places(1000 * step))} ms`;
	const p = places(step), v = Number(s.toFixed(p));

	if (v < 100)
		return v === 0 ? '0 s' : `${v.toFixed(p)} s`;
	const whole = Math.floor(v);

	return `${time(whole)}${p ? (v - whole).toFixed(p).slice(1) : ''}`;
}

// A difference: "+14 s", "\u22120.21 s".
export const signed = (s) => `${s > 0 ? '+' : s < 0 ? '\u2212' : ''}${time(unknown(s) ? s : Math.abs(s))}`;

// An instant of the reader's clock, from Unix time.
export function day(s) {
	const d = new Date(s * 1000);

	return s < 1e11 ? `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}` : '?';
}

// Whose clock that is: "Berlin time", "UTC".
export function zone() {
	const [city, ...of] = Intl.DateTimeFormat().resolvedOptions().timeZone.split('/').reverse();

	return of.length && !of.includes('Etc') ? `${city.replaceAll('_', ' ')} time` : city;
}

// In the unit a person would say: "30 min", "1 h 10 min", "42 s".
export function spoken(s) {
	if (unknown(s))
		return '?';
	if (s < 99.5)
		return s < 9.95 ? `${digits(s)} s` : `${s.toFixed(0)} s`;
	if (s < 5995)
		return `${Math.round(s / 60)} min`;
	const minutes = Math.round(s / 60), h = Math.floor(minutes / 60);

	return h >= 48 ? `${Math.round(h / 24)} days` : `${h} h ${two(minutes % 60)} min`;
}

// "31 %", below 10 with a decimal place; "<0.1 %" is not 0.
export function share(v) {
	if (unknown(v))
		return '?';
	if (v > 0 && v < 0.0005)
		return '<0.1 %';
	return `${(100 * v).toFixed(v < 0.0995 && v > 0 ? 1 : 0)} %`;
}

export function count(v) {
	if (unknown(v) || Math.abs(v) > 1e15)
		return unknown(v) ? '?' : v.toPrecision(3);
	return v.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ',');
}

export const capital = (s) => s.slice(0, 1).toUpperCase() + s.slice(1);
// A text without the command that it ends with, which a page shows by itself.
export const before = (s, code) => (code && s.endsWith(code) ? s.slice(0, -code.length).trimEnd() : s);
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

// A round number above v with a little room, of 1, 2, 2.5 and 5 times a power of ten.
export function roundUp(v) {
	if (!(v > 0))
		return 1;
	const ten = 10 ** Math.floor(Math.log10(v) + 1e-12);

	return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12].find((m) => m * ten >= v * 1.03) * ten;
}

// The same of sizes in MB, whose units are powers of 1024.
export function roundUpSize(v) {
	if (!(v > 0))
		return 1 / 1024;
	const [, by] = SIZES.findLast(([from], i) => i === 0 || v >= from);

	const up = roundUp(v / by);

	return (up >= 1000 ? 1024 : up) * by;
}

// Names come from users: characters that are no text, or that turn its direction, are shown as \uXXXX.
export function plain(text) {
	// eslint-disable-next-line no-control-regex
	return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g,
		(c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
