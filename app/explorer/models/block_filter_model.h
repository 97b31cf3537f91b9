// Searches and sorts the block tree. A row is shown if it or one of its descendants matches every search
// word.
#pragma once

#include <QSortFilterProxyModel>
#include <QStringList>

namespace rematlas::explorer {

class BlockFilterModel : public QSortFilterProxyModel {
    Q_OBJECT
  public:
    explicit BlockFilterModel(QObject* parent = nullptr);
    void set_search(const QString& words);
    const QStringList& words() const { return words_; }
    /// Must be called when the values of these columns have changed in all rows. Sorts again if the rows are
    /// sorted by one of these columns.
    void columns_changed(int first, int last);
    /// Says whether the row itself matches. A match of one of its descendants does not count.
    bool matches(const QModelIndex& index) const;

  protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

  private:
    bool matches(const QString& hay) const;
    QStringList words_;
};

}  // namespace rematlas::explorer
