// SPDX-License-Identifier: Apache-2.0
// Assembles the page. Each section requests its own data.

import {Cursor} from './cursor.js';
import {Device} from './device.js';
import {el} from './dom.js';
import {header} from './header.js';
import {overview} from './overview/overview.js';
import {verdict} from './overview/verdict.js';
import {recordedSpan} from './pictures/history.js';
import {
  fixedRange,
  LONGEST,
  placeOf,
  RANGES,
  rangeOf,
  rangeWithData,
  refreshSeconds,
  SHORTEST,
} from './ranges.js';
import {folded, open, section} from './section.js';
import {alerts} from './sections/alerts.js';
import {cma} from './sections/cma.js';
import {doctor} from './sections/doctor.js';
import {events} from './sections/events.js';
import {faults} from './sections/faults.js';
import {fragmentation} from './sections/fragmentation.js';
import {holders} from './sections/holders.js';
import {memory} from './sections/memory.js';
import {probes} from './sections/probes.js';
import {sources} from './sections/sources.js';
import {thermal} from './sections/thermal.js';
import {applyTheme, watchTheme} from './theme.js';
import {choose, chosen, goTo, stepsTaken} from './url_state.js';

// The first screen is always open.
const FIRST = [verdict, overview];
const FOLDED = [
  alerts,
  doctor,
  memory,
  cma,
  fragmentation,
  holders,
  faults,
  events,
  thermal,
  probes,
  sources,
];

// Around an event or alert, at least.
const AROUND = 300;
// Steps of one gesture are one step of the browser's Back.
const ONE_GESTURE = 1000;

// Given to every section. Emits 'range' when the time range changes.
class Page extends EventTarget {
  #pictures = [];
  #timer = 0;
  #drawn = 0;
  #panned = -Infinity;
  // The range without a choice; undefined until the device says since when it records.
  #normal;
  #isBegun = false;

  device = new Device();
  range = rangeOf(chosen);
  cursor = new Cursor();

  // draw(range, isCurrent) draws a chart of the history; it is called at once, when the range
  // changes, and as time goes on. After each wait it must stop when isCurrent() is false, because
  // another range was chosen.
  picture(draw) {
    this.#pictures.push(draw);
  }

  chooseRange(range, isSameStep = false) {
    if (range === null) return;
    const isShown = range.name === this.range.name;
    // Shown without a choice, it is one now.
    if (isShown && (range.to !== undefined || chosen('range') === range.name)) return;
    if (isSameStep || isShown) for (const [name, value] of Object.entries(placeOf(range))) choose(name, value);
    else goTo(placeOf(range));
    if (!isShown) this.#become(range);
  }

  // Shows from one moment to another, in seconds since 1970.
  show(from, to, isSameStep = false) {
    const now = Math.floor(this.device.time());
    const end = Math.min(now, Math.max(Math.round(to), Math.round(from) + SHORTEST));
    this.chooseRange(fixedRange(Math.min(Math.round(from), end - SHORTEST), end), isSameStep);
  }

  // Moves by a part of what is shown; at the end, time moves on by itself again.
  shift(part) {
    this.#move(part * this.range.seconds);
  }

  // The same in seconds, by a gesture that calls it often.
  pan(seconds) {
    const now = performance.now();
    this.#move(seconds, now - this.#panned < ONE_GESTURE);
    this.#panned = now;
  }

  zoomOut() {
    const {seconds} = this.range;
    const now = this.device.time();
    const end = Math.min(now, (this.range.to ?? now) + seconds / 2);
    const wide = Math.min(2 * seconds, LONGEST);
    if (now - end < seconds / 20) this.#live(wide);
    else this.show(end - wide, end);
  }

  // To what was shown before.
  stepBack() {
    if (stepsTaken() > 0) history.back();
  }

  // All charts show the time of an event, or of something that lasted, and point at it.
  jumpTo(from, to = from) {
    const around = Math.max(AROUND, (to - from) / 4);
    const {range} = this;
    const now = this.device.time();
    const begin = (range.to ?? now) - range.seconds;
    const isShown = from >= begin && to <= begin + range.seconds && range.seconds <= 12 * around;
    if (!isShown) this.show(from - around, to + around);
    this.cursor.pin(from);
    const place = document.getElementById('overview');
    place.scrollIntoView();
    place.focus({preventScroll: true});
  }

