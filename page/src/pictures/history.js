// SPDX-License-Identifier: Apache-2.0
// Queries of the history for the charts of one drawing. A query shared by several is sent once, and
// of what moves on with time only the new part is asked for.

import {endOf, refreshSeconds} from '../ranges.js';

import {BAND_KINDS} from './bands.js';

const MOST_EVENTS = 500;
// Alerts that began so long before what is shown may still fire within it.
const ALERTS_BEFORE = 30 * 86400;
// A range that moves on is asked for as a whole so rarely: the device may correct the times of what
// it recorded before its clock was right.
const WHOLE_EVERY = 20;
// Seconds before the newest known point or event that are asked for again: the last may have been
// incomplete.
const OVERLAP = 30;
const EVENTS_OVERLAP = 300;

const asked = new Map();

// A query refused after all retries stays refused for this drawing: otherwise each chart would
// query a disabled history four times.
const REFUSED_SECONDS = 5;
let refused = {until: 0, error: null};

const isRefusal = ({status}) => status === 429 || status === 503;

// The list of recorded series rarely changes: metrics that a device does not have are not queried,
// because it would report an error.
const RECORDED_SECONDS = 120;
// Of a recording that has just begun it is asked for again sooner: not every source has been read.
const YOUNG_SECONDS = 300;
const YOUNG_RECORDED_SECONDS = 15;
// What is kept of ranges that were shown.
const MOST_KEPT = 60;

// Answers of one drawing are reused for half the time until the next. `ask(known)`: the answer
// before, or null.
async function once(key, seconds, ask) {
  const now = performance.now();
  if (now < refused.until) throw refused.error;
  const before = asked.get(key);
  if (before && before.until >= now) return before.answer;
  const known = before?.good ?? null;
  const mine = {until: now + 1000 * seconds, good: known, answer: ask(known)};
  asked.delete(key);
  asked.set(key, mine);
  while (asked.size > MOST_KEPT) asked.delete(asked.keys().next().value);
  mine.answer.then(
      (answer) => {
        mine.good = answer;
      },
      (error) => {
        if (asked.get(key) === mine) asked.delete(key);
        if (isRefusal(error))
          refused = {until: performance.now() + 1000 * REFUSED_SECONDS, error};
      });
  return mine.answer;
}

// Earlier answers are invalid: the device was away.
export function forget() {
  asked.clear();
  refused = {until: 0, error: null};
}

const newestOf = (all) => all.reduce(
    (newest, {points}) => points.reduce((most, {time}) => (time > most ? time : most), newest),
    -Infinity);

// The moment from which a known answer is to be asked for again; null: all of it.
export function resumeAt(known, step) {
  if (!known || known.looks >= WHOLE_EVERY || known.leftOut > 0 || known.trouble) return null;
  const newest = newestOf(known);
  if (!Number.isFinite(newest)) return null;
  const from = newest - Math.max(OVERLAP, step);
  return step > 0 ? Math.floor(from / step) * step : Math.floor(from);
}

// The known series with what came since `from`; null where they do not fit together.
export function joined(known, fresh, from, begin) {
  const boots = new Map();
  const trust = (points) => points.every(({boot, trusted}) => {
    if (boots.has(boot) && boots.get(boot) !== trusted) return false;
    boots.set(boot, trusted);
    return true;
  });
  // A step that is rolled up may begin before `from`: what is known of it is the whole of it.
  const news = new Map(fresh.map((each) => [
    each.key, {...each, points: each.points.filter(({time}) => time >= from)}]));
  const out = [];
  for (const each of known) {
    const more = news.get(each.key)?.points ?? [];
    news.delete(each.key);
    const points = [...each.points.filter(({time}) => time < from && time >= begin), ...more];
    if (!trust(points)) return null;
    if (points.length > 0) out.push({...each, points});
  }
  out.push(...news.values());
  out.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return Object.assign(
      out,
      {at: fresh.at, leftOut: fresh.leftOut, trouble: fresh.trouble, looks: (known.looks ?? 0) + 1});
}

