// Searches and sorts the block tree. A row stays if it or one of its descendants matches every word.
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
    /// Called when values of these columns have changed everywhere. Sorts again if the rows are sorted by one
    /// of them.
    void columns_changed(int first, int last);
    /// Says whether the row itself matches, and not only one of its descendants.
    bool matches(const QModelIndex& index) const;

  protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

  private:
    bool matches(const QString& hay) const;
    QStringList words_;
};

}  // namespace rematlas::explorer
