// SPDX-License-Identifier: GPL-2.0-or-later
// How long a page of a server takes in a browser: node timings.js URL ROUNDS [zoom]. Prints a JSON object of lists, ms from the request on: the first byte,
// the last one, the first paint; and what a zoom of a job page takes until the next frame. Before the first round the page was opened once, so that its
// script and style are in the browser's cache.
import { chromium } from 'playwright-core';

const [url, rounds, zoom] = process.argv.slice(2), out = { first: [], last: [], painted: [], zoom: [], rows: 0 };
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1366, height: 768 } });

const page = await context.newPage(); // one for all: what a browser does for a new one is none of a page's

for (let i = 0; i <= Number(rounds); i++) {
	await page.goto(url, { timeout: 120000 });
	await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length && document.querySelector('footer'), null, { timeout: 180000 });
	const t = await page.evaluate(() => {
		const [n] = performance.getEntriesByType('navigation'), from = n.requestStart;

		return { first: n.responseStart - from, last: n.responseEnd - from, painted: performance.getEntriesByName('first-contentful-paint')[0].startTime - from };
	});

	if (i)
		Object.entries(t).forEach(([k, v]) => out[k].push(v));
	for (let k = 0; i && zoom && k < 5; k++)
		out.zoom.push(await page.evaluate(async (from) => {
			const began = performance.now();

			jobprof.view.zoom(from, jobprof.view.end / 2);
			await new Promise((done) => requestAnimationFrame(done));
			return performance.now() - began;
		}, 100 * (k + 1)));
	out.rows = await page.locator('tbody tr').count();
}
await browser.close();
console.log(JSON.stringify(out));
