// SPDX-License-Identifier: Apache-2.0
// Builds elements. Text is only ever set as text: names of processes, devices and files are
// untrusted, and none of it becomes markup. Nothing else writes to the page.

import {plain} from './text.js';

const SVG = 'http://www.w3.org/2000/svg';

// Event handlers by kind, kept beside their element, so that update() can replace those of an
// element that stays.
const doings = new WeakMap();

function listen(node, kind, does) {
  const all = doings.get(node) ?? new Map();
  doings.set(node, all);
  if (!all.has(kind)) node.addEventListener(kind, (event) => doings.get(node).get(kind)?.(event));
  all.set(kind, does);
}

// A name that fits no line is broken between its parts, not within one: behind '_', '/' and the like.
const LONG = /\S{20}/;
const PARTS = /(?<=[_/\\.,:;={}()|-])(?=[\p{L}\p{N}"])/u;

function breakable(text) {
  if (!LONG.test(text)) return text;
  return text.split(PARTS).flatMap((part, i) => (i > 0 ? [document.createElement('wbr'), part] : part));
}

const flattened = (children, textOf = (text) => breakable(plain(text))) =>
  children
    .flat(Infinity)
    .filter((each) => each !== undefined && each !== null && each !== false)
    .flatMap((each) => (each instanceof Node ? each : textOf(each)));

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) {
      listen(node, name.slice(2), value);
    } else if (name === 'style') {
      // One by one: the page's policy refuses a style attribute.
      for (const [key, each] of Object.entries(value)) node.style.setProperty(key, each);
    } else {
      node.setAttribute(name, value === true ? '' : plain(value));
    }
  }
  node.append(...flattened(children, node.namespaceURI === SVG ? plain : undefined));
  return node;
}

// el('p', {class: 'quiet'}, 'text', el('b', {}, name))
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

// Replaces the content of `node` unless it looks the same: the reader's selection, focus and opened
// parts stay.
export function show(node, ...children) {
  const next = document.createElement(node.localName);
  next.append(...flattened(children));
  if (next.innerHTML === node.innerHTML && !next.querySelector('canvas')) return;
  node.replaceChildren(...next.childNodes);
}

// Like show(), for content that changes every few seconds: existing elements are changed to match
// the new ones, so that focus, selection, opened parts and scrolling stay. An element with a
// `data-key` stays the same wherever it moves. The new elements are consumed: keep no reference to
// them.
export function update(node, ...children) {
  become(
    node,
    flattened(children).map((each) =>
      each instanceof Node ? each : document.createTextNode(each),
    ),
  );
}

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.dataset.key : undefined);

function alike(old, next) {
  return (
    old.nodeName === next.nodeName &&
    old.namespaceURI === next.namespaceURI &&
    keyOf(old) === keyOf(next)
  );
}

function become(node, wanted) {
  const keyed = new Map();
  for (const each of node.childNodes) if (keyOf(each) !== undefined) keyed.set(keyOf(each), each);
  // Removed nodes go first: the others then need not move, and keep the focus.
  const keys = new Set(wanted.map(keyOf));
  for (const [key, each] of keyed) if (!keys.has(key)) each.remove();
  let at = node.firstChild;
  for (const next of wanted) {
    const known = keyOf(next) === undefined ? at : keyed.get(keyOf(next));
    if (known && known.parentNode === node && alike(known, next)) {
      keyed.delete(keyOf(next));
      if (known === at) at = at.nextSibling;
      else node.insertBefore(known, at);
      copy(known, next);
    } else {
      node.insertBefore(next, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function copy(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  // The reader decides whether it is open.
  const readers = old.localName === 'details' ? 'open' : '';
  for (const {name} of [...old.attributes]) {
    if (!next.hasAttribute(name) && name !== readers) old.removeAttribute(name);
  }
  for (const {name, value} of next.attributes) {
    if (name === readers || name === 'style') continue;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
  const does = doings.get(next);
  for (const [kind, what] of does ?? []) listen(old, kind, what);
  become(old, [...next.childNodes]);
}

// Links only to this device or the web, never javascript: or the like. A browser reads '\' as '/',
// and '//' begins another host's name.
export function link(href, ...children) {
  const good = /^(\/(?![/\\])|#|https?:\/\/)/.test(href);
  return good ? el('a', {href, rel: 'noreferrer'}, ...children) : el('span', {}, ...children);
}
