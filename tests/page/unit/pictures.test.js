// SPDX-License-Identifier: Apache-2.0
// What the pictures of the past make of points: gaps stay gaps, counters never fall, nothing is
// called now that is not.

import {align, shownAt} from '../../../page/src/pictures/align.js';
import {averages, buckets, reach, spread} from '../../../page/src/pictures/buckets.js';
import {increases} from '../../../page/src/pictures/increases.js';
import {holder, sums} from '../../../page/src/pictures/memory.js';
import {figures, sentence} from '../../../page/src/pictures/summary.js';
import {tickTexts} from '../../../page/src/pictures/time_axis.js';
import {UNITS} from '../../../page/src/pictures/units.js';
import {equal as same, test} from './check.js';

const equal = (found, expected, what) => same({[what]: found}, {[what]: expected});

const point = (time, value, more = {}) =>
    ({time, boot: 1, resolution: 'raw', count: 1, min: value, average: value, max: value, ...more});
const every = (from, to, step, value = 1, more = {}) => Array.from(
    {length: Math.round((to - from) / step)}, (_, i) => point(from + i * step, value, more));
const nulls = (column) => column.average.filter((each) => each === null).length;

function gaps() {
  const whole = align([{points: every(0, 100, 10)}]);
  equal(whole.times.length, 10, 'points');
  equal(nulls(whole.columns[0]), 0, 'no gap in a whole line');
  const paused = align([{points: [...every(0, 100, 10), ...every(200, 300, 10)]}]);
  equal(nulls(paused.columns[0]), 2, 'a pause breaks the line at both ends');
  equal(paused.times[paused.columns[0].average.indexOf(null)], 100, 'a step after the last point');
  const late = align([{points: [...every(0, 100, 10), ...every(114, 200, 10)]}]);
  equal(nulls(late.columns[0]), 0, 'a point that is a little late is joined');
  const again = align([{points: [...every(0, 100, 10), ...every(100, 200, 10, 1, {boot: 2})]}]);
  equal(nulls(again.columns[0]), 1, 'another boot is not joined');
  equal(again.boots, [{boot: 2, time: 100}], 'a restart is marked');
}

function lines() {
  const two = align([{points: every(0, 100, 10)}, {points: every(5, 100, 10)}]);
  equal(nulls(two.columns[0]), 0, 'points of another line are no gap');
  equal(shownAt(two.times, two.columns[0].average, 1, 10), 0, 'the value close by');
  equal(align([{points: [point(0, 1)]}]).columns[0].lone, [0], 'one point alone is seen');
  equal(align([{points: []}]).times, [], 'no point');
  const odd = align([{points: [point(0, 1), point(10, NaN), point(20, 2)]}]);
  equal(odd.times, [0, 20], 'no number, no point');
  const back = align([{points: [...every(100, 200, 10), ...every(50, 150, 10, 2, {boot: 2})]}]);
  equal(back.mixed, true, 'a clock set back is reported');
  equal([...back.times].sort((a, b) => a - b), back.times, 'times ascend all the same');
  const coarse =
      align([{points: [...every(0, 9000, 900, 1, {resolution: '15m'}), ...every(9000, 9100, 10)]}]);
  equal(nulls(coarse.columns[0]), 0, 'coarse points and fine ones are one line');
}

function counters() {
  const by = (points, begin) => increases(points, begin).map((each) => each.by);
  equal(by([point(0, 5), point(10, 7), point(20, 7)]), [0, 2, 0], 'what it grew by');
  equal(by([point(0, 5), point(10, 2)]), [0, 2], 'it began anew');
  equal(by([point(0, 5), point(10, 3, {boot: 2})]), [0, 3], 'it began anew with the device');
  equal(by([point(50, 4)], new Map([[1, 0]])), [4], 'it was not there before');
  equal(
      by([point(0, 0, {min: 5, max: 9}), point(10, 0, {min: 9, max: 12})]), [4, 3],
      'of merged points');
  const merged = (time, min, max) => point(time, 0, {min, max, count: 6});
  equal(by([point(0, 100), merged(60, 0, 105), point(120, 4)]), [0, 5, 4],
        '100, 105, 0, 3, 4: a restart within a point invents nothing');
  equal(by([point(0, 100), merged(60, 0, 100), point(120, 4)]), [0, 0, 4], '100, 0, 3, 4');
  equal(by([point(0, 100), merged(60, 0, 3)]), [0, 3], 'a restart before a point');
  equal(by([merged(0, 0, 105), point(60, 4)]), [0, 4], 'a restart within the first point');
  equal(by([merged(0, 0, 105)]), [0], 'a point alone, that may hide a restart');
}

