// The view of the blocks: zooming, panning, expanding, collapsing and selecting them, and the text about the
// selection.

const LEAST_ZOOM = 0.004, MOST_ZOOM = 4, READABLE_ZOOM = 0.75;
const STRIP_WIDTH = 14;  // the width of the small picture of the whole step at the right edge

class BlocksView {
  constructor(page, chosen) {
    this.page = page;
    this.chosen = chosen;
    this.layout = page.blocks;
    this.painter = new BlockPainter(this.layout);
    this.byPhase = false;
    this.zoom = 1;
    this.shift = [0, 0];
    this.picture = new Picture('Blocks of the step', (...all) => this.paint(...all));
    this.picture.onFirstSize = () => this.begin();
    this.details = make('aside', {className: 'details', 'aria-label': 'What is selected'});
    this.element = make(
        'div', {className: 'blocks'},
        [make('div', {className: 'view'}, [this.makeBar(), this.picture.element]), this.details]);
    this.layout.openAtMost(80);
    this.listen();
    this.recompose();
    this.showDetails();
    chosen.onChange((changed) => this.follow(changed));
  }

  makeBar() {
    this.colouring = make(
        'select', {
          'aria-label': 'What colours tell',
          title: 'What colours tell',
          onchange: () => this.colour(this.colouring.value === 'phase'),
        },
        [
          make('option', {value: 'plan'}, 'Colours: what the plan does'),
          make('option', {value: 'phase'}, 'Colours: phases')
        ]);
    this.legend = make('div', {className: 'legend'});
    return make('div', {className: 'bar-of-tools'}, [
      button('One level more', 'Expands all blocks by one level (])', () => this.level(1)),
      button('One level less', 'Collapses the deepest level (the key [)', () => this.level(-1)),
      button('Fit', 'Shows all (Home)', () => this.fit()),
      button('+', 'Zooms in (+)', () => this.zoomBy(1.25)),
      button('−', 'Zooms out (-)', () => this.zoomBy(0.8)), this.colouring, this.legend
    ]);
  }

  get keys() {
    return [
      ['ArrowDown', 'goes on along the arrows', () => this.walk(1)],
      ['ArrowUp', 'goes back along the arrows', () => this.walk(-1)],
      ['ArrowLeft ArrowRight', 'goes to the twin on the other side', () => this.walk(0)],
      ['Enter', 'expands or collapses the block, with its twin', () => this.toggleSelected()],
      ['Backspace', 'collapses the block around what is selected', () => this.collapseAround()],
      [']', 'expands all blocks by one level', () => this.level(1)],
      ['[', 'collapses the deepest level', () => this.level(-1)],
      ['+', 'zooms in', () => this.zoomBy(1.25)],
      ['-', 'zooms out', () => this.zoomBy(0.8)],
      ['Home Space', 'shows all', () => this.fit()],
      ['Escape', 'selects nothing', () => this.chosen.set({selection: null})],
    ];
  }

  listen() {
    onKeys(this.picture.canvas, this.keys);
    this.picture.onPointer({
      press: (x, y) => (this.onStrip = this.isOnStrip(x)) && this.goTo(y),
      drag: (dx, dy, x, y) => (this.onStrip ? this.goTo(y) : this.pan(dx, dy)),
      click: (x, y) => this.onStrip || this.select(this.hit(x, y)),
      activate: (x, y) => this.activate(this.hit(x, y)),
      hover: (x, y) => this.hover(x, y),
      wheel: (dx, dy, x, y, event) =>
          event.shiftKey ? this.pan(-dx, -dy) : this.zoomBy(1.0015 ** -dy, x, y),
    });
  }

  // The picture and its colours.

  recompose() {
    this.composition = this.layout.compose();
    this.retell();
  }

  retell() {
    const {plan} = this.chosen;
    this.painter.tell(this.composition, plan, this.byPhase);
    this.showLegend();
    this.picture.repaint();
  }

  showLegend() {
    this.strip = null;  // the colours of the strip may have changed
    const entries = this.byPhase ? PHASES.map((name) => [name, name]) : [
      ['keep', 'kept'], ['recompute', 'computed again'], ['offload', 'copied to the host'],
      ['backward', 'backward']
    ];
    this.legend.replaceChildren(...entries.map(
        ([colour, name]) => make('span', {}, [make('i', {className: 'swatch of-' + colour}), name])));
  }

  colour(byPhase) {
    this.byPhase = byPhase;
    this.retell();
  }

