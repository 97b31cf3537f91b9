#include "app/explorer/docks/pins_box.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

PinsBox::PinsBox(Session& session)
    : session_(session),
      origin_(theme::quiet_label({}, true)),
      remarks_(theme::danger_label()),
      list_(new QListView) {
    origin_->setObjectName("pins_origin");
    remarks_->setObjectName("pin_remarks");
    remarks_->setTextFormat(Qt::PlainText);
    list_->setMinimumWidth(1);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setObjectName("pins");
    list_->setAccessibleName(tr("Pins"));
    list_->setModel(&session_.pins);
    list_->setTextElideMode(Qt::ElideMiddle);
    auto* title = new QLabel(tr("Pins"));
    title->setToolTip(tr("What the next schedule must keep or recompute, whatever the solver thinks"));
    auto* clear = new QPushButton(tr("Remove all"));
    clear->setObjectName("remove_pins");
    auto* remove = new QAction(tr("Remove the pin"), list_);
    remove->setShortcut(QKeySequence::Delete);
    remove->setShortcutContext(Qt::WidgetShortcut);
    list_->addAction(remove);
    list_->setContextMenuPolicy(Qt::ActionsContextMenu);
    auto* head = new QHBoxLayout;
    head->addWidget(title, 1);
    head->addWidget(clear);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme::gap, 0, 0);
    layout->setSpacing(6);
    layout->addLayout(head);
    layout->addWidget(origin_);
    layout->addWidget(list_);
    layout->addWidget(remarks_);
    connect(clear, &QPushButton::clicked, this, [this] { session_.pins.replace({}); });
    connect(remove, &QAction::triggered, this,
            [this] { session_.pins.remove_row(list_->currentIndex().row()); });
    connect(&session_.pins, &PinList::changed, this, &PinsBox::follow_pins);
    follow_pins();
}

void PinsBox::follow_pins() {
    const int rows = std::min(5, session_.pins.rowCount());
    const int row_height = std::max(list_->sizeHintForRow(0), list_->fontMetrics().height() + 6);
    list_->setFixedHeight(std::max(1, rows) * row_height + 2 * list_->frameWidth() + 2);
    const QString plan = session_.pins.of_plan();
    origin_->setText(tr("They came with plan %1. The next schedule obeys them too.").arg(plan));
    origin_->setVisible(!plan.isEmpty());
    remarks_->setText(session_.pins.remarks().join('\n'));
    remarks_->setVisible(!session_.pins.remarks().isEmpty());
    setVisible(rows > 0);
}

}  // namespace rematlas::explorer
