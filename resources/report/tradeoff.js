// The picture of time against memory: the answers and bounds of sweeps, and the plans of the page. A click on
// a mark shows its plan.

const SHAPES = [
  (c, x, y, r) => c.arc(x, y, r, 0, 7),
  (c, x, y, r) => c.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8),
  (c, x, y, r) =>
      polygon(c, [[x, y - r * 1.2], [x + r * 1.15, y + r * 0.9], [x - r * 1.15, y + r * 0.9]]),
  (c, x, y, r) => polygon(c, [[x, y - r * 1.3], [x + r * 1.3, y], [x, y + r * 1.3], [x - r * 1.3, y]]),
];

function polygon(context, points) {
  context.moveTo(...points[0]);
  for (const point of points.slice(1)) context.lineTo(...point);
  context.closePath();
}

class TradeoffView {
  constructor(page, chosen) {
    this.page = page;
    this.chosen = chosen;
    this.marks = [];
    this.current = -1;
    this.picture = new Picture('Memory against time', (...all) => this.paint(...all));
    this.legend = make('div', {className: 'legend'});
    this.grid = this.makeGrid();
    this.element = make('div', {className: 'tradeoff'}, [
      make(
          'div', {className: 'view'},
          [make('div', {className: 'bar-of-tools'}, [this.legend]), this.picture.element]),
      make('div', {className: 'view'}, [this.grid.element])
    ]);
    this.listen();
    this.take();
    chosen.onChange((changed) => this.follow(changed));
  }

  /** Takes the present curves and plans. The current mark stays current. */
  take() {
    const was = this.marks[this.current];
    this.marks = this.allMarks();
    const isSame = (mark) =>
        (was.plan ? mark.plan === was.plan : mark.name === was.name && mark.budget === was.budget);
    this.current = was ? this.marks.findIndex(isSame) : -1;
    this.grid.setRows(this.marks);
    if (this.current >= 0) this.grid.follow((row) => row === this.marks[this.current]);
    this.legend.replaceChildren();
    this.picture.repaint();
  }

  /** Returns a mark for each point of the curves, then for each plan that is not such a point. */
  allMarks() {
    const {curves, plans} = this.page;
    const marks = [];
    const known = new Set();
    curves.forEach((curve, of) => curve.points.forEach((point, i) => {
      const plan = plans[point.plan] || null;
      if (plan) known.add(plan);
      const found = point.peak !== null;
      marks.push({...point, plan, curve: of, found, name: curve.name, isBest: curve.best.includes(i)});
    }));
    for (const plan of plans) {
      if (known.has(plan)) continue;
      const {peak, overhead, bound, budget} = plan;
      const name = plan.solver === 'keep-all' ? 'no recomputation' : plan.solver || 'plan';
      marks.push({
        peak,
        overhead,
        bound,
        budget,
        plan,
        curve: -1,
        found: true,
        name,
        status: plan.status,
        isBest: true
      });
    }
    return marks;
  }

  makeGrid() {
    const extra = (overhead) => (overhead ? overheadText(overhead) : '');
    const columns = [
      textColumn('Plan', 48, 0, (row) => (row.plan ? row.plan.letter : '')),
      textColumn('Found by', 104, 1, (row) => plainName(row.name)),
      bytesColumn('Budget', (row) => row.budget),
      bytesColumn('Peak', (row) => row.peak),
      numberColumn(
          'Extra time', 92, (row) => (row.found ? row.overhead : ''),
          (row) => extra(row.found && row.overhead)),
      numberColumn('No less than', 110, (row) => row.bound || '', (row) => extra(row.bound)),
      textColumn('Status', 96, 0, (row) => row.status),
    ];
    return new Grid('Plans and points', columns, {
      choose: (row) => this.go(this.marks.indexOf(row), false),
      activate: (row) => this.chosen.show(row.plan),
    });
  }

  get keys() {
    return [
      ['ArrowRight', 'goes to the next plan by memory', () => this.walk(1)],
      ['ArrowLeft', 'goes to the plan before', () => this.walk(-1)],
      ['Enter', 'shows the plan, where the page holds it', () => this.showCurrent()],
      ['c C', 'compares the shown plan with it', () => this.compareWithCurrent()],
    ];
  }

  listen() {
    onKeys(this.picture.canvas, this.keys);
    this.picture.onPointer({
      click: (x, y) => {
        const at = this.markAt(x, y);
        if (at >= 0) this.go(at, true);
      },
      hover: (x, y) => {
        const at = this.markAt(x, y);
        this.picture.canvas.style.cursor = at >= 0 ? 'pointer' : 'default';
        this.picture.showTip(at >= 0 ? this.linesOf(this.marks[at]) : null, x, y);
      },
    });
  }

