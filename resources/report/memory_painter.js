// Paints the memory over the step, and above it lanes that show what runs at which time.

const NAMES_WIDTH = 108, RIGHT_ROOM = 16, LANE_HEIGHT = 18, LANE_GAP = 4, AXIS_ROOM = 34;
const LANES = [
  {name: 'forward', colour: 'forward'},
  {name: 'computed again', colour: 'recompute'},
  {name: 'backward', colour: 'backward'},
  {name: 'waiting', colour: 'quiet'},
  {name: 'copy to host', colour: 'offload'},
  {name: 'copy back', colour: 'keep'},
  {name: 'on the host', colour: 'optimizer'},
];

/** Returns the lanes of a plan: the lanes that every plan may have, and one for each queue of collectives. */
const lanesOf = (plan) => LANES.concat(plan.queues.map((name) => ({name: `queue ${name}`, colour: 'keep'})));

/** The bars of a plan over time. If the plan has no times, each run has the same width. */
class LaneTimes {
  constructor(plan) {
    this.plan = plan;
    const {steps} = plan;
    this.isTimed = plan.time > 0;
    this.begin = steps.begin;
    this.end = steps.end;
    if (!this.isTimed) this.countRuns(steps);
    this.length = Math.max(this.isTimed ? plan.time : 0, this.end[steps.count - 1] || 0, 1e-9);
    this.allLanes = lanesOf(plan);
    this.bars = this.allLanes.map(() => []);
    const {phase} = plan.graph.ops;
    const inQueue = new Set(plan.beside.bars.filter(({queue}) => queue > 2).map(({step}) => step));
    for (const step of steps.runSteps) {
      if (this.isTimed && inQueue.has(step)) continue;
      const forward = phase[steps.ids[step]] < 2;
      const lane = steps.again[step] ? 1 : forward ? 0 : 2;
      this.bars[lane].push(
          {step, begin: this.begin[step], end: this.end[step], phase: phase[steps.ids[step]]});
    }
    const {bars, waits} = plan.beside;
    if (this.isTimed)
      for (const {step, begin, length} of waits) this.bars[3].push({step, begin, end: begin + length});
    for (const {queue, step, begin, length} of bars) {
      if (!this.isTimed && queue > 2) continue;
      const at = this.isTimed ? begin : this.begin[step];
      this.bars[4 + queue].push({step, begin: at, end: at + (this.isTimed ? length : 1)});
      this.length = Math.max(this.length, this.bars[4 + queue].at(-1).end);
    }
    this.lanes = this.allLanes.map((_, i) => i).filter((i) => i < 3 || this.bars[i].length > 0);
  }

  countRuns(steps) {
    this.begin = new Float64Array(steps.count);
    this.end = new Float64Array(steps.count);
    for (let step = 0, runs = 0; step < steps.count; ++step) {
      this.begin[step] = runs;
      if (steps.kinds[step] === 'r' || steps.kinds[step] === 'i') ++runs;
      this.end[step] = runs;
    }
  }

  /** Returns the last run that begins at or before `x`; the first run if there is none. */
  stepAt(x) {
    const {runSteps} = this.plan.steps;
    let low = 0, high = runSteps.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.begin[runSteps[middle]] <= x)
        low = middle;
      else
        high = middle - 1;
    }
    return runSteps[low];
  }

  /** Returns the last step that begins before `x`, whose memory is still held there. */
  firstShown(x) {
    let low = 0, high = Math.max(0, this.plan.steps.count - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.begin[middle] < x)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  textOf(x) {
    return this.isTimed ? timeText(Math.round(x)) : 'run ' + Math.round(x);
  }
}

class MemoryPainter {
  constructor(times, plain) {
    this.times = times;
    this.plan = times.plan;
    this.plain = plain;
  }

  /** Computes the places of the parts. `range`: the shown part of the time. */
  lay(range, width, height) {
    this.range = range;
    this.height = height;
    this.x = new Scale(range[0], range[1], NAMES_WIDTH, Math.max(NAMES_WIDTH + 50, width - RIGHT_ROOM));
    const lanesHeight = this.times.lanes.length * (LANE_HEIGHT + LANE_GAP);
    this.top = 8 + lanesHeight + 22;
    this.bottom = Math.max(this.top + 40, height - AXIS_ROOM);
    const {peak, budget, hostPeak} = this.plan;
    // A budget far above the peak is not drawn, because it would flatten the curve.
    this.showsBudget = budget > 0 && budget <= 1.6 * peak;
    const plainPeak = this.plain && this.plain.plan.peak <= 2.5 * peak ? this.plain.plan.peak : 0;
    const most = Math.max(peak, this.showsBudget ? budget : 0, plainPeak, hostPeak > 0 ? hostPeak : 0);
    this.y = new Scale(0, most * 1.06, this.bottom, this.top);
  }

  laneTop(place) {
    return 8 + place * (LANE_HEIGHT + LANE_GAP);
  }

  laneAt(y) {
    const place = Math.floor((y - 8) / (LANE_HEIGHT + LANE_GAP));
    return place >= 0 && place < this.times.lanes.length ? this.times.lanes[place] : -1;
  }

