#include "app/explorer/docks/schedule_panel.h"

#include "app/explorer/docks/lanes_view.h"
#include "app/explorer/docks/range_brush.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {

SchedulePanel::SchedulePanel(Session& session) {
    auto* lanes = new LanesView(session);
    auto* brush = new RangeBrush(*lanes);
    QVBoxLayout* layout = theme::plain_column(this);
    layout->addWidget(lanes, 1);
    layout->addWidget(brush);
    brush->hide();
    connect(&session, &Session::schedule_changed, brush,
            [&session, brush] { brush->setVisible(session.schedule() != nullptr); });
}

}  // namespace rematlas::explorer
