// SPDX-License-Identifier: GPL-2.0-or-later
// web/join.js: modules that it joins do what they do as node imports them, and what it does not know is an error.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import { joined } from '../../web/join.js';

const folder = mkdtempSync(join(tmpdir(), 'join-'));

after(() => rmSync(folder, { recursive: true }));

function write(modules) {
	writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
	for (const [name, text] of Object.entries(modules))
		writeFileSync(join(folder, `${name}.js`), text);
}

test('modules of the same names do not meet, and each is there before what imports it', async () => {
	write({
		main: "import { up, Box as Large } from './a.js';\nimport { own } from './b.js';\nconst own_ = own(), k = 1;\nglobalThis.said = [up(k), new Large().k, own_];\n",
		a: "// of a\nimport { own, TWO } from './b.js';\nconst k = 10;\nexport function up(n) {\n\treturn n + k + TWO + own();\n}\nexport class Box { k = k; }\n",
		b: 'const k = 100;\nexport const TWO = 2;\nexport const own = () => k;\n',
	});
	await import(pathToFileURL(join(folder, 'main.js')));
	const context = {};

	runInNewContext(joined(folder, 'main', ''), context);
	assert.deepEqual([...context.said], globalThis.said);
	assert.deepEqual(globalThis.said, [113, 10, 100]);
});

test('what is not known is an error with its file and line', () => {
	const fails = (modules, said) => {
		write(modules);
		assert.throws(() => joined(folder, 'main', ''), (e) => e.stack.includes(said));
	};
	const b = 'const b = 1;\nexport const c = b;\n';

	for (const form of ["import b from './b.js';", "import * as b from './b.js';", "import { c, } from './b.js';", "import './b.js';", "import {", "import { gone } from './b.js';",
		'export default 1;', "export * from './b.js';", 'export { k };', 'export let k = 1;', 'export async function f() {}', '\texport const k = 1;', "const b = import('./b.js');", 'const u = import.meta.url;', 'const const = 1;'])
		fails({ b, main: `const one = 1;\n${form}\n` }, 'main.js:2');
	fails({ main: "import { k } from './d.js';\nexport const m = k;\n", d: "import { m } from './main.js';\nexport const k = m;\n" }, 'd.js:1: main.js has no export m before');
});
