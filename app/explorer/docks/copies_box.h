// Lets the user choose which tensors the next schedule may copy to the host, and over which link: the link of
// the graph's device, or the link of another device.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QWidget>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class CopiesBox : public QWidget {
    Q_OBJECT
  public:
    explicit CopiesBox(Session& session);

    /// Called when another solver was chosen. Chooses no copies if this solver cannot make the chosen copies.
    /// Disables the choice if this solver makes no copies.
    void follow_solver();

  private:
    void fill_links();
    /// Called when a file was opened. If the file is the shown plan, takes over the copies and the link of
    /// the plan.
    void follow_opened(const QString& path);
    void follow_shown();  ///< takes over the shown plan's copies and link, if the plan copies
    /// Returns the row of the list with these links. Adds a row if no row has them.
    int row_of(const Links& links);
    void choose();
    void show_link();

    Session& session_;
    QComboBox *what_, *link_;
    std::optional<Bytes> host_budget_;  ///< the host memory that the opened or chosen plan may use
    Links plan_links_;                  ///< the links of the opened or chosen plan, if they have no name
    QString picked_;  ///< the name of the link that the user has chosen; empty if none was chosen
    QLabel* remark_;
};

}  // namespace rematlas::explorer
