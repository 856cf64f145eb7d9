// SPDX-License-Identifier: Apache-2.0
import {el, link, show, svg} from '../../../page/src/dom.js';
import {equal, test} from './check.js';

const HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>';

// Elements but for the places where a long name may be broken.
const marked = (node) => node.querySelectorAll(':not(wbr)').length;

test('el: text is text', () => {
  const node = el('p', {title: HOSTILE}, HOSTILE, ['a', [null, undefined, 'b']]);
  equal([marked(node), node.textContent, node.title], [0, `${HOSTILE}ab`, HOSTILE]);
});

test('el: attributes that are not set', () => {
  const node = el('button', {disabled: false, hidden: true, id: null, name: undefined});
  equal(node.outerHTML, '<button hidden=""></button>');
});

test('el: style goes around no policy', () => {
  const node = el('i', {style: {'--share': '30%', color: 'red; background: url(//x)'}});
  equal(node.style.getPropertyValue('--share'), '30%');
  equal(node.style.color, '');
});

test('svg', () => equal(svg('path', {d: 'M0 0'}).namespaceURI, 'http://www.w3.org/2000/svg'));

test('show: what is the same stays in place', () => {
  const node = el('div');
  show(node, el('p', {}, 'a'));
  const first = node.firstChild;
  show(node, el('p', {}, 'a'));
  equal(node.firstChild === first, true);
  show(node, el('p', {}, 'b'));
  equal([node.firstChild === first, node.textContent], [false, 'b']);
});

test('show: text is text', () => {
  const node = el('div');
  show(node, HOSTILE);
  equal([marked(node), node.textContent], [0, HOSTILE]);
});

test('show: nothing', () => {
  const node = el('div', {}, 'old');
  show(node);
  equal(node.childNodes.length, 0);
});

test('link: to this device and the web only', () => {
  const name = (href) => link(href, 'x').localName;
  for (const good of ['/runbooks/cma-exhausted', '#cma', 'https://example.org/', 'http://192.0.2.1/', '/']) {
    equal([good, name(good)], [good, 'a']);
  }
  for (const bad of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', ' javascript:alert(1)', '\tjavascript:alert(1)',
                     'java\nscript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', '//evil.example/',
                     'runbook.md', '', '\\\\evil', 'blob:x', undefined, null]) {
    equal([bad, name(bad)], [bad, 'span']);
  }
});

test('link: another site learns nothing', () => equal(link('https://example.org/', 'x').rel, 'noreferrer'));
test('link: no way around by a backslash', () => equal(link('/\\evil.example', 'x').localName, 'span'));
