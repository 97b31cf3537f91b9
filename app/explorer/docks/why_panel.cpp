#include "app/explorer/docks/why_panel.h"

#include <QGridLayout>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "app/explorer/look/theme.h"
#include "app/explorer/models/why.h"
#include "app/explorer/words/wording.h"
#include "core/pins/pinned_ops.h"

namespace rematlas::explorer {
namespace {

QString why_row(const QString& name, const QString& value) {
    return QStringLiteral("<tr><td style='color:%1'>%2</td><td align='right'>%3</td></tr>")
        .arg(theme::muted.name(), name, value);
}

QString what_if_text(const LoadedSchedule& schedule, const Pin& pin) {
    const Result<WhatIf> other = what_if(schedule, pin);
    if (!other) return WhyPanel::tr("not possible");
    if (!other->changes) {
        // Tensors that no op reads after the loss count as recomputed, although no op runs twice for them.
        // For these tensors another sentence is shown.
        const Result<std::vector<OpId>> ops = ops_of_pin(schedule.graph->graph, pin);
        const bool again = ops && std::any_of(ops->begin(), ops->end(),
                                              [&](OpId op) { return schedule.decisions.runs[op] > 1; });
        return pin.kind == PinKind::recompute && !again ? WhyPanel::tr("the backward pass does not read it")
                                                        : WhyPanel::tr("it is so now");
    }
    QString line = WhyPanel::tr("%1 time, %2 at the peak")
                       .arg(signed_time(other->more_time), signed_bytes(other->more_peak));
    if (other->over_budget.value > 0)
        line += QStringLiteral("<br><span style='color:%1'>%2</span>")
                    .arg(theme::danger.name(),
                         WhyPanel::tr("%1 over the budget").arg(bytes_text(other->over_budget)));
    return line;
}

QPushButton* pin_button(const char* name, const QString& title, const QString& tip) {
    auto* button = new QPushButton(title);
    button->setObjectName(name);
    button->setToolTip(tip);
    return button;
}

QString pin_text(PinKind kind) {
    return kind == PinKind::keep ? WhyPanel::tr("always keep") : WhyPanel::tr("always recompute");
}

}  // namespace

QString why_html(const LoadedGraph& graph, const LoadedSchedule* schedule, const Selected& selected,
                 std::optional<PinKind> pinned) {
    const std::vector<OpId> ops = ops_of(graph, selected);
    if (ops.empty())
        return WhyPanel::tr("Select a block or an op to see why the plan keeps or recomputes what it makes.");
    const QString name =
        selected.op.valid() ? numbered_op(graph, selected.op) : block_name(graph, selected.block);
    QString html =
        QStringLiteral(
            "<div style='font-weight:600'>%1</div><table cellspacing='0' cellpadding='2' width='100%'>")
            .arg(name.toHtmlEscaped());
    if (schedule && !schedule->simulation.steps.empty()) {
        const Idle idle = idle_of(*schedule, ops);
        html += why_row(WhyPanel::tr("Lies unused"),
                        idle.longest.value > 0 ? WhyPanel::tr("up to %1").arg(time_text(idle.longest))
                                               : WhyPanel::tr("never"));
        html += why_row(WhyPanel::tr("Unused at the peak"), bytes_text(idle.at_peak));
        const Waiting waiting = waiting_of(*schedule, ops);
        if (waiting.time.value > 0)
            html += why_row(
                WhyPanel::tr("Waits for copies"),
                waiting.tensor.valid()
                    ? WhyPanel::tr("%1, most for %2")
                          .arg(time_text(waiting.time), tensor_name(graph, waiting.tensor).toHtmlEscaped())
                    : time_text(waiting.time));
    }
    if (pinned) html += why_row(WhyPanel::tr("Pinned"), pin_text(*pinned));
    const std::string pattern = pattern_of(graph, selected);
    if (schedule && !pattern.empty()) {
        html += why_row(WhyPanel::tr("If it is kept"), what_if_text(*schedule, {pattern, PinKind::keep}));
        html += why_row(WhyPanel::tr("If it is recomputed"),
                        what_if_text(*schedule, {pattern, PinKind::recompute}));
    }
    return html + "</table>";
}

WhyPanel::WhyPanel(Session& session) : session_(session), text_(new QLabel) {
    setMinimumWidth(200);
    text_->setObjectName("why");
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::RichText);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    text_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    auto* buttons = new QGridLayout;
    keep_ =
        pin_button("pin_keep", tr("Keep"), tr("Pins it: whatever solves next makes it once and holds it"));
    recompute_ = pin_button("pin_recompute", tr("Recompute"),
                            tr("Pins it: whatever solves next makes it again for the backward pass"));
    none_ = pin_button("pin_none", tr("No pin"), tr("Leaves the decision to the solver"));
    buttons->addWidget(keep_, 0, 0);
    buttons->addWidget(recompute_, 0, 1);
    buttons->addWidget(none_, 1, 0, 1, 2);
    auto* scroll = new QScrollArea;
    scroll->setWidget(text_);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(theme::margin, theme::margin, theme::margin, theme::margin);
    layout->setSpacing(theme::gap);
    layout->addLayout(buttons);
    layout->addWidget(scroll, 1);
    connect(keep_, &QPushButton::clicked, this, [this] { pin(PinKind::keep); });
    connect(recompute_, &QPushButton::clicked, this, [this] { pin(PinKind::recompute); });
    connect(none_, &QPushButton::clicked, this, &WhyPanel::unpin);
    connect(&session_, &Session::graph_changed, this, &WhyPanel::refresh);
    connect(&session_, &Session::blocks_changed, this, &WhyPanel::refresh);
    connect(&session_, &Session::schedule_changed, this, &WhyPanel::refresh);
    connect(&session_.selection, &Selection::changed, this, &WhyPanel::refresh);
    connect(&session_.pins, &PinList::changed, this, &WhyPanel::refresh);
    theme::on_change(this, [this] { refresh(); });
    refresh();
}

void WhyPanel::pin(PinKind kind) {
    if (!session_.graph()) return;
    const Pin pin{pattern_of(*session_.graph(), session_.selection.current()), kind};
    if (ops_of_pin(session_.graph()->graph, pin)) session_.pins.set(pin);
}

void WhyPanel::unpin() {
    if (session_.graph()) session_.pins.remove(pattern_of(*session_.graph(), session_.selection.current()));
}

void WhyPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

void WhyPanel::refresh() {
    const GraphPtr& graph = session_.graph();
    const Selected selected = session_.selection.current();
    const std::string pattern = graph ? pattern_of(*graph, selected) : std::string();
    const auto can = [&](PinKind kind) { return graph && ops_of_pin(graph->graph, {pattern, kind}); };
    keep_->setEnabled(can(PinKind::keep));
    recompute_->setEnabled(can(PinKind::recompute));
    none_->setEnabled(session_.pins.decision(pattern).has_value());
    if (!isVisible()) return;  // returns early, because computing the numbers takes a while
    text_->setText(
        graph ? why_html(*graph, session_.schedule().get(), selected, session_.pins.decision(pattern))
              : QString());
}

}  // namespace rematlas::explorer
