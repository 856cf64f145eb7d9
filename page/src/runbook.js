// SPDX-License-Identifier: Apache-2.0
// The runbook of an alert, beside it, with this device's values filled in. The device serves the
// shipped ones; a rule of the site may name one elsewhere.

import {labelsOf} from './device.js';
import {el, link, show} from './dom.js';
import {bytes, celsius, duration, moment, ratio} from './format.js';
import {readMarkup} from './runbook_markup.js';
import {plain, short, words} from './text.js';

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

// A button that opens it beside the page; a link, or a text, where it is not on the device. `alert`:
// {alert, labels}: what is shown beside the button; labels where its series is known.
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
let newest = 0;  // of the runbooks that were asked for

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
  const mine = ++newest;
  const {title, alone, body} = panel.parts;
  opener = from;
  panel.hidden = false;
  document.body.classList.add('beside');
  show(title, `Runbook: ${name}`);
  show(alone, link(`/runbooks/${name}`, 'Open it alone'));
  body.replaceChildren(el('p', {class: 'quiet'}, 'Asking the device\u2026'));
  title.focus();
  const nodes = await content(page, name, alert, (other) => openBeside(page, other, alert, opener));
  // A slower answer may be of another that was opened before.
  if (mine === newest) body.replaceChildren(...nodes);
}

// Without values it is still a runbook.
async function content(page, name, shown, open) {
  try {
    const [text, samples, alerts] = await Promise.all([
      page.device.page(`/runbooks/${name}`),
      page.device.once('now').then((now) => now.samples ?? {}, () => ({})),
      shown ? page.device.once('alerts').catch((error) => ({why: error.why ?? error.message})) : {},
    ]);
    const rule = (alerts.rules ?? []).find((each) => each.alert === shown?.alert);
    const alert = seriesOf(rule, shown);
    const labels = alert?.labels ?? shown?.labels ?? {};
    const names = alerts.omitted?.alerts > 0 ? {} : commonLabels(rule, alert, labels);
    const fills = {
      code: (word) => valueOf(word, samples, labels),
      command: (command) => withNames(command, names),
      open,
    };
    return [here(rule, alert, alerts), ...readMarkup(text, fills)].filter(Boolean);
  } catch (error) {
    return [el('p', {class: 'unavailable'}, `It cannot be shown here: ${short(error.why ?? error.message, 300)}.`)];
  }
}

const isSame = (a, b) =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

// The alert of the rule that is shown beside the button, else the first that fires.
function seriesOf({alerts = []} = {}, {labels} = {}) {
  const same = labels && alerts.find((each) => isSame(each.labels ?? {}, labels));
  return same ?? alerts.find(({state}) => state === 'firing') ?? alerts[0];
}

// What all alerts of the rule in the same state have in common: a name of one is not a name of all.
function commonLabels(rule, alert, labels) {
  if (rule?.dropped_alerts > 0) return {};
  const others = (rule?.alerts ?? []).filter(({state}) => state === alert.state);
  return Object.fromEntries(
    Object.entries(labels).filter(([name, value]) => others.every((each) => each.labels?.[name] === value)),
  );
}

// What the alert says of this device.
function here(rule, alert, {why, evaluated}) {
  if (why) return el('p', {class: 'remark'}, `What the alert says now is not known: ${short(why, 300)}.`);
  if (!rule) return null;
  const at = moment(evaluated?.unix_seconds);
  return el(
    'div',
    {class: 'remark'},
    el(
      'p',
      {},
      el('b', {}, `On this device${at && ` at ${at}`}: `),
      alert ? short(alert.summary, 600) : `${short(rule.alert, 120)} is ${words(rule.state)}.`,
    ),
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

// " (now 5.9 MiB)" behind the name of a metric; of the alert's own series, as far as the metric has its
// labels. Of several each has its name.
export function valueOf(word, samples, labels) {
  const [, metric] = /^(jetmem_\w+)(?:\{.*\})?$/.exec(word) ?? [];
  if (metric === undefined) return null;
  const named = labelsOf(word);
  const all = Object.entries(samples)
    .filter(([key, value]) => key.split('{', 1)[0] === metric && typeof value === 'number')
    .map(([key, value]) => ({of: labelsOf(key), value}));
  const wanted = Object.entries(labels).filter(
    ([name]) => !(name in named) && all.some(({of}) => name in of),
  );
  const has = (of, pairs) => pairs.every(([name, value]) => of[name] === plain(value));
  const mine = all.filter(({of}) => has(of, Object.entries(named)) && has(of, wanted));
  if (mine.length === 0 || mine.length > MOST_SERIES) return null;
  const unit = UNITS.find(([pattern]) => pattern.test(metric))?.[1] ?? ((value) => String(Number(value.toPrecision(4))));
  const nameOf = (of) =>
    Object.entries(of)
      .filter(([name, value]) => mine.some((other) => other.of[name] !== value))
      .map(([name, value]) => `${words(name)} ${short(value)}`)
      .join(', ');
  return el('span', {class: 'here'}, ` (now ${mine.map(({of, value}) => [nameOf(of), unit(value)].filter(Boolean).join(': ')).join('; ')})`);
}

// DEVICE, UNIT and the like in a command, where the alert has a label of that name. A value that a
// shell might read as more than a name stays out: a name may be anybody's.
export function withNames(command, labels) {
  const names = new Map(
    Object.entries(labels)
      .filter(([, value]) => /^[\w.,:@+-]+$/.test(value) && !value.startsWith('-'))
      .map(([name, value]) => [name.toUpperCase(), value]),
  );
  return command.replace(/\b[A-Z]\w*\b/g, (word) => names.get(word) ?? word);
}
