#include "app/explorer/docks/pins_box.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

PinsBox::PinsBox(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), list_(new QListView) {
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
    layout->addWidget(list_);
    connect(clear, &QPushButton::clicked, this, [this] { session_.pins.replace({}); });
    connect(remove, &QAction::triggered, this,
            [this] { session_.pins.remove_row(list_->currentIndex().row()); });
    connect(&session_.pins, &PinList::changed, this, &PinsBox::follow_pins);
    follow_pins();
}

void PinsBox::follow_pins() {
    const int rows = std::min(5, session_.pins.rowCount());
    list_->setFixedHeight(std::max(1, rows) * (list_->fontMetrics().height() + 6) + 6);
    setVisible(rows > 0);
}

}  // namespace rematlas::explorer