  // What the address says, after the reader went back or changed it.
  follow() {
    const range = rangeOf(chosen, this.#normal);
    if (range.name !== this.range.name) this.#become(range);
    else this.dispatchEvent(new Event('range'));
  }

  // Draws for the first time, over the time that has data unless the reader chose another.
  async begin() {
    try {
      const {boots, at} = await recordedSpan(this);
      this.#normal = rangeWithData(boots, at ?? this.device.time());
    } catch {
      // The charts report it.
    }
    this.#isBegun = true;
    const range = rangeOf(chosen, this.#normal);
    if (range.name !== this.range.name) this.#become(range);
    else this.draw();
  }

  #become(range) {
    this.range = range;
    this.cursor.pin(null);
    this.dispatchEvent(new Event('range'));
    this.draw();
  }

  #live(seconds) {
    this.chooseRange(RANGES.find((each) => each.seconds >= seconds - 1) ?? RANGES.at(-1));
  }

  #move(seconds, isSameStep = false) {
    const now = this.device.time();
    const end = (this.range.to ?? now) + seconds;
    const asLive = RANGES.find((each) => Math.abs(each.seconds - this.range.seconds) < 2);
    if (end >= now && asLive) this.chooseRange(asLive, isSameStep);
    else this.show(Math.min(end, now) - this.range.seconds, Math.min(end, now), isSameStep);
  }

  async draw() {
    if (!this.#isBegun) return;
    clearTimeout(this.#timer);
    const run = ++this.#drawn;
    const isCurrent = () => run === this.#drawn;
    if (!document.hidden) {
      for (const draw of this.#pictures) {
        if (!isCurrent()) return;
        if (document.hidden) break;
        try {
          await draw(this.range, isCurrent);
        } catch (mistake) {
          // A chart that fails does not affect the others.
          console.error(mistake);
        }
      }
    }
    if (isCurrent()) this.#timer = setTimeout(() => this.draw(), 1000 * refreshSeconds(this.range));
  }
}

// The part after '#' keeps the reader's choices; a link within the page must not overwrite it.
function goWithin(event) {
  const to = event.target.closest?.('a[href^="#"]');
  const place = to && document.getElementById(to.getAttribute('href').slice(1));
  if (!place) return;
  event.preventDefault();
  open(place);
  place.scrollIntoView();
  place.focus({preventScroll: true});
}

// What a folded section says beside its title.
function tellBriefs(page, frames) {
  page.device.watch('status', 3, (status) => {
    if (!status) return;
    for (const {say, each} of frames) if (each.brief) say(...each.brief(status));
  });
}

function start() {
  applyTheme();
  watchTheme();
  const page = new Page();
  const first = FIRST.map((each) => ({...section(each.id, each.title), each}));
  const rest = FOLDED.map((each) => ({...folded(each.id, each.title), each}));
  document.getElementById('top').append(...header(page, [...FIRST, ...FOLDED]));
  document.getElementById('main').replaceChildren(...[...first, ...rest].map(({node}) => node));
  for (const {each, ...frame} of [...first, ...rest]) each.create(frame.body, page, frame);
  tellBriefs(page, rest);
  page.device.addEventListener('back', () => page.draw());
  document.addEventListener('visibilitychange', () => document.hidden || page.draw());
  document.addEventListener('click', goWithin);
  addEventListener('hashchange', () => {
    page.follow();
    applyTheme();
  });
  document.getElementById('foot').append(
    el(
      'p',
      {},
      'The same as JSON: ',
      ['status', 'doctor', 'alerts', 'now', 'events'].map((name) => [
        el('a', {href: `/api/v1/${name}`}, name),
        ' ',
      ]),
      el('a', {href: '/metrics'}, 'metrics'),
      ' ',
      el('a', {href: '/runbooks/'}, 'runbooks'),
    ),
  );
  page.device.start();
  page.begin();
}

start();