  linesOf(mark) {
    const lines = [plainName(mark.name), `${bytesText(mark.peak)}, ${overheadText(mark.overhead)} time`];
    if (mark.bound) lines.push('no plan takes less than ' + overheadText(mark.bound));
    lines.push(
        mark.plan ? `plan ${mark.plan.letter}: a click shows it` :
                    'its steps are not in this page: give its schedule to rematlas report');
    return lines;
  }

  go(at, show) {
    this.current = at;
    if (show) {
      this.showCurrent();
      this.grid.follow((row) => row === this.marks[at]);
    }
    this.picture.repaint();
  }

  showCurrent() {
    if (this.current >= 0) this.chosen.show(this.marks[this.current].plan);
  }

  compareWithCurrent() {
    const plan = this.current >= 0 && this.marks[this.current].plan;
    if (plan) this.chosen.set({other: plan});
  }

  walk(step) {
    const order = this.marks.map((_, i) => i)
                      .filter((i) => this.marks[i].found)
                      .sort(
                          (a, b) => this.marks[a].peak - this.marks[b].peak ||
                              this.marks[b].overhead - this.marks[a].overhead);
    const at = order.indexOf(this.current);
    const next =
        at < 0 ? (step > 0 ? 0 : order.length - 1) : Math.min(order.length - 1, Math.max(0, at + step));
    if (order.length === 0) return;
    this.current = order[next];
    this.grid.follow((row) => row === this.marks[this.current]);
    const mark = this.marks[this.current];
    this.picture.repaint();
    this.picture.paintNow();
    this.picture.showTip(this.linesOf(mark), ...this.placeOf(mark));
  }

  follow(changed) {
    if (changed.has('plans')) this.take();
    if (!changed.has('plan') && !changed.has('other')) return;
    const at = this.marks.findIndex((mark) => mark.plan === this.chosen.plan);
    if (changed.has('plan') && at >= 0 &&
        (this.current < 0 || this.marks[this.current].plan !== this.chosen.plan)) {
      this.current = at;
      this.grid.follow((row) => row === this.marks[at]);
    }
    this.picture.repaint();
  }

  // The picture.

  lay(width, height) {
    const found = this.marks.filter((mark) => mark.found);
    const peaks = found.map((mark) => mark.peak);
    const overheads = found.map((mark) => mark.overhead);
    const {least} = this.page;
    const low = Math.min(...peaks, least || Infinity), high = Math.max(...peaks, low + 1);
    const room = (high - low) * 0.06;
    // A point far above the others would flatten the picture, so it is painted at the upper edge.
    const sorted = overheads.slice().sort((a, b) => a - b);
    const usual = sorted[Math.floor((sorted.length - 1) * 0.9)] || 1;
    const slowest = Math.min(Math.max(...overheads, 1), 1 + Math.max(0.02, (usual - 1) * 3));
    const fastest = Math.min(...overheads, 1);
    const spare = Math.max(0.005, (slowest - fastest) * 0.08);
    this.x = new Scale(Math.max(0, low - room), high + room, 64, Math.max(120, width - 20));
    this.y = new Scale(fastest - spare, slowest + spare, Math.max(80, height - 40), 14);
  }

  placeOf({peak, overhead}) {
    return [this.x.at(peak), Math.max(this.y.end + 2, this.y.at(overhead))];
  }

  markAt(x, y) {
    if (!this.x) return -1;
    let best = -1, nearest = 14;
    this.marks.forEach((mark, i) => {
      if (!mark.found) return;
      const [a, b] = this.placeOf(mark);
      const distance = Math.hypot(a - x, b - y) - (mark.plan ? 2 : 0);
      if (distance < nearest) [best, nearest] = [i, distance];
    });
    return best;
  }

  lookOf(mark) {
    if (mark.curve < 0) return {colour: 'ink', shape: 3};
    const {look} = this.page.curves[mark.curve];
    return {colour: paper.curve(look), shape: look % SHAPES.length};
  }

  paint(context, width, height) {
    this.lay(width, height);
    this.axes(context);
    this.bounds(context);
    this.page.curves.forEach((curve, of) => this.line(context, curve, of));
    this.marks.forEach((mark, i) => mark.found && i !== this.current && this.mark(context, mark, false));
    if (this.current >= 0 && this.marks[this.current].found)
      this.mark(context, this.marks[this.current], true);
    this.showLegend();
  }

