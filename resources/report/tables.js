// Tables of all tensors, operations and steps.

function tensorGrid(page, chosen) {
  const {tensors, ops} = page.graph;
  const ofMaker = (column) => (row) => {
    const maker = tensors.maker[row];
    return maker < 0 ? '' : plainName(column[maker]);
  };
  const fates = ['kept', 'made again', 'copied'];
  const fate = (row) => (tensors.maker[row] < 0 ? 'there' : fates[chosen.plan.decisions[row]]);
  const columns = [
    numberColumn('Number', 84, (row) => row),
    textColumn('Tensor', 150, 2, (row) => plainName(tensors.name[row])),
    textColumn('Kind', 110, 0, (row) => KINDS[tensors.kind[row]]),
    bytesColumn('Bytes', (row) => tensors.bytes[row]),
    textColumn('Shape', 130, 0, (row) => plainName(tensors.layout[row])),
    textColumn('Made by', 140, 1, ofMaker(ops.name)),
    textColumn('Module', 140, 2, ofMaker(ops.module)),
    textColumn('Line', 100, 0, ofMaker(ops.source)),
    numberColumn('Readers', 76, (row) => tensors.readers[row].length),
    textColumn('In this plan', 100, 0, fate),
  ];
  return new Grid('Tensors', columns, {choose: (row) => chosen.set({selection: {tensor: row}})});
}

function opGrid(page, chosen, reveal) {
  const {tensors, ops} = page.graph;
  const columns = [
    numberColumn('Number', 84, (row) => row),
    textColumn('Operation', 150, 2, (row) => plainName(ops.name[row])),
    textColumn('Module', 140, 2, (row) => plainName(ops.module[row])),
    textColumn('Line', 100, 0, (row) => plainName(ops.source[row])),
    textColumn('Phase', 84, 0, (row) => PHASES[ops.phase[row]]),
    timeColumn('Time', (row) => ops.time[row]),
    bytesColumn(
        'Makes', (row) => ops.outputs[row].reduce((sum, tensor) => sum + tensors.bytes[tensor], 0)),
    bytesColumn('Workspace', (row) => ops.workspace[row]),
    numberColumn('Runs', 60, (row) => chosen.plan.steps.runs[row]),
  ];
  const choose = (row) => chosen.set({selection: {op: row}});
  return new Grid('Operations', columns, {choose, activate: reveal});
}

function stepGrid(page, chosen) {
  const {tensors, ops} = page.graph;
  const steps = () => chosen.plan.steps;
  const id = (row) => steps().ids[row];
  const ofOp = (row) => 'rih'.includes(steps().kinds[row]);
  const maker = (row) => (ofOp(row) ? id(row) : tensors.maker[id(row)]);
  const what = (row) => STEP_WORDS[steps().kinds[row]] + (steps().again[row] ? ' again' : '');
  const columns = [
    numberColumn('Step', 70, (row) => row),
    textColumn('What', 120, 0, what),
    textColumn(
        'Operation or tensor', 160, 2,
        (row) => plainName(ofOp(row) ? ops.name[id(row)] : tensors.name[id(row)])),
    textColumn('Module', 140, 2, (row) => (maker(row) < 0 ? '' : plainName(ops.module[maker(row)]))),
    numberColumn('Begins', 90, (row) => steps().begin[row], (row) => timeText(steps().begin[row])),
    timeColumn('Lasts', (row) => steps().end[row] - steps().begin[row]),
    bytesColumn('Held', (row) => steps().during[row]),
  ];
  const selection = (row) => (ofOp(row) ? {op: id(row)} : {tensor: id(row)});
  return new Grid(
      'Steps', columns, {choose: (row) => chosen.set({step: row, selection: selection(row)})});
}

class TablesView {
  constructor(page, chosen, reveal) {
    this.page = page;
    this.chosen = chosen;
    this.grids = {
      tensors: tensorGrid(page, chosen),
      ops: opGrid(page, chosen, reveal),
      steps: stepGrid(page, chosen),
    };
    this.tabs = new Tabs('Tables', () => this.followSelection());
    for (const [id, grid] of Object.entries(this.grids)) this.tabs.add(id, grid.name, grid.element);
    this.element = make('div', {className: 'tables'}, [this.tabs.bar, this.tabs.panels]);
    const numbers = (count) => Array.from({length: count}, (_, i) => i);
    this.grids.tensors.setRows(numbers(page.graph.tensors.count));
    this.grids.ops.setRows(numbers(page.graph.ops.count));
    this.take();
    this.tabs.show('tensors');
    chosen.onChange((changed) => this.follow(changed));
  }

  take() {
    this.grids.steps.setRows(Array.from({length: this.chosen.plan.steps.count}, (_, i) => i));
  }

  follow(changed) {
    if (changed.has('plan')) {
      this.take();
      this.grids.ops.refresh();
      this.grids.tensors.refresh();
    }
    if (changed.has('selection') || changed.has('step')) this.followSelection();
  }

  followSelection() {
    const {op, tensor, step} = this.chosen;
    if (op >= 0) this.grids.ops.follow((row) => row === op);
    if (tensor >= 0) this.grids.tensors.follow((row) => row === tensor);
    this.grids.steps.follow((row) => row === step);
  }
}
