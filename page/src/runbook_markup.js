// SPDX-License-Identifier: Apache-2.0
// A runbook's page as elements. It reads what the page's own build makes of Markdown: a few elements
// without attributes, and links. Anything else becomes text.

import {copyable} from './copyable.js';
import {el, link} from './dom.js';

const KNOWN = new Set([
  'h1', 'h2', 'h3', 'p', 'ul', 'ol', 'li', 'pre', 'code', 'em', 'strong', 'a', 'blockquote', 'hr',
  'table', 'thead', 'tbody', 'tr', 'th', 'td', 'br',
]);
const ALONE = new Set(['hr', 'br']);
// Below the title of the panel.
const RENAMED = {h1: 'h3', h2: 'h3', h3: 'h4'};
const ENTITIES = {lt: '<', gt: '>', amp: '&', quot: '"'};

const plainText = (text) => text.replace(/&(lt|gt|amp|quot);/g, (_, name) => ENTITIES[name]);

// The nodes of <main>. fills: {code(word) -> node after it or null, command(text) -> text,
// open(name): shows another runbook}.
export function readMarkup(page, fills) {
  const main = /<main>([\s\S]*)<\/main>/.exec(page)?.[1] ?? '';
  const root = {tag: '', children: []};
  const stack = [root];
  for (const [whole, end, tag, attributes] of main.matchAll(/<(\/?)([a-z]\w*)([^>]*)>|[^<]+/g)) {
    if (tag === undefined) {
      stack.at(-1).children.push(plainText(whole));
    } else if (end) {
      if (stack.length > 1 && stack.at(-1).tag === tag) stack.pop();
    } else if (KNOWN.has(tag)) {
      const href = plainText(/\bhref="([^"]*)"/.exec(attributes)?.[1] ?? '');
      const node = {tag, href, children: []};
      stack.at(-1).children.push(node);
      if (!ALONE.has(tag)) stack.push(node);
    }
  }
  return root.children.flatMap((each) => made(each, fills)).filter((each) => each !== '');
}

const textOf = (node) =>
  typeof node === 'string' ? node : node.children.map(textOf).join('');

function made(node, fills) {
  if (typeof node === 'string') return node.trim() === '' && node.includes('\n') ? ' ' : node;
  const {tag, href, children} = node;
  if (tag === 'pre') return commands(fills.command(textOf(node)));
  const content = () => children.flatMap((each) => made(each, fills));
  if (tag === 'code') {
    const word = textOf(node);
    return [el('code', {}, word), fills.code(word)].filter(Boolean);
  }
  if (tag !== 'a') return el(RENAMED[tag] ?? tag, {}, ...content());
  const other = /^\/runbooks\/([\w-]+)$/.exec(href)?.[1];
  if (!other) return link(href, ...content());
  const to = link(href, ...content());
  to.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    fills.open(other);
  });
  return to;
}

// Each line that is a command can be copied.
function commands(text) {
  const lines = text.split('\n').filter((each) => each.trim() !== '');
  const isCommand = (line) => /^(sudo |jetmem|journalctl|systemctl|cat |grep |ls |dmesg)/.test(line);
  if (lines.some((line) => !isCommand(line) || line.endsWith('\\')))
    return el('pre', {tabindex: '0'}, el('code', {}, text));
  return lines.map((line) => {
    const [, command, remark = ''] = /^(.*?)(?:\s{2,}#\s*(.*))?$/.exec(line);
    return el('div', {}, copyable(command.trim()), remark ? el('span', {class: 'note'}, remark) : null);
  });
}
