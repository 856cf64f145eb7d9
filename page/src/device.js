// SPDX-License-Identifier: Apache-2.0
// Sends requests to the device and tracks whether it answers. Nothing here touches the page.
// Answers about the present are requested at intervals while the page is visible. Queries of the
// history are sent one after the other, because the device answers one at a time and replies 429 or
// 503 to a client that sends too many.

import {turn} from './request_queue.js';
import {moment} from './format.js';
import {plain} from './text.js';

// Limits for the first byte of an answer, and for all of it: a long one takes a while on a slow
// link.
const TIMEOUT = 8000;
const WHOLE_TIMEOUT = 60000;
const RETRIES = 4;

// Seconds by which an answer of the history is ahead of the status only if their clocks differ.
const CLOCKS_DIFFER = 60;

// Milliseconds. An older status is stale: a little more than it takes to find out that a request
// got no answer.
const STALE = 12000;
// A hidden page that is shown again gets this long to refresh.
const SEEN_AGAIN = 2000;
// After so long without an answer, more than one connection was lost.
const LONG = 5000;
// An absence at least this long causes a full redraw; and the minimum time between two of them.
const ABSENCE = 5000;
const BACK_EVERY = 30000;

// Seconds until a failed request is repeated, at first; doubled each time.
const AGAIN = 5;

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// A failed request: `why` for people, `status` 0 without an answer.
export class NoAnswer extends Error {
  constructor(status, why, code = '') {
    super(why);
    this.status = status;
    this.why = why;
    this.code = code;
  }
}

// `copy`: {etag, answer} of an earlier answer: it is not sent again if it is still the same.
// read(status, text) -> the answer.
async function ask(path, copy = null, read = readAnswer) {
  const leave = await turn(path);
  const patience = new AbortController();
  let timer = setTimeout(() => patience.abort(), TIMEOUT);
  try {
    return await askFor(path, copy, read, patience.signal, () => {
      leave();
      clearTimeout(timer);
      timer = setTimeout(() => patience.abort(), WHOLE_TIMEOUT);
    });
  } finally {
    leave();
    clearTimeout(timer);
  }
}

async function askFor(path, copy, read, signal, began) {
  let answer;
  const headers = copy?.etag ? {'If-None-Match': copy.etag} : {};
  try {
    answer = await fetch(path, {signal, cache: 'no-store', headers});
  } catch {
    const why = signal.aborted ? `no answer within ${TIMEOUT / 1000} s` : 'the connection failed';
    throw new NoAnswer(0, why);
  }
  began();
  if (answer.status === 304 && copy) return copy.answer;
  let text;
  try {
    text = await answer.text();
  } catch {
    throw new NoAnswer(0, 'the answer was truncated');
  }
  if (answer.ok) {
    const found = read(answer.status, text);
    if (copy) Object.assign(copy, {etag: answer.headers.get('ETag') ?? '', answer: found});
    return found;
  }
  if (answer.status === 401) {
    throw new NoAnswer(401, 'user and password required: reload the page');
  }
  let why = text.trim();
  let code = '';
  try {
    const reported = JSON.parse(text);
    why = reported.error ?? why;
    code = reported.code ?? '';
  } catch {
    // A line of text.
  }
  throw new NoAnswer(answer.status, why.slice(0, 500) || `status ${answer.status}`, code);
}

// Only an object is accepted: a proxy in between may return anything.
function readAnswer(status, text) {
  let answer = null;
  try {
    answer = JSON.parse(text);
  } catch {
    // Reported below.
  }
  if (answer === null || typeof answer !== 'object' || Array.isArray(answer)) {
    throw new NoAnswer(status, 'the answer cannot be read');
  }
  return answer;
}

// The device replies "later" to too many queries of its history.
async function patiently(path) {
  for (let attempt = 1;; ++attempt) {
    try {
      return await ask(path);
    } catch (error) {
      const later = error.status === 429 || error.status === 503;
      if (!later || attempt === RETRIES) throw error;
      await wait(1000 * attempt);
    }
  }
}

