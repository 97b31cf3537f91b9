// A read-only table. It has the rows of a list, or the data of a painted view for users who cannot see
// pictures. Tables can be written to files. Each cell has a value and a text.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <concepts>
#include <functional>
#include <optional>
#include <vector>

#include "app/explorer/loaded/selection.h"

namespace rematlas::explorer {

/// The value of a cell, and its text if the text cannot be derived from the value and the column's unit.
struct Figure {
    Figure() = default;  ///< an empty cell
    Figure(const QString& words) : value(words) {}
    Figure(double ratio) : value(ratio) {}
    Figure(std::integral auto count) : value(static_cast<qint64>(count)) {}
    template <class Tag>
    Figure(Quantity<Tag> quantity) : Figure(quantity.value) {}
    Figure(const Figure& of, const QString& shown) : value(of.value), text(shown) {}

    QVariant value;
    std::optional<QString> text;
};

class FiguresTable : public QAbstractTableModel {
    Q_OBJECT
  public:
    /// Role of a cell's value. The value is a number if the column has numbers (bytes, nanoseconds or a
    /// ratio), else the text.
    static constexpr int value_role = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    /// Returns the block or op that a click on the row selects in all views; empty if a click selects
    /// nothing.
    virtual Selected selected_at(int) const { return {}; }
    /// Returns the row that shows the selected block or op; -1 if there is none.
    virtual int row_of(const Selected&) const { return -1; }

    bool is_number(int column) const { return column_at(column).unit != words; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : rows(); }
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  protected:
    /// The unit of a column's values. A share and an overhead are ratios with different texts.
    enum Unit { words, count, bytes, time, share, overhead };
    struct Column {
        QString title, meaning;
        Unit unit = words;
        std::function<Figure(int row)> figure_of;
    };
    /// Returns the number of rows.
    virtual int rows() const = 0;
    /// Adds a column after the others. `figure_of` returns the cell of a row.
    void add(const QString& title, const QString& meaning, Unit unit,
             std::function<Figure(int row)> figure_of) {
        columns_.push_back({title, meaning, unit, std::move(figure_of)});
    }

    std::vector<Column> columns_;

  private:
    const Column& column_at(int column) const { return columns_[static_cast<std::size_t>(column)]; }
};

/// Returns rows as tab-separated text for spreadsheets, below a line of titles. `rows`: the rows of the model
/// in the order of the text. Cells are written as values if `exact`, else as the text that is shown.
QString as_text(const QAbstractItemModel& model, const std::vector<int>& rows, bool exact = false);

}  // namespace rematlas::explorer