  axes(context) {
    const {x, y} = this;
    context.fillStyle = paper.of('panel');
    context.fillRect(x.start, y.end, x.end - x.start, y.start - y.end);
    const bytes = bytesTicks(x.low, x.high, Math.max(2, (x.end - x.start) / 90));
    context.fillStyle = paper.of('grid');
    for (const {value} of bytes.ticks)
      context.fillRect(Math.round(x.at(value)), y.end, 1, y.start - y.end);
    const percents = percentTicks(y.low, y.high, Math.max(3, (y.start - y.end) / 50)).ticks;
    for (const {value} of percents)
      context.fillRect(x.start, Math.round(y.at(value)), x.end - x.start, 1);
    for (const {value, text} of bytes.ticks)
      paintText(context, text, x.at(value), y.start + 16, {align: 'center', colour: 'quiet'});
    paintText(
        context, `peak memory, ${bytes.unit}`, x.end, y.start + 32, {align: 'right', colour: 'quiet'});
    for (const {value, text} of percents)
      if (value <= y.high && value >= y.low)
        paintText(context, text, x.start - 6, y.at(value) + 4, {align: 'right', colour: 'quiet'});
    paintText(context, 'time', x.start - 6, y.end + 2, {align: 'right', colour: 'quiet'});
    this.forbidden(context);
  }

  /** Shades the part left of the proven least memory, in which no plan can be. */
  forbidden(context) {
    const {x, y} = this, {least} = this.page;
    if (!(least > x.low)) return;
    context.fillStyle = paper.pale('budget', 0.86);
    context.fillRect(x.start, y.end, x.at(least) - x.start, y.start - y.end);
    const room = x.at(least) - x.start - 8;
    context.font = `10px ${FONT}`;
    const text = fittedText(context, 'proven: no plan without copies', room);
    if (room > 60) paintText(context, text, x.start + 4, y.start - 6, {size: 10, colour: 'budget'});
  }

  /** Paints the proven bounds as staircases. No plan is below them. */
  bounds(context) {
    const {x, y} = this;
    context.strokeStyle = paper.of('quiet');
    context.lineWidth = 1.2;
    context.setLineDash([2, 3]);
    for (const {steps} of this.page.bounds) {
      context.beginPath();
      steps.forEach(([budget, overhead], i) => {
        const at = Math.max(y.end, Math.min(y.start, y.at(overhead)));
        const before = i === 0 ? x.start : Math.max(x.start, x.at(steps[i - 1][0]));
        context[i === 0 ? 'moveTo' : 'lineTo'](before, at);
        context.lineTo(Math.min(x.end, Math.max(x.start, x.at(budget))), at);
      });
      context.stroke();
    }
    context.setLineDash([]);
  }

  line(context, {points, best, dash, look}) {
    context.strokeStyle = paper.of(paper.curve(look));
    context.lineWidth = 1.6;
    context.setLineDash(dash);
    context.beginPath();
    best.forEach((i, nth) => context[nth === 0 ? 'moveTo' : 'lineTo'](...this.placeOf(points[i])));
    context.stroke();
    context.setLineDash([]);
  }

  mark(context, mark, isCurrent) {
    const [x, y] = this.placeOf(mark);
    const {colour, shape} = this.lookOf(mark);
    const {plan, other} = this.chosen;
    const radius = mark.plan ? 6 : 4;
    context.globalAlpha = mark.isBest ? 1 : 0.45;
    context.beginPath();
    SHAPES[shape](context, x, y, radius);
    context.fillStyle = paper.of(colour);
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = paper.of('page');
    context.lineWidth = 1;
    context.stroke();
    const ring = (name, size, width) => {
      context.beginPath();
      context.arc(x, y, size, 0, 7);
      context.strokeStyle = paper.of(name);
      context.lineWidth = width;
      context.stroke();
    };
    if (mark.plan && mark.plan === plan) ring('mark', radius + 4, 3);
    if (isCurrent) ring('ink', radius + 7, 1.5);
    if (!mark.plan) return;
    const colourOfName = mark.plan === plan || mark.plan === other ? 'ink' : 'quiet';
    paintText(
        context, mark.plan.letter, x + radius + 6, y - radius - 2, {bold: true, colour: colourOfName});
  }

  showLegend() {
    if (this.legend.childElementCount > 0) return;
    const entries = this.page.curves.map(
        (curve) => make(
            'span', {},
            [make('i', {className: `swatch ${paper.curve(curve.look)}`}), plainName(curve.name)]));
    for (const bound of this.page.bounds)
      entries.push(make('span', {}, [make('i', {className: 'swatch dotted'}), plainName(bound.name)]));
    if (this.page.least > 0)
      entries.push(
          make('span', {}, [make('i', {className: 'swatch of-nothing'}), 'no plan without copies']));
    if (this.page.plans.length > 0)
      entries.push(make('span', {}, [make('b', {}, 'A '), 'plans that this page holds']));
    this.legend.replaceChildren(...entries);
  }
}
