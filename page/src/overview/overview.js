// SPDX-License-Identifier: Apache-2.0
// The first screen below the verdict: four values, and the two charts that explain the verdict.

import {el} from '../dom.js';

import {explaining} from './explaining.js';
import {tiles} from './tiles.js';

export const overview = {
  id: 'overview',
  title: 'At a glance',
  inShort: 'Overview',
  create(body, page) {
    body.append(tiles(page), explaining(page, el('div', {class: 'pictures explaining'})));
  },
};
