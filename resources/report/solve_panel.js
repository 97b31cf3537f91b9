// The panel that starts solvers on the server: budget, options, and the progress of the jobs.

const OFFLOADS = [
  ['none', 'nothing to the host'], ['activations', 'activations to the host'],
  ['weights', 'weights to the host'], ['all', 'all to the host']
];
const UNITS = [
  ['%', '% of the peak', (value, peak) => (value / 100) * peak],
  ['MiB', 'MiB', (value) => value * 2 ** 20], ['GiB', 'GiB', (value) => value * 2 ** 30]
];
const ENDED_SHOWN = 2;  // the number of ended jobs in the list

const isActive = (job) => job.phase === 'waiting' || job.phase === 'running';

/**
 * Returns a text such as "197 MiB by atlas: 3 s of 20 s; best so far +6.55 % time at 196 MiB, no plan takes
 * less than +6.01 %".
 */
function jobWords(job, seconds, plans) {
  const {asked, phase, best} = job;
  if (phase === 'waiting') return `${asked}: waits until a processor is free.`;
  if (phase === 'running') {
    const time = `${Math.floor(seconds)} s of ${Math.round(job.limit_seconds)} s`;
    const found =
        best ? `; best so far ${overheadText(best.overhead)} time at ${bytesText(best.peak)}` : '';
    const bound = best && best.bound ? `, no plan takes less than ${overheadText(best.bound)}` : '';
    return `${asked}: ${time}${found}${bound}.`;
  }
  const plan = job.plan === null ? null : plans[job.plan];
  const how = {cancelled: 'cancelled', failed: 'failed', 'no schedule': 'no plan'}[phase] || 'done';
  return `${asked}: ${how} after ${seconds.toFixed(1)} s. ` + (plan ? `Plan ${plan.letter}. ` : '') +
      plainName(job.words);
}

class SolvePanel {
  constructor(page, chosen, link) {
    this.page = page;
    this.chosen = chosen;
    this.link = link;
    this.solvers = [];
    this.jobs = [];
    this.rows = new Map();  // by the id of the job
    this.mine = new Set();  // jobs that this page has started; their plans are shown on arrival
    this.wanted = -1;       // the index of the plan to show as soon as the page has it
    this.makeElements();
    this.fields.addEventListener('submit', (event) => {
      event.preventDefault();
      this.solve();
    });
    setInterval(() => this.jobs.some(isActive) && this.showJobs(), 1000);
    this.showBudget();
  }

  makeElements() {
    const pick = (id, title, choices, onchange) => make(
        'select', {id, title, onchange}, choices.map(([value, name]) => make('option', {value}, name)));
    const labelled = (text, element, ...more) =>
        make('label', {className: 'field'}, [text + ' ', element, ...more]);
    this.budget = make('input', {
      id: 'budget',
      type: 'text',
      inputMode: 'decimal',
      value: '60',
      autocomplete: 'off',
      title: 'What the step may take of memory',
      'aria-describedby': 'budget-bytes',
      oninput: () => this.showBudget(),
    });
    this.unit = pick('budget-unit', 'Unit of the budget', UNITS, () => this.showBudget());
    this.unit.setAttribute('aria-label', 'Unit of the budget');
    this.bytes = make('span', {className: 'quiet', id: 'budget-bytes'});
    this.solver = pick('solver', 'How plans are looked for', [], () => this.allowOffloads());
    this.offload = pick('offload', 'What may be copied to the memory of the host', OFFLOADS, undefined);
    this.time = make('input', {
      id: 'time-limit',
      type: 'text',
      inputMode: 'decimal',
      value: '20',
      autocomplete: 'off',
      title: 'How many seconds a job may take'
    });
    this.submit = make(
        'button',
        {type: 'submit', id: 'solve', className: 'main', title: 'Looks for a plan within the budget'},
        'Solve');
    this.sweepButton = button(
        'Sweep', 'Looks for plans at eight budgets, for the trade-off between memory and time',
        () => this.sweep());
    this.sweepButton.id = 'sweep';
    this.save = button(
        'Download', 'Saves the shown plan as a schedule file, for rematlas check, export and run',
        () => this.download());
    this.save.id = 'download';
    this.fields = make('form', {className: 'bar-of-tools'}, [
      labelled('Budget', this.budget), this.unit, this.bytes, labelled('Solver', this.solver),
      labelled('Copies', this.offload), labelled('Seconds', this.time), this.submit, this.sweepButton,
      this.save
    ]);
    this.message = make('p', {className: 'message trouble', role: 'status'});
    this.news = make('p', {className: 'unseen', 'aria-live': 'polite'});  // for screen readers
    this.trouble = make('p', {className: 'message trouble', role: 'alert', hidden: true});
    this.list = make('ul', {className: 'jobs', 'aria-label': 'Jobs'});
    this.element = make(
        'section', {className: 'solve', id: 'solve-panel', 'aria-label': 'Solve'},
        [this.fields, this.trouble, this.message, this.list, this.news]);
  }

