// SPDX-License-Identifier: Apache-2.0
// A heat map with its scale, a summary in words, and the numbers as a table.

import {el, show} from '../../dom.js';
import {endOf} from '../../ranges.js';

import {align} from '../align.js';
import {alertBands} from '../bands.js';
import {buckets} from '../buckets.js';
import {onColours} from '../colours.js';
import {crosshair} from '../crosshair.js';
import {frame} from '../frame.js';
import {samples, scale} from './heat_colours.js';
import {heatMap} from './heat_map.js';
import {numbers} from '../numbers.js';
import {happened, series} from '../history.js';
import {emptiness} from '../reasons.js';
import {fullTime} from '../time_axis.js';

// what: {title, sources, zeroIsBad, zero (its name in the scale), text(value), before (a node above
// it), load(ask, bucketsOf) -> {pieces, rows: [{name, long}], values, line, low, high, summary,
// notes, points, nothing (a text, where there is nothing to draw)}}.
export function heatPicture(page, what) {
  const {node, body} = frame(page, what.title, draw);
  const empty = emptiness(page, what.sources);
  let view = null;

  async function draw(range, isCurrent) {
    let now = 0;
    const ask = async (metric) => {
      if (!isCurrent()) return [];
      const answer = await series(page, metric, range);
      if (Number.isFinite(answer.at)) now = Math.max(now, answer.at);
      return answer;
    };
    const time = () => now || page.device.time();
    const piecesOf = (step) => buckets(range, endOf(range, time()), Math.max(step, range.step));
    const picture = await what.load(ask, piecesOf, range);
    if (!isCurrent()) return;
    if (picture.nothing) {
      view = null;
      empty.say(picture.nothing, {isSources: !picture.recorded, range});
      if (!empty.node.isConnected)
        body.replaceChildren(...[what.before, empty.node].filter(Boolean));
      return;
    }
    let events = {};
    try {
      events = await happened(page, range);
    } catch {
      // A picture without them is better than none.
    }
    if (!isCurrent()) return;
    if (!view) {
      view = heatView(page, what);
      body.replaceChildren(...view.nodes);
    }
    const {boots} = align([{points: picture.points}], range.step);
    const bands = alertBands(events, range, time());
    view.fill(
        {...picture, zeroIsBad: what.zeroIsBad, boots, bands, events: events.events ?? []}, range);
  }
  page.cursor.addEventListener('cursor', () => view?.follow());
  return node;
}

function heatView(page, what) {
  const canvas = el('canvas', {role: 'img'});
  const summary = el('p', {class: 'summary'});
  const readout = el('p', {class: 'readout', 'aria-hidden': 'true'}, '\u00a0');
  const notes = el('p', {class: 'notes'});
  const key = el('p', {class: 'scale'});
  const me = {};
  let picture = null;
  const stage = el('div', {class: 'stage'}, canvas);
  const middle = (column) => picture.pieces.begin(column) + picture.pieces.width / 2;
  const map = heatMap(canvas, {
    hover(column, row) {
      tell(column, row);
      page.cursor.move(column < 0 ? null : middle(column), me);
    },
    zoom: (from, to) => page.show(from, to),
  });

  // Where another chart points at.
  function follow() {
    if (picture && page.cursor.by !== me)
      map.point(page.cursor.time === null ? -1 : picture.pieces.at(page.cursor.time));
  }

  const value = (column, row) => {
    const known = picture.values[row][column];
    return known === null ? 'nothing recorded' : what.text(known);
  };
  function tell(column, row) {
    const text = column < 0 ? '\u00a0' :
                              `${fullTime(picture.pieces.begin(column), picture.pieces.width)}, ` +
            `${picture.rows[row].long ?? picture.rows[row].name}: ${value(column, row)}`;
    readout.textContent = text;
    return text;
  }
  const cross = crosshair(what.title, {
    count: () => picture?.pieces.count ?? 0,
    rows: () => picture.rows.length,
    tell(column, row) {
      map.go(column, row);
      page.cursor.move(middle(column), me);
      return tell(column, row);
    },
    leave() {
      map.go(-1, -1);
      page.cursor.move(null);
      if (picture) tell(-1, 0);
    },
    zoom: (a, b) => page.show(picture.pieces.begin(a), picture.pieces.begin(b + 1)),
  });
  stage.append(cross.node);
  const table = numbers(what.title, null, () => {
    const rows = [];
    for (let column = picture.pieces.count - 1; column >= 0; --column) {
      if (picture.values.every((row) => row[column] === null)) continue;
      rows.push([
        fullTime(picture.pieces.begin(column), picture.pieces.width),
        ...picture.rows.map((each, row) => value(column, row))
      ]);
    }
    return {head: ['time', ...picture.rows.map(({name, long}) => long ?? name)], rows};
  });

  function drawKey() {
    if (!picture) return;
    const {low, high, values} = picture;
    const colour = scale(low, high);
    const item = (sample, text) => [el('span', {class: 'item'}, sample, ` ${text}`), ' '];
    const swatch = (of, text) => item(el('span', {class: 'swatch', style: {background: of}}), text);
    // Numbers with the same text are one.
    const texts = new Map();
    for (const each of high > low ? samples(low, high) : [high]) texts.set(what.text(each), each);
    const swatches = [...texts].map(([text, each]) => swatch(colour(each), text));
    show(
        key,
        what.zeroIsBad && values.some((row) => row.includes(0)) ?
            item(el('span', {class: 'swatch none'}), what.zero) :
            null,
        swatches,
        picture.lineName ? item(el('span', {class: 'swatch line'}), picture.lineName) : null);
  }
  onColours(drawKey);

  return {
    nodes: [what.before, stage, readout, key, summary, notes, table.node].filter(Boolean),
    follow,
    fill(next, range) {
      picture = next;
      map.fill(next);
      follow();
      cross.renew();
      drawKey();
      const label = `${what.title}, ${range.phrase}. ${next.summary}`;
      if (canvas.getAttribute('aria-label') !== label) canvas.setAttribute('aria-label', label);
      show(summary, next.summary);
      const empty = next.values.at(-1).includes(null);
      show(
          notes,
          [
            ...next.notes,
            empty ? 'Shaded: nothing recorded.' : '',
            next.boots.length > 0 ?
                `${next.boots.length} ${
                    next.boots.length === 1 ? 'restart' : 'restarts'} (dashed).` :
                '',
          ].filter(Boolean)
              .join(' '));
      table.renew();
    },
  };
}
