// SPDX-License-Identifier: GPL-2.0-or-later
// Whether the tables of a page say what its JSON has. A head's data-key names the value of a row; its unit, or that of the cell, says how it is written.

const HEAD_UNITS = [[/core-h|GPU-h|\bh\b/, 3600], [/^%|%/, 0.01], [/MiB\/s/, 1048576]];
const CELL_UNITS = { PiB: 1073741824, B: 1 / 1048576, KiB: 1 / 1024, MiB: 1, GiB: 1024, TiB: 1048576, '%': 0.01, s: 1, min: 60, h: 3600, J: 1, kJ: 1000, kWh: 3.6e6, MWh: 3.6e9, W: 1, kW: 1000, MW: 1e6, 'core-s': 1, 'core-h': 3600, cores: 1, core: 1, threads: 1, thread: 1, points: 0.01 };

const flat = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

// What a cell says as [value, how far the digits leave it open], in the JSON's unit; null: it says no number.
export function read(text, unit, key) {
	const t = text.trim().replace(/\u2212/g, '-'), two = (n) => Number(n);
	const at = /^(\d\d)-(\d\d) (\d\d):(\d\d)$/.exec(t), span = /^(?:(\d+)-)?(\d+):(\d\d)(?= |$)/.exec(t), m = /^([-+<]?)([\d,]*\.?\d+)(?:[ \u00a0]([^\s/]+)(?:\/s)?)?/.exec(t);

	if (at)
		return ['date', at.slice(1).map(two)];
	if (span)
		return [((two(span[1] ?? 0) * 24 + two(span[2])) * 60 + two(span[3])) * 60, 60];
	if (!m)
		return null;
	const digits = m[2].replaceAll(',', ''), own = CELL_UNITS[m[3]], perJoule = /_j$/.test(key) && unit === 'kWh' ? 3.6e6 : null;
	const factor = unit === 'bytes' && own ? own * 1048576 : own ?? perJoule ?? HEAD_UNITS.find(([u]) => u.test(unit))?.[1] ?? 1, open = 0.5001 * 10 ** -(digits.split('.')[1]?.length ?? 0) * factor;
	const value = (m[1] === '-' ? -1 : 1) * Number(digits) * factor;

	return m[1] === '<' ? [value / 2, value / 2 + 1e-12] : [value, open];
}

function isDate(s, [month, day, hour, minute]) {
	const d = new Date(Math.floor(s / 60) * 60000);

	return d.getUTCMonth() + 1 === month && d.getUTCDate() === day && d.getUTCHours() === hour && d.getUTCMinutes() === minute;
}

// '' or what is wrong with one cell.
export function wrongCell(text, value, unit, key, row) {
	if (value === undefined || value === '' || typeof value === 'object' && value !== null)
		return '';
	if (value === null)
		return /\d/.test(text) && !/^\d+(-\d\d)? /.test(text) && key !== 'worst_rule' ? `${key}: "${text}" of what is not known` : '';
	if (typeof value === 'string') {
		const said = flat(text), all = flat(value), last = flat(value.split('/').at(-1));

		const others = Object.values(row).filter((v) => typeof v === 'string' && v !== value).some((v) => said.includes(flat(v).slice(0, 12)) && flat(v));

		return others || !all || said.includes(all.slice(0, 12)) || all.startsWith(said.slice(0, 12)) && said || said.includes(last.slice(0, 12)) || /known|none|no profile/.test(text) ? '' : `${key}: "${text}" of "${value}"`;
	}
	if (key === 'job_id' && row.array_task !== null && row.array_task !== undefined && text.trim() === `${row.array_id}_${row.array_task}`)
		return '';
	const said = read(text, unit, key), of = unit === '% of jobs' ? value / row.jobs : value;

	if (!said)
		return typeof value === 'boolean' || !/\d/.test(text) && value === 0 ? '' : `${key}: "${text}" of ${value}`;
	if (said[0] === 'date')
		return isDate(value, said[1]) ? '' : `${key}: "${text}" of ${value}`;
	return Math.abs(said[0] - of) <= said[1] + 1e-9 * Math.abs(of) ? '' : `${key}: "${text}" (${unit}) of ${value}`;
}

