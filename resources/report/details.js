// The text about the selected op, tensor, block or edge, with links to its neighbours and runs.

function factRows(rows) {
  return make(
      'dl', {className: 'facts'},
      rows.filter(([, value]) => value !== '' && value !== null)
          .map(([name, value]) => make('div', {}, [make('dt', {}, name), make('dd', {}, value)])));
}

function linksTo(list, nameOf, go) {
  const shown = list.slice(0, 12).map(
      (one) => make('button', {type: 'button', className: 'link', onclick: () => go(one)}, nameOf(one)));
  if (list.length > 12) shown.push(make('span', {className: 'quiet'}, `and ${list.length - 12} more`));
  return make('div', {className: 'links'}, shown);
}

function detailsOf(page, chosen, blocks) {
  const {selection} = chosen;
  const {graph} = page;
  if (!selection)
    return [make(
        'p', {className: 'quiet'},
        'Select a block, an operation or an arrow. Enter or a double click expands a block.')];
  if (selection.op !== undefined) return detailsOfOp(graph, chosen, blocks, selection.op);
  if (selection.tensor !== undefined) return detailsOfTensor(graph, chosen, blocks, selection.tensor);
  if (selection.edge) return detailsOfEdge(graph, chosen, selection.edge);
  return detailsOfBlock(blocks, chosen, selection);
}

function tensorLinks(graph, chosen, tensors) {
  return linksTo(
      tensors, (t) => `${plainName(graph.tensors.name[t])}  ${bytesText(graph.tensors.bytes[t])}`,
      (tensor) => chosen.set({selection: {tensor}}));
}

/** Returns a button that goes to the op's next run after the cursor; after its last run, to its first. */
function runButton(chosen, op) {
  const {steps} = chosen.plan;
  const runs = steps.runSteps.filter((step) => steps.ids[step] === op);
  if (runs.length === 0) return [];
  const title = runs.length > 1 ? `Go to its next run (of ${runs.length})` : 'Go to its run';
  const go = () => chosen.set({step: runs.find((step) => step > chosen.step) ?? runs[0]});
  return [button(title, 'Puts the cursor of the memory there', go)];
}

function detailsOfOp(graph, chosen, blocks, op) {
  const {ops} = graph;
  const flags =
      [ops.flags[op] & 1 ? 'draws random numbers' : '', ops.flags[op] & 2 ? 'runs just once' : ''];
  const moduleClass = graph.classes.get(ops.module[op]);
  const rows = [
    ['Module', plainName(ops.module[op] + (moduleClass ? ` (${moduleClass})` : ''))],
    [ops.of[op] < 0 ? 'Line' : 'Backward of the line', plainName(ops.source[op])],
    ['Phase', PHASES[ops.phase[op]]],
    ['Time of a run', timeText(ops.time[op])],
    ['Workspace', ops.workspace[op] > 0 ? bytesText(ops.workspace[op]) : ''],
    ['Runs', String(chosen.plan.steps.runs[op])],
    ['It', flags.filter(Boolean).join(', ')],
    ['Reads', tensorLinks(graph, chosen, ops.inputs[op])],
    ['Makes', tensorLinks(graph, chosen, ops.outputs[op])],
  ];
  return [
    make('h2', {}, plainName(ops.name[op])), make('p', {className: 'quiet'}, 'operation ' + op),
    factRows(rows),
    make(
        'div', {className: 'links'},
        [
          ...runButton(chosen, op),
          button('Show among the blocks', 'Expands what is around it', () => blocks.reveal(op))
        ])
  ];
}

function detailsOfTensor(graph, chosen, blocks, tensor) {
  const {tensors, ops} = graph;
  const maker = tensors.maker[tensor];
  const opName = (op) => plainName(`${ops.name[op]} ${ops.module[op]}`.trim());
  const goTo = (op) => chosen.set({selection: {op}});
  const fates = ['kept', 'made again', 'copied to the host'];
  const rows = [
    ['Kind', KINDS[tensors.kind[tensor]]],
    ['Shape', plainName(tensors.layout[tensor])],
    ['Line', maker < 0 ? '' : plainName(ops.source[maker])],
    ['Bytes', `${bytesText(tensors.bytes[tensor])} (${tensors.bytes[tensor].toLocaleString('en')})`],
    ['In this plan', maker < 0 ? 'there from the start' : fates[chosen.plan.decisions[tensor]]],
    ['Made by', maker < 0 ? '' : linksTo([maker], opName, goTo)],
    [
      'Read by', tensors.readers[tensor].length > 0 ? linksTo(tensors.readers[tensor], opName, goTo) : ''
    ],
  ];
  return [
    make('h2', {}, plainName(tensors.name[tensor])), make('p', {className: 'quiet'}, 'tensor ' + tensor),
    factRows(rows), make('div', {className: 'links'}, maker < 0 ? [] : runButton(chosen, maker))
  ];
}

function detailsOfEdge(graph, chosen, tensors) {
  const bytes = tensors.reduce((sum, tensor) => sum + graph.tensors.bytes[tensor], 0);
  return [
    make('h2', {}, counted(tensors.length, 'tensor', 'tensors') + ' pass'),
    factRows([['Bytes', bytesText(bytes)], ['Tensors', tensorLinks(graph, chosen, tensors)]])
  ];
}

function detailsOfBlock(blocks, chosen, {unit, frame}) {
  const of = blocks.layout.units[unit];
  const {label, path, phase, repeats} = blocks.layout.frames[of.frames[frame]];
  const held = of.held[of.isPair ? frame : 0], sums = of.sums[of.isPair ? frame : 0];
  const runs = held.reduce((sum, op) => sum + chosen.plan.steps.runs[op], 0);
  const again = held.reduce((sum, op) => {
    const more = Math.max(0, chosen.plan.steps.runs[op] - 1);
    return sum + more * blocks.page.graph.ops.time[op];
  }, 0);
  const rows = [
    ['Path', plainName(path)],
    ['Phase', PHASES[phase]],
    ['Operations', sums.ops.toLocaleString('en')],
    ['Time, each once', timeText(sums.time)],
    ['Makes', bytesText(sums.made)],
    ['Equal blocks beside it', repeats > 1 ? String(repeats) : ''],
    ['Runs', runs.toLocaleString('en')],
    ['Time of runs again', again > 0 ? timeText(again) : ''],
  ];
  const isOpen = blocks.layout.open.has(unit);
  return [
    make('h2', {}, plainName(label)), factRows(rows),
    make(
        'div', {className: 'links'},
        button(
            isOpen ? 'Collapse' : 'Expand', 'The block and its twin (Enter)',
            () => {
              blocks.toggle(unit, frame);
              blocks.showDetails();
            }))
  ];
}
