// Chooses what the next schedule may copy to the memory of the host, and over which link: the device's, or
// that of another device.
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

    /// Called when the settings have another solver.
    void follow_solver();

  private:
    void fill_links();
    /// Takes over the copies and the link of the plan that was opened from this file, as far as the plan
    /// tells them.
    void follow_opened(const QString& path);
    void follow_shown();  ///< takes over the copies of the plan, if it makes any
    /// Returns the row with these links; adds one if there is none.
    int row_of(const Links& links);
    void choose();
    void show_link();

    Session& session_;
    QComboBox *what_, *link_;
    std::optional<Bytes> host_budget_;  ///< limit of the plan that was opened or chosen
    Links plan_links_;                  ///< links of that plan, if they have no name
    QString picked_;  ///< the name of the link that the user has chosen; empty: none was chosen
    QLabel* remark_;
};

}  // namespace rematlas::explorer
