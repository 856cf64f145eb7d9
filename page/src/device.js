// Asks the device, and knows whether it answers. Nothing here touches the page.
//
// Answers about now are asked for at their own pace while somebody looks (a hidden page asks for
// nothing). Questions to the past are asked one after the other: the device answers them one at a
// time, and says "later" (429, 503) to who asks too much.

import {turn} from './desk.js';
import {moment} from './format.js';
import {plain} from './text.js';

// Until an answer begins, and until it is here in full: a long one takes a while on a slow link.
const TIMEOUT = 8000;
const WHOLE_TIMEOUT = 60000;
const RETRIES = 4;

// Milliseconds. What the status said longer ago than this says nothing about now: a little more
// than it takes to find out that one question is not answered.
const STALE = 12000;
// So long after a hidden page is seen again, it has had time to ask.
const SEEN_AGAIN = 2000;
// Nobody answered for so long: that is not one connection that was lost.
const LONG = 5000;
// An absence from this on is one, after which all is drawn anew; and how often that may be.
const ABSENCE = 5000;
const BACK_EVERY = 30000;

// Seconds until what failed is asked for again, at first; then twice as long each time.
const AGAIN = 5;

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// An answer that is none: `why` for people, `status` 0 where nobody answered.
export class NoAnswer extends Error {
  constructor(status, why, code = '') {
    super(why);
    this.status = status;
    this.why = why;
    this.code = code;
  }
}

async function ask(path) {
  const leave = await turn(path);
  const patience = new AbortController();
  let timer = setTimeout(() => patience.abort(), TIMEOUT);
  try {
    return await askFor(path, patience.signal, () => {
      leave();
      clearTimeout(timer);
      timer = setTimeout(() => patience.abort(), WHOLE_TIMEOUT);
    });
  } finally {
    leave();
    clearTimeout(timer);
  }
}

async function askFor(path, signal, began) {
  let answer;
  try {
    answer = await fetch(path, {signal, cache: 'no-store'});
  } catch {
    const why = signal.aborted ? `no answer within ${TIMEOUT / 1000} s` : 'the connection failed';
    throw new NoAnswer(0, why);
  }
  began();
  let text;
  try {
    text = await answer.text();
  } catch {
    throw new NoAnswer(0, 'the answer was cut off');
  }
  if (answer.ok) return readAnswer(answer.status, text);
  if (answer.status === 401) {
    throw new NoAnswer(401, 'it wants a name and a password: reload the page');
  }
  let why = text.trim();
  let code = '';
  try {
    const told = JSON.parse(text);
    why = told.error ?? why;
    code = told.code ?? '';
  } catch {
    // A line of text.
  }
  throw new NoAnswer(answer.status, why.slice(0, 500) || `status ${answer.status}`, code);
}

// Only an object is an answer: a proxy in between may say anything.
function readAnswer(status, text) {
  let answer = null;
  try {
    answer = JSON.parse(text);
  } catch {
    // Below.
  }
  if (answer === null || typeof answer !== 'object' || Array.isArray(answer)) {
    throw new NoAnswer(status, 'the answer cannot be read');
  }
  return answer;
}

