// SPDX-License-Identifier: Apache-2.0
// A command, and a button that copies it.

import {el} from './dom.js';

const BACK = 2000;

// Where the page is not a secure context, as over plain HTTP, the clipboard is reached by a
// selection only.
async function copy(code) {
  if (navigator.clipboard) return navigator.clipboard.writeText(code.textContent);
  const selection = getSelection();
  selection.selectAllChildren(code);
  const isDone = document.execCommand('copy');
  selection.removeAllRanges();
  if (!isDone) throw new Error('not copied');
  return undefined;
}

export function copyable(command) {
  return el(
    'div',
    {class: 'copyable', 'data-key': `command ${command}`},
    el('code', {}, command),
    el(
      'button',
      {
        type: 'button',
        class: 'plain',
        'aria-label': `Copy ${command}`,
        async onclick({currentTarget: button}) {
          try {
            await copy(button.parentElement.querySelector('code'));
            button.dataset.done = 'Copied';
          } catch {
            button.dataset.done = 'Select and copy it';
            getSelection().selectAllChildren(button.parentElement.querySelector('code'));
          }
          setTimeout(() => delete button.dataset.done, BACK);
        },
      },
      el('span', {}, 'Copy'),
    ),
  );
}
