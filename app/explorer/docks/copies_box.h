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
    /// Of the plan that was opened from this file, what it was made with, as far as it tells.
    void follow_opened(const QString& path);
    void follow_shown();  ///< the copies of the plan, where it makes any
    /// Adds a row where none has these.
    int row_of(const Links& links);
    void choose();
    void show_link();

    Session& session_;
    QComboBox *what_, *link_;
    std::optional<Bytes> host_budget_;  ///< of the plan that was opened
    Links plan_links_;                  ///< of the plan that was opened, where they have no name
    QString picked_;                    ///< a link by name; empty: nobody has picked one
    QLabel* remark_;
};

}  // namespace rematlas::explorer
