// SPDX-License-Identifier: GPL-2.0-or-later
// The pages of `jobprof compare --html`, of `plot`, `cluster` and `fold`, and marks on that of report: node pages.js
// FOLDER, which tests/e2e/cli/pages.py has filled. Prints a line per test.
import { LAPTOP, PHONE, accessible, cases, launch, numbers, open, tried, whole } from './common.js';

// The axis begins at 0: A and B are bars of their seconds, and each other bar begins where the one before ended.
async function bars(browser, name) {
	const page = await open(browser, name);

	return page.evaluate(() => {
		const { a, b, terms } = jobprof.compare, px = (e) => e.getBoundingClientRect(), box = px(document.querySelector('.wb'));
		const ends = [...document.querySelectorAll('.wl.end .run')].map(px), scale = ends[0].width / a.wall_s;
		const ticks = [...document.querySelectorAll('.scale .ax span')].map((e) => [e.textContent, px(e)]);
		let from = a.wall_s * scale;

		if (ends.some((e) => Math.abs(e.left - box.left) > 1) || Math.abs(ends[1].width - b.wall_s * scale) > 2.5)
			return `A and B are ${ends.map((e) => [e.left, e.width])}`;
		if (!/^0( s)?$/.test(ticks[0][0]) || ticks.length < 3 || ticks.some(([, t], i) => i && t.left < ticks[i - 1][1].right))
			return `the axis has ${ticks.map(([t]) => t)}`;
		for (const line of document.querySelectorAll('[data-term]')) {
			const t = terms.find((x) => x.id === line.dataset.term), e = line.querySelector('.up,.down'), long = t.s * scale;
			const left = Math.min(from, from + long) + box.left;

			if (!e !== Math.abs(t.s) < 1e-6 * Math.max(a.wall_s, b.wall_s))
				return `${t.id} of ${t.s} s has ${e ? 'a' : 'no'} bar`;
			if (e && (Math.abs(px(e).left - left) > 2.5 || Math.abs(px(e).width - Math.max(2, Math.abs(long))) > 2.5))
				return `${t.id} is at ${px(e).left}, ${px(e).width} wide; not ${left}, ${Math.abs(long)}`;
			from += long;
		}
		return Math.abs(from - b.wall_s * scale) < 2.5 ? '' : `the bars end at ${from}, B is at ${ends[1].width}`;
	});
}

// On a phone the column that says so is beyond the table's edge.
async function marksUnusual(browser, name) {
	const page = await open(browser, name, { viewport: PHONE });
	const [marked, wanted] = await page.evaluate(() => [[...document.querySelectorAll('[data-row] th')].filter((e) => e.textContent.startsWith('! ')).map((e) => e.parentElement.dataset.row),
		jobprof.compare.terms.filter((t) => jobprof.compare.baseline.is_judged && t.usual?.unusual).map((t) => t.id)]);

	return String(marked) === String(wanted) ? '' : `${marked}; not ${wanted}`;
}

async function stays(page, wanted) {
	const seen = await page.evaluate(() => ({ hacked: 'hacked' in window, elements: document.querySelectorAll('main img, main svg, main script, header img, header b i').length,
		strange: /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText + document.title), scripts: document.scripts.length,
		wide: document.documentElement.scrollWidth > innerWidth, text: document.body.innerText }));
	const lost = wanted.filter((w) => !seen.text.includes(w));

	if (seen.hacked || seen.elements || seen.strange || seen.scripts !== 2 || seen.wide || lost.length)
		return JSON.stringify({ ...seen, text: '', lost });
	return page.troubles.join('; ');
}

