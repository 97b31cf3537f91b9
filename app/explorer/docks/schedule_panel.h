// Shows the schedule over time. A strip below it shows the whole step, and lets the user choose the shown
// part.
#pragma once

#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class SchedulePanel : public QWidget {
    Q_OBJECT
  public:
    explicit SchedulePanel(Session& session);
};

}  // namespace rematlas::explorer
