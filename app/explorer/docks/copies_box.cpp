#include "app/explorer/docks/copies_box.h"

#include <QGridLayout>
#include <QSignalBlocker>

#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"
#include "core/costs/builtin_profiles.h"
#include "core/costs/link_profile.h"
#include "core/planning/known_answers.h"
#include "core/planning/registry.h"

namespace rematlas::explorer {
namespace {

constexpr char as_in_plan[] = "\n";  ///< in place of a link's name: the links of the opened plan

QString rate_text(double bytes_per_second) {
    return CopiesBox::tr("%1 GB/s").arg(bytes_per_second / 1e9, 0, 'g', 3);
}

QString links_text(const Links& links) {
    QString text = links.to_host_bytes_per_second == links.to_device_bytes_per_second
                       ? CopiesBox::tr("%1 each way").arg(rate_text(links.to_host_bytes_per_second))
                       : CopiesBox::tr("%1 to the host, %2 back")
                             .arg(rate_text(links.to_host_bytes_per_second),
                                  rate_text(links.to_device_bytes_per_second));
    if (links.to_host_contended_bytes_per_second > 0 || links.to_device_contended_bytes_per_second > 0)
        text += CopiesBox::tr("; less while both move");
    return text;
}

}  // namespace

CopiesBox::CopiesBox(Session& session)
    : session_(session), what_(new QComboBox), link_(new QComboBox), remark_(theme::quiet_label({}, true)) {
    what_->setObjectName("copies");
    what_->setAccessibleName(tr("Copies to the host"));
    what_->addItem(tr("none"), static_cast<int>(Offload::none));
    what_->addItem(tr("activations"), static_cast<int>(Offload::activations));
    what_->addItem(tr("weights"), static_cast<int>(Offload::weights));
    what_->addItem(tr("all"), static_cast<int>(Offload::all));
    what_->setToolTip(
        tr("What may leave the device for the host's memory and come back, beside recomputation.\n"
           "Weights are parameters, gradients and what the optimizer keeps"));
    link_->setObjectName("link");
    link_->setAccessibleName(tr("Link"));
    link_->setToolTip(tr("Between device and host: that of the graph's device, or of another one"));
    remark_->setObjectName("link_remark");
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, theme::gap, 0, 0);
    grid->setVerticalSpacing(6);
    grid->addWidget(new QLabel(tr("Copies to the host")), 0, 0);
    grid->addWidget(new QLabel(tr("Link")), 0, 1);
    grid->addWidget(what_, 1, 0);
    grid->addWidget(link_, 1, 1);
    grid->addWidget(remark_, 2, 0, 1, 2);
    grid->setColumnStretch(0, 1);
    grid->setColumnStretch(1, 1);
    connect(what_, qOverload<int>(&QComboBox::activated), this, [this] {
        host_budget_.reset();
        choose();
    });
    connect(link_, qOverload<int>(&QComboBox::activated), this, [this] {
        picked_ = link_->currentData().toString();
        choose();
    });
    connect(&session_, &Session::graph_changed, this, &CopiesBox::fill_links);
    connect(&session_, &Session::opened, this, &CopiesBox::follow_opened);
    connect(&session_, &Session::plan_chosen, this, &CopiesBox::follow_shown);
    fill_links();
}

void CopiesBox::fill_links() {
    const QSignalBlocker quiet(link_);
    host_budget_.reset();
    link_->clear();
    if (session_.graph() && session_.graph()->graph.device &&
        session_.graph()->graph.device->links.both_ways())
        link_->addItem(tr("as captured"), QString());
    for (const auto& names : {names_of(builtin_profiles()), names_of(builtin_links())})
        for (const std::string& name : names)
            if (links_named(name)) link_->addItem(text(name), text(name));
    link_->setCurrentIndex(picked_.isEmpty() ? 0 : std::max(0, link_->findData(picked_)));
    choose();
}

void CopiesBox::follow_opened(const QString& path) {
    const SchedulePtr& schedule = session_.schedule();
    if (schedule && text(schedule->path.string()) == path) follow_shown();
}

void CopiesBox::follow_shown() {
    const SchedulePtr& schedule = session_.schedule();
    if (!schedule || !schedule->ok()) return;
    const Copies copies = copies_of(schedule->graph->graph, schedule->schedule);
    const int what = what_->findData(static_cast<int>(copies.what));
    // A plan without copies does not tell which copies its solver was allowed to make.
    if (copies.what == Offload::none || what < 0 || !what_->isEnabled()) return;
    what_->setCurrentIndex(what);
    link_->setCurrentIndex(row_of(copies.links));
    host_budget_ = copies.host_budget;
    choose();
}

int CopiesBox::row_of(const Links& links) {
    if (const int before = link_->findData(QString(as_in_plan)); before >= 0) link_->removeItem(before);
    const std::optional<Device>& device = session_.graph()->graph.device;
    for (int row = 0; row < link_->count(); ++row) {
        const QString name = link_->itemData(row).toString();
        if (name.isEmpty() && device && device->links == links) return row;
        const Result<Links> known = name.isEmpty() ? Links() : links_named(name.toStdString());
        if (!name.isEmpty() && known && *known == links) return row;
    }
    plan_links_ = links;
    link_->addItem(tr("as in the plan"), QString(as_in_plan));
    return link_->count() - 1;
}

void CopiesBox::follow_solver() {
    const SolverEntry* solver = find_solver(session_.solve_settings().solver);
    for (int row = 0; row < what_->count(); ++row) {
        const auto what = static_cast<Offload>(what_->itemData(row).toInt());
        if (solver && is_within(what, solver->traits.copies)) continue;
        if (what_->currentIndex() == row) what_->setCurrentIndex(0);
    }
    what_->setEnabled(solver && solver->traits.copies != Offload::none);
    choose();
}

void CopiesBox::choose() {
    const QString name = link_->currentData().toString();
    Result<Links> links = name.isEmpty() ? Links() : links_named(name.toStdString());
    if (name == as_in_plan) links = plan_links_;
    SolveSettings settings = session_.solve_settings();
    settings.copies = {.what = static_cast<Offload>(what_->currentData().toInt()),
                       .links = links ? *links : Links(),
                       .host_budget = host_budget_};
    session_.set_solve_settings(settings);
    show_link();
}

void CopiesBox::show_link() {
    const Copies& copies = session_.solve_settings().copies;
    const bool copying = copies.what != Offload::none;
    const Links links = session_.links();
    QString remark = links.both_ways() ? links_text(links) : QString();
    if (copies.host_budget) remark += tr("; at most %1 on the host").arg(bytes_text(*copies.host_budget));
    remark_->setText(remark);
    remark_->setVisible(copying && links.both_ways());
}

}  // namespace rematlas::explorer
