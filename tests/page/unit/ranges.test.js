// SPDX-License-Identifier: Apache-2.0
import {choose, chosen, goTo, stepsTaken} from '../../../page/src/url_state.js';
import {
  DEFAULT_RANGE,
  endOf,
  fixedRange,
  placeOf,
  RANGES,
  rangeNamed,
  rangeOf,
  rangeWithData,
  refreshSeconds,
} from '../../../page/src/ranges.js';
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

test('ranges: opened at what has data', () => {
  const of = (...boots) =>
      rangeWithData(boots.map(([first_time, last_time]) => ({first_time, last_time})), 1e6).name;
  const now = 1e6;
  equal(of([now - 300, now]), '10m');
  equal(of([now - 1200, now]), '1h');
  equal(of([now - 9e5, now]), '1h');
  // Restarted five minutes ago: what was before belongs to it.
  equal(of([now - 9e5, now - 320], [now - 300, now]), '1h');
  equal(of([now - 9e5, now - 8e5], [now - 300, now]), '10m');
  equal(of([now - 9e5, now - 7200]), '6h');
  equal(of([1, 2]), '30d');
  equal(of(), '1h');
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

const get = (choices) => (name) => choices[name] ?? null;
const NIGHT = 1795658400;  // 26 Nov 2026 02:00 UTC

test('ranges: from one moment to another', () => {
  const night = rangeOf(get({range: '7d', from: String(NIGHT), to: String(NIGHT + 3600)}));
  equal([night.from, night.to, night.seconds, night.step], [NIGHT, NIGHT + 3600, 3600, 20]);
  equal(placeOf(night), {range: null, from: String(NIGHT), to: String(NIGHT + 3600)});
  equal(placeOf(rangeNamed('7d')), {range: '7d', from: null, to: null});
  equal([endOf(night, 5), endOf(rangeNamed('7d'), 5)], [NIGHT + 3600, 5]);
});

test('ranges: what is no time is the live range beside it', () => {
  for (const [from, to] of [['', ''], ['x', '5'], ['10', '5'], ['-5', '5'], ['1e3', '2e3'], ['0', '5'],
                            ['9'.repeat(20), '9'.repeat(21)], ['NaN', 'Infinity'], ['5', null]])
    equal(rangeOf(get({range: '6h', from, to})), rangeNamed('6h'));
});

test('ranges: no part of the past has more points than a screen can show', () => {
  for (const seconds of [1, 30, 600, 1800, 1801, 7200, 86400, 40 * 86400, 10 * 365 * 86400]) {
    const range = fixedRange(NIGHT - seconds, NIGHT);
    const points = range.seconds / (range.step || 5);
    if (points > 400 || range.seconds < 30) throw new Error(`${seconds}: ${points} points`);
  }
});

test('place: a step can be gone back', async () => {
  const before = location.href;
  const steps = stepsTaken();
  goTo({from: '1', to: '2'});
  equal([chosen('from'), chosen('to'), stepsTaken()], ['1', '2', steps + 1]);
  await new Promise((done) => {
    addEventListener('popstate', done, {once: true});
    history.back();
  });
  equal([chosen('from'), stepsTaken()], [null, steps]);
  history.replaceState(null, '', before);
});
