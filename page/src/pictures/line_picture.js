// SPDX-License-Identifier: Apache-2.0
// A line chart: lines with names and values, a summary in words, the numbers as a table.

import {el, show} from '../dom.js';
import {short} from '../text.js';

import {align, shownAt} from './align.js';
import {chart} from './chart.js';
import {crosshair} from './crosshair.js';
import {frame} from './frame.js';
import {legend} from './legend.js';
import {numbers} from './numbers.js';
import {happened, series} from './history.js';
import {emptiness} from './reasons.js';
import {figures, latestText, sentence} from './summary.js';
import {fullTime} from './time_axis.js';
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
function endOf(answers) {
  const reported = answers.map(({at}) => at).filter(Number.isFinite);
  return reported.length > 0 ? Math.max(...reported) : Date.now() / 1000;
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
// nothing (the text then), load(ask, range) -> [{name, points}] where ask(metric) -> its series}.
export function linePicture(page, what) {
  const unit = UNITS[what.unit];
  const {node, body} = frame(page, what.title, draw);
  const empty = emptiness(page, what.sources);
  let view = null;

  async function draw(range, isCurrent) {
    const answers = [];
    const ask = async (metric) => {
      if (!isCurrent()) return [];
      const answer = await series(page, metric, range);
      answers.push(answer);
      return answer;
    };
    const all =
        (await what.load(ask, range))
            .filter(({points}) => points.some(({time}) => Number.isFinite(time)));
    if (!isCurrent()) return;
    const events = all.length > 0 ? await eventsOf(range) : {};
    if (!isCurrent()) return;
    if (all.length === 0) return nothing();
    const lines = all.length > MOST_LINES ? greatest(all)(MOST_LINES) : all;
    const names = lines.map(({name}) => name).join('\n');
    if (view?.names !== names) build(lines, names);
    view.fill(lines, {
      range,
      end: endOf(answers),
      events,
      leftOut:
          all.length - lines.length + answers.reduce((sum, {leftOut}) => sum + (leftOut ?? 0), 0),
      trouble: answers.map(({trouble}) => trouble).find(Boolean),
      unset: all.some(
          ({points}) => points.some(({trusted, time}) => trusted === false && time < CLOCK_UNSET)),
    });
  }

  // A chart without them is better than none.
  async function eventsOf(range) {
    try {
      return await happened(page, range);
    } catch (error) {
      return {why: error.why ?? String(error)};
    }
  }

  function nothing() {
    view?.plot.end();
    view = null;
    empty.say(what.nothing ?? 'Nothing recorded in this time.');
    if (!empty.node.isConnected) body.replaceChildren(empty.node);
  }

  function build(lines, names) {
    view?.plot.end();
    view = lineView(what, unit, lines, names);
    body.replaceChildren(...view.nodes);
  }
  return node;
}

function lineView(what, unit, lines, names) {
  const place = el('div', {class: 'plot', role: 'img'});
  const summary = el('p', {class: 'summary'});
  const readout = el('p', {class: 'readout', 'aria-hidden': 'true'});
  const notes = el('p', {class: 'notes'});
  const named = legend(lines.map(({name}) => ({name, band: true})));
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

  function hover(index) {
    if (!shown) return;
    if (index === null) {
      const {picture: {to, step}, figures: all} = shown;
      const newest = all.reduce((a, b) => (a && !(b?.latestTime > a.latestTime) ? a : b), null);
      const when = newest ? `${latestText(newest, to, step)}:` : '';
      readout.textContent = `${when.slice(0, 1).toUpperCase()}${when.slice(1)}`;
      named.tell(all.map((each) => latestOf(each, newest, step)));
      return;
    }
    readout.textContent =
        `${fullTime(shown.picture.times[index], shown.picture.step)}: ${eventsAt(index)}`;
    named.tell(shown.lines.map((each, i) => valueAt(i, index)));
  }

  // A line that ended before the others shows when.
  function latestOf(known, newest, step) {
    if (known === null) return 'nothing recorded';
    const ended = newest.latestTime - known.latestTime > 2.5 * step;
    return `${unit.text(known.latest)}${ended ? ` (until ${fullTime(known.latestTime, 60)})` : ''}`;
  }

  function eventsAt(index) {
    const {times, events, from, to} = shown.picture;
    const near = (to - from) / 150;
    const here = events.filter(({time}) => Math.abs(time - times[index]) <= near);
    if (here.length === 0) return '';
    const first = short(here[0].summary ?? '', 600);
    return `${first}${here.length > 1 ? ` and ${here.length - 1} more` : ''}`;
  }

  const plot = chart(place, {unit, stepped: what.stepped, lines, hover});
  const cross = crosshair(what.title, {
    count: () => shown?.picture.times.length ?? 0,
    tell(index) {
      plot.point(index);
      hover(index);
      const values = shown.lines.map(({name}, i) => `${name} ${valueAt(i, index)}`).join(', ');
      const event = eventsAt(index);
      return `${fullTime(shown.picture.times[index], shown.picture.step)}: ${values}${
          event ? `; ${event}` : ''}`;
    },
    leave() {
      plot.point(null);
      hover(null);
    },
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
      el('div', {class: 'stage'}, place, cross.node),
      readout,
      named.node,
      notes,
      table.node,
    ],
    fill(next, {range, end, events, leftOut, trouble, unset}) {
      const from = end - range.seconds;
      const aligned = align(next, range.step);
      const picture = {
        ...aligned,
        from,
        to: end,
        events: events.events ?? [],
        holes: holes(from, end, aligned.times, aligned.columns, aligned.step),
      };
      shown = {lines: next, picture, figures: next.map(({points}) => figures(points))};
      plot.fill(picture);
      cross.renew();
      hover(null);
      const words =
          next.map(({name}, i) => sentence(name, shown.figures[i], unit.text, end, picture.step));
      const label = `${what.title}, the last ${range.text}. ${words.join(' ')}`;
      if (place.getAttribute('aria-label') !== label) place.setAttribute('aria-label', label);
      show(summary, words.join(' '));
      show(
          notes,
          notesOf(what, picture, events, {leftOut, trouble, unset}).map((each) => `${each} `));
      table.renew();
    },
  };
}

function eventNotes({events, from}, {more, why}) {
  if (why !== undefined) return [`Events are not drawn: ${why}.`];
  if (events.length === 0) return [];
  const bad = events.filter(({severity}) => severity === 'critical' || severity === 'error').length;
  const oldest = Math.min(...events.map(({time}) => time).filter(Number.isFinite));
  return [
    `${events.length}${more ? ' newest' : ''} ${events.length === 1 ? 'event' : 'events'}${
        bad > 0 ? `, ${bad} of them errors (triangles)` : ''}.`,
    more && oldest > from &&
        `Events before ${fullTime(oldest, 60)} are omitted.`,
  ];
}

function notesOf(what, picture, events, {leftOut, trouble, unset}) {
  const {boots, holes: empty, mixed} = picture;
  return [
    leftOut > 0 &&
        `${leftOut} smaller ${leftOut === 1 ? 'line' : 'lines'} omitted.`,
    boots.length > 0 && `${boots.length} ${boots.length === 1 ? 'restart' : 'restarts'} (dashed).`,
    empty.length > 0 && 'Shaded: nothing recorded.',
    ...eventNotes(picture, events),
    mixed && 'The clock was set back: values from before and after overlap.',
    unset && 'The clock was never set: times are wrong.',
    trouble && `Part of the history is missing: ${trouble}.`,
    what.note,
  ].filter(Boolean);
}