// The device says "later" to who asks too much of its past.
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
  // On the clock of performance.now(): the last answer of any kind, the last good status, when the
  // last status was lost (if it was), since when the page is seen.
  #answered = 0;
  #lost = -Infinity;
  #status = performance.now();
  #seen = performance.now();
  // The last good status by the wall clock, and why there was none since.
  #statusTime = 0;
  #noStatus = '';
  // When it was no longer live, when 'back' was told last, and whether it is to be told again.
  #left = 0;
  #back = -Infinity;
  #owesBack = false;

  // {is: 'asking' | 'live' | 'stalled' | 'silent', why, since}: stalled: the daemon answers, and
  // cannot tell how things are now, or tells no status; silent: nobody answers.
  get state() {
    return this.#state;
  }

  // Asks for /api/v1/NAME every so many seconds and tells take(answer); of an answer that is none
  // take(null, NoAnswer). Several may watch one name: it is asked for once, at the shortest pace.
  // After the first answer only while one of them wants() it: a part of the page that nobody looks
  // at asks for nothing.
  watch(name, seconds, take, wants = () => true) {
    const watched = this.#watched.get(name) ??
        {name, seconds, takers: [], wants: [], due: 0, busy: false, heard: false, failed: 0,
         isNeeded: false};
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

  // This one is asked for again now.
  soon(name) {
    const watched = this.#watched.get(name);
    if (watched) watched.due = 0;
  }

  // Everything that is watched is asked for again now.
  again() {
    for (const watched of this.#watched.values()) watched.due = 0;
    this.#tick();
  }

  // All series of a metric (or those with the labels given: 'name{label="value"}') over the last
  // `seconds`: [{key, labels, counter, points: [{time, boot, count, min, average, max}]}], oldest
  // point first; a metric that this device does not have gives none. `resolution` and `trusted` of a
  // point: of what it is made, and whether its clock was ever known to be right. Beside the series:
  // `at`, the device's time of the answer, `leftOut`, how many series there was no room for, and
  // `trouble`, why part of the past is missing. Throws NoAnswer.
  past(metric, seconds, step) {
    return this.#inTurn(async () => {
      const query = new URLSearchParams({metric, from: `-${seconds}`});
      if (step > 0) query.set('step', step);
      try {
        return readAll(await patiently(`/api/v1/history?${query}`));
      } catch (error) {
        if (error.code === 'unknown_metric') return readAll({});
        throw error;
      }
    });
  }

  // The names of all metrics of which anything is recorded. Throws NoAnswer.
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

  // What happened, as /api/v1/events answers. Throws NoAnswer.
  events(query) {
    return this.#inTurn(() => patiently(`/api/v1/events?${new URLSearchParams(query)}`));
  }

  // One question to the past after the other.
  #inTurn(question) {
    const answer = this.#last.then(question);
    this.#last = answer.catch(() => {});
    return answer;
  }

  #tick() {
    if (document.hidden) return;
    this.judge();
    this.#tellBack();
    const now = performance.now() / 1000;
    for (const watched of this.#watched.values()) {
      if (watched.busy || now < watched.due) continue;
      if (watched.heard && !watched.isNeeded && !watched.wants.some((wants) => wants())) continue;
      watched.isNeeded = false;
      watched.busy = true;
      this.#look(watched).finally(() => {
        watched.busy = false;
        watched.due = performance.now() / 1000 + pause(watched);
      });
    }
  }

  // Whether the last status is too old to be shown as that of now. Called several times a second.
  judge(now = performance.now()) {
    const {is} = this.#state;
    if (is !== 'live' && is !== 'asking') return;
    if (now - this.#status > STALE && now - this.#seen > SEEN_AGAIN) this.#stall();
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
      const answer = await ask(`/api/v1/${watched.name}`);
      this.#heard(isStatus);
      watched.heard = true;
      watched.failed = 0;
      // Whether the device is live, its status says.
      if (isStatus) this.#goodStatus();
      for (const take of watched.takers) tell(take, answer);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      ++watched.failed;
      if (error.status !== 0) this.#heard(isStatus);
      // Any other answer that is lost, missing or too busy says nothing about the device.
      if (isStatus) this.#noGoodStatus(error, asked);
      for (const take of watched.takers) tell(take, null, error);
    }
  }

  #heard(isStatus) {
    this.#answered = performance.now();
    if (isStatus) this.#lost = -Infinity;
    else if (this.#state.is === 'silent') this.soon('status');
  }

  #goodStatus() {
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

  // Of a status that was lost: whether nothing else was answered, either. At once where it took long
  // to find out; otherwise another question is asked, and the next status that is lost decides.
  #isNobodyThere(asked) {
    const now = performance.now();
    const lost = this.#lost;
    this.#lost = now;
    const [other] = [...this.#watched.values()]
        .filter(({name, heard}) => heard && name !== 'status')
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
    // What was lost meanwhile need not wait.
    for (const watched of this.#watched.values()) if (watched.failed > 0) watched.due = 0;
    if (performance.now() - this.#left > ABSENCE) this.#owesBack = true;
    this.#tellBack();
  }

  // After an absence everything is asked for anew; of a device that comes and goes, not each time.
  #tellBack() {
    const now = performance.now();
    if (!this.#owesBack || this.#state.is !== 'live' || now - this.#back < BACK_EVERY) return;
    this.#owesBack = false;
    this.#back = now;
    this.dispatchEvent(new CustomEvent('back'));
    this.again();
  }
}

// Seconds until it is asked for again. The status tells whether anybody is there: always as often.
function pause({name, seconds, failed}) {
  if (failed === 0 || name === 'status') return seconds;
  return Math.min(seconds, AGAIN * 2 ** Math.min(failed - 1, 10));
}

// A part of the page that cannot show an answer says so, and keeps none of the others from it.
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
  const all = (answer.every_series ?? []).map(readSeries);
  const trouble = (answer.every_series ?? []).map((series) => series.trouble).find(Boolean);
  return Object.assign(all, {at: answer.from?.time, leftOut: answer.series_left_out ?? 0, trouble});
}

function readSeries(series) {
  const points = [];
  for (const {resolution, points: list} of series.stretches) {
    for (const [time, , boot, trusted, count, min, average, max] of list) {
      points.push({time, boot, trusted, resolution, count, min, average, max});
    }
  }
  return {key: series.key, labels: labelsOf(series.key), counter: series.counter, points};
}

// family{a="b",c="d\"e"} -> {a: 'b', c: 'd"e'}, made harmless to the eye: they become names of
// lines, also where no element is made of them (a canvas, an aria-label).
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
