// SPDX-License-Identifier: GPL-2.0-or-later
// The pages of a site in a browser: node site-pages.js FOLDER, where tests/e2e/site/browser.py has put cases.json: servers by who asks them, addresses,
// and how each is looked at. Prints a line per test.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { LAPTOP, PHONE, cases, crowded, launch, tried, wrongOnPaper } from './common.js';
import { differences } from './site-truth.js';
import { MOVES } from './site-moves.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const LOOKS = { light: [LAPTOP, 'light'], dark: [LAPTOP, 'dark'], phone: [PHONE, 'light'] };

// A tab of its own size and colours, which notes all that goes wrong.
async function tab(browser, look) {
	const [viewport, colorScheme] = LOOKS[look], context = await browser.newContext({ viewport, colorScheme, timezoneId: 'UTC', reducedMotion: 'reduce' });
	const page = await context.newPage();

	page.troubles = [];
	page.on('pageerror', (e) => page.troubles.push(e.stack));
	// a browser says of a page with a status of its own that it failed
	page.on('console', (m) => ['error', 'warning'].includes(m.type()) && !/^Failed to load resource: .* status of 4\d\d/.test(m.text()) && page.troubles.push(m.text()));
	// a stream of events ends with its page
	page.on('requestfailed', (r) => r.url().endsWith('.events') || page.troubles.push(`${r.url()}: ${r.failure()?.errorText}`));
	await page.addInitScript(() => addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)));
	return page;
}

async function opened(page, base, address) {
	page.troubles.length = 0;
	const answer = await page.goto(base + address, { waitUntil: 'load' });

	if (answer.headers()['content-type']?.startsWith('text/html'))
		await page.waitForFunction(() => document.querySelector('footer'), null, { timeout: 20000 }).catch(() => page.troubles.push('it has no end'));
	return answer;
}

