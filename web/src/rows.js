// SPDX-License-Identifier: GPL-2.0-or-later
// A table of any number of rows, of which only those in view are elements. Rows are sorted in the page; j and k choose one, Enter opens it.
import { el } from './dom.js';
import { cells, drawParts, known, onKeys } from './site.js';

const HEIGHT = 22, PHONE_HEIGHT = 72, AROUND = 10, PAPER = 1000; // rows around the view; rows on paper

const isPhone = () => innerWidth <= 620;

// room: pixels of the last column
export const cellOf = (c, r, room) => (typeof c.kind === 'function' ? c.kind(r, room) : cells[c.kind](r[c.key]));
const valueOf = (c, r) => (c.value ? c.value(r) : r[c.key]);

// As the verbs sort: what is not known last, then the newest. down: the largest first.
export function sorted(list, column, down) {
	const v = new Map(list.map((r) => [r, valueOf(column, r) ?? null])), way = down ? -1 : 1;

	return [...list].sort((a, b) => {
		const x = v.get(a), y = v.get(b);

		if (x === y)
			return b.job_id - a.job_id || b.start - a.start;
		return x === null ? 1 : y === null ? -1 : (x < y ? -1 : 1) * way;
	});
}

// Rows that came by column, as objects; of texts that many rows have each came once. A copy of one that has all keys is filled in a third of the time of an empty one.
// Of a page that somebody forged `n` may be any number.
function rowsOf({ columns }) {
	const keys = Object.keys(columns), lists = Object.values(columns).map((l) => (l?.of ? l.at.map((i) => l.of[i] ?? null) : l)), n = Math.max(0, ...lists.map((l) => l?.length ?? 0)), empty = Object.fromEntries(keys.map((key) => [key, null])), rows = new Array(n);

	for (let i = 0; i < n; i++) {
		const row = { ...empty };

		for (let k = 0; k < keys.length; k++)
			row[keys[k]] = lists[k] === null ? null : lists[k][i];
		rows[i] = row;
	}
	return rows;
}

// The parts of a page, with rows as the verbs print them: they come as { n, columns: { job_id: [], user: { of: [], at: [] }, name: null } }.
export function unpacked(parts) {
	for (const p of Object.values(parts))
		if (p?.rows?.columns)
			p.rows = rowsOf(p.rows);
	return parts;
}

function classes(c) {
	return [c.left ? 'l' : '', c.kind === 'part' || c.bar ? 'vb' : '', c.phone ?? '', c.more ?? ''].join(' ').trim() || null;
}

function rowOf(columns, r, attributes, room) {
	return el('tr', attributes, columns.map((c) => {
		const inside = cellOf(c, r, room), isNothing = inside === '' || inside === '\u2013';

		return el(c.phone === 'p1' ? 'th' : 'td', { scope: c.phone === 'p1' ? 'row' : null, class: isNothing ? `${classes(c) ?? ''} nil` : classes(c), title: c.hint?.(r), 'data-l': c.label ?? null, 'data-a': c.after ?? null }, inside);
	}));
}

// data-key: what of a row of the JSON a column has; not where rows are made of several.
function headOf(columns, state, isPlain) {
	const inside = (c) => [el('span', { class: c.silent ? 'sr' : 't' }, c.head), el('span', { class: 'u' }, c.unit ?? '')];

	return el('thead', {}, el('tr', {}, columns.map((c) => el('th', { scope: 'col', 'data-key': isPlain ? c.is ?? c.key : null, class: c.left ? 'l' : c.more ?? null, title: c.about, 'aria-sort': state.key === c.key ? (state.down ? 'descending' : 'ascending') : null },
		c.fixed ? inside(c) : el('button', { type: 'button', onclick: () => state.sort(c) }, inside(c))))));
}

