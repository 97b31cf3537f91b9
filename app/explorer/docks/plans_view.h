// Shows the list of plans. A click shows a plan, F2 renames it, Delete removes it, and a click on the star
// stars it.
#pragma once

#include <QMenu>
#include <QToolButton>
#include <QTreeView>
#include <QWidget>

#include "app/explorer/models/plan_filter.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class PlansView : public QWidget {
    Q_OBJECT
  public:
    explicit PlansView(Session& session);

    /// Adds actions that go back and forward through the plans in the order in which they were shown, remove
    /// a plan, and undo a removal.
    void add_actions_to(QMenu& menu);
    QTreeView& table() { return *table_; }

  signals:
    void comparison_asked();  ///< emitted when the user wants to compare the shown plan with another one

  private:
    void connect_all();
    int current_row() const;  ///< row of the list; `PlanList::none` if no row is current
    void show_current();
    void remove_current();
    void show_menu(const QPoint& position);
    void follow_shown();
    void update_actions();

    Session& session_;
    PlanFilter* sorted_;
    QTreeView* table_ = nullptr;
    QToolButton* swept_;  ///< shows or hides the plans of sweeps
    QAction *back_, *forward_, *remove_, *undo_, *rename_, *compare_;
};

}  // namespace rematlas::explorer
