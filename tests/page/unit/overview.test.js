// SPDX-License-Identifier: Apache-2.0
// The first screen: which charts explain which alert, and what a chart shows beside its lines.

import {weightOf} from '../../../page/src/level.js';
import {chartsFor} from '../../../page/src/overview/explaining.js';
import {alertBands, metricOf, ruleLimits} from '../../../page/src/pictures/bands.js';
import {joined, resumeAt} from '../../../page/src/pictures/history.js';
import {layers} from '../../../page/src/pictures/stack.js';
import {equal, test} from './check.js';

const rule = (expression, more = {}) =>
    ({alert: 'Any', state: 'firing', severity: 'warning', conditions: [{expression}], ...more});
const charts = (rules, recorded) => chartsFor(rules, (name) => recorded?.includes(name) ?? true, true);

test('charts: without an alert a general view', () => {
  equal(charts([]), ['memory', 'temperature']);
  equal(chartsFor([], () => false, false), ['memory', 'pressure']);
  equal(charts([rule('jetmem_cma_used_ratio', {state: 'pending'})]), ['memory', 'temperature']);
});

test('charts: of what the alert looks at', () => {
  equal(charts([rule('jetmem_cma_frame_fit_ratio')]), ['largestRun', 'cma']);
  equal(charts([rule('avg_over_time(jetmem_emc_saturation_ratio[5m])')]), ['bandwidth', 'engines']);
  equal(charts([rule('jetmem_thermal_margin_celsius{kind=~"hot|critical"}')]),
        ['temperature', 'throttling']);
  equal(charts([rule('jetmem_kernel_recent_events{kind=~"oom_kill|oom_no_victim"}')]),
        ['memory', 'holders']);
  // A site's own rule on a metric of ours.
  equal(charts([rule('jetmem_memory_free_ratio', {alert: 'OursOnly'})]), ['memory', 'holders']);
});

test('charts: what no chart knows is drawn as it is', () => {
  const found = charts([rule('jetmem_source_failing{source="x"}')], ['jetmem_source_failing']);
  equal(found, [{metric: 'jetmem_source_failing'}, 'memory']);
  equal(charts([rule('jetmem_source_failing')], []), ['memory', 'temperature']);
});

test('charts: none without anything recorded', () => {
  const probe = rule('jetmem_probe_slowness_ratio{kind="pinned"}');
  equal(charts([probe]), ['probes', 'largestRun']);
  equal(charts([probe], ['jetmem_probe_slowness_ratio']), ['probes', 'memory']);
  equal(charts([probe], ['jetmem_cma_largest_free_run_bytes']), ['memory', 'temperature']);
});

test('charts: the worst alert counts, an inhibited one does not', () => {
  equal(charts([rule('jetmem_thermal_x', {inhibited: true}), rule('jetmem_cma_used_ratio')]),
        ['largestRun', 'cma']);
});

test('limits: the thresholds of the first conditions', () => {
  const of = (expression, threshold, more = {}) => ({
    alert: 'Low',
    severity: 'critical',
    conditions: [{expression, threshold, comparison: 'below', ...more}],
  });
  const found = (rules) => ruleLimits(rules, 'm').map(({value}) => value);
  equal(found([of('m', 0.05), of('m', 0.05), of('m{a="b"}', 0.2), of('mm', 1)]), [0.05, 0.2]);
  equal(found([of('min_over_time(m[5m])', 3), of('rate(m[5m])', 4)]), [3]);
  equal(found([of('m', 1, {comparison: 'equal'}), of('m'), {alert: 'x', conditions: []}]), []);
  equal(metricOf('absent(m)'), 'absent');
});

const change = (id, kind, time, more = {}) =>
    ({id, kind, time, boot: 1, category: 'alert', severity: 'warning', subject: 'A', ...more});
const RANGE = {seconds: 100, from: 100, to: 200};
const spans = (alerts, {rules, rulesAt} = {}, range = RANGE, now = 1000) =>
    alertBands({alerts, rules, rulesAt}, range, now).map(({from, to}) => [from, to]);

test('bands: from firing to resolved', () => {
  equal(spans([change(2, 'resolved', 150), change(1, 'firing', 120)]), [[120, 150]]);
  equal(spans([change(2, 'resolved', 150), change(1, 'firing', 20)]), [[20, 150]], 'before');
  equal(spans([change(2, 'resolved', 50), change(1, 'firing', 20)]), []);
  equal(spans([change(1, 'pending', 120)]), []);
});

test('bands: what nobody sees, is covered or has no rule any more does not fire', () => {
  for (const kind of ['unknown', 'inhibited', 'withdrawn']) {
    equal(spans([change(2, kind, 150), change(1, 'firing', 120)]), [[120, 150]], kind);
  }
  equal(spans([change(4, 'resolved', 190), change(3, 'firing', 170), change(2, 'unknown', 150),
               change(1, 'firing', 120)]),
        [[120, 150], [170, 190]]);
});

