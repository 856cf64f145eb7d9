// SPDX-License-Identifier: Apache-2.0
// Run in the page before its own scripts by test_legible.py: finds texts that cannot be read. Each function
// returns lines, one for each fault.

(() => {
  const LEAST_CONTRAST = 4.5;
  // Of what is drawn: lines, and the cells of a heat map.
  const LEAST_OF_DRAWN = 3;
  // Boxes of neighbouring lines may touch.
  const MOST_OVERLAP = 3;

  // ---- texts drawn on a canvas, by canvas, since it was last cleared

  const drawn = new Map();
  const context = CanvasRenderingContext2D.prototype;
  const {fillText, clearRect} = context;
  context.fillText = function (text, x, y, ...most) {
    const size = this.measureText(text);
    const at = this.getTransform();
    const begin = at.transformPoint({x: x - size.actualBoundingBoxLeft, y: y - size.actualBoundingBoxAscent});
    const end = at.transformPoint({x: x + size.actualBoundingBoxRight, y: y + size.actualBoundingBoxDescent});
    drawn.get(this.canvas)?.push({text, begin, end, colour: this.fillStyle}) ??
      drawn.set(this.canvas, [{text, begin, end, colour: this.fillStyle}]);
    return fillText.call(this, text, x, y, ...most);
  };
  context.clearRect = function (...where) {
    drawn.delete(this.canvas);
    return clearRect.apply(this, where);
  };
  const width = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, 'width');
  Object.defineProperty(HTMLCanvasElement.prototype, 'width', {
    ...width,
    set(value) {
      drawn.delete(this);
      width.set.call(this, value);
    },
  });

  // ---- a moment that stays: what was answered before is answered again

  const answers = new Map();
  let isFrozen = false;
  const ask = window.fetch.bind(window);
  window.fetch = async (path, options) => {
    if (isFrozen && answers.has(path)) return answers.get(path).clone();
    const answer = await ask(path, options);
    if (answer.ok && answer.status === 200) answers.set(path, answer.clone());
    return answer;
  };

  // ---- texts that are seen

  const WHOLE = {left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity};
  const meet = (a, b) => ({
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  });
  const isEmpty = ({left, top, right, bottom}) => right - left < 1 || bottom - top < 1;

  function* ancestors(element) {
    for (let each = element; each; each = each.parentElement) yield each;
  }

  // What is left of a box within those that clip it.
  function clipOf(element, known) {
    if (!element) return WHOLE;
    if (!known.has(element)) {
      const style = getComputedStyle(element);
      const isClipped = style.overflowX !== 'visible' || style.overflowY !== 'visible';
      const box = style.clipPath !== 'none' ? {left: 0, top: 0, right: 0, bottom: 0} : isClipped ? element.getBoundingClientRect() : WHOLE;
      known.set(element, style.position === 'fixed' ? box : meet(box, clipOf(element.parentElement, known)));
    }
    return known.get(element);
  }

  const isShown = (element) => element.checkVisibility({visibilityProperty: true, opacityProperty: true});

  // [{node, element, text, boxes (one for each line)}] below `root`
  function texts(root) {
    const known = new Map();
    const out = [];
    const add = (node, element, text, boxes) => {
      const clip = clipOf(element, known);
      const seen = [...boxes].map((box) => meet(box, clip)).filter((box) => !isEmpty(box));
      if (seen.length > 0) out.push({node, element, text, boxes: seen});
    };
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const element = node.parentElement;
      if (!node.data.trim() || element.closest('script, style, title, option') || !isShown(element)) continue;
      range.selectNodeContents(node);
      add(node, element, node.data.trim(), range.getClientRects());
    }
    for (const element of root.querySelectorAll('select, input'))
      if (isShown(element)) add(element, element, element.value, [element.getBoundingClientRect()]);
    for (const [canvas, all] of drawn) {
      if (!canvas.isConnected || !root.contains(canvas) || !isShown(canvas)) continue;
      const box = canvas.getBoundingClientRect();
      const scale = box.width / canvas.width;
      for (const each of all) {
        const {text, begin, end, colour} = each;
        add(each, canvas, text, [{
          left: box.left + begin.x * scale,
          top: box.top + begin.y * scale,
          right: box.left + end.x * scale,
          bottom: box.top + end.y * scale,
        }]);
        if (out.at(-1)?.node === each) out.at(-1).colour = colour;
      }
    }
    return out;
  }

  function nameOf(element) {
    const names = [...ancestors(element)].slice(0, 4).reverse().map((each) =>
      each.localName + (each.id ? `#${each.id}` : '') + [...each.classList].map((name) => `.${name}`).join(''));
    return names.join(' > ');
  }
  const brief = (text) => JSON.stringify(text.replace(/\s+/g, ' ').slice(0, 60));
  const unique = (lines) => [...new Set(lines)];

  // ---- two texts at one place

  const colourOf = (text) => {
    const [r, g, b, a = 1] = (text.match(/[\d.]+%?/g) ?? [0, 0, 0, 0]).map(Number);
    return text.startsWith('color(srgb') ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };

  // The element that covers what is behind it, as a tooltip does, around this one.
  function coverOf(element) {
    return [...ancestors(element)].findLast((each) => {
      const style = getComputedStyle(each);
      return ['absolute', 'fixed', 'sticky'].includes(style.position) && colourOf(style.backgroundColor)[3] === 1;
    });
  }

  function overlaps(root = document.body) {
    const all = texts(root).flatMap(({boxes, ...text}) => boxes.map((box) => ({...text, box})));
    all.sort((a, b) => a.box.top - b.box.top);
    const out = [];
    all.forEach((one, i) => {
      for (let j = i + 1; j < all.length && all[j].box.top < one.box.bottom - MOST_OVERLAP; ++j) {
        const other = all[j];
        const both = meet(one.box, other.box);
        if (one.node === other.node || both.right - both.left < 2 || both.bottom - both.top < MOST_OVERLAP) continue;
        if (coverOf(one.element) !== coverOf(other.element)) continue;
        out.push(`overlap: ${brief(one.text)} (${nameOf(one.element)}) and ${brief(other.text)} (${nameOf(other.element)})`);
      }
    });
    return unique(out);
  }

  // ---- words broken in the middle, though a line would have room for them

  const WORD = /[\p{L}\p{N}]{2,}/gu;

  function broken(root = document.body) {
    const out = [];
    const range = document.createRange();
    for (const {node, element, boxes} of texts(root)) {
      if (!(node instanceof Text) || boxes.length < 2) continue;
      const whole = element.closest('.tip, section, #runbook, #top, #foot') ?? document.body;
      const room = whole.clientWidth * 0.8;
      for (const {0: word, index} of node.data.matchAll(WORD)) {
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const parts = [...range.getClientRects()].filter((box) => !isEmpty(box));
        if (parts.length < 2 || parts.at(-1).top < parts[0].bottom - MOST_OVERLAP) continue;
        if (parts.reduce((sum, box) => sum + box.width, 0) > room) continue;
        out.push(`broken: ${word} (${nameOf(element)})`);
      }
    }
    return unique(out);
  }

  // ---- contrast

  const hexOf = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16)).concat(1);
  const over = ([r, g, b, a], below) => [r, g, b].map((each, i) => each * a + below[i] * (1 - a));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((each) => (each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };

  // The colours behind an element's text: several where a pattern is.
  function behind(element, known) {
    if (!element) return [colourOf(getComputedStyle(document.documentElement).backgroundColor)[3] === 1
      ? colourOf(getComputedStyle(document.documentElement).backgroundColor).slice(0, 3) : [255, 255, 255]];
    if (!known.has(element)) {
      const style = getComputedStyle(element);
      const own = colourOf(style.backgroundColor);
      const plain = own[3] === 1 ? [own.slice(0, 3)] : behind(element.parentElement, known).map((each) => over(own, each));
      const pattern = (style.backgroundImage.match(/rgba?\([^)]*\)|color\(srgb[^)]*\)/g) ?? []).map(colourOf);
      known.set(element, [...plain, ...plain.flatMap((each) => pattern.map((stop) => over(stop, each)))]);
    }
    return known.get(element);
  }

  // What an element's opacity and that of those around it leave of a colour.
  function opacityOf(element, known) {
    if (!element) return 1;
    if (!known.has(element)) known.set(element, Number(getComputedStyle(element).opacity) * opacityOf(element.parentElement, known));
    return known.get(element);
  }

  function contrast(root = document.body) {
    const known = new Map();
    const opacities = new Map();
    const out = [];
    for (const {element, text, colour} of texts(root)) {
      const style = getComputedStyle(element);
      const ink = colour?.startsWith('#') ? hexOf(colour)
        : colourOf(colour ?? (element instanceof SVGElement ? style.fill : style.color));
      ink[3] *= opacityOf(element, opacities);
      for (const ground of behind(element, known)) {
        const found = ratio(over(ink, ground), ground);
        if (found < LEAST_CONTRAST)
          out.push(`contrast: ${found.toFixed(1)} of ${ink.map(Math.round)} on ${ground.map(Math.round)} (${nameOf(element)}) ${brief(text)}`);
      }
    }
    const theme = getComputedStyle(document.documentElement);
    const rgb = (name) => theme.getPropertyValue(name).match(/#[\da-f]{6}/gi)?.map((hex) => hexOf(hex).slice(0, 3)) ?? [];
    const paper = behind(document.querySelector('#events'), known)[0];
    for (const name of ['--heat', ...[1, 2, 3, 4, 5, 6, 7, 8].map((i) => `--line-${i}`)]) {
      const found = Math.min(...rgb(name).map((each) => ratio(each, paper)));
      if (!(found >= LEAST_OF_DRAWN && found < Infinity)) out.push(`contrast: ${found.toFixed(1)} of ${name} on ${paper}`);
    }
    return unique(out);
  }

  // ---- what is said beside the pointer

  async function tips() {
    const out = [];
    for (const chart of document.querySelectorAll('main .u-over, main .stage > canvas')) {
      if (!isShown(chart)) continue;
      const {left, top, width, height} = chart.getBoundingClientRect();
      const where = {clientX: left + 0.9 * width, clientY: top + height / 2, bubbles: true};
      chart.dispatchEvent(new MouseEvent('mousemove', where));
      chart.dispatchEvent(new PointerEvent('pointermove', where));
      await new Promise((done) => setTimeout(done, 20));
      for (const find of [overlaps, broken, contrast]) out.push(...find(chart.closest('figure')));
      chart.dispatchEvent(new MouseEvent('mouseleave'));
      chart.dispatchEvent(new PointerEvent('pointerleave'));
    }
    return unique(out);
  }

  window.legible = {
    overlaps, broken, contrast, tips,
    freeze(is) { isFrozen = is; },
    // Elements that look another way under the pointer, with the focus or pressed: one of each kind.
    kinds() {
      const seen = new Set();
      return [...document.querySelectorAll('a, button, summary, select, input, tr, [tabindex]')].filter((element) => {
        if (!isShown(element)) return false;
        const kind = nameOf(element) + element.getAttribute('aria-pressed') + element.disabled;
        return !seen.has(kind) && seen.add(kind);
      });
    },
  };
})();
