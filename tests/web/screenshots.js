// SPDX-License-Identifier: GPL-2.0-or-later
// Takes the pictures of the pages that README shows: node screenshots.js PAGE.html|URL LIGHT.png DARK.png
import { chromium } from 'playwright-core';

const [html, ...pictures] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

for (const [i, colorScheme] of ['light', 'dark'].entries()) {
	const page = await browser.newPage({ viewport: { width: 1366, height: 768 }, colorScheme, timezoneId: 'Europe/Berlin' });

	await page.goto(/^http:/.test(html) ? html : `file://${html}`);
	await page.waitForFunction(() => document.querySelector('footer'));
	await page.waitForTimeout(300);
	await page.screenshot({ path: pictures[i] });
}
await browser.close();
