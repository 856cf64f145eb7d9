// SPDX-License-Identifier: Apache-2.0
// A line chart: lines with names and values, a summary in words, the numbers as a table.

import {el, show} from '../dom.js';
import {endOf} from '../ranges.js';
import {weightOf} from '../level.js';
import {short} from '../text.js';

import {align, nearestTo, shownAt} from './align.js';
import {alertBands, ruleLimits} from './bands.js';
import {chart} from './chart.js';
import {crosshair} from './crosshair.js';
import {frame} from './frame.js';
import {legend} from './legend.js';
import {numbers} from './numbers.js';
import {happened, series} from './history.js';
import {emptiness} from './reasons.js';
import {figures, latestText, sentence} from './summary.js';
import {fullTime} from './time_axis.js';
import {tooltip} from './tooltip.js';
import {UNITS} from './units.js';

const MOST_LINES = 8;
// A clock that shows 2016 or earlier was not set.
const CLOCK_UNSET = 1483228800;

// If there are too many lines, the largest are drawn, in their order.
export function greatest(lines) {
  return (most) => [...lines]
                       .map(
                           (line,
                            i) => [Math.max(...line.points.map(({max}) => max), -Infinity), i])
                       .sort((a, b) => b[0] - a[0])
                       .slice(0, most)
                       .sort((a, b) => a[1] - b[1])
                       .map(([, i]) => lines[i]);
}

// The device's time: its clock may differ from the reader's.
function timeOf(answers, page) {
  const reported = answers.map(({at}) => at).filter(Number.isFinite);
  return reported.length > 0 ? Math.max(...reported) : page.device.time();
}

// Parts of the range in which no line has a point.
function holes(from, to, times, columns, step) {
  const has = times.filter((time, i) => columns.some(({average}) => Number.isFinite(average[i])));
  const out = [];
  let before = from;
  for (const time of has) {
    if (time - before > 2.5 * step) out.push([before === from ? from : before + step / 2, time]);
    before = time;
  }
  if (to - before > 2.5 * step + 30) out.push([before, to]);
  return out;
}

// what: {title, unit, sources (of /api/v1/now: the reason if there is no data), stepped, note,
// nothing (the text then), load(ask, range) -> [{name, points, fills}] where ask(metric) -> its
// series; those that fill (the number of a colour) come first and are drawn as areas, each on top of
// the one before;
// limits(device) -> [{value, text, level}], drawn beside the thresholds of rules on its metrics}.
export function linePicture(page, what) {
  const unit = UNITS[what.unit];
  const {node, body} = frame(page, what.title, draw);
  const empty = emptiness(page, what.sources);
  let view = null;

  async function draw(range, isCurrent) {
    const answers = [];
    const metrics = [];
    const ask = async (metric) => {
      if (!isCurrent()) return [];
      const answer = await series(page, metric, range);
      answers.push(answer);
      metrics.push(metric);
      return answer;
    };
    const all =
        (await what.load(ask, range))
            .filter(({points}) => points.some(({time}) => Number.isFinite(time)));
    if (!isCurrent()) return;
    const events = all.length > 0 ? await eventsOf(range) : {};
    if (!isCurrent()) return;
    if (all.length === 0) return nothing(range);
    const lines = all.length > MOST_LINES ? greatest(all)(MOST_LINES) : all;
    const names = lines.map(({name, fills}) => `${name} ${fills}`).join('\n');
    if (view?.names !== names) build(lines, names);
    const now = timeOf(answers, page);
    const rules = page.device.latest('alerts')?.rules;
    view.fill(lines, {
      range,
      end: endOf(range, now),
      now,
      events,
      bands: alertBands(events, range, now),
      limits: limitsOf(metrics, rules),
      leftOut:
          all.length - lines.length + answers.reduce((sum, {leftOut}) => sum + (leftOut ?? 0), 0),
      trouble: answers.map(({trouble}) => trouble).find(Boolean),
      unset: all.some(
          ({points}) => points.some(({trusted, time}) => trusted === false && time < CLOCK_UNSET)),
    });
  }

  // A threshold that the chart itself has is not drawn twice.
  function limitsOf(metrics, rules) {
    const own = what.limits?.(page.device) ?? [];
    const ofRules = metrics.flatMap((metric) => ruleLimits(rules, metric))
                        .map(({value, name, level}) => ({
                               value,
                               level,
                               text: `${name} at ${unit.text(value)}`,
                             }));
    return [...own, ...ofRules].filter(({value}) => Number.isFinite(value))
        .filter(({value}, i, all) => all.findIndex((each) => each.value === value) === i);
  }

  // A chart without them is better than none.
  async function eventsOf(range) {
    try {
      return await happened(page, range);
    } catch (error) {
      return {why: error.why ?? String(error)};
    }
  }

  function nothing(range) {
    view?.plot.end();
    view = null;
    empty.say(what.nothing ?? 'Nothing recorded in this time.', {range});
    if (!empty.node.isConnected) body.replaceChildren(empty.node);
  }

  function build(lines, names) {
    view?.plot.end();
    view = lineView(page, what, unit, lines, names);
    body.replaceChildren(...view.nodes);
  }
  page.cursor.addEventListener('cursor', () => view?.follow());
  return node;
}

