// From a value to a colour: by its logarithm, for what matters spans from kilobytes to gigabytes.
// The colours are those of viridis, evenly far apart to the eye and to the colour-blind one too;
// the style sheet gives them in the order that suits its theme.

import {colours} from './colours.js';

function channels(hex) { return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)); }

// scale(low, high): colour(value) for values above 0; what is lower or higher has the end's colour.
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

// Values for a legend, evenly far apart.
export function samples(low, high, count = 5) {
  return Array.from({length: count}, (_, i) => low * (high / low) ** (i / (count - 1)));
}
