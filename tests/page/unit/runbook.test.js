// SPDX-License-Identifier: Apache-2.0
// A runbook beside the page: elements of it, and nothing else.

import {el} from '../../../page/src/dom.js';
import {runbookButton, valueOf, withNames} from '../../../page/src/runbook.js';
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

const SAMPLES = {
  'jetmem_cma_used_bytes{area="a,b"}': 1024,
  'jetmem_cma_used_bytes{area="vi"}': 2048,
  'jetmem_free_bytes': 4096,
  'jetmem_x{kind="p",of="m"}': 1,
  'jetmem_x{kind="q",of="m"}': 2,
};

test('runbook: values of the series of the alert, and no others as if they were', () => {
  const value = (word, labels = {}) => valueOf(word, SAMPLES, labels)?.textContent ?? null;
  equal(value('jetmem_cma_used_bytes', {area: 'vi'}), ' (now 2.0 KiB)');
  equal(value('jetmem_cma_used_bytes', {area: 'gone'}), null);
  equal(value('jetmem_free_bytes', {area: 'vi'}), ' (now 4.0 KiB)');
  equal(value('jetmem_cma_used_bytes', {unit: 'u'}), ' (now area a,b: 1.0 KiB; area vi: 2.0 KiB)');
  equal(value('jetmem_x'), ' (now kind p: 1; kind q: 2)', 'what they share is no name');
  equal(value('jetmem_x{kind="q"}', {kind: 'p'}), ' (now 2)', 'the runbook names another');
  equal([value('jetmem_none'), value('jetmem')], [null, null]);
});

test('runbook: names in commands', () => {
  equal(withNames('jetmem DEVICE UNIT DEVICES', {device: 'UNIT', unit: 'u'}), 'jetmem UNIT u DEVICES');
  equal(withNames('jetmem DEVICE', {device: '$(x)'}), 'jetmem DEVICE');
  equal(withNames('jetmem DEVICE', {device: '-rf'}), 'jetmem DEVICE');
});

const soon = () => new Promise((done) => setTimeout(done, 20));
const TEXT = '<main><p>read <code>jetmem_cma_used_bytes</code></p><pre><code>sudo jetmem AREA\n</code></pre></main>';
const series = (area, state = 'firing') => ({state, labels: {area}, summary: `${area} is full`});
const asRule = (...alerts) => ({rules: [{alert: 'A', state: 'firing', alerts}], evaluated: {}});

// The panel after a click on the button of this alert.
async function opened(alert, alerts) {
  if (!document.getElementById('main')) document.body.append(el('main', {id: 'main'}));
  const answers = {now: {samples: SAMPLES}, alerts};
  const device = {
    page: async () => TEXT,
    once: async (name) => answers[name] ?? Promise.reject(new Error('no answer')),
  };
  runbookButton({device}, 'cma-exhausted', alert).click();
  await soon();
  const text = (selector) => document.querySelector(`#runbook ${selector}`)?.textContent ?? '';
  return [text('.remark'), text('.here'), text('.copyable code')];
}

test('runbook: of the alert that is shown, as it is now', async () => {
  const vi = {alert: 'A', labels: {area: 'vi'}};
  equal(await opened(vi, asRule(series('a,b', 'pending'), series('vi'))),
        ['On this device: vi is full', ' (now 2.0 KiB)', 'sudo jetmem vi']);
  equal(await opened({alert: 'A'}, asRule(series('a,b', 'pending'), series('vi'))),
        ['On this device: vi is full', ' (now 2.0 KiB)', 'sudo jetmem vi'], 'the one that fires');
  equal(await opened(vi, asRule(series('a,b'), series('vi'))),
        ['On this device: vi is full', ' (now 2.0 KiB)', 'sudo jetmem AREA'], 'they disagree');
  equal((await opened(vi, undefined))[0], 'What the alert says now is not known: no answer.');
});

test('runbook: the one opened last is shown', async () => {
  let slow = null;
  const device = {page: () => new Promise((done) => (slow = done)), once: async () => ({})};
  runbookButton({device}, 'cma-exhausted', {alert: 'A'}).click();
  await soon();
  const [, value] = await opened({alert: 'A'}, asRule(series('vi')));
  slow('<main><p>slow</p></main>');
  await soon();
  equal([value, /slow/.test(document.getElementById('runbook').textContent)], [' (now 2.0 KiB)', false]);
  document.getElementById('runbook').querySelector('button').click();
});
