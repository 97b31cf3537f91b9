// Shows the pins that the next solve obeys. The user can remove one of them or all. The box is hidden if
// there are no pins.
#pragma once

#include <QLabel>
#include <QListView>
#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class PinsBox : public QWidget {
    Q_OBJECT
  public:
    explicit PinsBox(Session& session);

  private:
    void follow_pins();

    Session& session_;
    QLabel *origin_, *remarks_;
    QListView* list_;
};

}  // namespace rematlas::explorer
