// Puts the page together. The part that can be read without a script becomes the first tab.

function makeHeader(page, chosen, tabs, help, onPaper) {
  const title = document.querySelector('h1');
  title.remove();
  const parts = [title, tabs.bar];
  if (page.plans.length > 0) {
    const pick =
        make('select', {id: 'plan', onchange: () => chosen.show(page.plans[pick.selectedIndex])});
    const take = () => {
      addPlansTo(pick, page.plans);
      pick.selectedIndex = chosen.plan.index;
    };
    chosen.onChange(take);
    take();
    parts.push(make('label', { for: 'plan', className: 'plan'
    }, ['Plan', pick]));
  }
  const toggle = paperButton(onPaper);
  parts.push(
      make('span', {className: 'ends'}, [toggle, button('?', 'All keys (?)', () => help.open())]));
  return {header: make('header', {}, parts), toggle};
}

function addViews(page, chosen, tabs, help) {
  const views = {};
  const summary = document.getElementById('summary');
  const panel = make('div', {className: 'reading', tabIndex: 0}, [summary]);
  tabs.add('summary', 'Summary', panel);
  const add = (id, title, view) => {
    views[id] = view;
    tabs.add(id, title, view.element);
    if (view.keys) help.add(title, view.keys);
  };
  if (page.blocks)
    add('blocks', 'Blocks', new BlocksView(page, chosen));
  else if (page.missingBlocks)
    tabs.add(
        'blocks', 'Blocks',
        make(
            'div', {className: 'reading'},
            make('p', {}, 'The blocks could not be laid out: ' + page.missingBlocks)));
  const reveal = (op) => {
    if (!views.blocks) return;
    tabs.show('blocks');
    views.blocks.reveal(op);
  };
  if (page.graph) add('memory', 'Memory', new MemoryView(page, chosen));
  if (page.curves.length > 0 || page.plans.length > 0)
    add('tradeoff', 'Trade-off', new TradeoffView(page, chosen));
  if (page.plans.length > 1 || page.served) add('compare', 'Compare', new CompareView(page, chosen));
  if (page.graph) add('tables', 'Tables', new TablesView(page, chosen, reveal));
  return views;
}

/** Handles the keys that work everywhere except in text fields. */
function listenToPage(tabs, help, toggle) {
  const keys = [
    ['?', 'shows this list', () => help.open()],
    [
      tabs.all.map((_, i) => i + 1).join(' '), 'goes to a tab',
      (event) => tabs.show(tabs.all[event.key - 1].id)
    ],
    ['l L', 'light or dark', () => toggle.click()],
  ];
  help.add('Everywhere', [
    ...keys, ['Tab Shift+Tab', 'goes to the next or the previous part'], ['Escape', 'closes this list']
  ]);
  help.add('Tables', [
    ['ArrowUp ArrowDown PageUp PageDown Home End', 'goes from row to row'],
    ['Enter', 'shows the row elsewhere: a plan, an operation among the blocks']
  ]);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches('input, select, textarea') || help.dialog.open) return;
    const found = keys.find(([names]) => names.split(' ').includes(event.key));
    if (!found) return;
    event.preventDefault();
    found[2](event);
  });
}

function start() {
  const page = readPage();
  const chosen = new Chosen(page.plans);
  const help = makeHelp();
  const tabs = new Tabs('Views');
  const pictures = [];
  const {header, toggle} =
      makeHeader(page, chosen, tabs, help, () => pictures.forEach((one) => one.repaint()));
  document.body.classList.add('alive');
  document.body.prepend(header, tabs.panels);
  const views = addViews(page, chosen, tabs, help);
  for (const view of Object.values(views)) {
    if (view.picture) pictures.push(view.picture);
    if (view.showLegend) pictures.push({repaint: () => view.showLegend()});
  }
  document.body.append(help.dialog);
  listenToPage(tabs, help, toggle);
  tabs.show('summary');
  // Tests use this object.
  window.rematlas = Object.freeze({page, chosen, tabs, views});
  return {page, chosen, header, help};
}