const nameOf = (row) => (row.array_task !== null && row.array_task !== undefined ? `${row.array_id}_${row.array_task}` : String(row.job_id));

// All lists of objects in a JSON.
function lists(o, out = []) {
	if (Array.isArray(o) && o.length && o.every((v) => v && typeof v === 'object' && !Array.isArray(v)))
		out.push(o);
	if (o && typeof o === 'object')
		Object.values(o).forEach((v) => lists(v, out));
	return out;
}

const tables = (page) => page.evaluate(() => [...document.querySelectorAll('table')].filter((t) => t.querySelector('thead [data-key]')).map((t) => ({
	label: t.getAttribute('aria-label') ?? t.parentElement.getAttribute('aria-label') ?? '',
	heads: [...t.tHead.rows[t.tHead.rows.length - 1].cells].map((h) => [h.dataset.key ?? '', h.querySelector('.u')?.textContent ?? h.dataset.unit ?? '']),
	rows: [...t.tBodies[0].rows]/* not the room of rows that are out of view */ .filter((r) => !r.hidden && r.ariaHidden !== 'true' && !r.matches('.why, .because, .sp, .detail')).map((r) => [...r.cells].map((c) => [c.firstChild?.nodeType === 3 || c.children.length ? c.innerText.replace(/\s+/g, ' ') : c.textContent])),
	foot: [...(t.tFoot?.rows[0]?.cells ?? [])].map((c) => c.innerText.trim()) })));

// '' or the first cells that differ from the list that fits best; least: so many cells must have been compared.
export async function differences(page, data, least) {
	const all = lists(data), wrong = [];
	let seen = 0, cells = 0;

	for (const t of await tables(page)) {
		const id = t.heads.findIndex(([key]) => key === 'job_id');
		const wrongIn = (r, row) => r.flatMap(([text], k) => (t.heads[k]?.[0] ? [wrongCell(text, row[t.heads[k][0]], t.heads[k][1], t.heads[k][0], row)] : [])).filter(Boolean);
		// Jobs may stand in another order, and tasks of an array as one row, whose sums are the page's own.
		const rowsFor = (list, r, i) => (id < 0 ? [list[i]] : list.filter((row) => nameOf(row) === r[id][0].trim())).filter(Boolean);
		const isArray = (list, r) => id >= 0 && list.some((row) => String(row.array_id) === r[id][0].trim());
		const of = (list) => t.rows.slice(0, 300).flatMap((r, i) => {
			const rows = rowsFor(list, r, i), best = rows.map((row) => wrongIn(r, row)).sort((a, b) => a.length - b.length)[0];

			return best ? best.map((w) => `row ${i}: ${w}`) : isArray(list, r) ? [] : [`row ${i} has none`];
		});
		const fit = all.filter((l) => l.length >= t.rows.length && t.heads.filter(([k]) => k in l[0]).length > t.heads.length / 3).map(of).sort((a, b) => a.length - b.length)[0];

		seen += t.rows.length;
		cells += t.rows.length * t.heads.filter(([k]) => all.some((l) => k in l[0])).length;
		if (fit === undefined && t.rows.length)
			wrong.push(`${t.label}: no list of the JSON has its columns`);
		else if (fit?.length)
			wrong.push(`${t.label}: ${fit.slice(0, 3).join(', ')}`);
	}
	if (!seen && all.some((l) => l.length > 3) && await page.evaluate(() => !document.querySelector('table, canvas, .found, dl, ol')))
		wrong.push('the JSON has rows, the page has none');
	if (cells < least)
		wrong.push(`${cells} cells could be compared, not ${least}`);
	return wrong.join('; ');
}
