// Two plans side by side: what both do over time, and a table of what they do differently.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTreeView>
#include <QWidget>

#include "app/explorer/models/differences_table.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class CompareView : public QWidget {
    Q_OBJECT
  public:
    explicit CompareView(Session& session, QWidget* parent = nullptr);

  private:
    void show_compared();
    void follow_other();

    Session& session_;
    DifferencesTable* model_;
    QSortFilterProxyModel* sorted_;
    QTreeView* table_;
    QComboBox* other_;
    QLabel* headline_;
};

}  // namespace rematlas::explorer
