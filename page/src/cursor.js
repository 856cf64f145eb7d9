// SPDX-License-Identifier: Apache-2.0
// One moment that all charts point at: where the pointer or the keyboard is, or an event that the
// reader jumped to. Emits 'cursor' when it moves.

export class Cursor extends EventTarget {
  #pinned = null;

  // Seconds since 1970; null: nowhere.
  time = null;
  // The chart that moved it; it shows the values beside the pointer.
  by = null;

  move(time, by = null) {
    const to = time ?? this.#pinned;
    if (to === this.time && by === this.by) return;
    this.time = to;
    this.by = time === null ? null : by;
    this.dispatchEvent(new Event('cursor'));
  }

  // Stays there when the pointer leaves.
  pin(time) {
    this.#pinned = time;
    this.move(time);
  }
}
