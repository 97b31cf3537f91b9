// The table of the tensors that are in memory at the cursor.

class AliveTable {
  constructor(page, chosen) {
    this.page = page;
    this.chosen = chosen;
    this.alive = 0;
    const {tensors, ops} = page.graph;
    const maker = (row) => tensors.maker[row.tensor];
    const madeBy = (op) => (op < 0 ? '' : plainName(`${ops.name[op]} ${ops.module[op]}`.trim()));
    const timeOf = (step) => (step < 0 ? '' : this.timeOf(step));
    const columns = [
      bytesColumn('Bytes', (row) => row.bytes),
      textColumn('Tensor', 150, 2, (row) => plainName(tensors.name[row.tensor])),
      textColumn('Kind', 100, 0, (row) => KINDS[tensors.kind[row.tensor]]),
      textColumn('Made by', 150, 2, (row) => madeBy(maker(row))),
      numberColumn(
          'Made at', 90, (row) => (row.isThere ? -1 : row.from),
          (row) => (row.isThere ? 'the start' : timeOf(row.from))),
      numberColumn('Last read', 90, (row) => row.lastRead, (row) => timeOf(row.lastRead)),
      textColumn('Runs again', 108, 0, (row) => (row.again ? 'yes' : '')),
    ];
    const choose = (row) => chosen.set({selection: {tensor: row.tensor}});
    this.grid = new Grid('In memory', columns, {sorted: 0, choose});
    this.element = this.grid.element;
    this.element.id = 'alive';
  }

  take(plan) {
    this.plan = plan;
    this.show(this.chosen.step);
  }

  timeOf(step) {
    return this.plan.time > 0 ? timeText(Math.round(this.plan.steps.begin[step])) : 'step ' + step;
  }

  show(step) {
    if (step < 0) return;
    const {memory, steps} = this.plan;
    const {maker} = this.page.graph.tensors;
    const rows = memory.alive(step).map((span) => {
      const {tensor, from, bytes} = span, op = maker[tensor];
      const again = op >= 0 && steps.runs[op] > 1;
      return {
        tensor,
        from,
        bytes,
        isThere: op < 0 && from === 0,
        lastRead: memory.lastRead(span),
        again
      };
    });
    this.alive = rows.length;
    this.grid.setRows(rows);
    this.followSelection();
  }

  followSelection() {
    const {tensor, op} = this.chosen;
    const {maker} = this.page.graph.tensors;
    this.grid.follow((row) => row.tensor === tensor || (op >= 0 && maker[row.tensor] === op));
  }
}
