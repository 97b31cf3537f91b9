// The plans of the open graph, one per row. A plan is a schedule that was solved, found by a sweep or opened,
// or the step without recomputation.
//
// One of the plans is shown by all views. A plan leaves the list when it is removed (which can be undone), or
// when a better point of a sweep replaces it.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/schedule/schedule.h"

namespace rematlas::explorer {

/// A schedule of the graph as a row of the list.
struct PlanRow {
    enum class Origin : std::uint8_t { all_kept, solved, swept, opened, best_so_far };

    QString key;   ///< digest of solver, budget, steps and links; equal plans have equal keys
    QString name;  ///< "B", or "atlas at 2 GiB" for a sweep's plan, or the name that the user has given
    Origin origin = Origin::solved;
    bool starred = false;
    std::shared_ptr<const Schedule> schedule;
    std::filesystem::path file;  ///< the file that the plan was opened from; may be empty
};

/// Returns the origin as it is written in session files.
std::string_view to_string(PlanRow::Origin origin);
std::optional<PlanRow::Origin> origin_from(std::string_view text);

QString key_of(const Schedule& schedule);

class PlanList : public QAbstractTableModel {
    Q_OBJECT
  public:
    enum Column { star, name, peak, overhead, bound, budget, solver, seconds, column_count };
    /// Role of the number or text by which the column is sorted
    static constexpr int sort_role = Qt::UserRole;
    static constexpr int none = -1;  ///< stands for no row

    using QAbstractTableModel::QAbstractTableModel;

    /// Returns the proven lower bound on the overhead of all schedules that keep to the budget, the copies
    /// and the pins for which a plan was made.
    using BoundOf = std::function<std::optional<double>(const PlanRow&)>;
    /// Sets the function that returns bounds. Without it no bounds are known.
    void set_bound_of(BoundOf bound_of) { bound_of_ = std::move(bound_of); }
    void note_bounds_changed();

    /// Adds a plan and returns its row. If the plan is in the list already, only its file is updated. A point
    /// of a sweep replaces the earlier point with the same solver, budget and copies, unless the earlier
    /// point is starred. A schedule that a sweep finds at several budgets gets only one row, with the
    /// smallest of these budgets.
    int add(Schedule schedule, PlanRow::Origin origin, const std::filesystem::path& file = {});
    void clear();  ///< removes all plans, before another graph is shown; does not emit `shown_changed`,
                   ///< although no plan is shown afterwards
    /// Adds plans of earlier work at the end of the list. Does not emit `plan_added`, because they are not
    /// new. If plans have equal names, which can happen when two windows have one graph open, later plans get
    /// a number.
    void restore(std::vector<PlanRow> plans);

    const PlanRow& plan(int row) const { return plans_[static_cast<std::size_t>(row)]; }
    int row_of(const QString& key) const;

    void rename(int row, const QString& name);  ///< does nothing if the name is empty
    void set_starred(int row, bool starred);
    void remove(int row);
    bool can_undo() const { return !removed_.empty(); }
    void undo_remove();  ///< puts the last removed plan back into its place

    /// Returns the row of the plan that all views show.
    int shown() const { return row_of(shown_); }
    void show(int row);  ///< shows no plan if `row` is `none`
    /// Says whether `go` has a plan to go to: a plan that was shown before the current plan (-1) or after it
    /// (1).
    bool can_go(int direction) const;
    void go(int direction);  ///< shows the plan that was shown before (-1) or after (1) the current plan

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

  signals:
    void plan_added(int row);    ///< also emitted when a removed plan comes back
    void plan_renamed(int row);  ///< emitted when the plan's name or star has changed
    void plan_removed(const QString& key);
    void shown_changed();

  private:
    struct Removed {
        int row;
        PlanRow plan;
    };
    void insert(int row, PlanRow plan);
    int first_row(const std::function<bool(const PlanRow&)>& is_wanted) const;
    int swept_twin(const Schedule& schedule) const;
    int swept_at(const Schedule& schedule) const;
    void take(int row);
    QString next_name() const;
    static QString swept_name(const Schedule& schedule);
    void set_shown(const QString& key);
    QString text_at(const PlanRow& plan, int column) const;
    QVariant sort_value(const PlanRow& plan, int column) const;
    std::optional<double> proven(const PlanRow& plan) const;

    BoundOf bound_of_;
    std::vector<PlanRow> plans_;
    std::vector<Removed> removed_;
    QString shown_;                 ///< key of the shown plan
    std::vector<QString> visited_;  ///< keys of the plans, in the order in which they were shown
    std::size_t at_ = 0;            ///< index of the shown plan in `visited_`
};

}  // namespace rematlas::explorer
