// Reads the data of the page into columns of numbers. viz/report/page_data.h describes the columns.

const PHASES = ['forward', 'loss', 'backward', 'optimizer'];
const KINDS = ['parameter', 'buffer', 'input', 'constant', 'activation', 'gradient', 'optimizer state'];
const STEP_WORDS = {
  r: 'run',
  i: 'run in place',
  f: 'free',
  o: 'copy to the host',
  t: 'copy back',
  d: 'drop',
  h: 'run on the host',
};

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const DIGIT_OF = new Uint8Array(128);
for (let i = 0; i < LETTERS.length; ++i) DIGIT_OF[LETTERS.charCodeAt(i)] = i;

/** Returns the numbers of a packed column. It uses no bit shifts, because sizes need more than 32 bits. */
function unpack(letters) {
  const numbers = [];
  let code = 0, weight = 1;
  for (let i = 0; i < letters.length; ++i) {
    const digit = DIGIT_OF[letters.charCodeAt(i)];
    code += (digit & 31) * weight;
    weight *= 32;
    if (digit & 32) continue;
    numbers.push(code % 2 ? -(code + 1) / 2 : code / 2);
    code = 0;
    weight = 1;
  }
  return numbers;
}

function summed(numbers) {
  for (let i = 1; i < numbers.length; ++i) numbers[i] += numbers[i - 1];
  return numbers;
}

const unpackChanges = (letters) => summed(unpack(letters));

/**
 * Returns a list for each op. A packed list is a count of entries, followed by `width` numbers for each
 * entry. Each number is stored as its difference from the previous number.
 */
function unpackLists(letters, count, width = 1) {
  const numbers = unpack(letters);
  const lists = [];
  let at = 0, last = 0;
  for (let i = 0; i < count; ++i) {
    const list = [];
    for (let left = numbers[at++] * width; left > 0; --left) list.push((last += numbers[at++]));
    lists.push(list);
  }
  return lists;
}

function readOps(packed, strings) {
  const named = (column) => unpack(column).map((place) => strings[place]);
  const name = named(packed.name);
  const count = name.length;
  return {
    count,
    name,
    module: named(packed.module),
    source: named(packed.source),
    phase: unpack(packed.phase),
    time: unpack(packed.time),
    workspace: unpack(packed.workspace),
    of: unpackChanges(packed.of),
    group: unpack(packed.group),
    flags: unpack(packed.flags),
    inputs: unpackLists(packed.inputs, count),
    outputs: unpackLists(packed.outputs, count),
    inplace: unpackLists(packed.inplace, count, 2),
  };
}

/** Returns the graph, with the maker and the readers of each tensor. */
function readGraph(page) {
  const ops = readOps(page.ops, page.strings);
  const tensors = {
    name: unpackChanges(page.tensors.name).map((place) => page.strings[place]),
    kind: unpack(page.tensors.kind),
    bytes: unpack(page.tensors.bytes),
    layout: unpack(page.tensors.layout).map((place) => page.strings[place]),
  };
  tensors.count = tensors.name.length;
  tensors.maker = new Int32Array(tensors.count).fill(-1);
  tensors.readers = Array.from({length: tensors.count}, () => []);
  for (let op = 0; op < ops.count; ++op) {
    for (const tensor of ops.outputs[op]) tensors.maker[tensor] = op;
    for (const tensor of ops.inputs[op]) tensors.readers[tensor].push(op);
  }
  const classes = new Map(Object.entries(page.classes ?? {}));
  return {ops, tensors, classes, groups: page.groups, results: unpackChanges(page.results)};
}

