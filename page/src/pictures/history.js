// SPDX-License-Identifier: Apache-2.0
// Queries of the history for the charts of one drawing. A query shared by several is sent once.

import {refreshSeconds} from '../ranges.js';

const MOST_EVENTS = 500;

const asked = new Map();

// A query refused after all retries stays refused for this drawing: otherwise each chart would
// query a disabled history four times.
const REFUSED_SECONDS = 5;
let refused = {until: 0, error: null};

const isRefusal = ({status}) => status === 429 || status === 503;

// The list of recorded series rarely changes: metrics that a device does not have are not queried,
// because it would report an error.
const RECORDED_SECONDS = 120;

// Answers of one drawing are reused for half the time until the next.
async function once(key, seconds, ask) {
  const now = performance.now();
  if (now < refused.until) throw refused.error;
  for (const [old, {until}] of asked)
    if (until < now) asked.delete(old);
  const known = asked.get(key);
  if (known) return known.answer;
  const answer = ask();
  asked.set(key, {answer, until: now + 1000 * seconds});
  answer.catch((error) => {
    asked.delete(key);
    if (isRefusal(error))
      refused = {until: performance.now() + 1000 * REFUSED_SECONDS, error};
  });
  return answer;
}

// Earlier answers are invalid: the device was away.
export function forget() {
  asked.clear();
  refused = {until: 0, error: null};
}

// The series of a metric over the range, as returned by Device.past().
export async function series(page, metric, range) {
  const recorded = await once('recorded', RECORDED_SECONDS, () => page.device.recorded());
  if (!recorded.has(metric.split('{', 1)[0])) return [];
  return once(
      `${range.name} ${metric}`, refreshSeconds(range) / 2,
      () => page.device.past(metric, range.seconds, range.step));
}

// Events in the range: {events (newest first), more: whether older ones are omitted, trouble}.
export function happened(page, range) {
  return once(
      `${range.name} events`, refreshSeconds(range) / 2,
      () => page.device.events({from: `-${range.seconds}`, limit: MOST_EVENTS}));
}
