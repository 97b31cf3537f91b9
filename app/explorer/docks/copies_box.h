// What the next schedule may copy to the memory of the host, and over which link: the device's, or one that is
// not there.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class CopiesBox : public QWidget {
    Q_OBJECT
  public:
    explicit CopiesBox(Session& session, QWidget* parent = nullptr);

    /// The solver of the settings is another one.
    void follow_solver();

  private:
    void fill_links();
    void choose();
    void show_link();

    Session& session_;
    QComboBox *what_, *link_;
    QString picked_;  ///< a link by name; empty: nobody has picked one
    QLabel* remark_;
};

}  // namespace rematlas::explorer
