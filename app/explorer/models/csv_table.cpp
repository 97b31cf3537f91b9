#include "app/explorer/models/csv_table.h"

#include <QCoreApplication>
#include <QLocale>

#include "core/base/csv.h"

namespace rematlas::explorer {
namespace {

class CsvTable {
  public:
    explicit CsvTable(const QAbstractItemModel& model) : model_(model) {
        for (int row = 0; row < model.rowCount() && !is_tree_; ++row)
            is_tree_ = model.hasChildren(model.index(row, 0));
    }

    std::string text() {
        if (is_tree_) add_field(QCoreApplication::translate("CsvTable", "Level"));
        for (int column = 0; column < model_.columnCount(); ++column) add_field(header(column));
        end_line();
        add_rows({}, 0);
        return std::move(text_);
    }

  private:
    QString unit(int column) const { return model_.headerData(column, Qt::Horizontal, unit_role).toString(); }
    QString header(int column) const {
        const QString title = model_.headerData(column, Qt::Horizontal).toString();
        return unit(column).isEmpty() ? title : QStringLiteral("%1 (%2)").arg(title, unit(column));
    }

    void add_rows(const QModelIndex& parent, int level) {
        for (int row = 0; row < model_.rowCount(parent); ++row) {
            if (is_tree_) add_field(QString::number(level));
            for (int column = 0; column < model_.columnCount(parent); ++column)
                add_field(cell(model_.index(row, column, parent)));
            end_line();
            add_rows(model_.index(row, 0, parent), level + 1);
        }
    }

    QString cell(const QModelIndex& index) const {
        const QString shown = index.data().toString();
        if (unit(index.column()).isEmpty()) {
            // A cell that shows a sign, such as a star, has words for the sign.
            const QString said = index.data(Qt::AccessibleTextRole).toString();
            return said.isEmpty() ? shown : said;
        }
        if (shown.isEmpty()) return {};
        const QVariant number = index.data(number_role);
        return number.type() == QVariant::Double
                   ? QString::number(number.toDouble(), 'g', QLocale::FloatingPointShortest)
                   : number.toString();
    }

    void add_field(const QString& field) {
        if (line_begun_) text_ += ',';
        text_ += csv_field(field.toStdString());
        line_begun_ = true;
    }
    void end_line() {
        text_ += "\r\n";
        line_begun_ = false;
    }

    const QAbstractItemModel& model_;
    bool is_tree_ = false, line_begun_ = false;
    std::string text_;
};

}  // namespace

std::string csv_table(const QAbstractItemModel& model) {
    return CsvTable(model).text();
}

}  // namespace rematlas::explorer