// The pixels of a canvas: where the line of the first curve is, in values.
async function draws(browser, name) {
	const page = await open(browser, name);

	return page.evaluate(() => {
		const { plot: p, u } = jobprof, { data, width, height } = u.ctx.getImageData(0, 0, u.ctx.canvas.width, u.ctx.canvas.height), c = p.curves[0];

		for (const part of [0.1, 0.5, 0.8]) {
			const i = Math.floor(part * c.middle.length), x = Math.round(u.valToPos((c.begin_s[i] + c.end_s[i]) / 2, 'x', true)), wanted = u.valToPos(c.middle[i], 'y', true);
			let found = false;

			for (let y = Math.max(0, Math.floor(wanted) - 2); y <= Math.min(height - 1, wanted + 2); y++)
				found ||= data[(y * width + x) * 4 + 3] > 200 && data[(y * width + x) * 4] < 90;
			if (!found)
				return `no line at ${x}, ${wanted}: step ${i}`;
		}
		return '';
	});
}

async function zooms(browser, name) {
	const page = await open(browser, name), box = await page.locator('.one-plot .plot').boundingBox(), y = box.y + box.height / 2;

	await page.mouse.move(box.x + 0.25 * box.width, y);
	await page.mouse.down();
	await page.mouse.move(box.x + 0.5 * box.width, y, { steps: 4 });
	await page.mouse.up();
	await page.mouse.move(5, 5);
	const seen = await page.evaluate(() => {
		const { plot: p, view, u } = jobprof, c = p.curves[0], inside = c.middle.map((_, i) => i).filter((i) => c.end_s[i] > view.from && c.begin_s[i] < view.to);

		return { from: view.from / view.end, to: view.to / view.end, drawn: [u.scales.x.min / view.end, u.scales.x.max / view.end],
			wanted: Math.max(...inside.map((i) => (c.high ?? c.middle)[i])) * p.values.factor, text: document.querySelector('[data-value="0 highest"]').textContent };
	});

	if (Math.abs(seen.from - 0.25) > 0.02 || Math.abs(seen.to - 0.5) > 0.02 || seen.drawn[0] !== seen.from || Math.abs(parseFloat(seen.text) - seen.wanted) > 0.001 * seen.wanted)
		return JSON.stringify(seen);
	await page.keyboard.press('Escape');
	return await page.evaluate(() => jobprof.view.isWhole) ? page.troubles.join('; ') : 'esc does not show all the time';
}

// Marks are lanes and lines, and a click on a phase zooms to it.
async function phases(browser, c) {
	const page = await open(browser, c.name), lane = await page.evaluate(() => [...document.querySelectorAll('.phases')].map((l) => [...l.querySelectorAll('i > bdi')].map((b) => {
		const box = l.getBoundingClientRect(), i = b.parentElement.getBoundingClientRect();

		return [b.textContent, (i.left - box.left) / box.width * jobprof.view.end, i.width / box.width * jobprof.view.end];
	})));
	const wrong = c.phases.findIndex(([text, from, long], k) => !lane[0][k] || !lane[0][k][0].startsWith(text) || Math.abs(lane[0][k][1] - from) > 15 || Math.abs(lane[0][k][2] - long) > 15);

	if (lane.length !== 1 || lane[0].length !== c.phases.length || wrong >= 0)
		return `${JSON.stringify(lane)}, not ${JSON.stringify(c.phases)}`.replaceAll('undefined', '');
	const [, from, long] = c.phases[1], box = await page.locator('.phases').boundingBox(), end = await page.evaluate(() => jobprof.view.end);

	await page.mouse.click(box.x + (from + long / 2) / end * box.width, box.y + 7);
	const seen = await page.evaluate(() => [jobprof.view.from, jobprof.view.to]);

	return Math.abs(seen[0] - from) < 1 && Math.abs(seen[1] - from - long) < 1 ? page.troubles.join('; ') : `a click shows ${seen}, not ${from} to ${from + long}`;
}

async function lines(browser, name) {
	const page = await open(browser, name);

	return page.evaluate(() => {
		const canvas = document.querySelector('#time .row canvas'), { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);

		for (const m of jobprof.report.marks.of) {
			const x = Math.round(m.at_s / jobprof.view.end * width);
			let most = 0;

			for (let k = Math.max(0, x - 1); k <= Math.min(width - 1, x + 1); k++)
				most = Math.max(most, [...Array(height).keys()].filter((y) => data[(y * width + k) * 4 + 3] > 200 && data[(y * width + k) * 4] < 120).length);
			if (most < height / 3)
				return `no line at the mark at ${m.at_s} s: ${most} of ${height}`;
		}
		return '';
	});
}

