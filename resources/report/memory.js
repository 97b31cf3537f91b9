// The view of the memory: a cursor that goes from run to run, zoom, and the tensors alive at the cursor.

class MemoryView {
  constructor(page, chosen) {
    this.page = page;
    this.chosen = chosen;
    this.picture = new Picture('Memory over the step', (...all) => this.paint(...all));
    this.headline = make('p', {className: 'headline', 'aria-live': 'polite'});
    this.alive = new AliveTable(page, chosen);
    this.parts = make('input', {type: 'checkbox', id: 'by-part', onchange: () => this.showParts()});
    this.legend = make('div', {className: 'legend'});
    const tools = make('div', {className: 'bar-of-tools'}, [
      button('Go to the peak', 'Puts the cursor where the most is held (P)', () => this.goToPeak()),
      button('All', 'Shows the whole step (Home)', () => this.showAll()),
      button('+', 'Zooms in (+)', () => this.zoomBy(0.7)),
      button('−', 'Zooms out (-)', () => this.zoomBy(1 / 0.7)),
      make(
          'label',
          { for: 'by-part'
          },
          [this.parts, ' By part of the model']),
      this.legend
    ]);
    this.element = make('div', {className: 'memory'}, [
      make('div', {className: 'view'}, [tools, this.picture.element]),
      make('div', {className: 'view'}, [this.headline, this.alive.element])
    ]);
    this.listen();
    this.take();
    chosen.onChange((changed) => this.follow(changed));
  }

  get keys() {
    return [
      [
        'ArrowRight', 'goes to the next run; with Shift ten on',
        (event) => this.walk(event.shiftKey ? 10 : 1)
      ],
      [
        'ArrowLeft', 'goes to the run before; with Shift ten back',
        (event) => this.walk(event.shiftKey ? -10 : -1)
      ],
      ['p P', 'goes to the peak', () => this.goToPeak()],
      ['PageDown', 'shows what comes after', () => this.panBy(0.5)],
      ['PageUp', 'shows what comes before', () => this.panBy(-0.5)],
      ['+', 'zooms in at the cursor', () => this.zoomBy(0.7)],
      ['-', 'zooms out', () => this.zoomBy(1 / 0.7)],
      ['Home Space', 'shows the whole step', () => this.showAll()],
      ['Enter', 'selects the operation at the cursor', () => this.selectAtCursor()],
      ['Escape', 'selects nothing', () => this.chosen.set({selection: null})],
    ];
  }

  listen() {
    onKeys(this.picture.canvas, this.keys);
    this.picture.onPointer({
      press: (x, y) => this.moveTo(x, y),
      drag: (dx, dy, x, y, event) => (event.shiftKey ? this.panPoints(-dx) : this.moveTo(x, y)),
      click: (x, y) => this.moveTo(x, y, true),
      hover: (x, y) => this.hover(x, y),
      wheel: (dx, dy, x, y, event) => event.shiftKey || Math.abs(dx) > Math.abs(dy) ?
          this.panPoints(dx || dy) :
          this.zoomBy(1.0015 ** dy, this.painter.x.valueAt(x)),
    });
  }

  /** Shows the chosen plan from now on. */
  take() {
    const {plan} = this.chosen;
    const plain = this.page.plans[this.page.plain];
    this.times = new LaneTimes(plan);
    const behind = plan === plain || !this.times.isTimed ? null : new LaneTimes(plain);
    this.painter = new MemoryPainter(this.times, behind);
    this.range = [0, this.times.length];
    this.alive.take(plan);
    this.showLegend();
    this.showHeadline();
    this.picture.repaint();
  }

  showParts() {
    this.showLegend();
    this.picture.repaint();
  }

  showLegend() {
    const entry = (colour, name) => {
      const swatch = make('i', {className: 'swatch'});
      swatch.style.background = colour;
      return make('span', {}, [swatch, plainName(name)]);
    };
    const {layers} = this.chosen.plan.memory;
    const plain = this.painter.plain ? [entry(paper.of('quiet'), 'without recomputation')] : [];
    const host = this.chosen.plan.steps.host ? [entry(paper.of('offload'), 'on the host')] : [];
    const entries = this.parts.checked ?
        layers.map((layer) => entry(this.painter.layerColour(layer), layer.name)) :
        [entry(paper.of('keep'), 'on the device')];
    this.legend.replaceChildren(...entries, ...host, ...plain);
  }

  // The cursor.

  moveTo(x, y, isClick = false) {
    const {painter, times} = this;
    if (x < painter.x.start - 4) return;
    const at = painter.x.valueAt(x);
    const bar = this.barAt(x, y);
    this.chosen.set({step: bar ? bar.step : times.stepAt(at)});
    if (isClick && bar) this.selectAtCursor();
  }

  barAt(x, y) {
    const lane = this.painter.laneAt(y), at = this.painter.x.valueAt(x);
    if (lane < 0 || x < this.painter.x.start) return null;
    return this.times.bars[lane].find((bar) => bar.begin <= at && at < bar.end) || null;
  }

