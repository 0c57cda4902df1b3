// SPDX-License-Identifier: GPL-2.0-only
// Makes the template of `--html`: node build.js OUTPUT. One file with the page's modules, joined by
// Debian's esbuild, uPlot and the styles inside; its policy allows these by their hashes and nothing else.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2];
const options = ['--bundle', '--minify', '--charset=ascii', '--legal-comments=none', '--log-level=warning'];
const uplot = join(here, 'node_modules/uplot');
// What the licence of uPlot asks for stands in the page itself.
const licence = readFileSync(join(uplot, 'LICENSE'), 'utf8').trim().replaceAll('*/', '');
const notice = `/* Contains uPlot, https://github.com/leeoniya/uPlot\n${licence}\n*/\n`;

function made(entry, ...more) {
	return execFileSync('esbuild', [join(here, entry), ...options, ...more], { encoding: 'utf8', maxBuffer: 1 << 24 }).trim();
}

function hash(text) {
	return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

const script = notice + made('src/main.js', '--format=iife', '--target=es2020');
const style = made('page.css');
const parts = { SCRIPT: script, STYLE: style, SCRIPT_HASH: hash(script), STYLE_HASH: hash(style) };
const page = readFileSync(join(here, 'template.html'), 'utf8').replace(/@([A-Z_]+)@/g, (_, name) => parts[name]);

if (page.split('<!--data-->').length !== 2 || /<\/(script|style)/i.test(script + style))
	throw new Error('the template would not be whole');
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output + '.new', page);
renameSync(output + '.new', output);
