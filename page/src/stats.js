// SPDX-License-Identifier: Apache-2.0
// A row of named values.

import {known} from './absent.js';
import {el} from './dom.js';

// figures([{name, text, absent, key, note, level}, ...]): `text` is '' for an unknown value, whose
// reason is absent[key]. `level` is ok, warning or critical, and `note` explains it in words.
export function figures(all) {
  return el(
    'dl',
    {class: 'figures'},
    all
      .filter(Boolean)
      .map((each) =>
        el(
          'div',
          {class: `figure ${each.level ?? ''}`.trim()},
          el('dt', {}, each.name),
          el(
            'dd',
            {},
            known(each.text, each.absent, each.key ?? ''),
            each.note && each.text !== '' ? el('span', {class: 'note'}, each.note) : null,
          ),
        ),
      ),
  );
}
