// Answers "What if the link were PCIe 5?": shows the times of the shown plan over another link, without
// solving again. The box is hidden if the plan copies nothing.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class LinkBox : public QWidget {
    Q_OBJECT
  public:
    explicit LinkBox(Session& session);

  private:
    void show_plan();
    void judge();
    void solve();

    Session& session_;
    QComboBox* link_;
    QLabel* told_;
    QPushButton* solve_;
};

}  // namespace rematlas::explorer
