// SPDX-License-Identifier: Apache-2.0
// A button that shows and hides a panel.

export function toggle(button, panel) {
  panel.hidden = !panel.hidden;
  button.setAttribute('aria-expanded', String(!panel.hidden));
}
