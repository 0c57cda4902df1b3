// SPDX-License-Identifier: GPL-2.0-or-later
// How support staff find answers on the pages of a site, by a pointer and by typing alone: node site-questions.js FOLDER, where tests/e2e/site/questions.py
// has put cases.json. Prints for each question a line of JSON: its name, how many clicks that took, and the answer that the page shows.
import { LAPTOP, cases, launch } from './common.js';

// A reader: every click counts, a word that is typed and sent is one, a choice of a list two.
class Reader {
	constructor(page) {
		this.page = page;
		this.clicks = 0;
	}

	// The page is there, and not the one before it.
	async there(act) {
		this.clicks++;
		await this.page.evaluate(() => { document.body.dataset.old = 1; });
		await act();
		await this.page.waitForFunction(() => document.querySelector('footer') && !document.body.dataset.old, null, { timeout: 20000 });
	}

	go(selector) {
		return this.there(() => this.page.locator(selector).first().click());
	}

	open(word) {
		return this.go(`nav[aria-label="Pages"] a:text-is("${word}")`);
	}

	search(word) {
		return this.there(() => this.page.locator('input[type=search]').fill(word).then(() => this.page.keyboard.press('Enter'))).then(() => this.page.waitForURL((u) => !u.pathname.endsWith('/find'))).then(() => this.page.waitForSelector('footer'));
	}

	// What the page itself does, without asking the server.
	async press(selector) {
		this.clicks++;
		await this.page.locator(selector).first().click();
	}

	async type(selector, word) {
		this.clicks++;
		await this.page.locator(selector).fill(word);
		await this.page.keyboard.press('Enter');
	}

	async choose(selector, value) {
		this.clicks += 2;
		await this.page.locator(selector).selectOption(value);
	}

	text(selector) {
		return this.page.locator(selector).first().innerText();
	}

	texts(selector) {
		return this.page.evaluate((s) => [...document.querySelectorAll(s)].map((e) => e.textContent.trim()), selector);
	}

	// Cells of the first rows of a table, in columns that are named by their heads.
	rows(label, heads, n = 1000) {
		return this.page.evaluate(([l, wanted, most]) => {
			const t = document.querySelector(`table[aria-label="${l}"], [aria-label="${l}"] table`), of = (e) => e.textContent.replace(/\s+/g, ' ').trim(), all = [...t.tHead.rows].at(-1).cells;
			const at = wanted.map((h) => [...all].findIndex((c) => of(c.querySelector('.t') ?? c).replace(/ ?[\u2191\u2193]$/, '') === h));

			return [...t.tBodies[0].rows].filter((r) => r.cells.length > Math.max(...at) && !r.matches('.detail, .because') && r.checkVisibility()).slice(0, most).map((r) => at.map((i) => (i < 0 ? 'no such column' : of(r.cells[i]))));
		}, [label, heads, n]);
	}
}

const TASKS = 'button:text-is("a row a task")', MONTH = '.filters a:text-is("30 days")';

