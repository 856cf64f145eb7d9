// A row of single values, each with its name.

import {known} from './absent.js';
import {el} from './dom.js';

// figures([{name, text, absent, key, note, level}, ...]): `text` '' where it is not known, then
// absent[key] says why. `level` is ok, warning or critical, and `note` says in words what it means.
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
