// Compares two plans: their memory, and the ops and copies that one of them runs more often.

/** Returns a row for each op and each copied tensor that plans `a` and `b` run or copy unequally often. */
function differencesOf(graph, a, b) {
  const {ops, tensors} = graph;
  const rows = [];
  for (let op = 0; op < ops.count; ++op) {
    const runs = [a.steps.runs[op], b.steps.runs[op]];
    if (runs[0] === runs[1]) continue;
    const made = ops.outputs[op].reduce((sum, tensor) => sum + tensors.bytes[tensor], 0);
    rows.push({op, what: 'runs', runs, bytes: made, time: (runs[1] - runs[0]) * ops.time[op]});
  }
  const copies = [a, b].map(copiedTimes);
  for (const tensor of new Set([...copies[0].keys(), ...copies[1].keys()])) {
    const counts = copies.map((copied) => (copied.get(tensor) || {count: 0}).count);
    if (counts[0] === counts[1]) continue;
    const times = copies.map((copied) => (copied.get(tensor) || {time: 0}).time);
    rows.push(
        {tensor, what: 'copies', runs: counts, bytes: tensors.bytes[tensor], time: times[1] - times[0]});
  }
  return rows;
}

/** Returns by tensor the number of copies to the host and back, and the time that they take on the links. */
function copiedTimes(plan) {
  const copied = new Map();
  const {kinds, ids} = plan.steps;
  for (const {queue, step, length} of plan.beside.bars) {
    if (queue > 1 || kinds[step] === 'h') continue;
    const known = copied.get(ids[step]) || {count: 0, time: 0};
    copied.set(ids[step], {count: known.count + 1, time: known.time + length});
  }
  return copied;
}

/**
 * Returns a sentence such as "B needs 20 MiB less and takes 7 ms more than A; it computes 7 operations more
 * often (8 ms, 22 MiB)."
 */
function comparedWords(plan, other, rows) {
  const against = (value, text) =>
      (value === 0 ? 'as much' : `${text(Math.abs(value))} ${value > 0 ? 'more' : 'less'}`);
  const sum = (some, of) => some.reduce((all, row) => all + Math.abs(row[of]), 0);
  const runs = (sign) => rows.filter((row) => row.what === 'runs' && Math.sign(row.time) === sign);
  const parts = [];
  for (const [some, how] of [[runs(1), 'more often'], [runs(-1), 'less often']]) {
    if (some.length === 0) continue;
    const cost = `${timeText(sum(some, 'time'))}, ${bytesText(sum(some, 'bytes'))}`;
    parts.push(`computes ${counted(some.length, 'operation', 'operations')} ${how} (${cost})`);
  }
  const copies = (sign) =>
      rows.filter((row) => row.what === 'copies' && Math.sign(row.runs[1] - row.runs[0]) === sign);
  const told = (some) =>
      `${counted(some.length, 'tensor', 'tensors')} (${bytesText(sum(some, 'bytes'))})`;
  if (copies(1).length > 0) parts.push(`copies ${told(copies(1))} more often`);
  if (copies(-1).length > 0) parts.push(`copies ${told(copies(-1))} less often`);
  const needs = against(other.peak - plan.peak, bytesText),
        takes = against(other.time - plan.time, timeText);
  return `${other.letter} needs ${needs} and takes ${takes} than ${plan.letter}; it ` +
      `${parts.join(', and ') || 'runs the same operations as often'}.`;
}

class CompareView {
  constructor(page, chosen) {
    this.page = page;
    this.chosen = chosen;
    const {ops, tensors} = page.graph;
    this.pick = make('select', {
      id: 'other',
      onchange: () => chosen.set({other: page.plans[this.pick.selectedIndex]}),
    });
    addPlansTo(this.pick, page.plans);
    this.swap =
        button('Swap', 'Shows the other plan, and compares it with this one', () => this.swapPlans());
    this.headline = make('p', {className: 'headline', 'aria-live': 'polite'});
    this.picture = new Picture('Memory of both plans', (...all) => this.paint(...all));
    const nameOf = (row) => (row.op !== undefined ? ops.name[row.op] : tensors.name[row.tensor]);
    const makerOf = (row) => (row.op !== undefined ? row.op : tensors.maker[row.tensor]);
    const columns = [
      textColumn('What', 70, 0, (row) => row.what),
      textColumn('Operation or tensor', 150, 2, (row) => plainName(nameOf(row))),
      textColumn(
          'Module', 130, 2, (row) => (makerOf(row) < 0 ? '' : plainName(ops.module[makerOf(row)]))),
      numberColumn('Here', 64, (row) => row.runs[0]),
      numberColumn('There', 64, (row) => row.runs[1]),
      bytesColumn('Bytes', (row) => row.bytes),
      numberColumn(
          'More time', 112, (row) => row.time, (row) => (row.time > 0 ? '+' : '') + timeText(row.time)),
    ];
    const selection = (row) => (row.op !== undefined ? {op: row.op} : {tensor: row.tensor});
    const choose = (row) => chosen.set({selection: selection(row)});
    this.grid = new Grid('What the two plans do differently', columns, {sorted: 6, choose});
    this.element = make('div', {className: 'compare'}, [
      make(
          'div', {className: 'view'},
          [
            make(
                'div', {className: 'bar-of-tools'},
                [
                  make(
                      'label',
                      { for: 'other'
                      },
                      'The shown plan with'),
                  this.pick, this.swap
                ]),
            this.headline, this.picture.element
          ]),
      make('div', {className: 'view'}, [this.grid.element])
    ]);
    chosen.onChange((changed) => {
      if (changed.has('plans')) addPlansTo(this.pick, page.plans);
      if (changed.has('plan') || changed.has('other')) this.take();
    });
    this.take();
  }

  swapPlans() {
    const {plan, other} = this.chosen;
    this.chosen.set({plan: other, other: plan, step: other.peakStep});
  }

  take() {
    const {plan, other} = this.chosen;
    this.pick.selectedIndex = other.index;
    this.rows = differencesOf(this.page.graph, plan, other);
    this.grid.setRows(this.rows);
    this.headline.textContent =
        plan === other ? 'Choose another plan to compare with.' : comparedWords(plan, other, this.rows);
    this.times = [plan, other].map((one) => new LaneTimes(one));
    this.picture.repaint();
  }

  paint(context, width, height) {
    const [here, there] = this.times;
    const painter = new MemoryPainter(here, null);
    painter.lay([0, Math.max(here.length, there.length)], width, height);
    const most = Math.max(here.plan.peak, there.plan.peak, painter.y.high / 1.06);
    painter.y = new Scale(0, most * 1.06, painter.y.start, painter.y.end);
    painter.paint(context, {other: there, selected: -1, byPart: false});
    paintText(
        context, here.plan.letter, painter.x.start + 8, painter.top + 14, {bold: true, colour: 'keep'});
    paintText(
        context, there.plan.letter, painter.x.start + 26, painter.top + 14,
        {bold: true, colour: 'curve-1'});
  }
}
