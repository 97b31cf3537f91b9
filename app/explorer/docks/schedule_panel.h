// Shows the schedule over time, and below it the whole step in a strip from which a part is chosen.
#pragma once

#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class SchedulePanel : public QWidget {
    Q_OBJECT
  public:
    explicit SchedulePanel(Session& session, QWidget* parent = nullptr);
};

}  // namespace rematlas::explorer
