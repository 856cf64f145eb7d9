// SPDX-License-Identifier: Apache-2.0
// The format of each kind of value, and the ticks of its axis.

import {bytes, celsius, duration, ratio} from '../format.js';

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

const POWERS_OF_TWO = Array.from({length: 50}, (_, i) => 2 ** i);
const DECIMAL = Array.from({length: 30}, (_, i) => i - 9)
                    .flatMap((power) => [1, 2, 5].map((each) => Number(`${each}e${power}`)));

// From 0 to slightly above the maximum.
const fromZero = (least) =>
    (u, min, max) => [Math.min(0, min ?? 0), Math.max((max ?? 0) * 1.05, least)];

function around(least) {
  return (u, min, max) => {
    if (!isNumber(min) || !isNumber(max)) return [0, least];
    const room = Math.max(0, least - (max - min)) / 2;
    return [Math.floor(min - room - 1), Math.ceil(max + room + 1)];
  };
}

function hertz(value) {
  if (!isNumber(value)) return '';
  if (value === 0) return '0 Hz';
  const [size, unit] = value >= 1e9 ? [1e9, 'GHz'] : value >= 1e6 ? [1e6, 'MHz'] : [1e3, 'kHz'];
  return `${Number((value / size).toPrecision(4))} ${unit}`;
}

const plain = (value) => (isNumber(value) ? String(Number(value.toPrecision(4))) : '');

// A tick of a time: as precise as the distance between ticks.
function secondsTick(value) {
  if (!isNumber(value) || value === 0) return '0';
  const [size, unit] = value >= 1 ? [1, 's'] : value >= 1e-3 ? [1e-3, 'ms'] : [1e-6, 'µs'];
  return `${plain(value / size)} ${unit}`;
}

// axis(value): the same, shorter, for a tick.
export const UNITS = {
  bytes: {text: bytes, axis: bytes, increments: POWERS_OF_TWO, range: fromZero(1024)},
  ratio: {
    text: ratio,
    axis: (value) => `${Number((value * 100).toPrecision(3))}%`,
    increments: DECIMAL,
    range: (u, min, max) => [0, max > 0.5 ? Math.max(1, max) : Math.max((max ?? 0) * 1.1, 0.01)],
  },
  celsius: {
    text: celsius,
    axis: (value) => `${plain(value)} °C`,
    increments: DECIMAL,
    range: around(10)
  },
  hertz: {text: hertz, axis: hertz, increments: DECIMAL, range: fromZero(1e6)},
  watts: {
    text: (value) => isNumber(value) ? `${value.toFixed(1)} W` : '',
    axis: (value) => `${plain(value)} W`,
    increments: DECIMAL,
    range: fromZero(1)
  },
  seconds: {text: duration, axis: secondsTick, increments: DECIMAL, range: fromZero(1e-6)},
  times: {
    text: (value) => isNumber(value) ? `${value.toFixed(1)} times` : '',
    axis: (value) => `${plain(value)}×`,
    increments: DECIMAL,
    range: fromZero(2)
  },
  number: {text: plain, axis: plain, increments: DECIMAL, range: fromZero(1)},
  level: {
    text: plain,
    axis: plain,
    increments: [1, 2, 5, 10],
    range: (u, min, max) => [0, Math.max(2, max ?? 0)]
  },
};
