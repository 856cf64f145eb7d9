// SPDX-License-Identifier: Apache-2.0
import {choose, chosen} from '../../../page/src/url_state.js';
import {DEFAULT_RANGE, RANGES, rangeNamed, refreshSeconds} from '../../../page/src/ranges.js';
import {equal, test} from './check.js';

test('ranges: from ten minutes to sixty days', () => {
  equal(RANGES.map((range) => range.name), ['10m', '1h', '6h', '24h', '7d', '30d', '60d']);
  equal([RANGES[0].seconds, RANGES.at(-1).seconds], [600, 60 * 86400]);
});

test('ranges: no picture has more points than a screen can show', () => {
  for (const {name, seconds, step} of RANGES) {
    const points = seconds / (step || 10);
    if (points > 400) throw new Error(`${name}: ${points} points`);
  }
});

test('ranges: a name that is none is the default', () => {
  for (const name of [null, undefined, '', '1y', '__proto__', '1H']) equal(rangeNamed(name), DEFAULT_RANGE);
});

test('ranges: refreshed at a bearable pace', () => {
  for (const range of RANGES) {
    const pace = refreshSeconds(range);
    if (!(pace >= 5 && pace <= 300)) throw new Error(`${range.name}: ${pace} s`);
  }
});

test('place: what is chosen is behind the # and nowhere else', () => {
  const before = location.href;
  choose('range', '7d');
  equal([chosen('range'), location.hash], ['7d', '#?range=7d']);
  choose('fold', 'a b&c=d');
  equal([chosen('range'), chosen('fold')], ['7d', 'a b&c=d']);
  choose('range', null);
  equal([chosen('range'), chosen('fold')], [null, 'a b&c=d']);
  choose('fold', null);
  equal([location.hash, document.cookie, localStorage.length, sessionStorage.length], ['', '', 0, 0]);
  history.replaceState(null, '', before);
});
