// SPDX-License-Identifier: Apache-2.0
// The runbook of an alert. The device serves the shipped ones; a rule of the site may name one
// elsewhere.

import {link} from './dom.js';

// SHIPPED_RUNBOOKS: their names, inserted when the page is bundled (page/build.py).
export function runbook(place) {
  if (typeof place !== 'string' || place === '') return null;
  const name = place.split(/[?#]/)[0].split('/').at(-1).replace(/\.md$/, '');
  if (SHIPPED_RUNBOOKS.includes(name)) return link(`/runbooks/${name}`, `Runbook: ${name}`);
  if (/^https?:\/\//.test(place)) return link(place, `Runbook: ${name}`);
  return `Runbook: ${place}`;
}
