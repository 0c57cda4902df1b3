// SPDX-License-Identifier: GPL-2.0-or-later
// As much of a document as the page's modules need: elements with children, listeners and a size, and canvases that
// note what is drawn. browser() is called before anything is made, and after uPlot is loaded, which needs a true one.

class FakeNode {
	childNodes = [];
	append(...nodes) { this.childNodes.push(...nodes.flat(Infinity).filter((n) => n !== '').map((n) => (n instanceof FakeNode ? n : new FakeText(n)))); }
	replaceChildren(...nodes) { this.childNodes = []; this.append(...nodes); }
	contains(e) { return this === e || this.childNodes.some((c) => c.contains(e)); }
	get textContent() { return this.childNodes.map((c) => c.textContent).join(''); }
	set textContent(text) { this.replaceChildren(String(text)); }
}

class FakeText extends FakeNode {
	constructor(text) { super(); this.text = String(text); }
	get textContent() { return this.text; }
}

// What was called and what was set, in order: ['lineTo', 1, 2], ['strokeStyle', '#fff'].
function context() {
	const drawn = [];

	return new Proxy({ drawn }, {
		get: (_, k) => (k === 'drawn' ? drawn : k === 'measureText' ? (t) => ({ width: 6 * t.length }) : (...args) => { drawn.push([k, ...args]); }),
		set: (_, k, v) => drawn.push([k, v]),
	});
}

class FakeElement extends FakeNode {
	attributes = {};
	style = {};
	listeners = {};
	clientWidth = 0;
	clientHeight = 0;
	constructor(tag) { super(); this.tagName = tag.toUpperCase(); }
	setAttribute(k, v) { this.attributes[k] = String(v); }
	getAttribute(k) { return this.attributes[k] ?? null; }
	addEventListener(type, f) { (this.listeners[type] ??= []).push(f); }
	fire(type, event = {}) { for (const f of this.listeners[type] ?? []) f({ target: this, currentTarget: this, preventDefault() {}, ...event }); }
	getContext() { return this.g ??= context(); }
	getBoundingClientRect() { return { left: 0, top: 0, right: this.clientWidth, width: this.clientWidth, height: this.clientHeight }; }
	get children() { return this.childNodes.filter((c) => c instanceof FakeElement); }
	get classList() {
		const has = new Set((this.attributes.class ?? '').split(' ').filter(Boolean)), put = () => this.setAttribute('class', [...has].join(' '));

		return { contains: (c) => has.has(c), add(c) { has.add(c); put(); }, remove(c) { has.delete(c); put(); }, toggle(c, on = !has.has(c)) { has[on ? 'add' : 'delete'](c); put(); } };
	}
	querySelectorAll(tag) { return inside(this).filter((e) => e.tagName === tag.toUpperCase()); }
	focus() { document.activeElement = this; }
}

// All elements below one, itself first.
export const inside = (e) => [e, ...e.children.flatMap(inside)];
export const byClass = (e, name) => inside(e).filter((x) => x.classList.contains(name));
// The texts of elements with data-what, by its value: {load_balance: '0.50'}
export const told = (e, what) => Object.fromEntries(inside(e).filter((x) => x.getAttribute(`data-${what}`) !== null).map((x) => [x.getAttribute(`data-${what}`), x.textContent]));

// A new document; text is what the page has as its data.
export function browser(text = '') {
	const data = new FakeText(text), page = new FakeElement('html');

	Object.assign(globalThis, { Node: FakeNode, Element: FakeElement, listeners: page.listeners, addEventListener: page.addEventListener.bind(page), devicePixelRatio: 2,
		document: { body: new FakeElement('body'), documentElement: page, createElement: (t) => new FakeElement(t), createTextNode: (t) => new FakeText(t), getElementById: () => data, addEventListener: page.addEventListener.bind(page) },
		getComputedStyle: () => ({ fontFamily: 'sans', getPropertyValue: (v) => `#${String(v.length).repeat(6)}` }), matchMedia: () => new FakeElement('media'),
		history: { replaceState() {} }, location: { hash: '', pathname: '/', search: '' },
		ImageData: class { constructor(w, h) { Object.assign(this, { width: w, height: h, data: new Uint8ClampedArray(4 * w * h) }); } } });
	globalThis.window = globalThis;
	return page;
}
