// SPDX-License-Identifier: Apache-2.0
// A recorded metric as it is, for what no chart of its own shows: a rule of the site may look at any.

import {linePicture} from './line_picture.js';

const UNITS = [
  [/_bytes$/, 'bytes'],
  [/_ratio$/, 'ratio'],
  [/_celsius$/, 'celsius'],
  [/_seconds$/, 'seconds'],
  [/_hertz$/, 'hertz'],
  [/_watts$/, 'watts'],
];

const nameOf = (metric, labels) => Object.values(labels).filter(Boolean).join(', ') || metric;

export const metricPicture = (page, metric) => linePicture(page, {
  title: `${metric} over time`,
  unit: UNITS.find(([pattern]) => pattern.test(metric))?.[1] ?? 'number',
  stepped: true,
  sources: [],
  load: async (ask) =>
      (await ask(metric)).map(({labels, points}) => ({name: nameOf(metric, labels), points})),
});
