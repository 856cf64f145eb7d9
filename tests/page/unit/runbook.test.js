// SPDX-License-Identifier: Apache-2.0
// A runbook beside the page: elements of it, and nothing else.

import {el} from '../../../page/src/dom.js';
import {readMarkup} from '../../../page/src/runbook_markup.js';
import {equal, test} from './check.js';

const NONE = {code: () => null, command: (text) => text, open: () => {}};
const shown = (body, fills = NONE) =>
    el('div', {}, ...readMarkup(`<html><main>\n${body}\n</main></html>`, fills));

test('runbook: headings, lists, tables and code', () => {
  const page = shown('<h1>A</h1>\n<p>b <code>c &lt;d&gt;</code></p><ul>\n<li>e</li>\n</ul>' +
                     '<table><thead><tr><th>f</th></tr></thead></table>');
  equal(page.querySelector('h3').textContent, 'A');
  equal(page.querySelector('code').textContent, 'c <d>');
  equal(page.querySelector('ul > li').textContent, 'e');
  equal(page.querySelector('table thead th').textContent, 'f');
});

test('runbook: no other element comes of it', () => {
  const page = shown('<script>a()</script><img src=x onerror=a()><p onclick="a()">b</p>' +
                     '<a href="javascript:a()">c</a><style>d</style><iframe src="/x"></iframe>');
  equal([...page.querySelectorAll('*')].map((each) => each.localName), ['p', 'span']);
  equal(page.querySelector('p').attributes.length, 0);
  equal(readMarkup('no main here', NONE), []);
});

test('runbook: values beside metrics, names in commands', () => {
  const fills = {...NONE, code: (word) => (word === 'm' ? ' (now 5)' : null),
                 command: (text) => text.replace('DEVICE', 'vi')};
  const page = shown('<p><code>m</code> <code>n</code></p><pre><code>sudo jetmem DEVICE  # why\n</code></pre>',
                     fills);
  equal(page.querySelector('p').textContent, 'm (now 5) n');
  equal(page.querySelector('.copyable code').textContent, 'sudo jetmem vi');
});

test('runbook: another runbook opens in its place', () => {
  let opened = '';
  const page = shown('<a href="/runbooks/oom-kill">x</a>', {...NONE, open: (name) => (opened = name)});
  const link = page.querySelector('a');
  equal(link.getAttribute('href'), '/runbooks/oom-kill');
  link.dispatchEvent(new MouseEvent('click', {cancelable: true, bubbles: true}));
  equal(opened, 'oom-kill');
});
