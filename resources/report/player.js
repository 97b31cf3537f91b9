// Plays the steps of a plan, to find out which tensors are on the device during each step.

class StepMemory {
  constructor(plan) {
    this.plan = plan;
    this.graph = plan.graph;
    this.spans = [];  // {tensor, from, to, bytes}: held during the steps from `from` to `to` - 1
    this.open = new Map();
    for (const tensor of unpackChanges(plan.packed.start)) this.place(tensor, 0);
    const {kinds, ids, count} = plan.steps;
    for (let step = 0; step < count; ++step) {
      const kind = kinds[step];
      if (kind === 'r' || kind === 'i') this.run(ids[step], step, kind === 'i');
      if (kind === 't') this.place(ids[step], step);
      if (kind === 'f') this.close(ids[step], step + 1);
    }
    for (const span of this.open.values()) span.to = count;
  }

  place(tensor, step) {
    const span = {tensor, from: step, to: -1, bytes: this.graph.tensors.bytes[tensor]};
    this.spans.push(span);
    this.open.set(tensor, span);
  }

  close(tensor, to) {
    const span = this.open.get(tensor);
    if (!span) return;
    span.to = to;
    this.open.delete(tensor);
  }

  /**
   * Plays a run. In place, an output takes the memory of an input. If the input is larger, the rest of its
   * bytes is held until the run is over.
   */
  run(op, step, inPlace) {
    const {outputs, inplace} = this.graph.ops;
    const {bytes} = this.graph.tensors;
    const pairs = inPlace ? inplace[op] : [];
    for (let i = 0; i < pairs.length; i += 2) {
      const rest = bytes[pairs[i + 1]] - Math.min(bytes[pairs[i]], bytes[pairs[i + 1]]);
      this.close(pairs[i + 1], step);
      if (rest > 0) this.spans.push({tensor: pairs[i + 1], from: step, to: step + 1, bytes: rest});
    }
    for (const tensor of outputs[op]) {
      this.close(tensor, step + 1);  // the old and the new tensor are held while the op runs
      this.place(tensor, step);
    }
  }

  /** Returns the spans of the tensors that are held during a step. */
  alive(step) {
    return this.spans.filter((span) => span.from <= step && step < span.to);
  }

  workspace(step) {
    const {kinds, ids} = this.plan.steps;
    return kinds[step] === 'r' || kinds[step] === 'i' ? this.graph.ops.workspace[ids[step]] : 0;
  }

  /** Says whether the held bytes equal the bytes that the simulator computed, at every step. */
  agrees() {
    const {during, count} = this.plan.steps;
    const change = new Float64Array(count + 1);
    for (const span of this.spans) {
      change[span.from] += span.bytes;
      change[span.to] -= span.bytes;
    }
    for (let step = 0, held = 0; step < count; ++step) {
      held += change[step];
      if (held + this.workspace(step) !== during[step]) return false;
    }
    return true;
  }

  /** The bytes at each step by layer: residents, each group of the graph, workspaces. */
  get layers() {
    if (this.layers_) return this.layers_;
    const {tensors, ops, groups} = this.graph;
    const {count} = this.plan.steps;
    const names = ['resident', ...groups, 'workspace'];
    const during = names.map(() => new Float64Array(count + 1));
    for (const {tensor, from, to, bytes} of this.spans) {
      const maker = tensors.maker[tensor];
      const layer = during[maker < 0 ? 0 : 1 + ops.group[maker]];
      layer[from] += bytes;
      layer[to] -= bytes;
    }
    for (const layer of during)
      for (let i = 1; i <= count; ++i) layer[i] += layer[i - 1];
    for (let step = 0; step < count; ++step) during[names.length - 1][step] = this.workspace(step);
    const used = names.map((name, i) => ({name, during: during[i], place: i}));
    return (this.layers_ = used.filter((layer) => layer.during.some((bytes) => bytes > 0)));
  }

  /** The steps that read each tensor, in order. */
  get reads() {
    if (this.reads_) return this.reads_;
    const {ids, runSteps} = this.plan.steps;
    this.reads_ = Array.from({length: this.graph.tensors.count}, () => []);
    for (const step of runSteps)
      for (const tensor of this.graph.ops.inputs[ids[step]]) this.reads_[tensor].push(step);
    return this.reads_;
  }

  /** Returns the last step of a span that reads the tensor; -1 if there is none. */
  lastRead(span) {
    const reads = this.reads[span.tensor];
    let low = -1, high = reads.length - 1;  // finds the last read before the end of the span
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (reads[middle] < span.to)
        low = middle;
      else
        high = middle - 1;
    }
    return low >= 0 && reads[low] > span.from ? reads[low] : -1;
  }
}
