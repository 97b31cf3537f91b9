// The list of plans: a click shows one, F2 renames it, Delete removes it, a click on the star stars it.
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
    explicit PlansView(Session& session, QWidget* parent = nullptr);

    /// Shows earlier and later plans again, removes, undoes.
    void add_actions_to(QMenu& menu);
    QTreeView& table() { return *table_; }

  signals:
    void comparison_asked();  ///< the user wants to see the shown plan beside another one

  private:
    void connect_all();
    int current_row() const;  ///< of the list, `PlanList::none`
    void show_current();
    void remove_current();
    void show_menu(const QPoint& position);
    void follow_shown();
    void update_actions();

    Session& session_;
    PlanFilter* sorted_;
    QTreeView* table_ = nullptr;
    QToolButton* swept_;  ///< shows the plans of sweeps
    QAction *back_, *forward_, *remove_, *undo_, *rename_, *compare_;
};

}  // namespace rematlas::explorer