  paint(context, {other, selected, byPart}) {
    this.context = context;
    this.axes();
    context.save();
    context.beginPath();
    context.rect(this.x.start, 0, this.x.end - this.x.start, this.bottom + 1);
    context.clip();
    this.times.lanes.forEach((lane, place) => this.lane(lane, this.laneTop(place), selected));
    if (byPart)
      this.layers();
    else
      this.area();
    if (this.plain) this.curve(this.plain, 'quiet', 1, [3, 3]);
    if (other) this.curve(other, 'curve-1', 1.4, []);
    if (this.plan.steps.host && !other)
      this.curve(this.times, 'offload', 1.2, [6, 3], this.plan.steps.host);
    context.restore();
    this.marks();
  }

  axes() {
    const {context, x, y} = this;
    const bytes = bytesTicks(0, y.high, Math.max(3, (this.bottom - this.top) / 60));
    for (const {value, text} of bytes.ticks) {
      const at = Math.round(y.at(value)) + 0.5;
      context.fillStyle = paper.of('grid');
      context.fillRect(x.start, at - 0.5, x.end - x.start, 1);
      paintText(context, text, x.start - 8, at + 3.5, {align: 'right', colour: 'quiet'});
    }
    paintText(context, bytes.unit, x.start - 8, this.top - 6, {align: 'right', colour: 'quiet'});
    const count = Math.max(2, (x.end - x.start) / 110);
    const ticksOfAxis = this.times.isTimed ? timeTicks : countTicks;
    const time = ticksOfAxis(x.low, x.high, count);
    for (const {value, text} of time.ticks) {
      const at = x.at(value);
      if (at < x.start - 1 || at > x.end + 1) continue;
      context.fillStyle = paper.of('line');
      context.fillRect(Math.round(at), this.bottom, 1, 4);
      paintText(context, text, at, this.bottom + 17, {align: 'center', colour: 'quiet'});
    }
    paintText(context, time.unit, x.end, this.bottom + 30, {align: 'right', colour: 'quiet'});
    this.times.lanes.forEach((lane, place) => {
      const top = this.laneTop(place);
      paintText(context, this.times.allLanes[lane].name, x.start - 8, top + 13, {align: 'right', colour: 'quiet'});
      context.fillStyle = paper.of('panel');
      context.fillRect(x.start, top, x.end - x.start, LANE_HEIGHT);
    });
  }

  /** Paints a lane. Very narrow bars are joined: a column is darker the more of it such bars fill. */
  lane(lane, top, selected) {
    const {context, x} = this;
    const bars = this.times.bars[lane];
    const named = Number(paper.of('bar-part'));  // pale enough for a name on the bar
    const filled = new Map();                    // the filled share, by column and phase
    const colourOf = (phase) => (lane === 1 || phase === undefined ? this.times.allLanes[lane].colour : PHASES[phase]);
    for (const bar of bars) {
      if (bar.end < x.low || bar.begin > x.high) continue;
      const from = x.at(bar.begin), to = x.at(bar.end);
      if (to - from < 1.5) {
        const key = Math.floor(from) * PHASES.length + (bar.phase || 0);
        filled.set(key, (filled.get(key) || 0) + Math.max(to - from, 0.15));
        continue;
      }
      context.fillStyle = paper.pale(colourOf(bar.phase), to - from > 34 ? named : 0.15);
      context.fillRect(from, top, Math.max(to - from - 0.5, 1), LANE_HEIGHT);
      if (to - from > 34) this.barName(bar, from, to, top);
    }
    for (const [key, share] of filled) {
      const phase = lane < 3 ? key % PHASES.length : undefined;
      context.globalAlpha = Math.min(1, 0.25 + 0.75 * share);
      context.fillStyle = paper.pale(colourOf(phase), 0.15);
      context.fillRect(Math.floor(key / PHASES.length), top, 1, LANE_HEIGHT);
    }
    context.globalAlpha = 1;
    if (selected < 0) return;
    context.fillStyle = paper.of('mark');
    const {ids} = this.plan.steps;
    for (const bar of bars)
      if (lane < 3 && ids[bar.step] === selected)
        context.fillRect(
            x.at(bar.begin), top, Math.max(2, x.at(bar.end) - x.at(bar.begin)), LANE_HEIGHT);
  }

  barName(bar, from, to, top) {
    const {ops, tensors} = this.plan.graph, {kinds, ids} = this.plan.steps;
    const ofOp = 'rih'.includes(kinds[bar.step]);
    const name = ofOp ? ops.name[ids[bar.step]].replace(/^.*::/, '') : tensors.name[ids[bar.step]];
    this.context.font = `10px ${FONT}`;
    const text = fittedText(this.context, plainName(name), to - from - 8);
    if (text.length > 2) paintText(this.context, text, from + 4, top + 13, {size: 10, colour: 'ink'});
  }