const QUESTIONS = {
	async wastes(r) {
		await r.open('Usage');
		await r.go('a:text-is("by user")');
		return r.rows('Usage', ['User', 'Lost'], 1);
	},
	async project(r) {
		await r.open('Usage');
		return r.rows('Usage', ['Project', 'Lost', 'Share'], 1);
	},
	async holds(r) {
		await r.open('Usage');
		await r.go('th[data-key=held_core_s] a');
		return r.rows('Usage', ['Project', 'Held'], 1);
	},
	async program(r) {
		await r.open('Usage');
		await r.go('a:text-is("by program")');
		await r.go('th[data-key=held_core_s] a');
		return r.rows('Usage', ['Program', 'Jobs', 'Held'], 1);
	},
	async memory(r) {
		await r.open('Usage');
		await r.go('a:text-is("by user")');
		await r.there(() => r.choose('.filters [name=state]', 'out_of_memory').then(() => { r.clicks--; }));
		return (await r.rows('Usage', ['User', 'Jobs'])).sort();
	},
	jobs: (r) => r.rows('Jobs', ['Job', 'Lost'], 5),
	async io(r) {
		await r.go(MONTH);
		await r.press(TASKS);
		await r.press('th[data-key=io_bytes_s] button');
		return r.rows('Jobs', ['Job', 'I/O'], 1);
	},
	async last(r, { user }) {
		await r.go(MONTH);
		await r.type('.filters [name=user]', user);
		await r.press(TASKS);
		await r.press('th[data-key=start] button');
		return (await r.rows('Jobs', ['Job'], 10)).flat();
	},
	async idle(r) {
		await r.go(MONTH);
		await r.press('.dates > summary');
		await r.there(() => r.type('.filters [name=cpu-share]', '0-10').then(() => { r.clicks--; }));
		return r.text('header .about b');
	},
	async late(r) {
		await r.choose('.filters [name=state]', 'timeout');
		return r.text('header .about b');
	},
	async job(r, { id }) {
		await r.search(id);
		return (await r.text('main pre')).split('\n').filter((l) => /^(State|Job Wall)/.test(l));
	},
	async compared(r) {
		await r.type('.filters [name=name]', 'run_');
		for (const id of ['11', '12'])
			await r.press(`tr:has(a:text-is("${id}")) input[type=checkbox]`);
		await r.go('a:text-matches("^compare", "i"), button:text-matches("^compare", "i")');
		return r.texts('.wl.end > b');
	},
	async gpus(r) {
		await r.open('Findings');
		await r.go('td a:text-is("GPUs not used"), th a:text-is("GPUs not used")');
		return r.rows('Whose jobs have gpu.idle', ['User', 'Lost'], 3);
	},
	async often(r) {
		await r.open('Findings');
		const all = await r.rows('Findings by cost', ['Finding', 'Jobs']), of = (x) => Number(x[1].replaceAll(',', ''));

		return of(all.reduce((a, b) => (of(b) > of(a) ? b : a)));
	},
	async helped(r) {
		await r.open('Findings');
		await r.go('a:text-is("Did advice help?")');
		return (await r.rows('Contacts', ['User', 'Ticket', 'Verdict'])).sort();
	},
	async issues(r) {
		await r.open('Findings');
		await r.go('a:text-is("PIKA\u2019s issues")');
		return r.rows('PIKA\u2019s issues', ['Project', 'ICT'], 1);
	},
	async slow(r) {
		await r.open('System');
		return r.rows('Table: slow or failing nodes', ['Node', 'Speed', 'Runs']);
	},
	async changed(r) {
		await r.open('Digest');
		return (await r.texts('#changed tr')).find((t) => t.startsWith('Held')).replace(/\s+/g, ' ');
	},
	async slower(r) {
		await r.open('Digest');
		return r.rows('Table: Slower than before', ['Job name', 'Now', 'Before'], 1);
	},
	async stopped(r) {
		await r.open('Live');
		return (await r.rows('Running jobs, those first that need somebody', ['What holds it back', 'Job'])).filter(([t]) => /No CPU, no input, no output/.test(t)).map(([, id]) => id).sort();
	},
	async now(r, { id }) {
		await r.search(id);
		const [[job, cpu]] = await r.rows('Running jobs, those first that need somebody', ['Job', 'CPU']);

		await r.press(`button.open:text-is("${job}")`);
		return [job, cpu, (await r.text('.detail li')).split('\n')[1]];
	},
	// The pointer over the line of CPUs says its value; the table below says who was there then.
	async node(r, { node, at }) {
		await r.search(node);
		const plot = await r.page.locator('.series .plot[aria-label^="CPU"]').boundingBox(), part = await r.page.evaluate((t) => (t - jobprof.node.from) / (jobprof.node.until - jobprof.node.from), at);

		await r.page.mouse.move(plot.x + plot.width * part, plot.y + 10);
		const then = new Date(1000 * at).toISOString().slice(5, 16).replace('T', ' '), rows = await r.rows('Table: jobs', ['Job', 'From', 'To']);

		return [(await r.text('[data-value="cpu of jobs"]')).trim(), rows.filter(([, from, to]) => from <= then && to > then).map(([id]) => id).sort()];
	},
	async beside(r, { id }) {
		await r.search(id);
		await r.go('header .about a[href*="node="]');
		return (await r.rows('Table: jobs', ['Job'])).flat().sort();
	},
	async change(r, { user }) {
		await r.search(user);
		await r.go('.crumb a:text-is("what to change first")');
		return [await r.text('h1'), await r.text('#change li .big')];
	},
};

const browser = await launch(), context = await browser.newContext({ viewport: LAPTOP, timezoneId: 'UTC', reducedMotion: 'reduce' });

async function answered(q) {
	const page = await context.newPage(), reader = new Reader(page);
	let answer;

	page.setDefaultTimeout(8000);
	try {
		await page.goto(cases.base);
		await page.waitForSelector('footer');
		answer = await QUESTIONS[q.name](reader, q);
	} catch (e) {
		answer = `it does not come: ${String(e.stack).replace(/\s+/g, ' ').slice(0, 300)}`;
	}
	console.log(JSON.stringify({ name: q.name, clicks: reader.clicks, answer }));
	await page.close();
}

// Some readers at once, each with the next question.
const left = [...cases.questions];

await Promise.all(Array.from({ length: 3 }, async () => {
	while (left.length)
		await answered(left.shift());
}));
await browser.close();
