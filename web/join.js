// SPDX-License-Identifier: GPL-2.0-or-later
// Joins modules into one script where there is no esbuild. Each module becomes a function that returns its exports;
// its lines stay lines, and a form of import or export that is not known is an error.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';

const GIVEN = /^import uPlot from 'uplot';$/; // a variable of the script before the modules
const IMPORT = /^import \{ ([\w, ]+) \} from '\.\/(\w+)\.js';$/;
const EXPORT = /^export (?=(?:function|class|const) (\w+))/;
const OTHER = /^\s*(?:import|export)\b|\bimport\s*[.(]/;

// first: the script that is before the modules.
export function joined(folder, entry, first) {
	const exported = new Map(), scripts = [first];

	// Behind the modules that it imports.
	function add(module) {
		const file = join(folder, `${module}.js`), names = [];
		const line = (text, i) => {
			const [, list, from] = IMPORT.exec(text) ?? [], [, name] = EXPORT.exec(text) ?? [];

			if (list)
				return imported(list, from, `${file}:${i + 1}`);
			if (name)
				names.push(name);
			else if (OTHER.test(text) && !GIVEN.test(text))
				throw new SyntaxError(`${file}:${i + 1}: without esbuild this form is not known: ${text.trim()}`);
			return text.replace(EXPORT, '').replace(GIVEN, '');
		};

		exported.set(module, []);
		const lines = readFileSync(file, 'utf8').split('\n').map(line);
		const script = `const $${module} = (() => { 'use strict'; ${lines.join('\n')}return { ${names.join(', ')} };\n})();`;

		new Script(script, { filename: file }); // an error of syntax names the line
		exported.set(module, names);
		scripts.push(script);
	}

	function imported(list, from, where) {
		if (!exported.has(from))
			add(from);
		for (const name of list.split(', ').map((one) => one.split(' as ')[0]))
			if (!exported.get(from).includes(name))
				throw new SyntaxError(`${where}: ${from}.js has no export ${name} before this module`);
		return `const { ${list.replaceAll(' as ', ': ')} } = $${from};`;
	}

	add(entry);
	return `(() => {\n${scripts.join('\n')}\n})();`;
}