  /** Returns for each column of the picture the least and the most bytes, and the step with the most. */
  columns(times, bytes) {
    const {x} = this;
    const first = Math.floor(x.start), count = Math.ceil(x.end) - first + 1;
    const low = new Float64Array(count).fill(Infinity), high = new Float64Array(count).fill(-1);
    const step = new Int32Array(count).fill(-1);
    const steps = times.plan.steps.count;
    let last = -1, lastColumn = -1;
    const visit = (column, value, at) => {
      if (value > high[column]) {
        high[column] = value;
        step[column] = at;
      }
      if (value < low[column]) low[column] = value;
    };
    for (let i = times.firstShown(x.low); i < steps; ++i) {
      const at = x.at(times.begin[i]);
      const column = Math.min(count - 1, Math.max(0, Math.round(at) - first));
      for (let c = lastColumn + 1; c <= column && last >= 0; ++c) visit(c, bytes[last], last);
      visit(column, bytes[i], i);
      last = i;
      lastColumn = column;
      if (at > x.end) break;
    }
    const end = Math.min(count - 1, Math.max(0, Math.round(x.at(times.end[last])) - first));
    for (let c = lastColumn + 1; c <= end; ++c) visit(c, bytes[last], last);
    return {first, count: Math.max(lastColumn, end) + 1, low, high, step};
  }

  outline({first, count, low, high}, fromZero) {
    const {context, y} = this;
    context.beginPath();
    if (fromZero) context.moveTo(first, this.bottom);
    for (let c = 0; c < count; ++c) {
      if (high[c] < 0) continue;
      context.lineTo(first + c, y.at(high[c]));
      if (!fromZero && low[c] < high[c]) context.lineTo(first + c, y.at(low[c]));
    }
    if (fromZero) context.lineTo(first + count - 1, this.bottom);
  }

  area() {
    const {context, plan, times} = this;
    const columns = this.columns(times, plan.steps.during);
    this.outline(columns, true);
    context.fillStyle = paper.pale('keep', 0.72);
    context.fill();
    this.outline(columns, false);
    context.strokeStyle = paper.of('keep');
    context.lineWidth = 1.4;
    context.stroke();
    if (plan.resident > 0) {
      context.fillStyle = paper.pale('quiet', 0.7);
      context.fillRect(
          this.x.start, this.y.at(plan.resident), this.x.end - this.x.start,
          this.bottom - this.y.at(plan.resident));
    }
  }

  layerColour({name, place}) {
    if (place === 0) return paper.pale('quiet', 0.5);
    if (name === 'workspace') return paper.pale('quiet', 0.78);
    return paper.pale(paper.curve(place - 1), 0.45);
  }

  /** Paints the layers from the top, each down to the axis. So lower layers cover the part below them. */
  layers() {
    const {context, plan, times} = this;
    const {layers} = plan.memory;
    const columns = this.columns(times, plan.steps.during);
    const upto = columns.high.slice();
    for (const layer of [...layers].reverse()) {
      this.outline({...columns, high: upto}, true);
      context.fillStyle = this.layerColour(layer);
      context.fill();
      for (let c = 0; c < columns.count; ++c)
        if (columns.step[c] >= 0) upto[c] -= layer.during[columns.step[c]];
    }
    this.outline(columns, false);
    context.strokeStyle = paper.of('ink');
    context.lineWidth = 0.8;
    context.stroke();
  }

  curve(times, colour, width, dash, bytes = times.plan.steps.during) {
    const {context} = this;
    this.outline(this.columns(times, bytes), false);
    context.strokeStyle = paper.of(colour);
    context.lineWidth = width;
    context.setLineDash(dash);
    context.stroke();
    context.setLineDash([]);
  }

  /** Marks the budget and the peak. */
  marks() {
    const {context, x, y, plan, times} = this;
    const level = (value, colour, text) => {
      const at = Math.round(y.at(value)) + 0.5;
      context.fillStyle = paper.of(colour);
      context.fillRect(x.start, at - 0.75, x.end - x.start, 1.5);
      paintText(context, text, x.end - 4, at - 5, {align: 'right', colour});
    };
    if (this.showsBudget) level(plan.budget, 'budget', 'budget ' + bytesText(plan.budget));
    const at = x.at(times.begin[plan.peakStep]);
    if (at >= x.start && at <= x.end) {
      context.fillStyle = paper.of('ink');
      context.beginPath();
      context.arc(at, y.at(plan.peak), 3.5, 0, 7);
      context.fill();
      const right = at > x.end - 130;
      const look = {align: right ? 'right' : 'left', bold: true, halo: true};
      paintText(
          context, 'peak ' + bytesText(plan.peak), at + (right ? -9 : 9), y.at(plan.peak) + 16, look);
    }
  }

  cursor(context, step) {
    const {x, y, plan, times} = this;
    if (step < 0) return;
    const cursor = x.at((times.begin[step] + times.end[step]) / 2);
    if (cursor < x.start - 1 || cursor > x.end + 1) return;
    context.fillStyle = paper.of('ink');
    context.fillRect(Math.round(cursor) - 0.5, 4, 1.5, this.bottom - 4);
    context.beginPath();
    context.arc(cursor, y.at(plan.steps.during[step]), 4, 0, 7);
    context.fillStyle = paper.of('mark');
    context.fill();
    context.strokeStyle = paper.of('ink');
    context.lineWidth = 1;
    context.stroke();
  }
}
