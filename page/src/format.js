// SPDX-License-Identifier: Apache-2.0
// Values as people read them. An unknown value is an empty string here; the caller shows the
// reason.

import {words} from './text.js';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

export function bytes(value) {
  if (!isNumber(value)) return '';
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 1023.95 && unit < UNITS.length - 1) {
    size /= 1024;
    ++unit;
  }
  const digits = unit === 0 || size >= 99.95 ? 0 : 1;
  return `${value < 0 ? '-' : ''}${size.toFixed(digits)} ${UNITS[unit]}`;
}

// 12.0 MiB/min: in the unit of time of all other places that show a rate (base/text/units.h).
export function rate(perSecond) {
  if (!isNumber(perSecond)) return '';
  const [seconds, unit] = [[1, 's'], [60, 'min'], [3600, 'h']].find(
    ([length, name]) => name === 'h' || Math.abs(perSecond) * length >= 2 ** 20,
  );
  return `${bytes(perSecond * seconds)}/${unit}`;
}

export function ratio(value) {
  return isNumber(value) ? `${(value * 100).toFixed(Math.abs(value) < 0.0995 ? 1 : 0)}%` : '';
}

export function celsius(value) {
  return isNumber(value) ? `${value.toFixed(1)} °C` : '';
}

// "3.5 °C below critical"
export function marginText(kind, degrees, digits = 1) {
  const side = degrees < 0 ? 'above' : 'below';
  return `${Math.abs(degrees).toFixed(digits)} °C ${side} ${words(kind)}`;
}

export function count(value) {
  return isNumber(value) ? value.toLocaleString('en') : '';
}

// many(1, 'process', 'processes') -> "1 process"
export function many(value, one, several) {
  return `${count(value)} ${value === 1 ? one : several}`;
}

// 90061 -> "1 d 1 h"; the two largest units.
export function duration(seconds) {
  if (!isNumber(seconds)) return '';
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds < 0.001) return seconds === 0 ? '0 s' : `${(seconds * 1e6).toFixed(0)} µs`;
  // A value that rounds up to one of the next unit is shown in that unit.
  if (seconds < 0.9995) return `${(seconds * 1e3).toFixed(seconds < 0.09995 ? 1 : 0)} ms`;
  if (seconds < 59.5) return `${seconds < 9.95 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = parts.findIndex(([size]) => whole >= size);
  const [size, unit] = parts[first];
  const next = parts[first + 1];
  const rest = next ? Math.floor((whole % size) / next[0]) : 0;
  return `${Math.floor(whole / size)} ${unit}` + (rest > 0 ? ` ${rest} ${next[1]}` : '');
}

// "about 8 s", "about 40 min", "about 2.5 h": of what is estimated.
export function about(seconds) {
  if (!isNumber(seconds)) return '';
  if (seconds < 120) return `about ${Math.round(seconds)} s`;
  if (seconds < 5400) return `about ${Math.round(seconds / 60)} min`;
  const [value, unit] = seconds < 172800 ? [seconds / 3600, 'h'] : [seconds / 86400, 'd'];
  return `about ${Number(value.toFixed(1))} ${unit}`;
}

// In the reader's time zone; with the day unless it is today.
export function moment(seconds, now = Date.now() / 1000) {
  if (!isNumber(seconds)) return '';
  const date = new Date(seconds * 1000);
  const time = date.toLocaleTimeString('en-GB');
  if (date.toDateString() === new Date(now * 1000).toDateString()) return time;
  return `${day(seconds)} ${time}`;
}

// 2026-11-22
export function day(seconds) {
  const date = new Date(seconds * 1000);
  const two = (value) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