  walk(count) {
    const {runSteps} = this.chosen.plan.steps;
    let at = runSteps.findIndex((step) => step >= this.chosen.step);
    if (at < 0)
      at = runSteps.length - 1;
    else if (runSteps[at] > this.chosen.step && count > 0)
      at -= 1;  // the cursor is between two runs: one step forward goes to the later run
    const next = Math.min(runSteps.length - 1, Math.max(0, at + count));
    this.chosen.set({step: runSteps[next]});
    this.showCursor();
  }

  goToPeak() {
    this.chosen.set({step: this.chosen.plan.peakStep});
    this.showCursor();
  }

  selectAtCursor() {
    const {plan, step} = this.chosen;
    if (step < 0) return;
    const id = plan.steps.ids[step];
    this.chosen.set({selection: 'rih'.includes(plan.steps.kinds[step]) ? {op: id} : {tensor: id}});
  }

  /** Moves the shown part of the time so that the cursor is visible. */
  showCursor() {
    const at = this.times.begin[this.chosen.step], [from, to] = this.range;
    if (at >= from && at <= to) return;
    this.setRange(at - (to - from) / 2, at + (to - from) / 2);
  }

  // The shown part of the time.

  setRange(from, to) {
    const least = this.times.length / 1e6;
    const length = Math.min(this.times.length, Math.max(to - from, least));
    const begin = Math.min(this.times.length - length, Math.max(0, (from + to - length) / 2));
    this.range = [begin, begin + length];
    this.picture.repaint();
  }

  zoomBy(factor, at = this.times.begin[this.chosen.step] ?? (this.range[0] + this.range[1]) / 2) {
    const [from, to] = this.range;
    const middle = at < from || at > to ? (from + to) / 2 : at;
    this.setRange(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }

  panPoints(points) {
    const {x} = this.painter;
    const shift = (points / (x.end - x.start)) * (this.range[1] - this.range[0]);
    const room = [-this.range[0], this.times.length - this.range[1]];
    const held = Math.min(room[1], Math.max(room[0], shift));
    this.setRange(this.range[0] + held, this.range[1] + held);
  }

  panBy(part) {
    this.panPoints(part * (this.painter.x.end - this.painter.x.start));
  }

  showAll() {
    this.setRange(0, this.times.length);
  }

  // Texts.

  wordsOf(step) {
    const {plan} = this.chosen, {ops, tensors} = this.page.graph;
    const kind = plan.steps.kinds[step], id = plan.steps.ids[step];
    if ('rih'.includes(kind)) {
      const again = plan.steps.again[step] ? ', computed again' : '';
      return plainName(`${ops.name[id]} ${ops.module[id]}`.trim()) + again +
          (kind === 'h' ? ', on the host' : '');
    }
    return `${STEP_WORDS[kind]} ${plainName(tensors.name[id])}`;
  }

  hover(x, y) {
    const {painter, times} = this;
    if (!painter.x || x < painter.x.start || x > painter.x.end) {
      this.picture.showTip(null);
      return;
    }
    const at = painter.x.valueAt(x);
    const bar = this.barAt(x, y), step = bar ? bar.step : times.stepAt(at);
    const {plan} = this.chosen;
    const lines = [
      this.wordsOf(step), `at ${times.textOf(times.begin[step])}, step ${step}`,
      `${bytesText(plan.steps.during[step])} on the device`
    ];
    if (plan.steps.host) lines.push(`${bytesText(plan.steps.host[step])} on the host`);
    this.picture.showTip(lines, x, y);
  }

  showHeadline() {
    const {plan, step} = this.chosen;
    if (step < 0 || plan.steps.count === 0) {
      this.headline.textContent = 'This step does nothing.';
      return;
    }
    const {alive} = this.alive;
    const during = plan.steps.during[step], work = plan.memory.workspace(step);
    this.headline.replaceChildren(
        make('strong', {}, bytesText(during)),
        ` in ${counted(alive, 'tensor', 'tensors')}` +
            (work > 0 ? ` and ${bytesText(work)} of workspace` : '') +
            ` while ${this.wordsOf(step)} goes on, at ${this.times.textOf(this.times.begin[step])}` +
            (step === plan.peakStep ? ': the peak.' : '.'));
  }

  follow(changed) {
    if (changed.has('plan')) this.take();
    if (changed.has('plan') || changed.has('step')) {
      this.alive.show(this.chosen.step);
      this.showHeadline();
    }
    if (changed.has('selection')) this.alive.followSelection();
    this.picture.repaint();
  }

  paint(context, width, height) {
    const {step, op} = this.chosen;
    const byPart = this.parts.checked;
    const look =
        [...this.range, width, height, op, byPart, this.chosen.plan.index, paper.of('page')].join(' ');
    if (this.look !== look) {  // the cursor is not in this picture; it is painted over it
      this.look = look;
      this.still = make('canvas', {width: context.canvas.width, height: context.canvas.height});
      const still = this.still.getContext('2d');
      still.setTransform(context.getTransform());
      this.painter.lay(this.range, width, height);
      this.painter.paint(still, {other: null, selected: op, byPart});
    }
    context.drawImage(this.still, 0, 0, width, height);
    this.painter.cursor(context, step);
  }
}
