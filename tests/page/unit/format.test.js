// SPDX-License-Identifier: Apache-2.0
import {about, bytes, celsius, count, day, duration, marginText, moment, rate, ratio} from '../../../page/src/format.js';
import {equal, test} from './check.js';

const NONE = [undefined, null, NaN, Infinity, -Infinity, '5', '', true, {}, [1]];

for (const [name, format] of Object.entries({bytes, celsius, count, duration, moment, ratio})) {
  test(`${name}: what is not known is empty, not 0`, () => {
    for (const each of NONE) equal(format(each), '');
  });
}

test('bytes', () => {
  const expected = [
    [0, '0 B'], [1, '1 B'], [1023, '1023 B'], [1024, '1.0 KiB'], [1536, '1.5 KiB'],
    [102300, '99.9 KiB'], [102400, '100 KiB'], [1048575, '1.0 MiB'], [1048576, '1.0 MiB'],
    [12 * 1048576, '12.0 MiB'], [256 * 1048576, '256 MiB'], [7.4 * 1073741824, '7.4 GiB'],
    [2 ** 40, '1.0 TiB'], [2 ** 53, '8192 TiB'], [-1536, '-1.5 KiB'],
  ];
  for (const [value, text] of expected) equal(bytes(value), text);
});

test('bytes: never 1024 of a unit, never a fifth digit before the point', () => {
  for (let value = 1; value < 2 ** 43; value = Math.ceil(value * 1.013)) {
    const number = parseFloat(bytes(value));
    if (number >= 1024) throw new Error(`${value}: ${bytes(value)}`);
  }
});

test('ratio', () => {
  equal([0, 0.001, 0.05, 0.0994, 0.0996, 0.5, 1, 1.5, -0.02].map(ratio),
        ['0.0%', '0.1%', '5.0%', '9.9%', '10%', '50%', '100%', '150%', '-2.0%']);
});

test('celsius', () => equal([0, 54.25, -12].map(celsius), ['0.0 °C', '54.3 °C', '-12.0 °C']));
test('count', () => equal([0, 999, 1234567].map(count), ['0', '999', '1,234,567']));

test('duration: the two largest units', () => {
  const expected = [
    [0, '0 s'], [0.0000123, '12 µs'], [0.0123, '12.3 ms'], [0.25, '250 ms'], [5, '5.0 s'], [59.4, '59 s'],
    [60, '1 min'], [61, '1 min 1 s'], [3600, '1 h'], [3661, '1 h 1 min'], [90061, '1 d 1 h'],
    [60 * 86400, '60 d'], [-61, '-1 min 1 s'],
  ];
  for (const [value, text] of expected) equal(duration(value), text);
});

test('duration: at the edge of a unit the next one', () => {
  equal(duration(59.6), '1 min');
  equal(duration(9.96), '10 s');
  equal(duration(3599.6), '1 h');
  equal(duration(0.9996), '1.0 s');
});

test('moment: with its day where that is not today', () => {
  const noon = Date.UTC(2026, 10, 22, 12, 0, 0) / 1000;
  equal(moment(noon, noon + 60), '12:00:00');
  equal(moment(noon, noon + 86400), '2026-11-22 12:00:00');
});

test('about: as little as is known', () => {
  for (const [value, text] of [[7.9, 'about 8 s'], [2400, 'about 40 min'], [9000, 'about 2.5 h'], [7200, 'about 2 h'],
    [260000, 'about 3 d']]) equal(about(value), text);
});

test('rate: in one unit of time by its size', () => {
  equal([rate(3 * 2 ** 20), rate(-(2 ** 17)), rate(1024), rate(0)], ['3.0 MiB/s', '-7.5 MiB/min', '3.5 MiB/h', '0 B/h']);
});

test('margin: on which side', () => {
  equal([marginText('critical', 3.45), marginText('passive', -2)], ['3.5 °C below critical', '2.0 °C above passive']);
});

test('day', () => equal(day(Date.UTC(2026, 0, 5) / 1000), '2026-01-05'));