// options: label, columns (least: of the window's width, for which there is room on it; a telephone has all), key and down of the order, onSort(key, down): true where the page does it, open(row), onChoose(row)
export function rowTable({ label, columns: all, key, down = true, onSort = () => true, open, onChoose = () => {} }) {
	const body = el('tbody', {}), e = el('table', { class: 'g pp vt', 'aria-label': label });
	const state = { key, down, list: [], at: -1, first: -1, last: -1, height: HEIGHT, paper: false };
	let columns = all;
	const columnOf = (k) => columns.find((c) => c.key === k);

	state.sort = (c) => {
		const isDown = state.key === c.key ? !state.down : c.down ?? !c.left;

		if (!onSort(c.key, isDown))
			return;
		[state.key, state.down] = [c.key, isDown];
		o.set(state.list);
	};

	const gap = (n) => {
		const td = el('td', { colspan: columns.length });

		td.style.height = `${n * state.height}px`;
		return el('tr', { class: 'sp', 'aria-hidden': 'true' }, td);
	};

	// Draws what is in view, where that has changed.
	function draw(again) {
		const top = body.getBoundingClientRect().top, n = Math.ceil(innerHeight / state.height) + 2 * AROUND;
		const from = state.paper ? 0 : Math.max(0, Math.min(state.list.length - n, Math.floor(-top / state.height) - AROUND));
		const to = Math.min(state.list.length, state.paper ? PAPER : Math.max(from, Math.ceil((innerHeight - top) / state.height)) + AROUND);

		if (from === state.first && to === state.last && !again)
			return;
		[state.first, state.last] = [from, to];
		e.dataset.first = String(from);
		body.replaceChildren(gap(from), ...state.list.slice(from, to).map((r, k) => rowOf(columns, r, { class: [from + k === state.at ? 'on' : '', r.of ? 'of' : ''].join(' ').trim() || null, 'aria-rowindex': from + k + 2 }, state.paper ? Infinity : state.room)),
			gap(state.list.length - to));
		drawParts(body);
		if (isPhone() && body.rows.length > 3 && !state.measured) { // rows of a telephone are as high as their texts
			state.measured = true;
			state.height = (body.rows[body.rows.length - 2].getBoundingClientRect().bottom - body.rows[1].getBoundingClientRect().top) / (body.rows.length - 2);
			draw(true);
		}
	}

	function choose(k) {
		state.at = k;
		const y = body.getBoundingClientRect().top + k * state.height;

		if (y < 40 || y > innerHeight - 2 * state.height)
			scrollBy(0, y - innerHeight / 2);
		draw(true);
		onChoose(state.list[k]);
	}

	function widths() {
		const group = el('colgroup', {});

		for (const c of columns) {
			const one = el('col', { class: c.more ?? null });

			if (c.width)
				one.style.width = `${c.width}px`;
			group.append(one);
		}
		return group;
	}

	const o = {
		e,
		get list() { return state.list; },
		get chosen() { return state.list[state.at]; },
		order: () => [state.key, state.down],
		// Rows in the order that is chosen; those of an opened array stay below it.
		set(list) {
			columns = all.filter((c) => isPhone() || innerWidth >= (c.least ?? 0) || c.key === state.key);
			const before = state.list[state.at], c = columnOf(state.key), of = list.filter((r) => !r.of);

			state.list = (c ? sorted(of, c, state.down) : of).flatMap((r) => [r, ...(r.opened ?? [])]);
			state.at = before ? state.list.indexOf(before) : -1;
			state.first = -1;
			state.measured = false;
			state.height = isPhone() ? PHONE_HEIGHT : HEIGHT;
			e.setAttribute('aria-rowcount', state.list.length + 1);
			e.replaceChildren(widths(), headOf(columns, state, !state.list.some((r) => r.tasks)), body);
			state.room = (!isPhone() && e.tHead?.rows[0].lastElementChild.clientWidth) || Infinity;
			draw(true);
		},
		choose,
		draw,
		// On a telephone the heads are one choice.
		orderChoice() {
			return el('label', { class: 'ordered soft' }, 'sorted by ', el('select', { onchange: (x) => state.sort(columnOf(x.target.value)) },
				columns.filter((c) => !c.fixed).map((c) => el('option', { value: c.key, selected: c.key === state.key }, c.head + (c.unit ? `, ${c.unit}` : '')))));
		},
	};

	addEventListener('scroll', () => requestAnimationFrame(() => draw(false)), { passive: true });
	addEventListener('resize', () => o.set(state.list));
	for (const [event, paper] of [['beforeprint', true], ['afterprint', false]])
		addEventListener(event, () => {
			state.paper = paper;
			draw(true);
		});
	onKeys((x) => {
		const step = x.key === 'j' ? 1 : x.key === 'k' ? -1 : 0;

		if (step && state.list.length) {
			choose(Math.max(0, Math.min(state.list.length - 1, state.at + step)));
			x.preventDefault();
		} else if (x.key === 'Enter' && known(o.chosen) && !/^(A|BUTTON|SUMMARY)$/.test(x.target.tagName)) {
			open(o.chosen);
		}
	});
	return o;
}
