// The pins that the next solve and the next sweep obey (core/schedule/pin.h), as a list of rows. Also makes
// the pattern of a pin for the selection.
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
    /// Adds a pin. It replaces a pin with the same pattern.
    void set(const Pin& pin);
    void remove(const std::string& pattern);
    void remove_row(int row);
    void replace(Pins pins);
    /// Takes over the pins of a plan. They replace pins that came with another plan. Does nothing if the user
    /// has set pins.
    void follow_plan(const QString& name, const Pins& pins);
    /// Returns the name of the plan that the pins came with; empty if the user has set them.
    const QString& of_plan() const { return of_plan_; }
    /// Sets the graph and removes all pins. From now on `remarks` says which pins do nothing or cannot be
    /// obeyed on this graph.
    void set_graph(GraphPtr graph);
    /// Returns a line for each pin that does nothing, or one line if the pins cannot be obeyed.
    const QStringList& remarks() const { return remarks_; }
    /// Returns the decision that a pin with this pattern asks for; nullopt if there is no such pin.
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
    std::vector<std::size_t> idle_;  ///< indices of pins that do nothing
};

/// Returns the pattern that pins the selection. For a block this is the module's path; for a backward block,
/// the path of its forward twin. For an op it is the name of its only output if that name is unique, else the
/// op's number. Returns an empty pattern for a block that is no module.
std::string pattern_of(const LoadedGraph& graph, const Selected& selected);

/// Returns `pattern_of` with a star in place of each number in the path, so that the pattern means all layers
/// instead of one layer. Returns an empty pattern if this would not pin more ops than `pattern_of`.
std::string pattern_of_all_like(const LoadedGraph& graph, const Selected& selected);

}  // namespace rematlas::explorer
