#include "app/explorer/docks/flame_panel.h"

#include "app/explorer/docks/flame_view.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

FlamePanel::FlamePanel(Session& session) {
    auto* view = new FlameView(session);
    QLabel* sums = theme::quiet_label({}, true);
    sums->setObjectName("flame_sums");
    sums->setTextInteractionFlags(Qt::TextSelectableByMouse);
    // Leaves room for the button that switches to the table.
    sums->setContentsMargins(theme::margin, 2, theme::margin + 20, 4);
    QVBoxLayout* layout = theme::plain_column(this);
    layout->addWidget(view, 1);
    layout->addWidget(sums);
    const auto show = [view, sums] { sums->setText(view->sums()); };
    connect(view, &FlameView::span_changed, this, show);
    show();
}

}  // namespace rematlas::explorer
