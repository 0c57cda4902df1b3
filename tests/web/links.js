// SPDX-License-Identifier: GPL-2.0-or-later
// Follows the links of pages behind a web server: node links.js URL USER PASSWORD MOST. Prints, as JSON, each address that was opened: its
// status, title, how many jobs it is about and what went wrong; of addresses that differ in values of arguments alone the first is opened.
import { chromium } from 'playwright-core';

const [start, username, password, most] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1366, height: 768 }, httpCredentials: { username, password } });
const seen = new Set(), waiting = [[start, '']], out = [];
const kind = (url) => `${url.pathname.replace(/\/job\/[\d_+]+/, '/job/N')}?${[...url.searchParams.keys()].sort()}`;

seen.add(kind(new URL(start)));
while (waiting.length && out.length < Number(most)) {
	const [address, from] = waiting.shift(), page = await context.newPage(), wrong = [];

	page.on('pageerror', (e) => wrong.push(e.stack));
	page.on('console', (m) => m.type() === 'error' && wrong.push(m.text()));
	page.on('requestfailed', (r) => wrong.push(`${r.url()}: ${r.failure()?.errorText}`));
	page.on('download', (d) => d.cancel());
	try {
		const answer = await page.goto(address, { waitUntil: 'load' }), isPage = (answer?.headers()['content-type'] ?? '').startsWith('text/html');

		if (isPage)
			await page.waitForFunction(() => document.querySelector('footer') || !document.querySelector('#data'), null, { timeout: 10000 });
		out.push({ address, from, status: answer?.status() ?? 0, title: await page.title(), jobs: await page.evaluate(() => globalThis.jobprof?.jobs?.matching ?? null), wrong });
		for (const href of isPage ? await page.evaluate(() => [...document.querySelectorAll('a[href]')].map((a) => a.href)) : []) {
			const url = new URL(href);

			url.hash = '';
			if (url.protocol.startsWith('http') && !seen.has(kind(url))) {
				seen.add(kind(url));
				waiting.push([url.href, address]);
			}
		}
	} catch (e) {
		if (!/Download is starting|ERR_ABORTED/.test(e.message))
			out.push({ address, from, status: 0, title: '', jobs: null, wrong: [e.message] });
	}
	await page.close();
}
await browser.close();
console.log(JSON.stringify(out));
