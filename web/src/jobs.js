// SPDX-License-Identifier: GPL-2.0-or-later
// The page of jobs: which match, which lost most, and why. Where all rows are here, they are sorted and narrowed here.
import { el, name } from './dom.js';
import { count } from './format.js';
import { columnsOf, folded, hasPage, idOf, narrower, sumWords, sumsOf, toggle, whole } from './joblist.js';
import { rowTable } from './rows.js';
import { address, drawParts, filters, known, link, means, moveTo, onKeys, shell, site } from './site.js';

const TEXTS = ['user', 'account', 'name', 'state', 'partition', 'worst_rule'];

function nothing(isEmpty) {
	const { since, until, sort, ...set } = site.arguments, said = Object.entries(set).map(([k, v]) => `${k} ${v}`);

	if (isEmpty)
		return [el('b', {}, `No jobs ${site.sees_all ? '' : 'of yours '}are in the index yet`), el('p', {}, 'A job is a row when it has ended: its profile is read within a minute, and Slurm\u2019s accounting with it. ', el('code', {}, 'jobprof index scan DIR'), ' reads those of before.')];
	return [el('b', {}, 'No job matches'), el('p', {}, name(said.length ? said.join(', ') : 'any job', 300), known(since) || known(until) ? ` since ${since ?? 'ever'}${until ? ` until ${until}` : ''}` : ' since 7 days', '. ',
		since === 'all' ? '' : link('jobs', { ...site.arguments, since: 'all', until: null }, 'Look in all times'), since === 'all' ? '' : ', or ', link('jobs', { since }, said.length ? 'Clear the filters' : 'Look anew'), '.')];
}

// Jobs that are chosen, to be compared.
function choice(redraw) {
	const chosen = new Map(), bar = el('p', { class: 'chosen', role: 'status', hidden: true });
	const tell = () => {
		bar.hidden = !chosen.size;
		bar.replaceChildren(el('b', {}, `${count(chosen.size)} chosen`), ' ', chosen.size > 1 ? el('a', { href: address('compare', { jobs: [...chosen.values()].map(idOf).join(',') }) }, 'compare these') : 'one more to compare them',
			' \u00b7 ', el('button', { type: 'button', onclick: () => {
				chosen.clear();
				tell();
				redraw();
			} }, 'none'));
	};
	const keyOf = (r) => `${r.cluster}/${idOf(r)}/${r.start}`;
	const turn = (r) => {
		if (!r?.file)
			return;
		if (!chosen.delete(keyOf(r)))
			chosen.set(keyOf(r), r);
		tell();
		redraw();
	};

	return { bar, turn, column: { key: 'chosen', head: 'Chosen', silent: true, width: 24, fixed: true, left: true, more: 'donly', about: '', kind: (r) => {
		const box = el('input', { type: 'checkbox', class: 'pick', 'aria-label': `choose ${idOf(r)}`, checked: chosen.has(keyOf(r)), disabled: !r.file, onchange: () => turn(r) });

		return r.tasks ? '' : box;
	} } };
}

const sortOf = (d) => site.arguments.sort ?? (site.arguments.finding && known(d.finding_core_s) ? 'finding_core_s' : site.arguments.finding === 'unknown' ? 'held_core_s' : 'lost_core_s');

// The column that a rule's cost needs, and what jobs held where nothing is known of what they lost.
function withAsked(columns, d) {
	const at = columns.findIndex((c) => c.key === 'lost_core_s'), key = sortOf(d).replace(/^-/, '');
	const more = { finding_core_s: ['This finding', 'what the finding that is asked for cost'], held_core_s: ['Held', 'cores by the time that they were held'] }[key];

	if (more)
		columns.splice(at, 0, { key, head: more[0], unit: 'core-h', width: 92, kind: 'hours', about: more[1] });
	return columns;
}

export function jobs({ jobs: d }) {
	const had = { ...site.arguments }, isAll = d.rows.length === d.matching;
	let rows = d.rows, asTasks = location.hash === '#tasks', t = null;
	const head = el('span', {}), bar = el('div', {}), none = el('div', { class: 'none' }), chosen = choice(() => t.draw(true));

	const arrays = () => el('span', { class: 'choice right' }, 'an array is ', [[false, 'one row'], [true, 'a row a task']].map(([v, word]) => el('button', { type: 'button', 'aria-pressed': String(asTasks === v), onclick: () => {
		asTasks = v;
		draw();
	} }, word)));

	function draw() {
		const list = asTasks ? rows : folded(rows), s = isAll ? sumsOf(rows) : d, n = isAll ? rows.length : d.matching;

		head.replaceChildren(el('b', {}, `${count(n)} job${n === 1 ? '' : 's'}`), list.length < rows.length ? ` in ${count(list.length)} rows` : '', ...(n ? [': ', ...sumWords(s)] : []).filter((x) => x !== ''));
		bar.replaceChildren(whole(rows, rows.some((r) => known(r.array_id)) ? arrays() : '') ?? '');
		drawParts(bar);
		none.replaceChildren(...(n ? [] : nothing(!d.matching && (site.arguments.since === 'all' || site.words?.cluster?.length === 0) && Object.keys(site.arguments).every((k) => k === 'since' || k === 'sort'))));
		t.e.hidden = !n;
		t.set(list);
	}

	// True: these rows are shown here.
	function narrow(args) {
		const test = isAll ? narrower(had, args) : null;

		if (!test)
			return false;
		rows = d.rows.filter(test);
		moveTo(args);
		draw();
		return true;
	}

	const sort = sortOf(d), columns = withAsked(columnsOf(d.rows, () => t, site.sees_all || new Set(d.rows.map((r) => r.user)).size > 1 ? [] : ['user']), d);

	t = rowTable({ label: 'Jobs', columns: [chosen.column, ...columns], key: sort.replace(/^-/, ''), down: !sort.startsWith('-'), open: (r) => {
		if (toggle(r))
			t.set(t.list);
		else if (hasPage(r))
			location.href = address(`job/${idOf(r)}`);
	}, onChoose: (r) => history.replaceState(null, '', `${location.pathname}${location.search}#${idOf(r)}`), onSort: (key, down) => {
		const args = { ...site.arguments, sort: `${down ? '' : '-'}${key}` };

		if (isAll)
			moveTo(args);
		else
			location.href = address('jobs', args);
		return isAll;
	} });
	shell('Jobs', head, filters('7d', {}, narrow), bar, chosen.bar, t.orderChoice(), t.e, none,
		isAll ? null : el('p', { class: 'soft' }, `These are the ${count(d.rows.length)} that ${TEXTS.includes(sort) || sort.startsWith('-') ? 'come first' : 'have most'} by ${sort.replace(/^-/, '')}, of ${count(d.matching)}: a click on a head asks for others, and CSV and filters for fewer.`),
		means(columns));
	draw();
	onKeys((e) => {
		if (e.key === 'x')
			chosen.turn(t.chosen);
	});
	const at = t.list.findIndex((r) => location.hash === `#${idOf(r)}`);

	if (at >= 0)
		t.choose(at);
	return { jobs: d, table: t };
}
