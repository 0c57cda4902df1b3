// SPDX-License-Identifier: GPL-2.0-or-later
// Nodes by time as pixels: a byte a cell is a level, or says why there is none. Nodes of a kind stand together.
import { colour, el, name } from './dom.js';

const ROOM = 560; // pixels that few nodes share
const MOST = 1000; // rows; of more nodes several make one
const GAP = 5; // pixels between kinds
const LABEL = 12; // pixels of a label

// "#163270" as [22, 50, 112].
const rgb = (hex) => [1, 3, 5].map((i) => parseInt((hex.length === 4 ? hex.replace(/[^#]/g, '$&$&') : hex).slice(i, i + 2), 16));

// 0 to 1 as a colour: from paper's mark to the base.
export function rampOf(base) {
	const a = rgb(colour('--mark')), b = rgb(colour(base));

	return (v) => a.map((x, i) => Math.round(x + (b[i] - x) * Math.sqrt(v)));
}

const DOWN = 255;
const packed = (bytes) => (typeof bytes === 'string' ? Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)) : bytes);

// What a cell has: a value in the quantity's unit, or a word.
export function levelOf(heat, key, i) {
	const h = heat[key], b = (h.bytes = packed(h.bytes))[i];

	if (b === undefined || b === heat.code_not_known)
		return { value: null, word: 'not known' };
	if (b === heat.code_no_job)
		return { value: null, word: 'no job' };
	return b === DOWN ? { value: null, word: 'down' } : { value: b / heat.levels * h.top };
}

// Rows of the map from above: { nodes: their indexes, kind, y, h }.
export function rowsOf(d) {
	const order = d.nodes.map((_, i) => i).sort((a, b) => d.nodes[a].kind - d.nodes[b].kind || a - b), group = Math.ceil(order.length / MOST), rows = [];
	const h = Math.max(1, Math.min(14, Math.floor(ROOM / Math.ceil(order.length / group))));
	let y = 0;

	for (const i of order) {
		const last = rows.at(-1), { kind } = d.nodes[i];

		if (last && last.kind === kind && last.nodes.length < group) {
			last.nodes.push(i);
			continue;
		}
		if (last)
			y += last.h + (last.kind === kind ? 0 : GAP);
		rows.push({ nodes: [i], kind, y, h });
	}
	return rows;
}

export function rowAt(rows, y) {
	const at = rows.findLastIndex((r) => r.y <= y);

	return Math.max(0, at);
}

// Of the nodes of a row: the mean of those that are known, else what the first one says.
function byteOf(bytes, heat, r, steps, step) {
	let sum = 0, n = 0;

	for (const i of r.nodes) {
		const b = bytes[i * steps + step];

		if (b <= heat.levels) {
			sum += b;
			n++;
		}
	}
	return n ? Math.round(sum / n) : bytes[r.nodes[0] * steps + step] ?? heat.code_not_known;
}

const pixel = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;

// Fills the canvas at the screen's own pixels; returns which words the map needs beside its colours.
export function paint(c, d, rows, q, width, height) {
	const ratio = c.width / width, W = c.width, image = new ImageData(W, c.height), out = new Uint32Array(image.data.buffer), { heat, steps } = d;
	const bytes = heat[q.key].bytes = packed(heat[q.key].bytes), of = rampOf(q.base), level = Array.from({ length: heat.levels + 1 }, (_, v) => pixel(of(v / heat.levels)));
	const paper = pixel(rgb(colour('--bg'))), unknown = pixel(rgb(colour('--band'))), down = pixel(rgb(colour('--bad'))), seen = new Set();
	const edges = Array.from({ length: steps + 1 }, (_, k) => Math.round(k * W / steps)), period = Math.max(4, Math.round(4 * ratio)), line = Math.max(1, Math.round(ratio));

	out.fill(paper);
	for (const r of rows) {
		const from = Math.round(r.y * ratio), to = Math.max(from + 1, Math.min(c.height, Math.round((r.y + r.h) * ratio)));

		for (let k = 0; k < steps; k++) {
			const b = byteOf(bytes, heat, r, steps, k), plain = b <= heat.levels ? level[b] : paper, lines = b === heat.code_not_known ? unknown : b === DOWN ? down : 0;

			seen.add(b);
			for (let y = from; y < to; y++)
				for (let x = edges[k]; x < edges[k + 1]; x++)
					out[y * W + x] = lines && (x + y) % period < line ? lines : plain;
		}
	}
	c.getContext('2d').putImageData(image, 0, 0);
	return [[heat.code_no_job, 'no job', 'empty'], [heat.code_not_known, 'not known', 'hatch'], [DOWN, 'down', 'hatch down']].filter(([code]) => seen.has(code)).map(([, word, style]) => ({ word, style }));
}

// Names at the left: slow nodes, the first of each kind, and where there is room, all.
export function labelsOf(d, rows, height) {
	const box = el('div', { class: 'lab' }, el('div', { class: 'names' })), placed = [];
	const wanted = [...rows.filter((r) => r.nodes.some((i) => d.nodes[i].is_slow)), ...rows.filter((r, k) => !k || rows[k - 1].kind !== r.kind), ...rows.filter((_, k) => k % Math.max(1, Math.ceil(40 / (rows[0]?.h ?? 1))) === 0)];

	for (const r of wanted) {
		const middle = r.y + r.h / 2, slow = r.nodes.find((i) => d.nodes[i].is_slow);

		if (placed.some((y) => Math.abs(y - middle) < LABEL))
			continue;
		placed.push(middle);
		const text = name(d.nodes[slow ?? r.nodes[0]].node, 12), s = el('span', {}, slow === undefined ? text : el('b', {}, text, ' slow'));

		s.style.top = `${middle}px`;
		box.firstChild.append(s);
	}
	box.firstChild.style.height = `${height}px`;
	return box;
}
