// Makes the picture of the blocks for one choice of expanded blocks.

function middleOf(rect, lower) {
  return [rect.x + rect.width / 2, lower ? rect.y + rect.height : rect.y];
}

/** Returns a curve that is vertical at both ends. */
function upright(a, b) {
  const turn = (b[1] - a[1]) * 0.4;
  return [a, [a[0], a[1] + turn], [b[0], b[1] - turn], b];
}

/**
 * Returns a route from the right side of one item to the left side of another. It is horizontal except for
 * one turn between the boxes around the items.
 */
function routeAcross(from, to, fromBox, toBox) {
  const a = [from.x + from.width, from.y + from.height / 2], b = [to.x, to.y + to.height / 2];
  const left = fromBox.x + fromBox.width, right = toBox.x;
  if (right - left < 24) {
    const turn = Math.max(24, Math.abs(b[0] - a[0]) / 2);
    return [a, [a[0] + turn, a[1]], [b[0] - turn, b[1]], b];
  }
  const line = (p, q) => [[p[0] + (q[0] - p[0]) / 3, p[1]], [q[0] - (q[0] - p[0]) / 3, q[1]], q];
  const turn = (right - left) / 2;
  const begin = [left, a[1]], end = [right, b[1]];
  return [a, ...line(a, begin), [left + turn, a[1]], [right - turn, b[1]], end, ...line(end, b)];
}

/** Returns the route with its ends moved, together with their control points. */
function anchored(route, begin, end) {
  if (route.length === 4) return upright(begin, end);
  const last = route.length - 1;
  const moved = route.map((point) => point.slice());
  for (const axis of [0, 1]) {
    moved[1][axis] += begin[axis] - route[0][axis];
    moved[last - 1][axis] += end[axis] - route[last][axis];
  }
  moved[0] = begin;
  moved[last] = end;
  return moved;
}

class Composition {
  constructor(layout) {
    this.layout = layout;
    this.graph = layout.graph;
    this.units = layout.units;
    this.items = [];   // {rect, place, op} or {rect, place, unit, frame}; `place`: {unit, member}
    this.frames = [];  // {rect, frame, unit, side, depth}, the outer frames first
    this.shown = this.units.map(() => false);
    for (const unit of this.units)
      this.shown[unit.index] = unit.parent < 0 ||
          (this.shown[unit.parent] && (unit.isOpenAlways || layout.open.has(unit.index)));
    this.measure();
    this.place();
    this.connect();
  }

  /** Computes the sizes of frames, the inner frames first. */
  measure() {
    this.maps = [];
    this.sizes = [];
    for (let u = this.units.length - 1; u >= 0; --u) {
      if (!this.shown[u]) continue;
      const unit = this.units[u];
      const across = [[], []], along = [];
      unit.members.forEach((member, i) => {
        if (member.op !== undefined || !this.shown[member.unit]) return;
        const {x, y, width, height} = unit.shape.members[i];
        const size = this.sizes[member.unit];
        across[member.side].push({from: x, to: x + width, size: size.widths[member.frame]});
        along.push({from: y, to: y + height, size: size.height});
      });
      const map = {x: across.map(stretched), y: stretched(along)};
      const left = [0, unit.beside];
      this.maps[u] = map;
      this.sizes[u] = {
        left: left.map((x, side) => map.x[side](x)),
        widths: left.map((x, side) => map.x[side](x + unit.widths[side]) - map.x[side](x)),
        height: map.y(unit.height),
      };
    }
  }

