// A table of any length. Only the visible rows have elements. The table can be sorted by each column,
// filtered by words and copied as CSV.

const ROW_HEIGHT = 26;

/** Returns a column. `grows`: the column's share of the width that remains; 0 for a fixed width. */
function textColumn(title, width, grows, text) {
  return {title, width, grows, text};
}
function numberColumn(title, width, of, text = of) {
  return {title, width, isNumber: true, value: of, text};
}
function bytesColumn(title, of) {
  return numberColumn(title, 92, of, (row) => (of(row) ? bytesText(of(row)) : ''));
}
function timeColumn(title, of) {
  return numberColumn(title, 90, of, (row) => (of(row) ? timeText(of(row)) : ''));
}

class Grid {
  static count = 0;

  /**
   * `columns`: {title, width, value(row), text(row), isNumber}. Rows are sorted by `value`, which is also
   * copied; `text` is shown. `choose(row)` is called when the user goes to a row or clicks it, and
   * `activate(row)` at Enter and double clicks.
   */
  constructor(name, columns, {choose = () => {}, activate = () => {}, sorted = -1, down = true} = {}) {
    Object.assign(this, {name, columns, choose, activate});
    this.sortedBy = sorted;
    this.down = down;
    this.all = [];
    this.rows = [];
    this.current = -1;
    this.pool = [];
    this.words = '';
    this.filling = 0;  // increases whenever the contents of rows change
    this.makeElements(name);
    this.listen();
  }

  makeElements(name) {
    this.filter = make('input', {
      type: 'search',
      placeholder: 'Filter',
      'aria-label': 'Filter ' + name.toLowerCase(),
      spellcheck: false,
    });
    this.count = make('span', {className: 'quiet', 'aria-live': 'polite'});
    this.copy =
        button('Copy CSV', 'Copies the rows that are shown', () => copyText(this.csv(), this.copy));
    this.bar = make('div', {className: 'bar-of-tools'}, [this.filter, this.count, this.copy]);
    this.heads = this.columns.map(
        (column, i) => make(
            'button', {
              type: 'button',
              className: column.isNumber ? 'number' : '',
              role: 'columnheader',
              title: column.help || 'Sorts by this column',
              onclick: () => this.sortBy(i),
            },
            column.title));
    this.head = make('div', {className: 'grid-head', role: 'row'}, this.heads);
    this.body = make('div', {className: 'grid-body', role: 'rowgroup', id: 'rows-of-' + ++Grid.count});
    this.scroller = make(
        'div', {
          className: 'grid',
          tabIndex: 0,
          role: 'grid',
          'aria-label': name,
        },
        [this.head, this.body]);
    const widths =
        this.columns.map(({width, grows}) => (grows ? `minmax(${width}px, ${grows}fr)` : width + 'px'));
    this.scroller.style.setProperty('--columns', widths.join(' '));
    this.element = make('div', {className: 'table'}, [this.bar, this.scroller]);
  }

  listen() {
    this.scroller.addEventListener('scroll', () => this.paint(), {passive: true});
    new ResizeObserver(() => this.paint()).observe(this.scroller);
    this.filter.addEventListener('input', () => {
      this.words = this.filter.value.toLowerCase();
      this.refresh();
    });
    const page = () => Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
    onKeys(this.scroller, [
      ['ArrowDown', '', () => this.walk(1)],
      ['ArrowUp', '', () => this.walk(-1)],
      ['PageDown', '', () => this.walk(page())],
      ['PageUp', '', () => this.walk(-page())],
      ['Home', '', () => this.walk(-this.rows.length)],
      ['End', '', () => this.walk(this.rows.length)],
      ['Enter', '', () => this.current >= 0 && this.activate(this.rows[this.current])],
    ]);
    const rowOf = (event) => {
      const row = event.target.closest('.grid-row');
      return row ? Number(row.dataset.at) : -1;
    };
    this.body.addEventListener('click', (event) => this.go(rowOf(event), false));
    this.body.addEventListener('dblclick', (event) => {
      const at = rowOf(event);
      if (at >= 0) this.activate(this.rows[at]);
    });
  }

  setRows(rows) {
    this.all = rows;
    this.refresh();
  }

  matches(row) {
    return this.columns.some((column) => String(column.text(row)).toLowerCase().includes(this.words));
  }