function lineView(page, what, unit, lines, names) {
  const place = el('div', {class: 'plot', role: 'img'});
  const summary = el('p', {class: 'summary'});
  const tip = tooltip();
  const notes = el('p', {class: 'notes'});
  const named = legend(lines.map(({name, fills}) => ({name, fills, band: !fills})));
  const me = {};
  let shown = null;  // what is drawn: {lines, picture, figures}

  const valueAt = (i, index) => {
    const {times, columns, step} = shown.picture;
    const at = shownAt(times, columns[i].average, index, step);
    if (at < 0) return 'nothing recorded';
    const {average, min, max} = columns[i];
    const [from, to] = [unit.text(min[at]), unit.text(max[at])];
    const span = from === to ? '' : ` (${from} to ${to})`;
    return `${unit.text(average[at])}${span}`;
  };

  // The newest values, or those of the moment that the charts point at.
  function values(index) {
    if (index === null) {
      const {picture: {now, to, step}, figures: all} = shown;
      const newest = all.reduce((a, b) => (a && !(b?.latestTime > a.latestTime) ? a : b), null);
      const isPast = now - to > 60;
      named.tell(
          !newest ? '' : isPast ? fullTime(newest.latestTime, step) : latestText(newest, now, step),
          all.map((each) => latestOf(each, newest, step)));
      return;
    }
    named.tell(
        fullTime(shown.picture.times[index], shown.picture.step),
        shown.lines.map((each, i) => valueAt(i, index)));
  }

  // Where the page's cursor is; with the values beside it where the pointer is in this chart.
  function follow() {
    if (!shown) return;
    const {time, by} = page.cursor;
    const {times, from, to, step} = shown.picture;
    const isInside = time !== null && time >= from && time <= to && times.length > 0;
    const index = isInside ? nearestTo(times, time) : null;
    const x = plot.point(isInside ? time : null);
    values(index);
    if (index === null || by !== me) return tip.hide();
    tip.say(x, {
      title: fullTime(times[index], step),
      rows: shown.lines.map(
          ({name, fills}, i) => ({number: i, name, fills, value: valueAt(i, index)})),
      notes: notesAt(index),
    });
  }

  // A line that ended before the others shows when.
  function latestOf(known, newest, step) {
    if (known === null) return 'nothing recorded';
    const ended = newest.latestTime - known.latestTime > 2.5 * step;
    return `${unit.text(known.latest)}${ended ? ` (until ${fullTime(known.latestTime, 60)})` : ''}`;
  }

  // What happened about then, and the alerts that fired.
  function notesAt(index) {
    const {times, events, bands, from, to} = shown.picture;
    const near = (to - from) / 150;
    const time = times[index];
    const here = events.filter((event) => Math.abs(event.time - time) <= near);
    const out = bands.filter((band) => band.from <= time && band.to >= time)
                    .map(({alert}) => `${alert} fires`);
    if (here.length > 0) {
      const more = here.length > 1 ? ` and ${here.length - 1} more` : '';
      out.push(`${short(here[0].summary ?? '', 300)}${more}`);
    }
    return [...new Set(out)].slice(0, 4);
  }

  const plot = chart(place, {
    unit,
    stepped: what.stepped,
    lines,
    hover: (index) => page.cursor.move(index === null ? null : shown.picture.times[index], me),
    leave: () => page.cursor.move(null),
    zoom: (from, to) => page.show(from, to),
    pan: (seconds) => page.pan(seconds),
  });
  const cross = crosshair(what.title, {
    count: () => shown?.picture.times.length ?? 0,
    tell(index) {
      page.cursor.move(shown.picture.times[index], me);
      const all = shown.lines.map(({name}, i) => `${name} ${valueAt(i, index)}`).join(', ');
      return [`${fullTime(shown.picture.times[index], shown.picture.step)}: ${all}`,
              ...notesAt(index)].join('; ');
    },
    leave: () => page.cursor.move(null),
    zoom: (a, b) => page.show(shown.picture.times[a], shown.picture.times[b]),
  });
  const table = numbers(what.title, summary, () => {
    const {times, columns, step} = shown.picture;
    const rows = [];
    for (let index = times.length - 1; index >= 0; --index) {
      if (!columns.some(({average}) => Number.isFinite(average[index]))) continue;
      rows.push([fullTime(times[index], step), ...shown.lines.map((each, i) => valueAt(i, index))]);
    }
    return {head: ['time', ...shown.lines.map(({name}) => name)], rows};
  });

  return {
    names,
    plot,
    nodes: [
      el('div', {class: 'stage'}, place, cross.node, tip.node),
      named.when,
      named.node,
      notes,
      table.node,
    ],
    follow,
    fill(next, {range, end, now, events, bands, limits, leftOut, trouble, unset}) {
      const from = end - range.seconds;
      const aligned = align(next, range.step);
      const picture = {
        ...aligned,
        from,
        to: end,
        now,
        events: events.events ?? [],
        bands,
        limits,
        holes: holes(from, Math.min(end, now), aligned.times, aligned.columns, aligned.step),
      };
      shown = {lines: next, picture, figures: next.map(({points}) => figures(points))};
      plot.fill(picture);
      cross.renew();
      follow();
      const words =
          next.map(({name}, i) => sentence(name, shown.figures[i], unit.text, now, picture.step));
      const label = `${what.title}, ${range.phrase}. ${words.join(' ')}`;
      if (place.getAttribute('aria-label') !== label) place.setAttribute('aria-label', label);
      show(summary, words.join(' '));
      show(
          notes,
          notesOf(what, picture, events, {leftOut, trouble, unset}).map((each) => `${each} `));
      notes.hidden = notes.textContent === '';
      table.renew();
    },
  };
}

