// SPDX-License-Identifier: Apache-2.0
// What the charts show: the last minutes to days, which moves on with time, or a fixed part of the
// past. The step is the time of one point: about 300 points fit a screen and a slow link.

import {dayName, clock} from './pictures/time_axis.js';

// `phrase` completes a sentence: "Memory over time, the last 1 hour".
const live = (name, seconds, step, text) => ({name, seconds, step, text, phrase: `the last ${text}`});

export const RANGES = [
  live('10m', 600, 0, '10 min'),
  live('1h', 3600, 20, '1 hour'),
  live('6h', 21600, 60, '6 hours'),
  live('24h', 86400, 300, '24 hours'),
  live('7d', 7 * 86400, 1800, '7 days'),
  live('30d', 30 * 86400, 7200, '30 days'),
  live('60d', 60 * 86400, 14400, '60 days'),
];

export const DEFAULT_RANGE = RANGES[1];
export const LONGEST = RANGES.at(-1).seconds;
export const SHORTEST = 30;

export function rangeNamed(name, otherwise = DEFAULT_RANGE) {
  return RANGES.find((range) => range.name === name) ?? otherwise;
}

// What the page opens with, where the reader has chosen nothing: what the last hour has is shown without
// much emptiness before it; without anything, so much that the newest there is can be seen. `boots` of
// the history: [{first_time, last_time}].
export function rangeWithData(boots, now) {
  const recent = boots.filter(({last_time: last}) => last >= now - DEFAULT_RANGE.seconds);
  const begin = recent.length > 0
    ? Math.min(...recent.map(({first_time: first}) => first))
    : Math.max(...boots.map(({last_time: last}) => last));
  if (!Number.isFinite(begin)) return DEFAULT_RANGE;
  const most = recent.length > 0 ? DEFAULT_RANGE : RANGES.at(-1);
  return RANGES.find((range) => range === most || range.seconds >= now - begin);
}

const STEPS = [20, 60, 300, 900, 1800, 7200, 14400];
const MOST_RAW = 1800;

// 26 Nov 02:00 to 03:00; the day again where it is another, seconds where it is short.
function spanText(from, to) {
  const fine = to - from < 600 || from % 60 !== 0;
  const end = dayName(from) === dayName(to) ? '' : `${dayName(to)} `;
  return `${dayName(from)} ${clock(from, fine)} to ${end}${clock(to, fine)}`;
}

// From one moment to another, in seconds since 1970. Null where they are none.
export function fixedRange(from, to) {
  if (!(Number.isFinite(from) && Number.isFinite(to) && from > 0 && to > from)) return null;
  const seconds = Math.min(Math.max(SHORTEST, to - from), LONGEST);
  const step = seconds <= MOST_RAW ? 0 : STEPS.find((each) => seconds / each <= 300) ?? STEPS.at(-1);
  const text = spanText(to - seconds, to);
  return {name: `${to - seconds}-${to}`, seconds, step, text, phrase: text, from: to - seconds, to};
}

const whole = (text) => (/^\d{1,12}$/.test(text ?? '') ? Number(text) : NaN);

// What the address says: from and to, or the name of a live range. `get(name)` -> text or null.
export function rangeOf(get, otherwise) {
  return fixedRange(whole(get('from')), whole(get('to'))) ?? rangeNamed(get('range'), otherwise);
}

// What the address has to say for it: {range, from, to}; null: nothing.
export function placeOf(range) {
  if (range.to === undefined) return {range: range.name, from: null, to: null};
  return {range: null, from: String(Math.round(range.from)), to: String(Math.round(range.to))};
}

// The end of a range, where the device's time is `now`.
export const endOf = (range, now) => range.to ?? now;

// How often charts are redrawn; only one point changes each time. A part of the past stays as it
// is, but for what the device corrects later.
export function refreshSeconds(range) {
  if (range.to !== undefined) return 300;
  return Math.max(15, Math.min(300, range.seconds / 120));
}
