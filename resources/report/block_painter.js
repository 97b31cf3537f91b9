// Paints the blocks at any zoom, and leaves out what is too small to be read.

const DECISIONS = ['keep', 'recompute', 'offload'];
// The smallest zooms at which parts of the picture are shown.
const SHOW_ROUNDED = 0.12, SHOW_SHARES = 0.2, SHOW_SHEET = 0.25, SHOW_FRAME_TITLE = 0.3;
const SHOW_TITLE = 0.35, SHOW_ARROW = 0.4, SHOW_CAPTION = 0.5;

function boundsOf(route) {
  const xs = route.map((point) => point[0]), ys = route.map((point) => point[1]);
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

class BlockPainter {
  constructor(layout) {
    this.layout = layout;
    this.graph = layout.graph;
  }

  /** Sets the facts of each item under a plan: bytes by decision, runs and time of its ops. */
  tell(composition, plan, byPhase) {
    this.byPhase = byPhase;
    const {ops, tensors} = this.graph;
    for (const item of composition.items) {
      const held = item.op !== undefined ? [item.op] : this.layout.units[item.unit].held[item.frame];
      item.phase = ops.phase[held[0]];
      item.made = [0, 0, 0];
      item.runs = 0;
      item.time = 0;
      item.count = held.length;
      for (const op of held) {
        item.runs += plan.steps.runs[op];
        item.time += ops.time[op];
        for (const tensor of ops.outputs[op]) item.made[plan.decisions[tensor]] += tensors.bytes[tensor];
      }
    }
    for (const edge of composition.edges) {
      edge.parts = [0, 0, 0];
      for (const tensor of edge.tensors) edge.parts[plan.decisions[tensor]] += tensors.bytes[tensor];
      edge.bounds ||= boundsOf(edge.route);
    }
  }

  largest(parts) {
    if (parts[2] >= parts[1] && parts[2] > parts[0]) return 2;
    return parts[1] > parts[0] ? 1 : 0;
  }

  /** Returns the name of the item's colour. */
  colourOf(item) {
    const decided = !this.byPhase && item.phase === 0;
    return decided ? DECISIONS[this.largest(item.made)] : PHASES[item.phase];
  }

  titleOf(item) {
    if (item.op === undefined) {
      const unit = this.layout.units[item.unit];
      return plainName(this.layout.frames[unit.frames[item.frame]].label);
    }
    const title = this.layout.titles.get(item.op);
    if (title !== undefined) return plainName(title);
    const name = this.graph.ops.name[item.op];
    return plainName(name.slice(name.lastIndexOf('::') + (name.includes('::') ? 2 : 1)));
  }

  captionOf(item) {
    const made = item.made[0] + item.made[1] + item.made[2];
    const text = bytesText(made) + ' · ' + timeText(item.time);
    return item.count > 1 ? item.count + ' ops · ' + text : text;
  }

  paint(context, composition, {zoom, seen, marked, running}) {
    this.context = context;
    this.zoom = zoom;
    const isSeen = (r) =>
        r.x <= seen[2] && r.x + r.width >= seen[0] && r.y <= seen[3] && r.y + r.height >= seen[1];
    for (const frame of composition.frames)
      if (isSeen(frame.rect)) this.frame(frame, marked.has(frame));
    this.edges(composition, seen, marked);
    if (zoom >= SHOW_FRAME_TITLE)
      for (const frame of composition.frames)
        if (isSeen(frame.rect)) this.frameTitle(frame, seen);
    composition.items.forEach((item, i) => {
      if (!isSeen(item.rect)) return;
      this.item(item);
      if (marked.has(item) || i === running) this.mark(item.rect, marked.has(item) ? 'mark' : 'ink');
    });
  }

  rounded(rect, fill, stroke, radius, width = 1) {
    const {context} = this;
    context.beginPath();
    if (this.zoom < SHOW_ROUNDED)
      context.rect(rect.x, rect.y, rect.width, rect.height);
    else
      context.roundRect(rect.x, rect.y, rect.width, rect.height, radius);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (!stroke) return;
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.stroke();
  }

  frame({rect, frame, depth}, marked) {
    const colour = PHASES[this.layout.frames[frame].phase];
    const page = (1 - 0.035) ** (depth + 1);
    this.rounded(
        rect, paper.pale(colour, page), marked ? paper.of('mark') : paper.pale(colour, 0.55), 6,
        marked ? 2.5 : 1);
  }

  /** Paints the title at the frame's upper edge; at the window's upper edge if that one is out of sight. */
  frameTitle({rect, frame}, seen) {
    const {context} = this;
    const {label, repeats} = this.layout.frames[frame];
    context.font = `11px ${FONT}`;
    const text =
        fittedText(context, plainName(label) + (repeats > 1 ? '  ×' + repeats : ''), rect.width - 18);
    if (!text) return;
    const y = Math.min(Math.max(rect.y, seen[1]), rect.y + rect.height - 22);
    const width = context.measureText(text).width;
    context.globalAlpha = 0.75;
    this.rounded({x: rect.x + 6, y: y + 3, width: width + 6, height: 15}, paper.of('page'), null, 3);
    context.globalAlpha = 1;
    paintText(context, text, rect.x + 9, y + 14.5, {colour: 'quiet'});
  }

  // Edges. All edges with the same look are one path. Light edges are painted over heavy ones.

  lookOf(edge, heaviest) {
    const width = 0.7 + 3.8 * Math.sqrt(heaviest > 0 ? edge.bytes / heaviest : 0);
    const decision = edge.saved && !this.byPhase ? this.largest(edge.parts) : 0;
    return {width: Math.round(width * 2) / 2, decision, rung: edge.rung};
  }

  edges(composition, seen, marked) {
    const {context, zoom} = this;
    const groups = new Map();
    const near = [];
    for (const edge of composition.edges) {
      const [left, top, right, bottom] = edge.bounds;
      if (left > seen[2] || right < seen[0] || top > seen[3] || bottom < seen[1]) continue;
      if (Math.max(right - left, bottom - top) * zoom < 3) continue;
      const touched = marked.has(composition.items[edge.from]) || marked.has(composition.items[edge.to]);
      if (touched || marked.has(edge)) {
        near.push(edge);
        continue;
      }
      const look = this.lookOf(edge, composition.heaviest);
      const key = `${look.width} ${look.decision} ${look.rung}`;
      if (!groups.has(key)) groups.set(key, {look, edges: []});
      groups.get(key).edges.push(edge);
    }
    const ordered = [...groups.values()].sort((a, b) => b.look.width - a.look.width);
    for (const {look, edges} of ordered) this.strokeAll(edges, look, this.edgeColour(look));
    for (const edge of near) {
      const look = this.lookOf(edge, composition.heaviest);
      const chosen = marked.has(edge);
      look.width = Math.max(look.width, 1.8) + (chosen ? 1.5 : 0);
      this.strokeAll([edge], look, paper.of(chosen ? 'mark' : 'ink'));
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  edgeColour({rung, decision}) {
    if (!rung) return paper.mixed('line', 'ink', 0.1);
    return this.byPhase ? paper.of('forward') : paper.of(DECISIONS[decision]);
  }

  strokeAll(edges, {width, decision, rung}, colour) {
    const {context, zoom} = this;
    const wide = Math.max(width, 0.7 / zoom);
    const dashes = [[], [2.5 + 1.5 * wide, 2 + wide], [wide, 1.5 + wide]];
    context.setLineDash(rung && zoom >= SHOW_FRAME_TITLE ? dashes[decision] : []);
    context.globalAlpha = rung ? 0.72 : 1;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = wide;
    context.beginPath();
    for (const {route} of edges) {
      context.moveTo(...route[0]);
      for (let i = 3; i < route.length; i += 3) {
        if (zoom < SHOW_ROUNDED)
          context.lineTo(...route[i]);
        else
          context.bezierCurveTo(...route[i - 2], ...route[i - 1], ...route[i]);
      }
    }
    context.stroke();
    if (zoom < SHOW_ARROW) return;
    context.beginPath();
    for (const {route} of edges) this.arrow(route, wide);
    context.fill();
  }

  arrow(route, width) {
    const [x, y] = route[route.length - 1], before = route[route.length - 2];
    const length = Math.hypot(x - before[0], y - before[1]);
    const along = length > 0 ? [(x - before[0]) / length, (y - before[1]) / length] : [0, 1];
    const head = 4.5 + 1.4 * width, half = 1.8 + 0.8 * width;
    const neck = [x - along[0] * head, y - along[1] * head];
    this.context.moveTo(x, y);
    this.context.lineTo(neck[0] - along[1] * half, neck[1] + along[0] * half);
    this.context.lineTo(neck[0] + along[1] * half, neck[1] - along[0] * half);
    this.context.closePath();
  }

  // Items.

  item(item) {
    const {zoom} = this;
    const {rect} = item;
    const colour = this.colourOf(item);
    if (zoom < SHOW_ROUNDED) {
      this.rounded(rect, paper.pale(colour, 0.25), null, 0);
      return;
    }
    // A second sheet behind the item shows that the item can be expanded.
    if (item.op === undefined && zoom > SHOW_SHEET)
      this.rounded(
          {...rect, x: rect.x + 3, y: rect.y + 3}, paper.pale(colour, 0.9), paper.pale(colour, 0.5), 5);
    this.rounded(rect, paper.pale(colour, 0.84), paper.pale(colour, 0.25), 5, 1.2);
    if (zoom > SHOW_SHARES) this.shares(item, colour);
    if (zoom > SHOW_TITLE) this.labels(item);
  }

  /** Paints, at the item's left side, how its bytes divide into kept, recomputed and offloaded ones. */
  shares({rect, made}, colour) {
    const {context} = this;
    const all = made[0] + made[1] + made[2], height = rect.height - 10;
    if (this.byPhase || all === 0) {
      this.rounded({x: rect.x + 4, y: rect.y + 5, width: 4, height}, paper.of(colour), null, 2);
      return;
    }
    let y = rect.y + 5;
    made.forEach((bytes, decision) => {
      const part = (height * bytes) / all;
      context.fillStyle = paper.of(DECISIONS[decision]);
      context.fillRect(rect.x + 4, y, 4, part);
      y += part;
    });
  }

  labels(item) {
    const {context, zoom} = this;
    const {rect} = item;
    const twoLines = zoom > SHOW_CAPTION;
    const upper = twoLines ? rect.y + 0.42 * rect.height : rect.y + 0.5 * rect.height + 4.5;
    let room = rect.width - 23;
    const badge = this.badgeOf(item);
    if (badge) {
      const look = {align: 'right', colour: item.op === undefined ? 'quiet' : 'recompute'};
      paintText(context, badge, rect.x + rect.width - 9, upper, look);
      room -= context.measureText(badge).width + 8;
    }
    context.font = `13px ${FONT}`;
    const title = fittedText(context, this.titleOf(item), room);
    paintText(context, title, rect.x + 14, upper, {size: 13});
    if (!twoLines) return;
    context.font = `11px ${FONT}`;
    const caption = fittedText(context, this.captionOf(item), rect.width - 22);
    paintText(context, caption, rect.x + 14, rect.y + 0.8 * rect.height, {colour: 'quiet'});
  }

  badgeOf(item) {
    if (item.op !== undefined) return item.runs > 1 ? item.runs + ' runs' : '';
    const {repeats} = this.layout.frames[this.layout.units[item.unit].frames[item.frame]];
    return repeats > 1 ? '×' + repeats : '';
  }

  mark(rect, colour) {
    this.rounded(
        {x: rect.x - 2.5, y: rect.y - 2.5, width: rect.width + 5, height: rect.height + 5}, null,
        paper.of(colour), 7, colour === 'mark' ? 3 : 2);
  }
}
