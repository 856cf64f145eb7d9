// SPDX-License-Identifier: Apache-2.0
// Times for axes and tables: in the reader's time zone, as precise as needed.

const two = (value) => String(value).padStart(2, '0');
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function clock(seconds, withSeconds = false) {
  const date = new Date(seconds * 1000);
  const text = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return withSeconds ? `${text}:${two(date.getSeconds())}` : text;
}

export function dayName(seconds) {
  const date = new Date(seconds * 1000);
  return `${date.getDate()} ${MONTHS[date.getMonth()]}`;
}

// Ticks: hours, and the day where it changes; days alone where ticks are days apart.
export function tickTexts(splits, increment) {
  let before = '';
  return splits.map((seconds) => {
    const day = dayName(seconds);
    const isNew = day !== before;
    before = day;
    if (increment >= 86400) return day;
    const time = clock(seconds, increment < 60);
    const midnight = new Date(seconds * 1000);
    return isNew && midnight.getHours() === 0 && midnight.getMinutes() === 0 ? day : time;
  });
}

// 22 Nov 14:05:10; the seconds only where points are closer than a minute, the year where it is
// another.
export function fullTime(seconds, step = 0, now = Date.now() / 1000) {
  const year = new Date(seconds * 1000).getFullYear();
  const other = year === new Date(now * 1000).getFullYear() ? '' : ` ${year}`;
  return `${dayName(seconds)}${other} ${clock(seconds, step < 60)}`;
}
