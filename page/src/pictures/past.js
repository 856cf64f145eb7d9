// What the pictures of one drawing ask of the past. Several may want the same: it is asked once.

import {refreshSeconds} from '../ranges.js';

const MOST_EVENTS = 500;

const asked = new Map();

// What was refused after all patience is refused to the rest of the drawing, too: a history that is
// switched off would be asked four times by each picture.
const REFUSED_SECONDS = 5;
let refused = {until: 0, error: null};

const isRefusal = ({status}) => status === 429 || status === 503;

// What is recorded at all changes seldom: a device that has no such thing is not asked for it,
// which it would call a mistake.
const RECORDED_SECONDS = 120;

// Answers of this drawing are good for half the time until the next.
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

// Nothing that was asked for before is good any more: the device was away.
export function forget() {
  asked.clear();
  refused = {until: 0, error: null};
}

// The series of a metric over the range, as Device.past() gives them.
export async function series(page, metric, range) {
  const recorded = await once('recorded', RECORDED_SECONDS, () => page.device.recorded());
  if (!recorded.has(metric.split('{', 1)[0])) return [];
  return once(
      `${range.name} ${metric}`, refreshSeconds(range) / 2,
      () => page.device.past(metric, range.seconds, range.step));
}

// What happened in the range: {events (newest first), more: whether older ones are left out,
// trouble}.
export function happened(page, range) {
  return once(
      `${range.name} events`, refreshSeconds(range) / 2,
      () => page.device.events({from: `-${range.seconds}`, limit: MOST_EVENTS}));
}
