// SPDX-License-Identifier: Apache-2.0
// Time ranges of the charts. The step is the time of one point: about 300 points fit a screen and a
// slow link.

export const RANGES = [
  {name: '10m', seconds: 600, step: 0, text: '10 min'},
  {name: '1h', seconds: 3600, step: 20, text: '1 hour'},
  {name: '6h', seconds: 21600, step: 60, text: '6 hours'},
  {name: '24h', seconds: 86400, step: 300, text: '24 hours'},
  {name: '7d', seconds: 7 * 86400, step: 1800, text: '7 days'},
  {name: '30d', seconds: 30 * 86400, step: 7200, text: '30 days'},
  {name: '60d', seconds: 60 * 86400, step: 14400, text: '60 days'},
];

export const DEFAULT_RANGE = RANGES[1];

export function rangeNamed(name) {
  return RANGES.find((range) => range.name === name) ?? DEFAULT_RANGE;
}

// How often charts are redrawn; only one point changes each time.
export function refreshSeconds(range) {
  return Math.max(10, Math.min(300, range.seconds / 120));
}