function eventNotes({events, from}, {more, why}) {
  if (why !== undefined) return [`Events are not drawn: ${why}.`];
  if (events.length === 0) return [];
  const bad = events.filter((event) => ['critical', 'error'].includes(weightOf(event))).length;
  const oldest = Math.min(...events.map(({time}) => time).filter(Number.isFinite));
  return [
    `${events.length}${more ? ' newest' : ''} ${events.length === 1 ? 'event' : 'events'}${
        bad > 0 ? `, ${bad} of them errors (triangles)` : ''}.`,
    more && oldest > from &&
        `Events before ${fullTime(oldest, 60)} are omitted.`,
  ];
}

function notesOf(what, picture, events, {leftOut, trouble, unset}) {
  const {boots, holes: empty, mixed, bands} = picture;
  const firing = [...new Set(bands.map(({alert}) => alert))];
  return [
    leftOut > 0 &&
        `${leftOut} smaller ${leftOut === 1 ? 'line' : 'lines'} omitted.`,
    boots.length > 0 && `${boots.length} ${boots.length === 1 ? 'restart' : 'restarts'} (dashed).`,
    empty.length > 0 && 'Shaded: nothing recorded.',
    firing.length > 0 && `Bars at the top: ${firing.slice(0, 3).join(', ')}${
        firing.length > 3 ? ` and ${firing.length - 3} more` : ''} fired.`,
    ...eventNotes(picture, events),
    mixed && 'The clock was set back: values from before and after overlap.',
    unset && 'The clock was never set: times are wrong.',
    trouble && `Part of the history is missing: ${trouble}.`,
    what.note,
  ].filter(Boolean);
}
