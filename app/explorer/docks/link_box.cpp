#include "app/explorer/docks/link_box.h"

#include <QGridLayout>
#include <QSignalBlocker>

#include "app/explorer/loaded/over_link.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"
#include "core/costs/builtin_profiles.h"
#include "core/costs/link_profile.h"
#include "core/planning/known_answers.h"
#include "core/planning/registry.h"

namespace rematlas::explorer {
namespace {

QString cost_text(const OverLink& over) {
    if (over.waits.value <= 0) return LinkBox::tr("%1 time, no wait").arg(overhead_text(over.overhead));
    return LinkBox::tr("%1 time, waits %2").arg(overhead_text(over.overhead), time_text(over.waits));
}

}  // namespace

LinkBox::LinkBox(Session& session)
    : session_(session),
      link_(new QComboBox),
      told_(theme::quiet_label({}, true)),
      solve_(new QPushButton(tr("Solve for this link"))) {
    link_->setObjectName("what_if_link");
    link_->setAccessibleName(tr("The plan over"));
    link_->setToolTip(tr("What the steps of this plan would cost over another link, without solving again"));
    told_->setObjectName("what_if_told");
    solve_->setObjectName("what_if_solve");
    solve_->setToolTip(tr("A plan for the same budget that is made for this link"));
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, theme::gap, 0, 0);
    grid->setVerticalSpacing(6);
    grid->addWidget(new QLabel(tr("The plan over")), 0, 0);
    grid->addWidget(link_, 1, 0);
    grid->addWidget(told_, 2, 0);
    grid->addWidget(solve_, 3, 0);
    connect(link_, qOverload<int>(&QComboBox::activated), this, &LinkBox::judge);
    connect(solve_, &QPushButton::clicked, this, &LinkBox::solve);
    connect(&session_, &Session::schedule_changed, this, &LinkBox::show_plan);
    connect(&session_.solver, &SolveController::started, this, &LinkBox::judge);
    connect(&session_.solver, &SolveController::finished, this, &LinkBox::judge);
    show_plan();
}

/// Shows the times of the shown plan over the chosen link. If another plan is shown, the chosen link stays,
/// so that several plans can be compared over one link.
void LinkBox::show_plan() {
    const SchedulePtr& schedule = session_.schedule();
    const Copies copies =
        schedule && schedule->ok() ? copies_of(schedule->graph->graph, schedule->schedule) : Copies{};
    setVisible(copies.what != Offload::none);
    if (copies.what == Offload::none) return;
    const QString asked = link_->currentData().toString();
    const QSignalBlocker quiet(link_);
    link_->clear();
    link_->addItem(tr("its own link, %1").arg(text(link_name(copies.links))), QString());
    for (const auto& names : {names_of(builtin_links()), names_of(builtin_profiles())})
        for (const std::string& name : names)
            if (links_named(name)) link_->addItem(text(name), text(name));
    link_->setCurrentIndex(std::max(0, link_->findData(asked)));
    judge();
}

void LinkBox::judge() {
    const SchedulePtr& schedule = session_.schedule();
    if (isHidden() || !schedule) return;
    const Result<Links> links = links_named(link_->currentData().toString().toStdString());
    const bool other = link_->currentIndex() > 0 && links;
    told_->setVisible(other);
    solve_->setVisible(other);
    solve_->setEnabled(!session_.solver.running());
    if (!other) return;
    const QString own = cost_text(over_own_link(*schedule)), name = text(link_name(*links));
    const Result<OverLink> over = over_link(*schedule, *links);
    told_->setText(
        over ? tr("Over %1 the same steps cost %2. Over its own link: %3.").arg(name, cost_text(*over), own)
             : tr("Over %1 these steps are not possible: %2.").arg(name, text(over.error().message)));
}

void LinkBox::solve() {
    const SchedulePtr& schedule = session_.schedule();
    const Result<Links> links = links_named(link_->currentData().toString().toStdString());
    if (!schedule || !links) return;
    const Schedule& plan = schedule->schedule;
    Copies copies = copies_of(schedule->graph->graph, plan);
    copies.links = *links;
    const SolverEntry* chosen = find_solver(session_.solve_settings().solver);
    const bool plans = chosen && is_within(copies.what, chosen->traits.copies);
    session_.solve({.solver = plans ? session_.solve_settings().solver : plan.solver,
                    .budget = plan.budget.value > 0 ? plan.budget : plan.peak,
                    .limits = {.time = session_.solve_settings().time},
                    .copies = copies});
}

}  // namespace rematlas::explorer
