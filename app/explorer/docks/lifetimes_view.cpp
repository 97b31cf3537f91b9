#include "app/explorer/docks/lifetimes_view.h"

#include <QHBoxLayout>
#include <QSignalBlocker>

#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

LifetimesView::LifetimesView(Session& session)
    : session_(session),
      headline_(theme::quiet_label({}, true)),
      order_(new QComboBox),
      part_(new QComboBox),
      picture_(new LifetimesPicture(session)) {
    headline_->setObjectName("lifetimes_headline");
    order_->setObjectName("lifetimes_order");
    order_->addItem(tr("by bytes"));
    order_->addItem(tr("by bytes and time unused"));
    order_->setToolTip(
        tr("By bytes: the heaviest tensor first.\nBy bytes and time unused: what holds the most "
           "for the longest time without a use first."));
    order_->setAccessibleName(tr("Order of the tensors"));
    part_->setObjectName("lifetimes_part");
    part_->setToolTip(tr("The part of the model whose tensors are shown, as the bands of the memory are"));
    part_->setAccessibleName(tr("Part of the model"));
    for (QComboBox* box : {order_, part_}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(8);
    }
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(theme::margin, theme::gap / 2, theme::gap, theme::gap / 2);
    bar->addWidget(headline_, 1);
    bar->addWidget(part_);
    bar->addWidget(order_);
    QVBoxLayout* layout = theme::plain_column(this);
    layout->addLayout(bar);
    layout->addWidget(picture_, 1);

    const auto refill = [this] { show_bars(); };
    connect(order_, qOverload<int>(&QComboBox::currentIndexChanged), this, refill);
    connect(part_, qOverload<int>(&QComboBox::currentIndexChanged), this, refill);
    connect(&session_, &Session::schedule_changed, this, &LifetimesView::show_schedule);
    connect(&session_.selection, &Selection::cursor_moved, this, refill);
    connect(&session_.selection, &Selection::range_changed, this, refill);
    connect(&session_.selection, &Selection::lifetimes_asked, this, &LifetimesView::show_asked);
    show_schedule();
}

void LifetimesView::show_schedule() {
    const SchedulePtr& schedule = session_.schedule();
    rows_.reset();
    if (schedule && !schedule->simulation.steps.empty()) rows_ = std::make_unique<LifetimeRows>(schedule);
    {
        const QSignalBlocker quiet(part_);
        const QString chosen = part_->currentText();
        part_->clear();
        part_->addItem(tr("all parts"));
        if (rows_) part_->addItems(rows_->parts());
        part_->setCurrentIndex(std::max(0, part_->findText(chosen)));
    }
    part_->setEnabled(rows_ != nullptr);
    order_->setEnabled(rows_ != nullptr);
    show_bars();
}

/// Shows the bars at the cursor. If there are too many tensors for the picture, the tensor `always` still has
/// a bar. If `always` is invalid, the highlighted tensor still has one.
void LifetimesView::show_bars(TensorId always) {
    if (rows_) {
        const int current = picture_->current();
        if (!always.valid() && current >= 0) always = bars().bars[static_cast<std::size_t>(current)].tensor;
        picture_->set_bars(rows_->at({.cursor = session_.selection.cursor(),
                                      .range = session_.selection.range(),
                                      .order = static_cast<LifetimeOrder>(order_->currentIndex()),
                                      .part = part_->currentIndex() - 1,
                                      .always = always}));
    } else {
        picture_->set_bars({});
    }
    headline_->setText(headline());
    emit bars_changed();
}

void LifetimesView::show_asked(const LifetimesOf& of) {
    {
        const QSignalBlocker quiet(part_);
        part_->setCurrentIndex(std::max(0, of.part.isEmpty() ? 0 : part_->findText(of.part)));
    }
    show_bars(of.tensor);
    picture_->show_tensor(of.tensor);
}

QString LifetimesView::headline() const {
    if (!rows_) return {};
    const LoadedSchedule& schedule = rows_->schedule();
    const Step& at = schedule.schedule.steps[static_cast<std::size_t>(bars().step)];
    const QString what = at.runs() ? numbered_op(*schedule.graph, at.op()) : tr("step %1").arg(bars().step);
    return tr("%1 tensors, %2, held while %3 runs").arg(bars().tensors).arg(bytes_text(bars().total), what);
}

}  // namespace rematlas::explorer
