// Shows the block tree with its search field and a choice of how the graph is divided into blocks. The
// selection in the tree is the window's selection.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTreeView>
#include <QWidget>

#include "app/explorer/models/block_filter_model.h"
#include "app/explorer/models/block_tree_model.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class BlockTreeView : public QWidget {
    Q_OBJECT
  public:
    explicit BlockTreeView(Session& session);

    void focus_search();
    QTreeView& tree() { return *tree_; }
    BlockTreeModel& model() { return *model_; }

  private:
    QWidget* make_partition_row();
    void show_graph();
    void show_selection(const Selected& selected);
    void apply_search(const QString& words);
    void go_to_next_match();
    /// Returns the rows that match the search, in the order shown. Rows that are shown only because a row
    /// below them matches do not count.
    std::vector<QModelIndex> matches() const;
    void show_count();

    Session& session_;
    BlockTreeModel* model_;
    BlockFilterModel* filter_;
    QLineEdit* search_;
    QLabel* count_;
    QComboBox* partition_;
    QTreeView* tree_;
    bool following_ = false;  ///< true while this class changes the rows or the current row; such
                              ///< changes must not change the window's selection
};

}  // namespace rematlas::explorer
