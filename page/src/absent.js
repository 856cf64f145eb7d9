// What the device could not tell, and why: it stands where the value would be.

import {el} from './dom.js';
import {short, words} from './text.js';

const NO_REASON = 'not told by this device';

export function why(absent, key) {
  const reason = absent?.[key];
  return typeof reason === 'string' && reason !== '' ? short(reason, 400) : '';
}

// The value as text, or that it is not known. `text` is '' where it is not.
export function known(text, absent, key) {
  if (text !== '' && text !== undefined) return text;
  return el('span', {class: 'absent'}, 'not known', reason(why(absent, key)));
}

// For a cell of a table, where the reason is told below.
export function dash() {
  return el(
    'span',
    {class: 'absent'},
    el('span', {'aria-hidden': 'true'}, '\u2013'),
    el('span', {class: 'unseen'}, 'not known'),
  );
}

const reason = (text) => (text ? el('span', {class: 'why'}, `: ${text}`) : '');

// All that is absent, as a list; without those that are told elsewhere. Nothing where nothing is.
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
