// Puts the blocks together. Each block was laid out on its own, with the blocks inside it collapsed. An
// expanded block needs more room than its box, so the items beside and below it move aside; their order does
// not change. An edge is joined from its parts in the blocks that it passes. A unit is a block with
// its twin, if there is one, or a part without frames, which is always expanded. The frames of a block and of
// its twin are on the two sides of the unit.

const DOWN = 0,
      UP = 1;  // roles of edges along the flow; all other edges lead to the other side of the ladder

/**
 * Returns an increasing function of a coordinate. It stretches each interval {from, to, size} at least to the
 * length `size`.
 */
function stretched(intervals) {
  if (intervals.length === 0) return (x) => x;
  const marks = [...new Set(intervals.flatMap(({from, to}) => [from, to]))].sort((a, b) => a - b);
  const ending = new Map();
  for (const interval of intervals) {
    if (!ending.has(interval.to)) ending.set(interval.to, []);
    ending.get(interval.to).push(interval);
  }
  const places = new Map();
  marks.forEach((mark, i) => {
    let place = i === 0 ? mark : places.get(marks[i - 1]) + mark - marks[i - 1];
    for (const {from, size} of ending.get(mark) || []) place = Math.max(place, places.get(from) + size);
    places.set(mark, place);
  });
  const at = marks.map((mark) => places.get(mark)), last = marks.length - 1;
  return (x) => {
    if (x <= marks[0]) return x;
    if (x >= marks[last]) return at[last] + x - marks[last];
    let low = 0, high = last;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (marks[middle] <= x)
        low = middle;
      else
        high = middle;
    }
    return at[low] + ((x - marks[low]) / (marks[high] - marks[low])) * (at[high] - at[low]);
  };
}

function readShape(letters) {
  const numbers = unpack(letters);
  let at = 0;
  const points = (count, width) => {
    const list = [];
    for (let i = 0; i < count; ++i, at += width) list.push(numbers.slice(at, at + width));
    return list;
  };
  const members = points(numbers[at++], 4).map(([x, y, width, height]) => ({x, y, width, height}));
  const ports = points(numbers[at++], 2).map(([x, y]) => ({x, y}));
  const edges = [];
  const shape = {members, ports, edges, out: new Map(), into: new Map(), between: new Map()};
  for (let count = numbers[at++]; count > 0; --count) {
    const [from, to, role, length] = numbers.slice(at, (at += 4));
    const route = length > 0 ? points(length, 2) : null;
    for (let i = 1; i < length; ++i)
      for (const axis of [0, 1]) route[i][axis] += route[i - 1][axis];
    const edge = {from, to, role, route};
    if (from >= members.length)
      shape.into.set(role * 65536 + to, edge);
    else if (to >= members.length)
      shape.out.set(role * 65536 + from, edge);
    else
      shape.between.set(from * 65536 + to, edge);
    edges.push(edge);
  }
  return shape;
}

function readUnits(packed, shapes) {
  return packed.map((letters, index) => {
    const [parent, shape, left, right, width, widthRight, height, beside, ...rest] = unpack(letters);
    const members = rest.map((number) => {
      const side = number & 1, what = number >> 1;
      return what & 1 ? {side, unit: what >> 2, frame: (what >> 1) & 1} : {side, op: what >> 1};
    });
    return {
      index,
      parent,
      members,
      height,
      beside,
      shape: shapes[shape],
      frames: [left, right],
      widths: [width, widthRight],
      memberOfParent: [-1, -1],
      isPair: widthRight > 0,
    };
  });
}

class BlockLayout {
  constructor(packed, strings, graph) {
    const column = (letters) => unpack(letters);
    this.graph = graph;
    this.units = readUnits(packed.units, packed.shapes.map(readShape));
    this.frames = column(packed.labels).map((place) => ({label: strings[place]}));
    column(packed.paths).forEach((place, i) => (this.frames[i].path = strings[place]));
    column(packed.phases).forEach((phase, i) => (this.frames[i].phase = phase));
    column(packed.repeats).forEach((repeats, i) => (this.frames[i].repeats = repeats));
    this.placeOf = new Array(graph.ops.count);
    for (const unit of this.units) {
      unit.members.forEach((member, i) => {
        if (member.op !== undefined)
          this.placeOf[member.op] = {unit: unit.index, member: i};
        else
          this.units[member.unit].memberOfParent[member.frame] = i;
      });
    }
    this.titles = new Map();
    const titles = column(packed.titles);
    unpackChanges(packed.titled).forEach((op, i) => this.titles.set(op, strings[titles[i]]));
    this.sumUp();
    this.open = new Set();
  }

  /** Computes the depth of each unit, and the ops in each frame with their sums. */
  sumUp() {
    const {ops, tensors} = this.graph;
    for (const unit of this.units) {
      const around = unit.parent < 0 ? -1 : this.units[unit.parent].depth;
      unit.isOpenAlways = unit.frames[0] < 0;
      unit.depth = around + (unit.isOpenAlways ? 0 : 1);
      unit.held = [[], []];
    }
    for (let u = this.units.length - 1; u >= 0; --u) {
      const unit = this.units[u];
      for (const member of unit.members) {
        const held = member.op !== undefined ? [member.op] : this.units[member.unit].held[member.frame];
        for (const op of held) unit.held[unit.isPair ? member.side : 0].push(op);
      }
      unit.sums = unit.held.map(
          (held) => ({
            ops: held.length,
            time: held.reduce((sum, op) => sum + ops.time[op], 0),
            made: held.reduce(
                (sum, op) => sum + ops.outputs[op].reduce((b, t) => b + tensors.bytes[t], 0), 0),
          }));
    }
    this.depths = Math.max(0, ...this.units.map((unit) => unit.depth));
  }

  get depthShown() {
    let depth = -1;
    for (const u of this.open)
      if (!this.units[u].isOpenAlways) depth = Math.max(depth, this.units[u].depth);
    return depth;
  }

  /** Expands all units down to a depth, and no others. */
  openTo(depth) {
    this.open = new Set(this.units.filter((unit) => unit.depth <= depth).map((unit) => unit.index));
  }

  /** Expands as many levels as possible with at most `items` visible items. */
  openAtMost(items) {
    for (let depth = this.depths; depth >= 0; --depth) {
      this.openTo(depth);
      if (depth === 0 || this.itemCount() <= items) return;
    }
  }

  itemCount() {
    let count = 0;
    for (const unit of this.units) {
      if (!this.isShown(unit)) continue;
      for (const member of unit.members)
        if (member.op !== undefined || !this.isShown(this.units[member.unit])) ++count;
    }
    return count;
  }

  isShown(unit) {
    for (let at = unit; at; at = this.units[at.parent])
      if (!at.isOpenAlways && !this.open.has(at.index)) return false;
    return true;
  }

  /** Expands or collapses a unit. If it is collapsed, the units inside it are collapsed, too. */
  toggle(unit) {
    if (!this.open.has(unit)) {
      this.open.add(unit);
      return;
    }
    for (const inner of [...this.open])
      for (let at = inner; at >= 0; at = this.units[at].parent)
        if (at === unit) this.open.delete(inner);
  }

  /** Expands all units around an op. */
  reveal(op) {
    for (let u = this.placeOf[op].unit; u >= 0; u = this.units[u].parent) this.open.add(u);
  }

  /** Returns the picture for the expanded units: items, frames and edges with their places. */
  compose() {
    return new Composition(this);
  }
}