export class Device extends EventTarget {
  #watched = new Map();
  #last = Promise.resolve();
  #state = {is: 'asking', why: '', since: Date.now() / 1000};
  // On the clock of performance.now(): the last answer of any kind, the last good status, the time
  // when the last status was lost (if it was), and since when the page is visible.
  #answered = 0;
  #lost = -Infinity;
  #status = performance.now();
  #seen = performance.now();
  // By how many seconds the device's clock is ahead of this one, by its last status.
  #ahead = 0;
  #pastAhead = -Infinity;
  #lastTime = 0;
  // The wall-clock time of the last good status, and why there was none since.
  #statusTime = 0;
  #noStatus = '';
  // When it stopped being live, when 'back' was last announced, and whether to announce it again.
  #left = 0;
  #back = -Infinity;
  #owesBack = false;
  // By how much the wall clock is ahead of performance.now(), which may stand still in sleep.
  #clockOffset = Date.now() - performance.now();

  // {is: 'asking' | 'live' | 'stalled' | 'silent', why, since}: stalled: the daemon answers, but
  // without a current status; silent: no answers.
  get state() {
    return this.#state;
  }

  // Requests /api/v1/NAME at this interval in seconds and calls take(answer), or take(null,
  // NoAnswer). Watchers of one name share a request, at the shortest interval.
  // It is requested only while one of them wants() it: a part of the page that is folded or not
  // visible requests nothing.
  watch(name, seconds, take, wants = () => true) {
    const watched = this.#watched.get(name) ??
        {name, seconds, takers: [], wants: [], due: 0, busy: false, heard: 0, failed: 0,
         isNeeded: false, copy: {etag: '', answer: null}};
    this.#watched.set(name, watched);
    watched.seconds = Math.min(watched.seconds, seconds);
    watched.takers.push(take);
    watched.wants.push(wants);
  }