  /** Expands (1) or collapses (-1) one level of blocks, and goes to the beginning of the step. */
  level(step) {
    const depth = Math.min(this.layout.depths, Math.max(-1, this.layout.depthShown + step));
    this.layout.openTo(depth);
    this.recompose();
    this.begin();
  }

  /** Expands or collapses a unit. Its frame number `frame` stays where it is on the screen. */
  toggle(unit, frame) {
    const rectOf = () =>
        (this.composition.items.find((one) => one.unit === unit && one.frame === frame) ||
         this.composition.frames.find((one) => one.unit === unit && one.side === frame) ||
         {}).rect;
    const before = rectOf();
    this.layout.toggle(unit);
    this.recompose();
    const after = rectOf();
    if (before && after) this.pan((before.x - after.x) * this.zoom, (before.y - after.y) * this.zoom);
  }

  // Zoom and pan.

  /** Shows the beginning of the step, large enough to be read if the width allows this. */
  begin() {
    this.fit();
    if (this.zoom >= READABLE_ZOOM || this.picture.width === 0) return;
    const {width} = this.composition.size;
    this.zoom = Math.min(READABLE_ZOOM, Math.max(this.zoom, (this.picture.width - 60) / width));
    this.shift = [Math.max(20, (this.picture.width - width * this.zoom) / 2), 12];
  }

  fit() {
    const {width, height} = this.composition.size;
    const margin = 24;
    const zoom =
        Math.min((this.picture.width - 2 * margin) / width, (this.picture.height - 2 * margin) / height);
    this.zoom = Math.min(1.2, Math.max(zoom, LEAST_ZOOM));
    this.shift =
        [(this.picture.width - width * this.zoom) / 2, (this.picture.height - height * this.zoom) / 2];
    this.picture.repaint();
  }

  pan(dx, dy) {
    this.shift = [this.shift[0] + dx, this.shift[1] + dy];
    this.picture.repaint();
  }

