// SPDX-License-Identifier: GPL-2.0-or-later
// One page in templates that were joined in different ways: node joined.js FOLDER, which tests/e2e/cli/page.py has filled.
// Each case has the same numbers, words and pixels as the first. Prints a line per test.
import { cases, launch, numbers, open, tried, whole } from './common.js';

const drawn = (page) => page.evaluate(() => [document.body.innerText, ...[...document.querySelectorAll('canvas')].map((e) => e.toDataURL())]);
const browser = await launch(), seen = [];

for (const c of cases) {
	const page = await open(browser, c.name);

	seen.push(await drawn(page));
	await tried(`${c.name}: the page is whole, without an error`, () => whole(page, c));
	await tried(`${c.name}: numbers are those of the file`, () => numbers(page, c.numbers));
}
for (let k = 1; k < seen.length; k++)
	await tried(`${cases[k].name}: words and pixels are those of ${cases[0].name}`, () => {
		const differs = seen[0].findIndex((part, i) => part !== seen[k][i]);

		return seen[0].length < 5 || seen[0].length !== seen[k].length ? `${seen[k].length} of ${seen[0].length} parts` : differs < 0 ? '' : `${differs ? `canvas ${differs}` : 'text'} differs`;
	});
await browser.close();