function words() {
  equal(figures([]), null, 'nothing is nothing');
  const known = figures([point(0, 1), point(10, 3, {min: 2, max: 4})]);
  equal([known.latest, known.least, known.greatest], [3, 1, 4], 'figures');
  const text = (value) => `${value} B`;
  equal(sentence('free', known, text, 15, 10), 'free: 3 B now, from 1 B to 4 B.', 'now');
  equal(sentence('free', known, text, 9999, 10).includes('now'), false, 'long ago is not now');
  equal(
      sentence('free', known, text, 15, 3600).includes('now'), false,
      'the mean of hours is not now');
  equal(sentence('free', null, text, 15, 10), 'free: nothing recorded.', 'nothing');
}

function cells() {
  const pieces = buckets({seconds: 600}, 1000, 60);
  equal(
      [pieces.count, pieces.at(400), pieces.at(1000), pieces.at(399), pieces.at(1001)],
      [10, 0, 9, -1, -1], 'pieces of the range');
  equal(
      averages([point(410, 2), point(420, 4), point(405, NaN)], pieces).slice(0, 2), [3, null],
      'averages');
}

function cellsOfOutages() {
  const pieces = buckets({seconds: 600}, 1000, 0);
  const seen = (points) => {
    const out = Array(pieces.count).fill(0);
    reach(points, pieces, () => 10, (_, i) => (out[i] = 1));
    return out.join('').slice(0, 16);
  };
  equal(pieces.width, 10, 'pieces of ten seconds');
  equal(seen(every(400, 500, 10)), '1111111111000000', 'an end is an end');
  const out = [...every(400, 440, 10), ...every(490, 500, 10)];
  equal(seen(out), '1111000001000000', 'fifty seconds without a point are not known');
  equal(seen([point(400, 1), point(420, 1)]), '1110000000000000', 'one that is late is');
  equal(seen([point(400, 1), point(420, 1, {boot: 2})]), '1010000000000000', 'but no other boot');
  equal(
      spread(averages(out, pieces), out, pieces).slice(0, 11),
      [1, 1, 1, 1, null, null, null, null, null, 1, null], 'values, too');
}

function together() {
  const group = (...values) => ({points: values.map(([time, value]) => point(time, value))});
  const found = (step, ...groups) => sums(groups, step).map(({time, max}) => [time, max]);
  equal(
      found(60, group([60, 3], [120, 3]), group([63, 1], [120, 1])), [[60, 4], [120, 4]],
      'points of one step are one, whenever each began');
  equal(found(0, group([60, 3], [70, 3]), group([60, 1], [70, 1])), [[60, 4], [70, 4]], 'as recorded');
  equal(
      found(0, group([60, 3], [70, 3], [80, 3]), group([60, 1], [80, 1])), [[60, 4], [80, 4]],
      'a partial sum is none');
  equal(
      found(60, group([60, 3], [120, 3], [180, 3]), group([120, 1])), [[60, 3], [120, 4]],
      'nor where a part has ended, but what was not there yet is no part');
  equal(found(0, group([60, 1]), group()), [[60, 1]], 'nor is what was never there');
  equal(found(0, group(), group([60, 1])), [], 'without the first there is none');
  equal(
      found(0, group([70, 3]), group([60, 1], [70, 1])), [[70, 4]],
      'nor before its first point');
  equal(
      found(60, group([60, 3], [70, 5]), group([65, 1], [75, 1])), [[60, 4], [70, 6]],
      'a step that came twice');
  equal(
      sums([{points: [point(60, 1), point(61, 2, {boot: 2})]}], 60).length, 2,
      'boots are not added up');
}

function ticks() {
  const midnight = new Date(2026, 10, 22).getTime() / 1000;
  equal(
      tickTexts([midnight - 3600, midnight, midnight + 3600], 3600), ['23:00', '22 Nov', '01:00'],
      'ticks');
  equal(UNITS.bytes.range(null, 5 * 2 ** 20, 9 * 2 ** 20)[0], 0, 'sizes from 0');
  equal(UNITS.ratio.range(null, 0, 0.7), [0, 1], 'ratios to 1');
}

// A group of 30 that has 20 of nvmap's buffers, all of which it may have mapped.
function holders() {
  const series = (metric, value) => ({
    metric: `jetmem_process_group_${metric}_bytes`,
    labels: {command: 'llama', unit: '', container: ''},
    points: every(0, 30, 10, value),
  });
  const known = [series('resident', 30), series('gpu', 20)];
  const lined = (hasNvmap, ...more) => {
    const {name, points} = holder([...known, ...more], 10, hasNvmap);
    return [name, ...new Set(points.map(({max}) => max))];
  };
  equal(lined(true), ['llama (at least)', 30], 'what is mapped was never known');
  equal(lined(true, series('mapped', -20)), ['llama', 30], 'all of it is mapped');
  equal(lined(false), ['llama', 50], 'nothing of a card is resident');
}

test('pictures: gaps stay gaps', gaps);
test('pictures: several lines on one axis', lines);
test('pictures: what counters grew by', counters);
test('pictures: in words', words);
test('pictures: cells', cells);
test('pictures: cells of an outage are empty', cellsOfOutages);
test('pictures: what several hold together', together);
test('pictures: what a holder has at least', holders);
test('pictures: ticks', ticks);
