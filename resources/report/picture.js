// A picture on a canvas: sharp on every screen, painted at most once a frame, in the colours of the page.

const FONT = '"DejaVu Sans", Verdana, system-ui, sans-serif';

/** The colours of the page, which are read again when the reader switches between light and dark. */
const paper = {
  colours: new Map(),
  of(name) {
    if (!this.colours.has(name)) {
      const style = getComputedStyle(document.documentElement);
      this.colours.set(name, style.getPropertyValue('--' + name).trim());
    }
    return this.colours.get(name);
  },
  /** Returns a mixture of two colours. `part`: the share of `other`, from 0 to 1. */
  mixed(name, other, part) {
    const key = `${name} ${other} ${part}`;
    if (!this.colours.has(key)) {
      const [a, b] = [this.of(name), this.of(other)].map(
          (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
      this.colours.set(key, `rgb(${a.map((x, i) => Math.round(x + (b[i] - x) * part)).join(',')})`);
    }
    return this.colours.get(key);
  },
  pale(name, part) {
    return this.mixed(name, 'page', part);
  },
  /** Returns the name of the colour of a curve or a layer. The colours repeat; --curves is their number. */
  curve(place) {
    return 'curve-' + (place % Number(this.of('curves')));
  },
};

class Picture {
  /** `paint(context, width, height)` paints the whole picture. */
  constructor(name, paint) {
    this.canvas = make('canvas', {tabIndex: 0, role: 'application', 'aria-label': name});
    this.tip = make('div', {className: 'tip', hidden: true, role: 'status'});
    this.element = make('div', {className: 'picture'}, [this.canvas, this.tip]);
    this.paint = paint;
    this.width = this.height = 0;
    this.paints = 0;
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  resize() {
    const {clientWidth, clientHeight} = this.element;
    if (clientWidth === 0 || clientHeight === 0) return;
    const first = this.width === 0;
    this.width = clientWidth;
    this.height = clientHeight;
    const sharp = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(clientWidth * sharp);
    this.canvas.height = Math.round(clientHeight * sharp);
    if (first && this.onFirstSize) this.onFirstSize();
    this.paintNow();
  }

  repaint() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => this.paintNow());
  }

  paintNow() {
    if (this.waiting) cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    if (this.width === 0) return;
    const context = this.canvas.getContext('2d');
    const sharp = window.devicePixelRatio || 1;
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.lineJoin = 'round';
    this.paint(context, this.width, this.height);
    ++this.paints;
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** Shows lines of text beside a point; hides the text if there are no lines. */
  showTip(lines, x, y) {
    const text = lines ? lines.join('\n') : '';
    this.tip.hidden = !text;
    if (!text) return;
    if (this.tip.textContent !== text) this.tip.textContent = text;
    const {offsetWidth, offsetHeight} = this.tip;
    const left = x + 16 + offsetWidth > this.width ? x - 12 - offsetWidth : x + 16;
    const top = y + 18 + offsetHeight > this.height ? y - 10 - offsetHeight : y + 18;
    this.tip.style.left = Math.max(4, left) + 'px';
    this.tip.style.top = Math.max(4, top) + 'px';
  }

  /**
   * Sets the functions for events of the pointer. `drag(dx, dy, x, y)` is called while the button is held,
   * and `click(x, y, event)` when the button is released without a movement.
   */
  onPointer({press, drag, click, hover, wheel, activate}) {
    let last = null, moved = false;
    const {canvas} = this;
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      last = this.at(event);
      moved = false;
      canvas.setPointerCapture(event.pointerId);
      if (press) press(...last, event);
    });
    canvas.addEventListener('pointermove', (event) => {
      const [x, y] = this.at(event);
      if (!last) {
        if (hover) hover(x, y);
        return;
      }
      if (!moved && Math.hypot(x - last[0], y - last[1]) < 4) return;
      moved = true;
      this.showTip(null);
      if (drag) drag(x - last[0], y - last[1], x, y, event);
      last = [x, y];
    });
    canvas.addEventListener('pointerup', (event) => {
      if (last && !moved && click) click(...this.at(event), event);
      last = null;
    });
    canvas.addEventListener('pointerleave', () => this.showTip(null));
    canvas.addEventListener('dblclick', (event) => activate && activate(...this.at(event)));
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
      if (wheel) wheel(dx, dy, ...this.at(event), event);
    }, {passive: false});
  }
}

/** Returns the text, or its beginning and an ellipsis if the text is wider than `width`. */
function fittedText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + '…').width <= width)
      low = middle;
    else
      high = middle - 1;
  }
  return low > 0 ? text.slice(0, low) + '…' : '';
}

function paintText(
    context, text, x, y, {size = 11, bold = false, colour = 'ink', align = 'left', halo = false} = {}) {
  context.font = `${bold ? 'bold ' : ''}${size}px ${FONT}`;
  context.fillStyle = paper.of(colour);
  context.textAlign = align;
  if (halo) {
    context.strokeStyle = paper.of('page');
    context.globalAlpha = 0.8;
    context.lineWidth = 4;
    context.strokeText(text, x, y);
    context.globalAlpha = 1;
  }
  context.fillText(text, x, y);
}

/** A linear map between values and places on the screen: `at(value)` and its inverse `valueAt(place)`. */
class Scale {
  constructor(low, high, start, end) {
    Object.assign(this, {low, high: high > low ? high : low + 1, start, end});
  }
  at(value) {
    return this.start + ((value - this.low) / (this.high - this.low)) * (this.end - this.start);
  }
  valueAt(place) {
    return this.low + ((place - this.start) / (this.end - this.start)) * (this.high - this.low);
  }
}
