// SPDX-License-Identifier: Apache-2.0
// The runbook of an alert, beside it, with this device's values filled in. The device serves the
// shipped ones; a rule of the site may name one elsewhere.

import {labelsOf} from './device.js';
import {el, link, show} from './dom.js';
import {bytes, celsius, duration, ratio} from './format.js';
import {readMarkup} from './runbook_markup.js';
import {short} from './text.js';

// The shipped runbook of this file or address, or ''. SHIPPED_RUNBOOKS: their names, inserted when
// the page is bundled (page/build.py).
function shipped(place) {
  if (typeof place !== 'string' || place === '') return '';
  const name = nameOf(place);
  return SHIPPED_RUNBOOKS.includes(name) ? name : '';
}

const nameOf = (place) => place.split(/[?#]/)[0].split('/').at(-1).replace(/\.md$/, '');

export function runbook(place) {
  if (typeof place !== 'string' || place === '') return null;
  const name = nameOf(place);
  if (shipped(place)) return link(`/runbooks/${name}`, `Runbook: ${name}`);
  if (/^https?:\/\//.test(place)) return link(place, `Runbook: ${name}`);
  return `Runbook: ${place}`;
}

// A button that opens it beside the page; a link, or a text, where it is not on the device.
export function runbookButton(page, place, alert) {
  const name = shipped(place);
  if (!name) return runbook(place);
  return el(
    'button',
    {type: 'button', class: 'plain', onclick: ({currentTarget}) => openBeside(page, name, alert, currentTarget)},
    'Runbook',
    el('span', {class: 'of'}, `: ${name}`),
  );
}

let panel = null;
let opener = null;

function close() {
  panel.hidden = true;
  document.body.classList.remove('beside');
  opener?.focus();
}

function makePanel() {
  const title = el('h2', {id: 'runbook-title', tabindex: '-1'});
  const alone = el('span', {});
  const body = el('div', {class: 'body'});
  panel = el(
    'aside',
    {
      id: 'runbook',
      'aria-labelledby': 'runbook-title',
      onkeydown: (event) => event.key === 'Escape' && close(),
    },
    el(
      'div',
      {class: 'bar-of-panel'},
      title,
      alone,
      el('button', {type: 'button', class: 'plain', onclick: close}, 'Close'),
    ),
    body,
  );
  document.getElementById('main').after(panel);
  Object.assign(panel, {parts: {title, alone, body}});
}

async function openBeside(page, name, alert, from) {
  if (!panel) makePanel();
  const {title, alone, body} = panel.parts;
  opener = from;
  panel.hidden = false;
  document.body.classList.add('beside');
  show(title, `Runbook: ${name}`);
  show(alone, link(`/runbooks/${name}`, 'Open it alone'));
  body.replaceChildren(el('p', {class: 'quiet'}, 'Asking the device\u2026'));
  title.focus();
  const rule = (page.device.latest('alerts')?.rules ?? []).find((each) => each.alert === alert);
  try {
    const [text, samples] = await Promise.all([
      page.device.page(`/runbooks/${name}`),
      // Without values it is still a runbook.
      page.device.once('now').then((now) => now.samples ?? {}, () => ({})),
    ]);
    const labels = rule?.alerts?.[0]?.labels ?? {};
    const fills = {
      code: (word) => valueOf(word, samples, labels),
      command: (command) => withNames(command, labels),
      open: (other) => openBeside(page, other, alert, opener),
    };
    body.replaceChildren(here(rule), ...readMarkup(text, fills));
  } catch (error) {
    body.replaceChildren(
      el('p', {class: 'unavailable'}, `It cannot be shown here: ${short(error.why ?? error.message, 300)}.`),
    );
  }
}

// What the alert says of this device.
function here(rule) {
  if (!rule) return '';
  const [alert] = rule.alerts ?? [];
  return el(
    'div',
    {class: 'remark'},
    el('p', {}, el('b', {}, 'On this device: '), alert ? short(alert.summary, 600) : `${rule.alert} is ${rule.state}.`),
    el(
      'ul',
      {},
      (rule.conditions ?? []).map((each) =>
        el('li', {}, short(each.text, 300), each.worst ? el('b', {}, `; now ${short(each.worst.value_text, 60)}`) : ''),
      ),
    ),
  );
}

const UNITS = [
  [/_bytes$/, bytes],
  [/_ratio$/, ratio],
  [/_celsius$/, celsius],
  [/_seconds$/, duration],
];
const MOST_SERIES = 3;

// " (now 5.9 MiB)" behind the name of a metric; of the alert's own series, where they are among its.
function valueOf(word, samples, labels) {
  const [, metric] = /^(jetmem_\w+)(?:\{.*\})?$/.exec(word) ?? [];
  if (metric === undefined) return null;
  const has = (key, wanted) => {
    const found = labelsOf(key);
    return Object.entries(wanted).every(([name, value]) => found[name] === value);
  };
  const named = labelsOf(word);
  const all = Object.entries(samples).filter(
    ([key, value]) => key.split('{', 1)[0] === metric && typeof value === 'number' && has(key, named),
  );
  if (all.length === 0) return null;
  const mine = all.filter(([key]) => has(key, labels));
  const shown = mine.length > 0 ? mine : all;
  if (shown.length > MOST_SERIES) return null;
  const text = UNITS.find(([pattern]) => pattern.test(metric))?.[1] ?? ((value) => String(Number(value.toPrecision(4))));
  return el('span', {class: 'here'}, ` (now ${shown.map(([, value]) => text(value)).join(', ')})`);
}

// DEVICE, UNIT and the like in a command, where the alert has a label of that name. A value that a
// shell might read as more than a name stays out: a name may be anybody's.
function withNames(command, labels) {
  return Object.entries(labels).reduce(
    (text, [name, value]) =>
      /^[\w.,:@+-]+$/.test(value) && !value.startsWith('-')
        ? text.replace(new RegExp(`\\b${name.toUpperCase()}\\b`, 'g'), () => value)
        : text,
    command,
  );
}