  /** Computes the places of frames and items, the outer frames first. */
  place() {
    this.origins = [];
    this.origins[0] = [[0, 0], [0, 0]];
    this.rects = [];
    this.itemAt = [];
    for (const unit of this.units) {
      const u = unit.index;
      if (!this.shown[u]) continue;
      this.rects[u] = unit.members.map((member, i) => this.rectOf(unit, member, i));
      this.itemAt[u] = unit.members.map(() => -1);
      unit.members.forEach((member, i) => {
        const rect = this.rects[u][i];
        if (member.op === undefined && this.shown[member.unit]) {
          this.origins[member.unit] ||= [];
          this.origins[member.unit][member.frame] = [rect.x, rect.y];
          const frame = this.units[member.unit].frames[member.frame];
          const depth = this.units[member.unit].depth;
          if (frame >= 0) this.frames.push({rect, frame, unit: member.unit, side: member.frame, depth});
          return;
        }
        this.itemAt[u][i] = this.items.length;
        this.items.push(
            {rect, place: {unit: u, member: i}, op: member.op, unit: member.unit, frame: member.frame});
      });
    }
    const {widths, height} = this.sizes[0];
    this.size = {width: widths[0], height};
  }

  rectOf(unit, member, i) {
    const base = unit.shape.members[i], {x, y} = this.maps[unit.index];
    const size = member.op === undefined && this.shown[member.unit] && this.sizes[member.unit];
    const width = size ? size.widths[member.frame] : base.width,
          height = size ? size.height : base.height;
    const from = this.placed(unit, member.side, base.x, base.y);
    const roomX = x[member.side](base.x + base.width) - x[member.side](base.x);
    const roomY = y(base.y + base.height) - y(base.y);
    return {x: from[0] + (roomX - width) / 2, y: from[1] + (roomY - height) / 2, width, height};
  }

  /** Returns the place in the whole picture of a point of a unit. */
  placed(unit, side, x, y) {
    const u = unit.index, origin = this.origins[u][side];
    return [
      origin[0] + this.maps[u].x[side](x) - this.sizes[u].left[side], origin[1] + this.maps[u].y(y)
    ];
  }

