// The frame of the page: elements, tabs, the chosen plan and selection, light and dark, keys and their help.

/** Makes an element. Properties with a dash in their names are attributes. `inside`: elements or text. */
function make(tag, properties = {}, inside = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name.startsWith('on'))
      element.addEventListener(name.slice(2), value);
    else if (name.includes('-') || name === 'role' || name === 'for')
      element.setAttribute(name, value);
    else
      element[name] = value;
  }
  element.append(...[inside].flat());
  return element;
}

function button(text, title, onclick) {
  return make('button', {type: 'button', title, onclick}, text);
}

/** The state that all views follow: the shown plan, the other plan, the step at the cursor, the selection. */
class Chosen {
  constructor(plans) {
    this.plans = plans;
    this.plan = plans[0] || null;
    this.other = plans[1] || plans[0] || null;
    this.step = this.plan ? this.plan.peakStep : -1;
    this.selection = null;  // {op}, {tensor}, {unit, frame}, or {edge: its tensors}
    this.followers = [];
  }

  /** Makes each change call `follow(changed)`. `changed`: the names of the changed properties. */
  onChange(follow) {
    this.followers.push(follow);
  }

  set(changes) {
    const changed = new Set();
    for (const [name, value] of Object.entries(changes)) {
      if (this[name] === value) continue;
      this[name] = value;
      changed.add(name);
    }
    if (changed.size > 0)
      for (const follow of this.followers) follow(changed);
  }

  /** Shows a plan, and moves the cursor to the plan's peak. */
  show(plan) {
    if (plan) this.set({plan, step: plan.peakStep});
  }

  /** Called when plans were added, or when facts about plans changed. */
  tellOfPlans() {
    for (const follow of this.followers) follow(new Set(['plans']));
  }

  /** The selected op; -1 if no op is selected. */
  get op() {
    return this.selection && this.selection.op !== undefined ? this.selection.op : -1;
  }

  get tensor() {
    return this.selection && this.selection.tensor !== undefined ? this.selection.tensor : -1;
  }
}

/** Adds an option for each plan that the list lacks. */
function addPlansTo(list, plans) {
  const missing = plans.slice(list.options.length);
  list.append(...missing.map((plan) => make('option', {title: plainName(plan.name)}, plan.title)));
}

/** Panels, one of which is visible. Arrow keys go from tab to tab. */
class Tabs {
  constructor(name, onShow) {
    this.bar = make('div', {className: 'tabs', role: 'tablist', 'aria-label': name});
    this.panels = make('div', {className: 'panels'});
    this.all = [];
    this.onShow = onShow;
    this.bar.addEventListener('keydown', (event) => this.walk(event));
  }

  add(id, title, panel) {
    const tab = make(
        'button', {
          type: 'button',
          id: 'tab-' + id,
          role: 'tab',
          'aria-controls': 'panel-' + id,
          onclick: () => this.show(id),
        },
        title);
    panel.id = 'panel-' + id;
    panel.classList.add('panel');
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', tab.id);
    this.bar.append(tab);
    this.panels.append(panel);
    this.all.push({id, title, tab, panel});
  }

  show(id) {
    if (!this.all.some((one) => one.id === id)) return;
    this.shown = id;
    for (const one of this.all) {
      const now = one.id === id;
      one.tab.setAttribute('aria-selected', String(now));
      one.tab.tabIndex = now ? 0 : -1;
      one.panel.hidden = !now;
    }
    if (this.onShow) this.onShow(id);
  }

  walk(event) {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    const at = this.all.findIndex((one) => one.id === this.shown);
    const next = this.all[(at + step + this.all.length) % this.all.length];
    this.show(next.id);
    next.tab.focus();
  }
}

/** Handles keys of an element. `keys`: [keys with blanks between them, description, function]. */
function onKeys(element, keys) {
  element.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const name = event.key === ' ' ? 'Space' : event.key === '=' ? '+' : event.key;
    const found = keys.find(([names]) => names.split(' ').includes(name));
    if (!found) return;
    event.preventDefault();
    event.stopPropagation();
    found[2](event);
  });
}

const ARROWS = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→'
};

/** Returns the names of keys for readers. A letter that occurs in both cases is named once. */
function keyNames(names) {
  const all = names.split(' ').filter(
      (name, _, list) =>
          name.length > 1 || name === name.toUpperCase() || !list.includes(name.toUpperCase()));
  return all.map((name) => ARROWS[name] || name).join('  ');
}

/** Makes the dialog with the keys of all views. */
function makeHelp() {
  const lists = make('div', {className: 'keys'});
  const close = button('Close', 'Closes this list (Esc)', () => dialog.close());
  const dialog = make('dialog', {'aria-label': 'Keys'}, [make('h2', {}, 'Keys'), lists, close]);
  const add = (title, keys) => {
    const rows = keys.map(
        ([names, what]) =>
            make('div', {}, [make('dt', {}, make('kbd', {}, keyNames(names))), make('dd', {}, what)]));
    lists.append(make('section', {}, [make('h3', {}, title), make('dl', {}, rows)]));
  };
  return {dialog, add, open: () => dialog.open || dialog.showModal()};
}

/** Makes the button for light and dark. Until the reader chooses, the system's setting is used. */
function paperButton(onChange) {
  const root = document.documentElement;
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (root.dataset.paper || (system.matches ? 'dark' : 'light')) === 'dark';
  const toggle = button('', 'Light or dark (L)', () => change(isDark() ? 'light' : 'dark'));
  const follow = () => {
    paper.colours.clear();
    toggle.textContent = isDark() ? 'Light' : 'Dark';
    onChange();
  };
  const change = (name) => {
    root.dataset.paper = name;
    follow();
  };
  system.addEventListener('change', follow);
  toggle.textContent = isDark() ? 'Light' : 'Dark';
  return toggle;
}

/** Copies a text to the clipboard, and says so on the button `of` for a moment. */
async function copyText(text, of) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make('textarea', {value: text, className: 'unseen'});
    document.body.append(area);
    area.select();
    done = document.execCommand('copy');
    area.remove();
  }
  const before = of.textContent;
  of.textContent = done ? 'Copied' : 'The browser refused';
  setTimeout(() => (of.textContent = before), 1500);
}