// The series of a metric over the range, as returned by Device.past().
export async function series(page, metric, range) {
  if (!(await recordedNames(page)).has(metric.split('{', 1)[0])) return [];
  const {step} = range;
  return once(`${range.name} ${metric}`, refreshSeconds(range) / 2, async (known) => {
    if (range.to !== undefined) return page.device.past(metric, range.from, step, range.to);
    const from = resumeAt(known, step);
    if (from !== null) {
      const fresh = await page.device.past(metric, from, step);
      const all = joined(known, fresh, from, (fresh.at ?? page.device.time()) - range.seconds);
      if (all) return all;
    }
    return page.device.past(metric, -range.seconds, step);
  });
}

// The names of all metrics that are recorded.
export async function recordedNames(page) {
  const {begun} = await recordedSpan(page);
  const isOld = page.device.time() - begun >= YOUNG_SECONDS;
  return once('recorded', isOld ? RECORDED_SECONDS : YOUNG_RECORDED_SECONDS,
              () => page.device.recorded());
}

// What the history holds: {oldest, begun (when this boot's recording began), step (seconds between
// two points), boots, at (the device's time of the answer)}, times in seconds since 1970.
export function recordedSpan(page) {
  return once('span', RECORDED_SECONDS, async () => {
    const name = 'history?limit=1';
    const {history = {}, from} = page.device.latest(name) ?? await page.device.once(name);
    const {oldest_time: oldest, raw_step_seconds: step = 10, boots = []} = history;
    return {oldest, begun: boots.at(-1)?.first_time ?? oldest, step, boots, at: from?.time};
  });
}

// Newest first, without what lies before the range.
function withNews(known, fresh, begin) {
  const all = new Map([...known.events, ...fresh.events].map((event) => [event.id, event]));
  const events = [...all.values()]
                     .filter(({time}) => !(time < begin))
                     .sort((a, b) => b.id - a.id)
                     .slice(0, MOST_EVENTS);
  return {...fresh, events, more: known.more || all.size > MOST_EVENTS, looks: known.looks + 1};
}

// Events in the range: {events (newest first), more: whether older ones are omitted, alerts: those of
// BAND_KINDS, also before the range, newest first, rules, rulesAt: the rules as they were known before,
// for alertBands()}.
export function happened(page, range) {
  return once(`${range.name} events`, refreshSeconds(range) / 2, async (known) => {
    const to = range.to === undefined ? {} : {to: range.to};
    const {rules, evaluated} = page.device.latest('alerts') ?? {};
    const before = {rules, rulesAt: evaluated?.unix_seconds ?? undefined};
    const newest = known?.events.find(({time}) => Number.isFinite(time))?.time;
    const isWhole = range.to !== undefined || !(newest > 0) || known.looks >= WHOLE_EVERY;
    if (!isWhole) {
      const fresh =
          await page.device.events({from: Math.floor(newest - EVENTS_OVERLAP), limit: MOST_EVENTS});
      // More than fit: what is between is not known.
      if (fresh.more !== true) {
        const begin = (fresh.from?.time ?? page.device.time()) - range.seconds;
        const all = withNews(known, {...fresh, events: fresh.events ?? []}, begin);
        const changes = all.events.filter(({kind}) => BAND_KINDS.has(kind));
        const alerts = new Map([...known.alerts, ...changes].map((event) => [event.id, event]));
        return {...all, ...before, alerts: [...alerts.values()].sort((a, b) => b.id - a.id)};
      }
    }
    const all =
        await page.device.events({from: range.from ?? -range.seconds, ...to, limit: MOST_EVENTS});
    const begin = endOf(range, all.from?.time ?? page.device.time()) - range.seconds;
    const {events: alerts = []} = await page.device.events({
      from: Math.max(1, Math.floor(begin - ALERTS_BEFORE)),
      ...to,
      kind: [...BAND_KINDS].join(','),
      limit: MOST_EVENTS,
    });
    return {...all, ...before, events: all.events ?? [], alerts, looks: 0};
  });
}