  /** Does the same as `placed` for a point that may lie between the two frames of a unit. */
  placedBetween(unit, x, y) {
    if (!unit.isPair || x <= unit.widths[0]) return this.placed(unit, 0, x, y);
    if (x >= unit.beside) return this.placed(unit, 1, x, y);
    const a = this.placed(unit, 0, unit.widths[0], y), b = this.placed(unit, 1, unit.beside, y);
    const part = (x - unit.widths[0]) / (unit.beside - unit.widths[0]);
    return [a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])];
  }

  // Edges.

  /** Makes one edge for all tensors that one item makes and another item reads. */
  connect() {
    const {tensors} = this.graph;
    this.edges = [];
    this.itemOfOp = this.graph.ops.name.map((_, op) => {
      const place = this.lifted(this.layout.placeOf[op]);
      return this.itemAt[place.unit][place.member];
    });
    const known = new Map();
    for (let tensor = 0; tensor < tensors.count; ++tensor) {
      const maker = tensors.maker[tensor];
      if (maker < 0) continue;
      const from = this.itemOfOp[maker];
      for (const reader of tensors.readers[tensor]) {
        const to = this.itemOfOp[reader];
        if (to === from) continue;
        const key = from * this.items.length + to;
        let edge = known.get(key);
        if (edge === undefined) known.set(key, (edge = this.edgeBetween(from, to, maker, reader)));
        if (!edge || edge.tensors[edge.tensors.length - 1] === tensor) continue;
        edge.tensors.push(tensor);
        edge.bytes += tensors.bytes[tensor];
      }
    }
    this.heaviest = this.edges.reduce((most, edge) => Math.max(most, edge.bytes), 0);
    this.edges.sort((a, b) => b.bytes - a.bytes);
  }

  around({unit, member}) {
    const of = this.units[unit], side = of.isPair ? of.members[member].side : 0;
    return {unit: of.parent, member: of.memberOfParent[side]};
  }

  /** Returns the place itself, or the place of the collapsed block around it. */
  lifted(place) {
    while (!this.shown[place.unit]) place = this.around(place);
    return place;
  }

  edgeBetween(from, to, maker, reader) {
    const {phase} = this.graph.ops;
    const above = (op) => phase[op] < 2;
    const flow = above(maker) ? above(reader) : phase[maker] === phase[reader];
    const role = flow && phase[maker] === 2 ? UP : DOWN;
    const a = [this.items[from].place], b = [this.items[to].place];
    while (a[a.length - 1].unit !== b[b.length - 1].unit) {
      const deeper = a[a.length - 1].unit > b[b.length - 1].unit ? a : b;
      deeper.push(this.around(deeper[deeper.length - 1]));
    }
    const route = flow ? this.joined(a, b, role) : this.rung(a, b);
    if (!route) return null;
    const edge =
        {from, to, rung: !flow, tensors: [], bytes: 0, route, saved: !flow && phase[maker] === 0};
    this.edges.push(edge);
    return edge;
  }

  rung(a, b) {
    const from = a[0], to = b[0], top = a[a.length - 1], end = b[b.length - 1];
    const unit = this.units[top.unit];
    const own = a.length + b.length === 2 && unit.shape.between.get(from.member * 65536 + to.member);
    if (own && own.route) return this.part(unit, own).route;
    return routeAcross(
        this.rects[from.unit][from.member], this.rects[to.unit][to.member],
        this.rects[top.unit][top.member], this.rects[end.unit][end.member]);
  }

  /** Returns the route of an edge, joined from its parts; null if the layout lacks one of the parts. */
  joined(a, b, role) {
    const parts = [];
    const add = (unit, edge) => parts.push(edge ? this.part(this.units[unit], edge) : null);
    for (const {unit, member} of a.slice(0, -1))
      add(unit, this.units[unit].shape.out.get(role * 65536 + member));
    const top = a[a.length - 1], end = b[b.length - 1];
    add(top.unit, this.units[top.unit].shape.between.get(top.member * 65536 + end.member));
    for (const {unit, member} of b.slice(0, -1).reverse())
      add(unit, this.units[unit].shape.into.get(role * 65536 + member));
    if (parts.includes(null)) return null;
    parts.forEach((part, i) => {
      // An inner part ends at a port of a box. The outer part continues there.
      const begin =
          part.fromBox && i > 0 ? parts[i - 1].route[parts[i - 1].route.length - 1] : part.route[0];
      const last = part.route[part.route.length - 1];
      const end = part.toBox && i + 1 < parts.length ? parts[i + 1].route[0] : last;
      if (begin !== part.route[0] || end !== last) part.route = anchored(part.route, begin, end);
    });
    return parts.flatMap((part, i) => (i === 0 ? part.route : part.route.slice(1)));
  }

  /** Returns the route of an edge of a unit, and whether its ends are borders of boxes. */
  part(unit, {from, to, role, route}) {
    const count = unit.members.length;
    const side = unit.members[from < count ? from : to].side;
    const flow = role === DOWN || role === UP;
    const isBox = (i) => i < count && unit.members[i].op === undefined;
    const ends = [from, to].map((i, which) => {
      if (i >= count) {
        const port = unit.shape.ports[i - count];
        return this.placed(unit, side, port.x, port.y);
      }
      return middleOf(this.rects[unit.index][i], (role === DOWN) === (which === 0));
    });
    if (!route) return {route: upright(ends[0], ends[1]), fromBox: isBox(from), toBox: isBox(to)};
    const moved =
        route.map(([x, y]) => (flow ? this.placed(unit, side, x, y) : this.placedBetween(unit, x, y)));
    const border = (i, point) => {
      const base = unit.shape.members[i], rect = this.rects[unit.index][i];
      const part = (value, begin, size) => Math.min(1, Math.max(0, (value - begin) / size));
      return [
        rect.x + part(point[0], base.x, base.width) * rect.width,
        rect.y + part(point[1], base.y, base.height) * rect.height
      ];
    };
    const begin = from < count ? border(from, route[0]) : moved[0];
    const end = to < count ? border(to, route[route.length - 1]) : moved[moved.length - 1];
    return {route: movedEnds(moved, begin, end), fromBox: isBox(from), toBox: isBox(to)};
  }
}

/** Does the same as `anchored`, but does not move the control points of a single curve. */
function movedEnds(route, begin, end) {
  return route.length === 4 ? [begin, route[1], route[2], end] : anchored(route, begin, end);
}