  /** Sorts and filters again. The current row stays current. */
  refresh() {
    ++this.filling;
    const was = this.rows[this.current];
    this.rows = this.words ? this.all.filter((row) => this.matches(row)) : this.all.slice();
    const column = this.columns[this.sortedBy];
    if (column) {
      const sign = this.down ? -1 : 1;
      const key = column.value || column.text;
      const keyed = this.rows.map((row) => [key(row), row]);
      keyed.sort(([a], [b]) => (a < b ? -sign : a > b ? sign : 0));
      this.rows = keyed.map(([, row]) => row);
    }
    this.current = was === undefined ? -1 : this.rows.indexOf(was);
    this.body.style.height = this.rows.length * ROW_HEIGHT + 'px';
    this.scroller.setAttribute('aria-rowcount', String(this.rows.length + 1));
    const words = this.rows.length.toLocaleString('en');
    this.count.textContent =
        this.words ? `${words} of ${this.all.length.toLocaleString('en')}` : words + ' rows';
    this.heads.forEach(
        (head, i) => head.setAttribute(
            'aria-sort',
            i !== this.sortedBy ? 'none' :
                this.down       ? 'descending' :
                                  'ascending'));
    this.paint();
  }

  sortBy(column) {
    if (this.sortedBy === column)
      this.down = !this.down;
    else
      [this.sortedBy, this.down] = [column, Boolean(this.columns[column].isNumber)];
    this.refresh();
  }

  walk(steps) {
    if (this.rows.length === 0) return;
    this.go(Math.min(this.rows.length - 1, Math.max(0, this.current + steps)), true);
  }

  go(at, scroll) {
    if (at < 0 || at >= this.rows.length) return;
    this.current = at;
    if (scroll) this.scrollTo(at);
    this.paint();
    this.choose(this.rows[at]);
  }

  /** Marks and shows the row for which `isIt(row)` is true, without calling `choose`. */
  follow(isIt) {
    const at = this.rows.findIndex(isIt);
    if (at === this.current) return;
    this.current = at;
    if (at >= 0) this.scrollTo(at);
    this.paint();
  }

  scrollTo(at) {
    const top = at * ROW_HEIGHT, room = this.scroller.clientHeight - this.head.offsetHeight;
    const {scrollTop} = this.scroller;
    if (top < scrollTop)
      this.scroller.scrollTop = top;
    else if (top + ROW_HEIGHT > scrollTop + room)
      this.scroller.scrollTop = top + ROW_HEIGHT - room;
  }

  /**
   * Fills the elements of the visible rows. A row keeps its element while it is visible. Rows that come into
   * view take the elements of rows that went out of view.
   */
  paint() {
    if (this.scroller.clientHeight === 0) return;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - 2);
    const room = Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 5;
    const end = Math.min(this.rows.length, first + room);
    while (this.pool.length < room) this.pool.push(this.makeRow());
    const used = new Set();
    for (let at = first; at < end; ++at) {
      const place = at % this.pool.length;
      used.add(place);
      this.fillRow(this.pool[place], at);
    }
    this.pool.forEach(({element}, i) => (element.hidden = !used.has(i)));
  }

  makeRow() {
    const cells = this.columns.map(
        (column) => make('span', {className: column.isNumber ? 'number' : '', role: 'gridcell'}));
    const element = make('div', {className: 'grid-row', role: 'row'}, cells);
    element.id = `${this.body.id}-${this.pool.length}`;
    this.body.append(element);
    return {element, cells, at: -1, filling: -1};
  }

  fillRow(place, at) {
    const {element, cells} = place;
    const current = String(at === this.current);
    if (element.getAttribute('aria-selected') !== current)
      element.setAttribute('aria-selected', current);
    if (at === this.current) this.scroller.setAttribute('aria-activedescendant', element.id);
    if (place.at === at && place.filling === this.filling) return;
    place.at = at;
    place.filling = this.filling;
    const row = this.rows[at];
    element.style.transform = `translateY(${at * ROW_HEIGHT}px)`;
    element.dataset.at = at;
    element.setAttribute('aria-rowindex', String(at + 2));
    this.columns.forEach((column, i) => {
      const text = String(column.text(row));
      if (cells[i].textContent !== text) cells[i].title = cells[i].textContent = text;
    });
  }

  csv() {
    const value = ({value, text}, row) => (value ? value(row) : text(row));
    return csvText([
      this.columns.map((column) => column.csvTitle || column.title),
      ...this.rows.map((row) => this.columns.map((column) => value(column, row)))
    ]);
  }
}