  /** The budget in the server's form, and in bytes; null if the field has no valid budget. */
  get asked() {
    const value = Number(this.budget.value.trim().replace(',', '.'));
    const [unit, , bytesOf] = UNITS[this.unit.selectedIndex];
    if (!this.budget.value.trim() || !(value > 0)) return null;
    return {text: value + unit, bytes: bytesOf(value, this.peak)};
  }

  get peak() {
    return this.page.plans[this.page.plain].peak;
  }

  showBudget() {
    const {asked} = this;
    this.budget.setAttribute('aria-invalid', String(!asked));
    this.bytes.textContent =
        asked ? `${bytesText(Math.floor(asked.bytes))} of ${bytesText(this.peak)}` : 'a number above 0';
  }

  /** Disables the choices of copies that the chosen solver does not support. */
  allowOffloads() {
    const solver = this.solvers[this.solver.selectedIndex];
    const most = solver ? solver.offload : 'none';
    for (const option of this.offload.options)
      option.disabled = !(option.value === 'none' || option.value === most || most === 'all');
    if (this.offload.selectedOptions[0].disabled) this.offload.value = 'none';
  }

  // Requests.

  /** Returns the fields that both requests have. If a field is wrong, says so and returns null. */
  common() {
    const seconds = Number(this.time.value.trim().replace(',', '.'));
    if (!(seconds > 0)) {
      this.say('Seconds: give a number above 0, such as 20.');
      this.time.focus();
      return null;
    }
    return {time_limit: seconds, offload: this.offload.value};
  }

  async solve() {
    const {asked} = this, common = this.common();
    if (!common) return;
    if (!asked) {
      this.say('Budget: give a number above 0, such as 60 % of the peak.');
      this.budget.focus();
      return;
    }
    await this.start('solve', {budget: asked.text, solver: this.solver.value, ...common});
  }

  async sweep() {
    const common = this.common();
    if (common) await this.start('sweep', {solvers: [this.solver.value], ...common});
  }

  async start(path, question) {
    this.say('');
    try {
      this.mine.add((await this.link.ask(path, question)).job);
      this.showEnded();  // a short job may have ended before its id arrived
    } catch (error) {
      this.say(error.message);
    }
  }

  async cancel(job) {
    try {
      await this.link.ask('cancel', {job});
    } catch (error) {
      this.say(error.message);
    }
  }

  async download() {
    const {plan} = this.chosen;
    try {
      const file = await (await this.link.request('schedule?plan=' + plan.index)).blob();
      const name = this.page.name.replace(/[^\w.-]+/g, '_') || 'step';
      const anchor =
          make('a', {href: URL.createObjectURL(file), download: `${name}-${plan.letter}.schedule.json`});
      anchor.click();
      later(1000).then(() => URL.revokeObjectURL(anchor.href));
    } catch (error) {
      this.say(error.message);
    }
  }

  // Messages.

  /** Shows what is wrong with the last request, and what to do about it. */
  say(words) {
    this.message.textContent = plainName(words);
  }

  tellTrouble(words) {
    this.trouble.hidden = !words;
    if (this.trouble.textContent !== words) this.trouble.textContent = words;
  }

  take({about, jobs}) {
    if (this.solvers.length === 0) {
      this.solvers = about.solvers;
      this.solver.append(...about.solvers.map(({name}) => make('option', {value: name}, name)));
      this.solver.value = 'atlas';
      this.allowOffloads();
    }
    const now = performance.now();
    this.jobs = jobs.map((job) => ({...job, since: now - job.seconds * 1000}));
    this.showEnded();
    this.showJobs();
  }

  /** Announces the jobs of this page that have ended, and shows the plan of the last of them. */
  showEnded() {
    for (const job of this.jobs) {
      if (isActive(job) || !this.mine.delete(job.id)) continue;
      this.news.textContent = jobWords(job, job.seconds, this.page.plans);
      if (job.plan !== null) this.wanted = job.plan;
    }
    const plan = this.page.plans[this.wanted];
    if (!plan) return;
    this.wanted = -1;
    this.chosen.show(plan);
  }

  /** Lists the active jobs and the last ended jobs, the newest first. */
  showJobs() {
    const ended = this.jobs.filter((job) => !isActive(job)).slice(-ENDED_SHOWN);
    const shown = this.jobs.filter((job) => isActive(job) || ended.includes(job)).reverse();
    for (const [id, {row}] of this.rows) {
      if (shown.some((job) => job.id === id)) continue;
      row.remove();
      this.rows.delete(id);
    }
    for (const job of shown.slice().reverse()) this.showJob(job);
  }

  showJob(job) {
    if (!this.rows.has(job.id)) {
      const words = make('span', {});
      const cancel =
          button('Cancel', `Ends ${job.asked}; the best so far is kept`, () => this.cancel(job.id));
      cancel.className = 'cancel';
      const row = make('li', {}, [words, cancel]);
      this.rows.set(job.id, {row, words, cancel});
      this.list.prepend(row);
    }
    const {row, words, cancel} = this.rows.get(job.id);
    const seconds = isActive(job) ? (performance.now() - job.since) / 1000 : job.seconds;
    const text = jobWords(job, seconds, this.page.plans);
    if (words.textContent !== text) words.textContent = text;
    row.dataset.phase = job.phase;
    cancel.hidden = !isActive(job);
  }
}
