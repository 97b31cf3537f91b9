// The plans of the graph that is open, a row each: every schedule that was solved, found by a sweep or
// opened.
//
// One of them is shown by all views. A plan goes only when it is removed, and that can be undone.
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

    QString key;   ///< of solver, budget and steps: equal plans have equal keys
    QString name;  ///< a letter, or what the user calls it
    Origin origin = Origin::solved;
    bool starred = false;
    std::shared_ptr<const Schedule> schedule;
    std::filesystem::path file;  ///< where it was opened from; may be empty
};

/// As in session files.
std::string_view to_string(PlanRow::Origin origin);
std::optional<PlanRow::Origin> origin_from(std::string_view text);

QString key_of(const Schedule& schedule);

class PlanList : public QAbstractTableModel {
    Q_OBJECT
  public:
    enum Column { star, name, peak, overhead, bound, budget, solver, seconds, column_count };
    static constexpr int sort_role = Qt::UserRole;  ///< a number or a text to sort the column by
    static constexpr int none = -1;                 ///< no row

    using QAbstractTableModel::QAbstractTableModel;

    /// What is proven of schedules that may stand in a schedule's place.
    using BoundOf = std::function<std::optional<double>(const PlanRow&)>;
    /// Without it no bounds are known.
    void set_bound_of(BoundOf bound_of) { bound_of_ = std::move(bound_of); }
    void note_bounds_changed();

    /// The row of the plan. One that is there already stays as it is, but for its file. A point that a sweep
    /// found takes the place of an earlier one of the same solver and budget, unless that one is starred.
    /// What a sweep finds at several budgets is one row, of the smallest of them.
    int add(Schedule schedule, PlanRow::Origin origin, const std::filesystem::path& file = {});
    void clear();  ///< of another graph now: no plan is shown, which is not told by `shown_changed`
    /// As they were kept, behind those that are there; they are not news, so that `plan_added` says nothing.
    /// Of equal names, which two windows on one graph may give, the later ones have a number added.
    void restore(std::vector<PlanRow> plans);

    const PlanRow& plan(int row) const { return plans_[static_cast<std::size_t>(row)]; }
    int row_of(const QString& key) const;

    void rename(int row, const QString& name);  ///< an empty name changes nothing
    void set_starred(int row, bool starred);
    void remove(int row);
    bool can_undo() const { return !removed_.empty(); }
    void undo_remove();  ///< the last one comes back to its place

    /// The plan that all views show.
    int shown() const { return row_of(shown_); }
    void show(int row);  ///< `none` shows no plan
    /// The plans that were shown before and after this one.
    bool can_go(int direction) const;
    void go(int direction);  ///< -1 or 1

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

  signals:
    void plan_added(int row);    ///< also when it came back
    void plan_renamed(int row);  ///< its name or its star
    void plan_removed(const QString& key);
    void shown_changed();

  private:
    struct Removed {
        int row;
        PlanRow plan;
    };
    void insert(int row, PlanRow plan);
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
    QString shown_;                 ///< key
    std::vector<QString> visited_;  ///< keys, in the order they were shown
    std::size_t at_ = 0;            ///< of `visited_`: what is shown
};

}  // namespace rematlas::explorer
