// SPDX-License-Identifier: Apache-2.0
// The charts of the history, each (page) => Node: it draws itself when the page does, and reports
// what is not available.

import {el} from '../dom.js';

import {
  allocatePicture,
  bandwidthPicture,
  clocksPicture,
  levelPicture,
  slownessPicture,
} from './thermal.js';

export {buddyHeatMap} from './heat/buddy.js';
export {faultsPicture} from './heat/faults.js';
export {metricPicture} from './metric.js';
export {bandwidthPicture, levelPicture, slownessPicture};
export {
  cmaOwnersPicture,
  cmaPicture,
  holdersPicture,
  largestRunPicture,
  memoryPicture,
  pressurePicture,
} from './memory.js';
export {enginesPicture, powerPicture, temperaturePicture} from './thermal.js';

const several = (...pictures) => (page) =>
    el('div', {class: 'pictures'}, pictures.map((each) => each(page)));

export const throttlingPicture = several(levelPicture, clocksPicture, bandwidthPicture);
export const probePicture = several(slownessPicture, allocatePicture);