test('bands: without an end until now, or until its boot ended', () => {
  const start = {category: 'daemon', subject: undefined};
  const fired = change(1, 'firing', 120);
  equal(spans([change(2, 'firing', 170, {subject: 'B', boot: 2}), fired]), [[120, 170], [170, 200]]);
  equal(spans([change(2, 'start', 160, {...start, boot: 2}), fired]), [[120, 160]]);
  equal(spans([change(2, 'start', 160, start), fired]), [[120, 200]], 'the daemon, not the board');
  // A clock that is not set yet, or was set back.
  equal(spans([change(2, 'start', undefined, {...start, boot: 2}), fired]), [[120, 120]]);
  equal(spans([change(2, 'start', 10, {...start, boot: 2}), fired]), [[120, 120]]);
});

test('bands: an end that was lost', () => {
  const live = {seconds: 100};
  const fired = [change(1, 'firing', 150)];
  const known = (state, rulesAt) => ({rules: [{alert: 'A', state}], rulesAt});
  equal(spans(fired, known('firing', 175), live, 180), [[150, 180]]);
  equal(spans(fired, known('inactive', 175), live, 180), [[150, 150]]);
  equal(spans(fired, {rules: [], rulesAt: 175}, live, 180), [[150, 150]], 'no such rule');
  equal(spans(fired, {}, live, 180), [[150, 180]], 'the rules are not known');
  equal(spans(fired, known('inactive', 140), live, 180), [[150, 180]], 'fired after they were');
  equal(spans(fired, known('inactive', 900)), [[150, 200]], 'of a past they say nothing');
});

test('bands: series of one alert are one', () => {
  const of = (value) => ({fields: {labels: {area: value}}});
  equal(spans([change(4, 'resolved', 190, of('b')), change(3, 'resolved', 150, of('a')),
               change(2, 'firing', 140, of('b')), change(1, 'firing', 110, of('a'))]),
        [[110, 190]]);
});

test('events: what waits or has ended is not red', () => {
  equal(['firing', 'pending', 'resolved'].map(
            (kind) => weightOf({category: 'alert', kind, severity: 'critical'})),
        ['critical', 'info', 'info']);
  equal(weightOf({category: 'kernel', kind: 'oom_kill', severity: 'error'}), 'error');
  equal(weightOf({category: 'kernel', kind: 'x', severity: 'odd'}), 'info');
});

const point = (time, value, boot = 1) => ({
  time, boot, trusted: true, resolution: 'raw', count: 1, min: value, average: value, max: value});
const sums = (...parts) =>
    layers(parts.map((values) => ({points: values.map((each) => point(...each))})), 0,
           (values) => [values.reduce((sum, each) => sum + each, 0)])
        .flatMap((points) => points.map(({time, average}) => [time, average]));

test('stack: a part that is missing is no stack', () => {
  equal(sums([[0, 1], [10, 1], [20, 1]], [[0, 2], [10, 3], [20, 4]]), [[0, 3], [10, 4], [20, 5]]);
  equal(sums([[0, 1], [10, 1], [20, 1], [100, 1]], [[0, 2], [10, 3], [20, 4]]).length, 3);
  equal(sums([[0, 1], [10, 1]], []), []);
  equal(sums([[100, 1], [110, 1]], [[100, 2, 2], [110, 2, 2]]), [], 'nor of another boot');
});

test('stack: a part that is read less often holds until it is read again', () => {
  const every = (step) => Array.from({length: 60 / step + 1}, (_, i) => [i * step, 1]);
  equal(sums(every(10), every(30)).length, 7);
});

const known = (points, more = {}) => Object.assign([{key: 'm', labels: {}, points}], {at: 0, ...more});

test('news: only what is new is asked for, and joined', () => {
  const before = known([point(0, 1), point(60, 1), point(120, 1)]);
  equal(resumeAt(before, 60), 60);
  equal(resumeAt(before, 0), 90);
  equal(resumeAt(known([]), 60), null);
  equal(resumeAt(known([point(0, 1)], {leftOut: 3}), 60), null);
  const all = joined(before, known([point(60, 2), point(120, 3), point(180, 4)]), 60, 30);
  equal(all.map(({points}) => points.map(({time, average}) => [time, average])),
        [[[60, 2], [120, 3], [180, 4]]]);
  equal(all.looks, 1);
});

test('news: a series that begins, one that ended, and a clock that was corrected', () => {
  const before = known([point(0, 1), point(60, 1)]);
  const other = Object.assign([{key: 'n', labels: {}, points: [point(90, 1)]}], {at: 0});
  equal(joined(before, other, 60, -1).map(({key, points}) => [key, points.length]), [['m', 1], ['n', 1]]);
  equal(joined(before, known([]), 60, 30), Object.assign([], {}));
  const corrected = known([{...point(90, 1), trusted: false}]);
  equal(joined(before, corrected, 60, -1), null);
});
