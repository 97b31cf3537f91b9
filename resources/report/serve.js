// Connects the page of a report with its server: plans are added, and a panel asks for more plans.

/** Adds plans and bounds from the server's message. Returns whether anything is new. */
function takePlans(page, told) {
  let isNew = false;
  for (const packed of told.plans) {
    if (packed.index !== page.plans.length) continue;
    page.plans.push(new PlanData(packed, packed.index, page.graph));
    isNew = true;
  }
  told.bounds.forEach((bound, index) => {
    const plan = page.plans[index];
    if (!plan || bound === null || plan.bound >= bound) return;
    plan.bound = Math.min(bound, plan.overhead);
    isNew = true;
  });
  return isNew;
}

/** Adds the server's sweeps to the sweeps of the page's own files. */
class ServedSweeps {
  constructor(page) {
    this.page = page;
    this.own = {curves: page.curves, bounds: page.bounds};
  }

  /** Takes the server's sweeps; null if none has changed. Returns whether there are new ones. */
  take(sweeps) {
    if (sweeps === null) return false;
    for (const part of ['curves', 'bounds'])
      this.page[part] = [...this.own[part], ...sweeps.flatMap((sweep) => sweep[part])];
    return true;
  }
}

function serve({page, chosen, header, help}) {
  const link = new ServerLink();
  const panel = new SolvePanel(page, chosen, link);
  const sweeps = new ServedSweeps(page);
  header.after(panel.element);
  document.body.classList.add('served');
  const toggle =
      button('Panel', 'Shows or hides the panel to solve in (S)', () => open(panel.element.hidden));
  toggle.setAttribute('aria-controls', panel.element.id);
  const open = (isOpen) => {
    panel.element.hidden = !isOpen;
    toggle.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) panel.budget.focus();
  };
  toggle.setAttribute('aria-expanded', 'true');
  header.querySelector('.ends').prepend(toggle);
  help.add('Solve', [['s S', 'goes to the budget'], ['Enter', 'solves for the budget, in its field']]);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.dialog.open) return;
    if (event.target.matches('input, select, textarea') || event.key.toLowerCase() !== 's') return;
    event.preventDefault();
    open(true);
  });
  link.follow((told) => {
    const hasPlans = takePlans(page, told), hasSweeps = sweeps.take(told.sweeps);
    if (hasPlans || hasSweeps) chosen.tellOfPlans();
    if (chosen.other === chosen.plan && page.plans.length > 1)
      chosen.set({other: page.plans.find((plan) => plan !== chosen.plan)});
    panel.take(told);
  }, (words) => panel.tellTrouble(words));
}
