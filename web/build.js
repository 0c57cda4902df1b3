// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the template of `--html`: node build.js OUTPUT [ESBUILD]. One file with the page's modules, uPlot and the
// styles inside; its policy allows these by their hashes and nothing else. esbuild joins them and makes them small;
// without it they are joined as they are. Beside it site.html, the same for pages of a server, with its script and
// style as files of their own.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { joined } from './join.js';

const here = dirname(fileURLToPath(import.meta.url));
const [output, esbuild] = process.argv.slice(2);
const options = ['--bundle', '--minify', '--charset=ascii', '--legal-comments=none', '--log-level=warning'];
const read = (path) => readFileSync(join(here, path), 'utf8');
const uplot = 'node_modules/uplot';
// What the licence of uPlot asks for stands in the page itself.
const licence = read(`${uplot}/LICENSE`).trim().replaceAll('*/', '');
const notice = `/* Contains uPlot, https://github.com/leeoniya/uPlot\n${licence}\n*/\n`;

function small(entry, ...more) {
	return execFileSync(esbuild, [join(here, entry), ...options, ...more], { encoding: 'utf8', maxBuffer: 1 << 24 }).trim();
}

function hash(text) {
	return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

const code = esbuild ? small('src/main.js', '--format=iife', '--target=es2020') :
	joined(join(here, 'src'), 'main', read(`${uplot}/dist/uPlot.iife.min.js`));
const style = esbuild ? small('page.css') :
	read('page.css').replace(/^@import "(.+)";$/gm, (_, path) => read(`node_modules/${path}`));
const script = notice + code;
const parts = { SCRIPT: script, STYLE: style, SCRIPT_HASH: hash(script), STYLE_HASH: hash(style) };
const page = read('template.html').replace(/@([A-Z_]+)@/g, (_, name) => parts[name]);

if (page.split('<!--data-->').length !== 2 || /<\/(script|style)/i.test(script + style))
	throw new Error('the template would not be whole');
function put(path, text) {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path + '.new', text);
	renameSync(path + '.new', path);
}

// Its address in pages, which is another one when its contents are.
function asset(text, ending) {
	put(join(dirname(output), `site.${ending}`), text);
	return `${createHash('sha256').update(text).digest('hex').slice(0, 16)}.${ending}`;
}

const names = { SCRIPT: asset(script, 'js'), STYLE: asset(style, 'css') };

put(join(dirname(output), 'site.html'), read('site.html').replace(/@([A-Z_]+)@/g, (_, name) => names[name]));
put(output, page);
