// SPDX-License-Identifier: GPL-2.0-or-later
// A page of another origin that tries to get at a server's answers: node elsewhere.js URL HOST. The page is served at HOST, at a port of its own. Prints
// a JSON object: of each way what the page got ("none": nothing).
import { createServer } from 'node:http';
import { chromium } from 'playwright-core';

const [url, host] = process.argv.slice(2);
const server = createServer((_, answer) => answer.setHeader('Content-Type', 'text/html').end('<!doctype html><body>')).listen(0, '127.0.0.1');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const context = await browser.newContext(), page = await context.newPage();

await new Promise((done) => server.listening ? done() : server.once('listening', done));
await page.goto(`http://${host}:${server.address().port}/`);

const got = await page.evaluate(async (url) => {
	const none = 'none';
	const part = (name, attributes, seen) => new Promise((done) => { // an element that loads
		const e = Object.assign(document.createElement(name), attributes);

		e.onload = () => done(seen?.(e) ?? 'loaded');
		e.onerror = () => done(none);
		setTimeout(() => done(none), 4000);
		document.body.append(e);
	});
	const fetched = (options) => fetch(url + 'jobs.json?since=all', options).then((r) => r.text()).then((t) => t.length || none, () => none);
	const framed = (e) => {
		try {
			return e.contentWindow.length || e.contentDocument?.body?.innerText || none;
		} catch {
			return e.contentWindow?.length || none;
		}
	};
	const streamed = () => new Promise((done) => {
		const s = new EventSource(url + 'running.events', { withCredentials: true });

		s.onmessage = (m) => done(m.data.length);
		s.onerror = () => { s.close(); done(none); };
	});
	const opened = async () => {
		const w = window.open(url + 'jobs');

		await new Promise((done) => setTimeout(done, 2500));
		try {
			return w.closed ? none : `${w.length} frames, ${w.history.length}`;
		} catch {
			return 'a window';
		}
	};
	const all = {};

	for (const [name, way] of Object.entries({
		cors: () => fetched({ credentials: 'include' }),
		'no-cors': () => fetched({ mode: 'no-cors', credentials: 'include' }),
		post: () => fetched({ method: 'POST', mode: 'no-cors', body: 'x=1' }),
		script: () => part('script', { src: url + 'jobs.json' }),
		module: () => part('script', { src: url + 'jobs.json', type: 'module' }),
		'script of the shell': () => part('script', { src: url + 'jobs' }),
		style: () => part('link', { rel: 'stylesheet', href: url + 'jobs.csv' }),
		image: () => part('img', { src: url + 'jobs.csv' }),
		video: () => part('video', { src: url + 'jobs.csv' }),
		object: () => part('object', { data: url + 'jobs' }, framed),
		frame: () => part('iframe', { src: url + 'jobs' }, framed),
		'frame of a picture': () => part('iframe', { src: url + 'd-solo/a/b?panelId=1&var-jobid=7' }, framed),
		stream: streamed,
		window: opened,
	}))
		all[name] = await way();
	all.timed = performance.getEntriesByType('resource').filter((e) => e.name.startsWith(url) && (e.transferSize || e.responseStatus)).length || none;
	return all;
}, url);

await browser.close();
server.close();
console.log(JSON.stringify(got));
