// Shows the flame chart. A line below the chart sums up the span that the user has chosen in the chart.
#pragma once

#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class FlamePanel : public QWidget {
    Q_OBJECT
  public:
    explicit FlamePanel(Session& session);
};

}  // namespace rematlas::explorer
