// Builds elements. Text is only ever set as text: names of processes, devices and files come from
// whoever runs on the device, and nothing of them becomes markup. There is no other way to write
// to the page here.

import {plain} from './text.js';

const SVG = 'http://www.w3.org/2000/svg';

// What an element does, by the kind of event: kept beside it, so that update() can give an element
// that stays what its newer self would do.
const doings = new WeakMap();

function listen(node, kind, does) {
  const all = doings.get(node) ?? new Map();
  doings.set(node, all);
  if (!all.has(kind)) node.addEventListener(kind, (event) => doings.get(node).get(kind)?.(event));
  all.set(kind, does);
}

function textOrNode(child) {
  return child instanceof Node ? child : plain(child);
}

const flattened = (children) =>
  children
    .flat(Infinity)
    .filter((each) => each !== undefined && each !== null && each !== false)
    .map(textOrNode);

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) {
      listen(node, name.slice(2), value);
    } else if (name === 'style') {
      // One by one: an attribute of that name is refused by the page's policy.
      for (const [key, each] of Object.entries(value)) node.style.setProperty(key, each);
    } else {
      node.setAttribute(name, value === true ? '' : plain(value));
    }
  }
  node.append(...flattened(children));
  return node;
}

// el('p', {class: 'quiet'}, 'text', el('b', {}, name))
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

// Puts these in the place of what is in `node`, unless they look the same: what a reader has
// selected, focused or opened stays as it is.
export function show(node, ...children) {
  const next = document.createElement(node.localName);
  next.append(...flattened(children));
  if (next.innerHTML === node.innerHTML && !next.querySelector('canvas')) return;
  node.replaceChildren(...next.childNodes);
}

// As show(), for what changes every few seconds: elements that are there already become like the
// new ones, so that what is focused, selected, opened or scrolled stays so while numbers around it
// change. An element with a `data-key` stays the same wherever it moves. The new elements are used
// up: hold on to none of them.
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
  // What is gone goes first: what stays need not move then, and so keeps the focus.
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
  // Whether it is open is the reader's.
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

// A link only to this device or the web: never to javascript: or the like. A browser takes '\' for
// '/', and '//' begins the name of another host.
export function link(href, ...children) {
  const good = /^(\/(?![/\\])|#|https?:\/\/)/.test(href);
  return good ? el('a', {href, rel: 'noreferrer'}, ...children) : el('span', {}, ...children);
}
