// A table of the tensors that are in memory at the cursor. The table follows the cursor. A button moves the
// cursor to the peak.
#pragma once

#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTreeView>
#include <QWidget>

#include "app/explorer/models/alive_model.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class AliveView : public QWidget {
    Q_OBJECT
  public:
    explicit AliveView(Session& session);

    void go_to_peak();
    const AliveModel& model() const { return *model_; }
    QTreeView& table() { return *table_; }

  private:
    void follow();
    void show_headline();
    void ask_lifetimes(const QModelIndex& index);

    Session& session_;
    AliveModel* model_;
    QSortFilterProxyModel* sorted_;
    QLabel* headline_;
    QTreeView* table_ = nullptr;
};

}  // namespace rematlas::explorer