// What axe-core finds, with all that can be opened; contrast: of colours alone.
async function access(page, how) {
	await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
	await page.waitForTimeout(30);
	await page.evaluate(axe);
	const { violations } = await page.evaluate((contrast) => window.axe.run(document, { resultTypes: ['violations'], ...(contrast ? { runOnly: ['color-contrast'] } : {}) }), how === 'contrast');

	return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 2).map((n) => `${n.html.slice(0, 160)} ${n.any[0]?.message ?? ''}`).join(' | ')}`).join('; ');
}

async function whole(page) {
	const wide = await page.evaluate(() => (document.documentElement.scrollWidth > innerWidth ? [...document.querySelectorAll('main *, header *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.wide, .in')).slice(0, 2).map((e) => e.outerHTML.slice(0, 80)).join(' ') || 'something' : ''));
	const made = (await page.evaluate(() => document.body.textContent + document.title)).match(/.{0,20}\[object .{0,20}/);
	// a name may be anything else
	const strange = (await page.evaluate(() => { const copy = document.body.cloneNode(true); copy.querySelectorAll('bdi, script').forEach((e) => e.remove()); return copy.textContent; })).match(/.{0,20}(\bNaN\b|undefined|Infinity|(?<![\d.,]|\d )\b1 (job|node|user|project|finding|run|row|core)s\b).{0,20}/);
	const odd = (await page.evaluate(() => document.body.innerText)).match(/.{0,20}\.[;:].{0,20}/); // a sentence that goes on
	// the line below a head is of all columns
	const uneven = await page.evaluate(() => [...document.querySelectorAll('thead tr')].filter((tr) => tr.checkVisibility() && new Set([...tr.cells].map((c) => { const s = getComputedStyle(c); return `${s.borderTopWidth} ${s.borderBottomWidth}`; })).size > 1).map((tr) => tr.textContent).join(' | '));
	// a command that a page shows by itself is not in the words before it, too
	const twice = await page.evaluate(() => [...document.querySelectorAll('.do > code')].filter((c) => { const copy = c.closest('li, td').cloneNode(true); copy.querySelectorAll('.do, .cmd').forEach((e) => e.remove()); return copy.textContent.includes(c.textContent); }).map((c) => c.textContent).slice(0, 2).join(' | '));

	const cut = await page.evaluate(() => [...document.querySelectorAll('.vt thead .t')].filter((e) => e.checkVisibility() && e.offsetWidth && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent).join(', '));

	const times = await page.evaluate(() => [...document.links].map((a) => a.getAttribute('href')).filter((h) => /[?&](since|until|at|ran-at)=\d{9}/.test(h)).slice(0, 2).join(' '));

	return page.troubles.join('; ') || (times && `times of links are no dates: ${times}`) || (cut && `heads are cut: ${cut}`) || (wide && `wider than the screen: ${wide}`) || (made && `it says ${made[0]}`) || (strange && `it says ${strange[0]}`) || (odd && `it says ${odd[0]}`) || (uneven && `lines of a head differ: ${uneven}`) || (twice && `twice: ${twice}`) || '';
}

async function truth(page, base, address, least) {
	const [path, query] = address.split('?'), answer = await page.request.get(`${base}${path}.json${query ? `?${query}` : ''}`);

	return answer.status() === 200 ? differences(page, await answer.json(), least) : `its .json has status ${answer.status()}`;
}

// Each link to a CSV leads to one, with the verb's command beside it, and each table has one: the head of a CSV has its keys, its section has a link, or
// it is that of the page, or one of those where a page has several. Of a job's report, and of sums of days (mon), the numbers are those of --json.
async function csv(page) {
	const wrong = [], heads = [];
	let rest = 0; // tables without keys that the page's own CSV may have

	await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
	await page.waitForTimeout(30);
	const { links, tables } = await page.evaluate(() => ({
		links: [...document.querySelectorAll('a[href*=".csv"]')].filter((a) => a.checkVisibility()).map((a) => ({ to: a.href, of: a.textContent, said: (a.closest('li, p:not(.keys)') ?? document.querySelector('footer')).querySelector('code')?.textContent ?? '' })),
		tables: document.querySelector('main.report, .way') ? [] : [...document.querySelectorAll('table:not(.mon)')].map((t) => ({ label: t.getAttribute('aria-label') ?? t.closest('[aria-label]')?.getAttribute('aria-label') ?? t.className,
			keys: [...t.querySelectorAll('thead [data-key]')].map((h) => h.dataset.key).filter(Boolean), own: Boolean(t.closest('details, section')?.querySelector('a[href*=".csv"]')) })),
	}));

	for (const { to, of, said } of links) {
		const answer = await page.request.get(to);

		if (answer.status() !== 200 || !answer.headers()['content-type'].startsWith('text/csv'))
			wrong.push(`${to}: ${answer.status()} ${answer.headers()['content-type']}`);
		if (!said.startsWith('jobprof '))
			wrong.push(`${to}: no command is beside it`);
		const parts = (await answer.text()).split(/\n\n/).map((t) => t.split('\n')[0].split(','));

		heads.push(...parts);
		rest += of === 'CSV of these tables' ? parts.length : of === 'CSV of this table' ? 1 : 0;
	}
	for (const t of tables)
		if (!t.own && !(t.keys.length === 0 && rest-- > 0) && !(t.keys.length && heads.some((h) => t.keys.filter((k) => h.includes(k)).length > 0.6 * t.keys.length)))
			wrong.push(`the table ${t.label} has no CSV`);
	return wrong.join('; ');
}

async function check(page, look, c, base) {
	const answer = await opened(page, base, c.address), status = answer.status(), html = answer.headers()['content-type']?.startsWith('text/html');

	if (c.status && status !== c.status)
		return `status ${status}, not ${c.status}`;
	if (!c.status && status !== 200)
		return `status ${status}: ${(await answer.text()).slice(0, 100)}`;
	if (!html)
		return '';
	if (c.says && !(await page.evaluate(() => document.body.innerText)).includes(c.says))
		return `it does not say "${c.says}"`;
	const paper = look === 'light' && await wrongOnPaper(page);

	return await whole(page) || await crowded(page) || paper || (c.truth && look === 'light' && await truth(page, base, c.address, Number(c.truth))) || (look === 'light' && await csv(page)) || (c.looks[look] !== 'look' && await access(page, c.looks[look])) || '';
}

const browser = await launch();
const { servers, pages, moves } = cases;

// One tab for each look and viewer, all pages one after another.
async function round(look, viewer) {
	const page = await tab(browser, look), titles = { light: '1366x768', dark: '1366x768, dark', phone: '390x844' };

	for (const c of pages.filter((p) => p.server === viewer && p.looks[look]))
		await tried(`${viewer}, ${c.address.slice(0, 70)}, ${titles[look]}`, () => check(page, look, c, servers[viewer]));
	await page.context().close();
}

for (const viewer of Object.keys(servers))
	await Promise.all(Object.keys(LOOKS).map((look) => round(look, viewer)));
for (const m of moves) {
	const page = await tab(browser, m.look ?? 'light');

	await opened(page, servers[m.server], m.address);
	await tried(`${m.move}: ${m.address}${m.word ? `, ${m.word}` : ''}`, async () => await MOVES[m.move](page, m) || page.troubles.join('; '));
	await page.context().close();
}
await browser.close();
