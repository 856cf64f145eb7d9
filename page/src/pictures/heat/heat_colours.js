// SPDX-License-Identifier: Apache-2.0
// From a value to a colour: logarithmic, because values span kilobytes to gigabytes. The colours
// are those of viridis, perceptually uniform also for colour-blind readers; the style sheet orders
// them for its theme.

import {colours} from '../colours.js';

function channels(hex) { return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)); }

// scale(low, high): colour(value) for values above 0; lower and higher values get the end's colour.
export function scale(low, high) {
  const stops = colours().heat.map(channels);
  const span = Math.log(high / low) || 1;
  return (value) => {
    const part = Math.max(0, Math.min(1, Math.log(value / low) / span)) * (stops.length - 1);
    const i = Math.min(stops.length - 2, Math.floor(part));
    const mixed =
        stops[i].map((each, k) => Math.round(each + (stops[i + 1][k] - each) * (part - i)));
    return `rgb(${mixed.join(', ')})`;
  };
}

// Values for a legend, evenly spaced.
export function samples(low, high, count = 5) {
  return Array.from({length: count}, (_, i) => low * (high / low) ** (i / (count - 1)));
}