  zoomBy(factor, x = this.picture.width / 2, y = this.picture.height / 2) {
    const zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, this.zoom * factor));
    const [a, b] = this.placeAt(x, y);
    this.zoom = zoom;
    this.shift = [x - a * zoom, y - b * zoom];
    this.picture.repaint();
  }

  isOnStrip(x) {
    return x > this.picture.width - STRIP_WIDTH - 6;
  }

  /** Shows the part of the step that is at the height `y` of the strip. */
  goTo(y) {
    const place = (y / this.picture.height) * this.composition.size.height;
    this.shift = [this.shift[0], this.picture.height / 2 - place * this.zoom];
    this.picture.repaint();
  }

  placeAt(x, y) {
    return [(x - this.shift[0]) / this.zoom, (y - this.shift[1]) / this.zoom];
  }

  /** Zooms in if captions are hidden, and moves the rectangle to the middle if it is not in the window. */
  show(rect) {
    if (this.picture.width === 0) return;
    if (this.zoom < SHOW_CAPTION) this.zoom = 0.8;
    const [x, y] = [rect.x * this.zoom + this.shift[0], rect.y * this.zoom + this.shift[1]];
    const inside = x >= 0 && y >= 0 && x + rect.width * this.zoom <= this.picture.width &&
        y + rect.height * this.zoom <= this.picture.height;
    if (!inside)
      this.shift = [
        this.picture.width / 2 - (rect.x + rect.width / 2) * this.zoom,
        this.picture.height / 2 - (rect.y + rect.height / 2) * this.zoom
      ];
    this.picture.repaint();
  }

  // Items, edges and frames at a point.

  hit(x, y) {
    const [a, b] = this.placeAt(x, y);
    const isIn = ({rect}) =>
        a >= rect.x && a <= rect.x + rect.width && b >= rect.y && b <= rect.y + rect.height;
    const item = this.composition.items.find(isIn);
    if (item) return {item};
    const edge = this.edgeAt(a, b);
    if (edge) return {edge};
    const frames = this.composition.frames.filter(isIn);
    return frames.length > 0 ? {frame: frames[frames.length - 1]} : {};
  }

  edgeAt(x, y) {
    const near = Math.min(12, 5 / this.zoom);
    for (let i = this.composition.edges.length - 1; i >= 0; --i) {
      const edge = this.composition.edges[i];
      const [left, top, right, bottom] = edge.bounds;
      if (x < left - near || x > right + near || y < top - near || y > bottom + near) continue;
      if (isNearRoute(edge.route, x, y, near)) return edge;
    }
    return null;
  }

  hover(x, y) {
    const {item, edge} = this.hit(x, y);
    this.picture.canvas.style.cursor = item || edge ? 'pointer' : 'grab';
    this.picture.showTip(item ? this.linesOf(item) : edge ? this.linesOfEdge(edge) : null, x, y);
  }

  linesOf(item) {
    const {ops} = this.page.graph;
    const made = item.made[0] + item.made[1] + item.made[2];
    const path = item.op !== undefined ?
        plainName(`${ops.module[item.op]} ${ops.name[item.op]}`.trim()) :
        plainName(this.layout.frames[this.layout.units[item.unit].frames[item.frame]].path) || 'model';
    return [
      path, `${PHASES[item.phase]}, ${counted(item.count, 'op', 'ops')}, ${timeText(item.time)}`,
      `makes ${bytesText(made)}`, `${counted(item.runs, 'run', 'runs')}; ${sharesText(item.made)}`
    ];
  }

  linesOfEdge(edge) {
    const [from, to] = [edge.from, edge.to].map((i) => this.painter.titleOf(this.composition.items[i]));
    const tensors = counted(edge.tensors.length, 'tensor', 'tensors');
    const lines = [`${from} → ${to}`, `${tensors}, ${bytesText(edge.bytes)}`];
    if (edge.bytes > 0) lines.push(sharesText(edge.parts));
    return lines;
  }

  // Selection.

  select({item, edge, frame}) {
    this.edge = edge || null;
    const selection = item ?
        (item.op !== undefined ? {op: item.op} : {unit: item.unit, frame: item.frame}) :
        edge  ? {edge: edge.tensors} :
        frame ? {unit: frame.unit, frame: frame.side} :
                null;
    this.chosen.set({selection});
  }

  activate({item, frame}) {
    if (item && item.op === undefined)
      this.toggle(item.unit, item.frame);
    else if (!item && frame)
      this.toggle(frame.unit, frame.side);
  }

  toggleSelected() {
    const {selection} = this.chosen;
    if (selection && selection.unit !== undefined) this.toggle(selection.unit, selection.frame);
  }

  collapseAround() {
    const {selection} = this.chosen;
    if (!selection) return;
    let unit = selection.op !== undefined ? this.layout.placeOf[selection.op].unit : selection.unit;
    if (unit === undefined) return;
    if (selection.op === undefined && !this.layout.open.has(unit)) unit = this.layout.units[unit].parent;
    while (unit > 0 && this.layout.units[unit].isOpenAlways) unit = this.layout.units[unit].parent;
    if (unit <= 0) return;
    const frame = this.layout.units[unit].isPair && selection.frame ? 1 : 0;
    this.toggle(unit, frame);
    this.chosen.set({selection: {unit, frame}});
  }

  selectedItem() {
    const {selection} = this.chosen;
    if (!selection) return -1;
    if (selection.op !== undefined) return this.composition.itemOfOp[selection.op];
    if (selection.tensor !== undefined) {
      const maker = this.page.graph.tensors.maker[selection.tensor];
      return maker < 0 ? -1 : this.composition.itemOfOp[maker];
    }
    return this.composition.items.findIndex(
        (item) =>
            item.unit === selection.unit && item.frame === selection.frame && item.unit !== undefined);
  }

  /** Goes along (1) or against (-1) the heaviest arrow; 0 goes to the twin on the ladder's other side. */
  walk(step) {
    const {items, edges, itemOfOp} = this.composition;
    const at = this.selectedItem();
    if (at < 0) {
      this.go(items[0]);
      return;
    }
    if (step === 0) {
      this.go(items[this.twinOf(at)]);
      return;
    }
    const edge = edges.find((one) => !one.rung && (step > 0 ? one.from : one.to) === at) ||
        edges.find((one) => (step > 0 ? one.from : one.to) === at);
    const next = edge ? (step > 0 ? edge.to : edge.from) : at + step;
    if (items[next])
      this.go(items[next]);
    else
      this.go(items[itemOfOp[0]]);
  }

  twinOf(at) {
    const {items, itemOfOp} = this.composition;
    const item = items[at], {of} = this.page.graph.ops;
    if (item.op === undefined) {
      const other = items.findIndex((one) => one.unit === item.unit && one.frame === 1 - item.frame);
      return other < 0 ? at : other;
    }
    const twin = of[item.op] >= 0 ? of[item.op] : of.indexOf(item.op);
    return twin < 0 ? at : itemOfOp[twin];
  }

  go(item) {
    this.select({item});
    this.show(item.rect);
  }

  /** Expands the blocks around an op, and goes to the op. */
  reveal(op) {
    this.layout.reveal(op);
    this.recompose();
    this.chosen.set({selection: {op}});
    this.show(this.composition.items[this.composition.itemOfOp[op]].rect);
  }

  follow(changed) {
    if (changed.has('plan')) this.retell();
    if (changed.has('selection')) {
      const {selection} = this.chosen;
      if (!selection || !selection.edge) this.edge = null;
    }
    if (changed.has('selection') || changed.has('plan')) this.showDetails();
    this.picture.repaint();
  }

  showDetails() {
    this.details.replaceChildren(...detailsOf(this.page, this.chosen, this));
  }

  marked() {
    const marked = new Set();
    const {selection} = this.chosen;
    const at = this.selectedItem();
    if (at >= 0) marked.add(this.composition.items[at]);
    if (selection && selection.unit !== undefined && at < 0)
      for (const frame of this.composition.frames)
        if (frame.unit === selection.unit && frame.side === selection.frame) marked.add(frame);
    if (this.edge) marked.add(this.edge);
    return marked;
  }

  paint(context, width, height) {
    const [left, top] = this.placeAt(0, 0), [right, bottom] = this.placeAt(width, height);
    const {plan, step} = this.chosen;
    const runs = plan.steps.kinds[step] === 'r' || plan.steps.kinds[step] === 'i';
    context.save();
    context.translate(...this.shift);
    context.scale(this.zoom, this.zoom);
    this.painter.paint(context, this.composition, {
      zoom: this.zoom,
      seen: [left, top, right, bottom],
      marked: this.marked(),
      running: runs ? this.composition.itemOfOp[plan.steps.ids[step]] : -1,
    });
    context.restore();
    if (top > 1 || bottom < this.composition.size.height - 1)
      this.paintStrip(context, width, height, top, bottom);
  }

  /** Paints the strip: the whole step at the right edge, with a box around the part in the window. */
  paintStrip(context, width, height, top, bottom) {
    const left = width - STRIP_WIDTH - 3, whole = this.composition.size.height;
    if (!this.strip || this.strip.height !== height) this.strip = this.makeStrip(height);
    context.drawImage(this.strip, left, 0);
    const marked = this.composition.items[this.selectedItem()];
    context.fillStyle = paper.of('mark');
    if (marked) context.fillRect(left, (marked.rect.y / whole) * height - 1, STRIP_WIDTH, 4);
    const from = Math.max(0, (top / whole) * height), to = Math.min(height, (bottom / whole) * height);
    context.strokeStyle = paper.of('ink');
    context.lineWidth = 1.2;
    context.strokeRect(left - 1, from, STRIP_WIDTH + 2, Math.max(4, to - from));
  }

  makeStrip(height) {
    const strip = make('canvas', {width: STRIP_WIDTH, height});
    const context = strip.getContext('2d'), half = STRIP_WIDTH / 2;
    const scale = height / this.composition.size.height;
    context.fillStyle = paper.of('panel');
    context.fillRect(0, 0, STRIP_WIDTH, height);
    for (const item of this.composition.items) {
      const {rect} = item;
      context.fillStyle = paper.pale(this.painter.colourOf(item), 0.35);
      context.fillRect(
          item.phase === 2 ? half : 0, rect.y * scale, half - 0.5, Math.max(1, rect.height * scale));
    }
    return strip;
  }
}

/** Returns a text such as "70 % kept, 30 % computed again". */
function sharesText(parts) {
  const all = parts[0] + parts[1] + parts[2];
  const names = ['kept', 'computed again', 'copied to the host'];
  if (all === 0) return 'makes nothing';
  return parts.map((bytes, i) => [Math.round((100 * bytes) / all), names[i], bytes])
      .filter(([, , bytes]) => bytes > 0)
      .map(([percent, name]) => `${percent} % ${name}`)
      .join(', ');
}

function isNearRoute(route, x, y, near) {
  for (let i = 0; i + 3 < route.length; i += 3) {
    const [a, b, c, d] = route.slice(i, i + 4);
    for (let k = 0; k <= 24; ++k) {
      const t = k / 24, s = 1 - t;
      const weights = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
      const at = [0, 1].map(
          (axis) =>
              weights[0] * a[axis] + weights[1] * b[axis] + weights[2] * c[axis] + weights[3] * d[axis]);
      if (Math.hypot(at[0] - x, at[1] - y) < near + Math.hypot(d[0] - a[0], d[1] - a[1]) / 48)
        return true;
    }
  }
  return false;
}