// Labels of both axes are apart and inside of the window, and a burst in the middle of its kind has the kind's colour.
async function plane(browser, name, more) {
	const page = await open(browser, name, more);

	return page.evaluate(() => {
		const { plane: p } = jobprof.bursts, c = document.querySelector('.points'), { data, width, height } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
		const labels = [...document.querySelectorAll('.one-plot .ax span, .one-plot .yt')].map((e) => [e.textContent, e.getBoundingClientRect()]);
		const over = labels.flatMap(([a, x], i) => labels.slice(i + 1).filter(([, y]) => x.right + 2 > y.left && y.right + 2 > x.left && x.bottom > y.top + 1 && y.bottom > x.top + 1).map(([b]) => `${a} | ${b}`));
		const beyond = labels.filter(([, r]) => r.left < 0 || r.right > innerWidth).map(([a]) => a);
		const place = (a, v) => (Math.log(v) - Math.log(a.low)) / (Math.log(a.high) - Math.log(a.low)), middle = (v) => [...v].sort((x, y) => x - y)[v.length >> 1];

		if (labels.length < 5 || over.length || beyond.length)
			return `${labels.map(([a]) => a)}: ${over}; beyond: ${beyond}`;
		for (const k of new Set(p.of.filter((of) => of > 0))) {
			const mine = (v) => v.filter((_, i) => p.of[i] === k), x = Math.round(place(p.x_axis, middle(mine(p.x))) * width), y = Math.round((1 - place(p.y_axis, middle(mine(p.y)))) * height);
			const wanted = getComputedStyle(document.documentElement).getPropertyValue(`--c${(k - 1) % 8}`).trim().match(/[0-9a-f]{2}/g).map((h) => parseInt(h, 16)), at = (y * width + x) * 4;

			if (mine(p.x).length > 100 && wanted.some((v, i) => Math.abs(data[at + i] - v) > 24))
				return `kind ${k} at ${x}, ${y}: ${data.slice(at, at + 4)}, not ${wanted}`;
		}
		return '';
	});
}

const browser = await launch();

for (const c of cases) {
	await tried(`${c.name}: the page is whole and asks nothing of a network`, async () => whole(await open(browser, c.name), c));
	if (c.numbers)
		await tried(`${c.name}: numbers are those of --json and of the files`, async () => numbers(await open(browser, c.name), c.numbers));
	if (c.bars) {
		await tried(`${c.name}: bars are as long as their seconds`, () => bars(browser, c.name));
		await tried(`${c.name}: terms that are unusual have a mark before their names`, () => marksUnusual(browser, c.name));
	}
	if (c.draws) {
		await tried(`${c.name}: a line is drawn where its values are`, () => draws(browser, c.name));
		await tried(`${c.name}: a drag zooms, and values are those of what is shown`, () => zooms(browser, c.name));
	}
	for (const [what, more] of c.plane ? [['light', {}], ['dark', { colorScheme: 'dark' }], ['on a phone', { viewport: PHONE }]] : [])
		await tried(`${c.name}: points are where they belong, labels of axes are apart, ${what}`, () => plane(browser, c.name, more));
	if (c.phases) {
		await tried(`${c.name}: marks are phases`, () => phases(browser, c));
		await tried(`${c.name}: marks are lines in the plots`, () => lines(browser, c.name));
	}
	if (c.hostile)
		await tried(`${c.name}: hostile names stay text`, async () => stays(await open(browser, c.name), c.hostile));
	for (const [what, viewport, scheme] of c.axe ? [['light', LAPTOP, 'light'], ['dark', LAPTOP, 'dark'], ['on a phone', PHONE, 'light']] : [])
		await tried(`${c.name}: axe-core finds nothing serious, ${what}`, () => accessible(browser, c.name, viewport, scheme));
	await tried(`${c.name}: on a phone nothing is wider than the screen`, async () => whole(await open(browser, c.name, { viewport: PHONE }), c));
}
await browser.close();
