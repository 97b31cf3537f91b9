// Compares two plans: a picture of both over time, and a table of their differences.
#pragma once

#include <QBoxLayout>
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
    explicit CompareView(Session& session);

  protected:
    void resizeEvent(QResizeEvent* event) override;

  private:
    void show_compared();
    void follow_other();

    Session& session_;
    DifferencesTable* model_;
    QSortFilterProxyModel* sorted_;
    QTreeView* table_;
    QComboBox* other_;
    QLabel* headline_;
    QBoxLayout* bar_;
};

}  // namespace rematlas::explorer