  start() {
    setInterval(() => this.#tick(), 250);
    document.addEventListener('visibilitychange', () => {
      this.#seen = performance.now();
      this.#tick();
    });
    this.#tick();
  }

  // Requests this one again now.
  soon(name) {
    const watched = this.#watched.get(name);
    if (watched) watched.due = 0;
  }

  // Requests everything watched again now.
  again() {
    for (const watched of this.#watched.values()) watched.due = 0;
    this.#tick();
  }

  // The last answer of something watched, or null.
  latest(name) {
    return this.#watched.get(name)?.copy.answer ?? null;
  }

  // When the device last answered it, changed or not, in seconds since 1970 on the reader's clock; 0:
  // never.
  heard(name) {
    return this.#watched.get(name)?.heard ?? 0;
  }

  // The time of what is shown, as far as it is known: the device's clock may differ from the
  // reader's, and the history's from the device's, where that was set back.
  time() {
    const ahead = this.#pastAhead > this.#ahead + CLOCKS_DIFFER ? this.#pastAhead : this.#ahead;
    return Date.now() / 1000 + ahead;
  }

  // An answer of /api/v1/NAME, once. Throws NoAnswer.
  once(name) {
    return ask(`/api/v1/${name}`);
  }

  // A page of the device's own, as text. Throws NoAnswer.
  page(path) {
    return ask(path, null, (status, text) => text);
  }

  // All series of a metric (or those with the labels given: 'name{label="value"}') from `from` to
  // `to` (seconds since 1970; before now, with a minus; no `to`: now): [{key, labels, counter, points: [{time, boot, count, min, average, max}]}], oldest
  // point first; empty for a metric that this device does not have. `resolution` and `trusted` of a
  // point: its resolution, and whether its clock was ever known to be right. Beside the series:
  // `at`, the device's time of the answer, `leftOut`, the number of series omitted for size, and
  // `trouble`, why part of the history is missing. Throws NoAnswer.
  past(metric, from, step, to) {
    return this.#inTurn(async () => {
      const query = new URLSearchParams({metric, from, ...(to === undefined ? {} : {to})});
      if (step > 0) query.set('step', step);
      try {
        return readAll(this.#ofPast(await patiently(`/api/v1/history?${query}`)));
      } catch (error) {
        if (error.code === 'unknown_metric') return readAll({});
        throw error;
      }
    });
  }

  // The names of all recorded metrics. Throws NoAnswer.
  recorded() {
    return this.#inTurn(async () => {
      const names = new Set();
      for (let after = null;;) {
        const query = new URLSearchParams({limit: 4096, ...(after === null ? {} : {after})});
        const answer = await patiently(`/api/v1/history?${query}`);
        for (const {key} of answer.known_series ?? []) names.add(key.split('{', 1)[0]);
        if (answer.next === undefined || answer.next === after) return names;
        after = answer.next;
      }
    });
  }

  // Events, as /api/v1/events returns them. Throws NoAnswer.
  events(query) {
    return this.#inTurn(async () => this.#ofPast(await patiently(`/api/v1/events?${new URLSearchParams(query)}`)));
  }

  #ofPast(answer) {
    if (Number.isFinite(answer.from?.time)) this.#pastAhead = answer.from.time - Date.now() / 1000;
    return answer;
  }

  // One query of the history after the other.
  #inTurn(question) {
    const answer = this.#last.then(question);
    this.#last = answer.catch(() => {});
    return answer;
  }

  #tick() {
    if (document.hidden) return;
    const offset = Date.now() - performance.now();
    if (offset - this.#clockOffset > STALE) this.#wake();
    this.#clockOffset = offset;
    this.judge();
    this.#tellBack();
    const now = performance.now() / 1000;
    for (const watched of this.#watched.values()) {
      if (watched.busy || now < watched.due) continue;
      if (!watched.isNeeded && !watched.wants.some((wants) => wants())) continue;
      watched.isNeeded = false;
      watched.busy = true;
      this.#look(watched).finally(() => {
        watched.busy = false;
        watched.due = performance.now() / 1000 + pause(watched);
      });
    }
  }

  // Whether the last status is too old to be shown as current. Called several times a second.
  judge(now = performance.now()) {
    const {is} = this.#state;
    if (is !== 'live' && is !== 'asking') return;
    if (now - this.#status > STALE && now - this.#seen > SEEN_AGAIN) this.#stall();
  }

  // The computer slept: what was current then is not now.
  #wake() {
    for (const watched of this.#watched.values()) watched.due = 0;
    if (this.#state.is === 'live') this.#stall();
  }

  #stall() {
    const when = this.#statusTime > 0 ? ` since ${moment(this.#statusTime)}` : '';
    const why = this.#noStatus ? ` (${this.#noStatus})` : '';
    this.#become('stalled', `no status${when}${why}`);
  }

  async #look(watched) {
    const asked = performance.now();
    const isStatus = watched.name === 'status';
    try {
      const before = watched.copy.answer;
      const answer = await ask(`/api/v1/${watched.name}`, watched.copy);
      this.#heard(isStatus);
      const isKnown = answer === before && watched.failed === 0;
      watched.heard = Date.now() / 1000;
      watched.failed = 0;
      // Only the status decides whether the device is live.
      if (isStatus) this.#goodStatus(answer);
      if (isKnown) return;
      for (const take of watched.takers) tell(take, answer);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      ++watched.failed;
      if (error.status !== 0) this.#heard(isStatus);
      // Another answer that is lost, missing or refused does not change the device's state.
      if (isStatus) this.#noGoodStatus(error, asked);
      for (const take of watched.takers) tell(take, null, error);
    }
  }

  #heard(isStatus) {
    this.#answered = performance.now();
    if (isStatus) this.#lost = -Infinity;
    else if (this.#state.is === 'silent') this.soon('status');
  }

  #goodStatus({from}) {
    if (Number.isFinite(from?.time) && from.time !== this.#lastTime) {
      this.#lastTime = from.time;
      const ahead = from.time - Date.now() / 1000;
      // One of the clocks was set.
      if (Math.abs(ahead - this.#ahead) > CLOCKS_DIFFER) this.#pastAhead = -Infinity;
      this.#ahead = ahead;
    }
    this.#status = performance.now();
    this.#statusTime = Date.now() / 1000;
    this.#noStatus = '';
    this.#become('live', '');
  }

  #noGoodStatus({status, why}, asked) {
    this.#noStatus = why;
    if (status === 0 && this.#isNobodyThere(asked)) this.#become('silent', why);
    else if (status !== 0 && status !== 429) this.#become('stalled', why);
    else if (this.#state.is === 'silent') this.#stall();
    else this.judge();
  }

  // After a lost status: whether other requests got no answer either. Decided at once if finding
  // out took long; otherwise another request is sent, and the next lost status decides.
  #isNobodyThere(asked) {
    const now = performance.now();
    const lost = this.#lost;
    this.#lost = now;
    const [other] = [...this.#watched.values()]
        .filter(({name, heard}) => heard > 0 && name !== 'status')
        .sort((a, b) => a.failed - b.failed || a.seconds - b.seconds);
    if (!other || now - asked > LONG) return this.#answered < asked;
    other.due = 0;
    other.isNeeded = true;
    return this.#answered < lost;
  }

  #become(is, why) {
    if (this.#state.is === is && this.#state.why === why) return;
    const since = this.#state.is === is ? this.#state.since : Date.now() / 1000;
    const before = this.#state.is;
    this.#state = {is, why, since};
    this.dispatchEvent(new CustomEvent('state', {detail: this.#state}));
    if (before === 'live') this.#left = performance.now();
    if (is !== 'live' || before === 'asking') return;
    // Requests lost meanwhile need not wait.
    for (const watched of this.#watched.values()) if (watched.failed > 0) watched.due = 0;
    if (performance.now() - this.#left > ABSENCE) this.#owesBack = true;
    this.#tellBack();
  }

  // After an absence everything is requested again, but not each time for a flapping device.
  #tellBack() {
    const now = performance.now();
    if (!this.#owesBack || this.#state.is !== 'live' || now - this.#back < BACK_EVERY) return;
    this.#owesBack = false;
    this.#back = now;
    this.dispatchEvent(new CustomEvent('back'));
    this.again();
  }
}

// Seconds until the next request. The status, which shows whether the device answers, keeps its
// interval.
function pause({name, seconds, failed}) {
  if (failed === 0 || name === 'status') return seconds;
  return Math.min(seconds, AGAIN * 2 ** Math.min(failed - 1, 10));
}

// A part of the page that cannot show an answer reports that and does not affect the others.
function tell(take, answer, error) {
  try {
    take(answer, error);
  } catch (mistake) {
    console.error(mistake);
    if (answer === null) return;
    tell(take, null, new NoAnswer(-1, `this page cannot show the answer (${mistake.message})`));
  }
}

function readAll(answer) {
  const all = (answer.all_series ?? []).map(readSeries);
  const trouble = (answer.all_series ?? []).map((series) => series.incomplete_reason).find(Boolean);
  return Object.assign(all, {at: answer.from?.time, leftOut: answer.series_omitted ?? 0, trouble});
}

function readSeries(series) {
  const points = [];
  for (const {resolution, points: list} of series.segments) {
    for (const [time, , boot, trusted, count, min, average, max] of list) {
      points.push({time, boot, trusted, resolution, count, min, average, max});
    }
  }
  return {key: series.key, labels: labelsOf(series.key), counter: series.counter, points};
}

// family{a="b",c="d\"e"} -> {a: 'b', c: 'd"e'}, sanitised, because they become names of lines even
// where no element is created (a canvas, an aria-label).
export function labelsOf(key) {
  const labels = Object.create(null);
  const begin = key.indexOf('{');
  if (begin < 0) return labels;
  const pattern = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/gy;
  pattern.lastIndex = begin + 1;
  for (let found = pattern.exec(key); found; found = pattern.exec(key)) {
    labels[found[1]] = plain(found[2].replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c)));
    if (key[pattern.lastIndex] === ',') ++pattern.lastIndex;
  }
  return labels;
}