/** Returns the steps of a plan as columns, with the times at which each step begins and ends. */
function readSteps(packed, ops) {
  const kinds = packed.kinds;
  const count = kinds.length;
  const ids = Int32Array.from(unpackChanges(packed.ids));
  const zeros = new Float64Array(count);
  const gaps = packed.gaps ? unpack(packed.gaps) : zeros;
  const lengths = packed.lengths ? unpack(packed.lengths) : zeros;
  const begin = new Float64Array(count), end = new Float64Array(count);
  const runs = new Int32Array(ops.count), again = new Uint8Array(count);
  const runSteps = [];
  for (let step = 0, clock = 0; step < count; ++step) {
    const isRun = kinds[step] === 'r' || kinds[step] === 'i';
    begin[step] = clock + gaps[step];
    end[step] = clock = begin[step] + lengths[step] + (isRun ? ops.time[ids[step]] : 0);
    if (!isRun) continue;
    runSteps.push(step);
    again[step] = runs[ids[step]]++ > 0 ? 1 : 0;
  }
  const during = Float64Array.from(unpackChanges(packed.during));
  const host = packed.host ? Float64Array.from(unpackChanges(packed.host)) : null;
  return {count, kinds, ids, begin, end, during, host, runs, again, runSteps};
}

/** A plan. Its steps are read when they are first needed. */
class PlanData {
  constructor(packed, index, graph) {
    Object.assign(this, {
      index,
      graph,
      packed,
      letter: index < 26 ? String.fromCharCode(65 + index) : String(index + 1),
      name: packed.name,
      solver: packed.solver,
      budget: packed.budget,
      peak: packed.peak,
      peakStep: packed.peak_step,
      time: packed.time,
      overhead: packed.overhead,
      bound: packed.bound,
      status: packed.index === undefined ? 'given' : packed.status,
      resident: packed.resident,
      hostPeak: packed.host_peak,
      queues: packed.queues,
    });
  }

  get steps() {
    return (this.steps_ ||= readSteps(this.packed, this.graph.ops));
  }

  /** The copies, host runs and collectives beside compute, and the times in which compute waits. */
  get beside() {
    if (this.beside_) return this.beside_;
    const side = unpack(this.packed.beside), waits = unpack(this.packed.waits);
    this.beside_ = {bars: [], waits: []};
    for (let i = 0; i < side.length; i += 4)
      this.beside_.bars.push(
          {queue: side[i], step: side[i + 1], begin: side[i + 2], length: side[i + 3]});
    for (let i = 0; i < waits.length; i += 3)
      this.beside_.waits.push({step: waits[i], begin: waits[i + 1], length: waits[i + 2]});
    return this.beside_;
  }

  get memory() {
    return (this.memory_ ||= new StepMemory(this));
  }

  /** A text such as "A · atlas · 1.02 GiB · +7.10 %". */
  get title() {
    const solver = this.solver === 'keep-all' ? 'no recomputation' : plainName(this.solver) || 'plan';
    return `${this.letter} · ${solver} · ${bytesText(this.peak)} · ${overheadText(this.overhead)}`;
  }

  /** The plan's decision for each tensor: 0 keeps it, 1 recomputes it, 2 copies it to the host. */
  get decisions() {
    if (this.decisions_) return this.decisions_;
    const {ops, tensors} = this.graph;
    const {kinds, ids, runs, count} = this.steps;
    const decisions = new Uint8Array(tensors.count);
    for (let op = 0; op < ops.count; ++op)
      if (runs[op] > 1)
        for (const tensor of ops.outputs[op]) decisions[tensor] = 1;
    for (let step = 0; step < count; ++step)
      if (kinds[step] === 'o') decisions[ids[step]] = 2;
    return (this.decisions_ = decisions);
  }
}

function readPage() {
  const page = JSON.parse(document.getElementById('data').textContent);
  const graph = page.ops ? readGraph(page) : null;
  return {
    name: page.name,
    served: Boolean(page.served),
    graph,
    plans: (page.plans || []).map((packed, index) => new PlanData(packed, index, graph)),
    plain: page.plain,
    curves: page.curves,
    bounds: page.bounds,
    least: page.least || 0,
    blocks: graph && page.blocks.units ? new BlockLayout(page.blocks, page.strings, graph) : null,
    missingBlocks: graph && page.blocks.missing,
  };
}
