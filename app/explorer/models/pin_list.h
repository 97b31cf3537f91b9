// The pins that the next solve and the next sweep obey (core/schedule/pin.h): a list of rows, and what the
// selection is called in a pin.
#pragma once

#include <QAbstractListModel>
#include <QStringList>
#include <optional>

#include "app/explorer/loaded/loaded_graph.h"
#include "app/explorer/loaded/selection.h"
#include "core/schedule/pin.h"

namespace rematlas::explorer {

class PinList : public QAbstractListModel {
    Q_OBJECT
  public:
    using QAbstractListModel::QAbstractListModel;

    const Pins& pins() const { return pins_; }
    /// In place of one with the same pattern.
    void set(const Pin& pin);
    void remove(const std::string& pattern);
    void remove_row(int row);
    void replace(Pins pins);
    /// Those of a plan, in place of such as came with another one. Pins of one's own stay.
    void follow_plan(const QString& name, const Pins& pins);
    /// The plan that they came with; empty where they are one's own.
    const QString& of_plan() const { return of_plan_; }
    /// What they are pins of: from then on `remarks` tells which do nothing or cannot be obeyed.
    void set_graph(GraphPtr graph);
    /// A line for each; empty where there is nothing to say.
    const QStringList& remarks() const { return remarks_; }
    /// What is decided for a pattern; nothing where it is not pinned.
    std::optional<PinKind> decision(const std::string& pattern) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

  signals:
    void changed();

  private:
    void take(Pins pins, const QString& of_plan);

    Pins pins_;
    QString of_plan_;
    GraphPtr graph_;
    QStringList remarks_;
    std::vector<std::size_t> idle_;  ///< places of those that do nothing
};

/// A module's path for a block, a forward one for its backward twin too; for an op the name of what it makes
/// where that is the only one of its name, else its number. Empty: a block that is no module.
std::string pattern_of(const LoadedGraph& graph, const Selected& selected);

/// The same with a star for each number in the path: all layers instead of one. Empty where that is no more.
std::string pattern_of_all_like(const LoadedGraph& graph, const Selected& selected);

}  // namespace rematlas::explorer
