// SPDX-License-Identifier: Apache-2.0
// An unknown value and its reason, shown in place of the value.

import {el} from './dom.js';
import {short, words} from './text.js';

const NO_REASON = 'not reported by this device';

export function why(absent, key) {
  const reason = absent?.[key];
  return typeof reason === 'string' && reason !== '' ? short(reason, 400) : '';
}

// The value as text, or "not known" where `text` is ''.
export function known(text, absent, key) {
  if (text !== '' && text !== undefined) return text;
  return el('span', {class: 'absent'}, 'not known', reason(why(absent, key)));
}

// For a table cell; the reason is shown below the table.
export function dash() {
  return el(
    'span',
    {class: 'absent'},
    el('span', {'aria-hidden': 'true'}, '\u2013'),
    el('span', {class: 'unseen'}, 'not known'),
  );
}

const reason = (text) => (text ? el('span', {class: 'why'}, `: ${text}`) : '');

// A list of everything absent, except what is shown elsewhere. Empty when nothing is.
export function absences(absent, besides = []) {
  const all = Object.entries(absent ?? {}).filter(([key]) => !besides.includes(key));
  if (all.length === 0) return null;
  return el(
    'ul',
    {class: 'absences'},
    all.map(([key, text]) =>
      el('li', {}, el('b', {}, `${words(key)}: not known. `), short(text || NO_REASON, 400)),
    ),
  );
}
