// SPDX-License-Identifier: Apache-2.0
// Assembles the page. Each section requests its own data.

import {Device} from './device.js';
import {el} from './dom.js';
import {header} from './header.js';
import {choose, chosen} from './url_state.js';
import {refreshSeconds, rangeNamed} from './ranges.js';
import {section} from './section.js';
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
import {verdict} from './sections/verdict.js';
import {applyTheme, watchTheme} from './theme.js';

const SECTIONS = [
  verdict,
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

// Given to every section. Emits 'range' when the time range changes.
class Page extends EventTarget {
  #pictures = [];
  #timer = 0;
  #drawn = 0;

  device = new Device();
  range = rangeNamed(chosen('range'));

  // draw(range, isCurrent) draws a chart of the history; it is called at once, when the range
  // changes, and as time goes on. After each wait it must stop when isCurrent() is false, because
  // another range was chosen.
  picture(draw) {
    this.#pictures.push(draw);
  }

  chooseRange(range) {
    if (range === this.range) return;
    this.range = range;
    choose('range', range.name);
    this.dispatchEvent(new Event('range'));
    this.draw();
  }

  async draw() {
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
  place.scrollIntoView();
  place.focus({preventScroll: true});
}

function start() {
  applyTheme();
  watchTheme();
  const page = new Page();
  const frames = SECTIONS.map((each) => ({...section(each.id, each.title), each}));
  document.getElementById('top').append(...header(page, SECTIONS));
  document.getElementById('main').replaceChildren(...frames.map(({node}) => node));
  for (const {body, each} of frames) each.create(body, page);
  page.device.addEventListener('back', () => page.draw());
  document.addEventListener('visibilitychange', () => document.hidden || page.draw());
  document.addEventListener('click', goWithin);
  addEventListener('hashchange', () => {
    page.chooseRange(rangeNamed(chosen('range')));
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
  page.draw();
}

start();
