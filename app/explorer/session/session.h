// The state of the window, without widgets: one graph, its plans, the schedule that is shown, and all
// controllers that work on them.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <chrono>
#include <optional>

#include "app/explorer/files/graph_watch.h"
#include "app/explorer/files/open_file.h"
#include "app/explorer/files/plan_journal.h"
#include "app/explorer/jobs/background_job.h"
#include "app/explorer/jobs/batch_controller.h"
#include "app/explorer/jobs/capture_controller.h"
#include "app/explorer/jobs/compare_controller.h"
#include "app/explorer/jobs/ladder_controller.h"
#include "app/explorer/jobs/solve_controller.h"
#include "app/explorer/jobs/sweep_controller.h"
#include "app/explorer/loaded/selection.h"
#include "app/explorer/models/pin_list.h"
#include "app/explorer/models/plan_list.h"
#include "app/explorer/session/budget_controller.h"
#include "app/explorer/session/graph_answers.h"

namespace rematlas::explorer {

/// The settings for solving that users choose in the window: the solver, its time limit and the copies.
struct SolveSettings {
    std::string solver = "atlas";
    std::chrono::milliseconds time = std::chrono::seconds(10);
    Copies copies = {};  ///< if the links have no speed, the links of the graph's device are used
    bool operator==(const SolveSettings&) const = default;
};

class Session : public QObject {
    Q_OBJECT
  public:
    Session();

    /// Reads files in the background, one after the other. Emits `opened` or `failed` for each, and
    /// `all_opened` at the end.
    void open(const QStringList& paths);
    /// Opens a file of another machine (ssh://...). The local copy of the file must be up to date.
    void open_copied(const QString& url);
    bool opening() const { return opening_.running(); }
    void close();
    /// Sets whether plans are kept in a file next to the graph's file, and read from there. The default is
    /// true.
    void set_keeps_plans(bool keeps) { keeps_plans_ = keeps; }

    const GraphPtr& graph() const { return graph_; }           ///< null while no graph is open
    const SchedulePtr& schedule() const { return schedule_; }  ///< null while no schedule is shown
    /// The facts that are known about the open graph. May only be called while a graph is open.
    const GraphAnswers& answers() const { return *answers_; }
    /// Returns the question for a budget, with the chosen copies and the pins.
    Question question(Bytes budget) const;
    /// Says whether the chosen solver has answered this question already, with at least the chosen time.
    bool was_solved(const Question& question) const;

    /// The step without recomputation; null without a graph.
    const SchedulePtr& all_kept() const { return all_kept_; }
    /// Shows the schedule in all views; no schedule if it is null. A schedule that passes the check becomes a
    /// plan in the list.
    void set_schedule(SchedulePtr schedule, PlanRow::Origin origin = PlanRow::Origin::solved);
    /// Shows the plan. If the plan has a budget and is not the step without recomputation, sets the budget to
    /// the plan's budget. Emits `plan_chosen`; the box of copies then takes over the plan's copies if there
    /// are any. Does nothing for `PlanList::none`.
    void choose_plan(int row);
    /// Shows the schedule of a sweep's point, or solves for its budget if the point has no steps.
    void show_point(const SweptPoint& found);
    /// Moves the cursor to the next run of the shown schedule (+1) or to the previous one (-1), and selects
    /// the op of this run.
    void go_by_runs(int direction);
    /// Returns the links of the next solve. These are the links that the user has chosen, else the links of
    /// the graph's device. The result has no speed if no links are known.
    Links links() const;
    void solve(SolveRequest request);  ///< solves and obeys the pins
    void solve_for(Bytes budget);      ///< solves with `solve_settings`

    /// Sets the plan that the shown plan is compared with. At first this is the step without recomputation.
    void compare_with(int row);
    /// Returns the row of the plan that the shown plan is compared with; `PlanList::none` without a graph.
    int compared_plan() const { return plans.row_of(compared_); }

    /// Sets how the graph, and each graph opened later, is divided into blocks in all views. If `partition`
    /// is nullopt, graphs have their own blocks. The work is done in the background. The schedule, the
    /// budget, the sweep and running work stay.
    void set_partition(std::optional<Partition> partition);
    std::optional<Partition> partition() const { return partition_; }

    /// `busy` says whether any long work is running; `cancel_all` cancels it.
    bool busy() const;
    void cancel_all();

    const SolveSettings& solve_settings() const { return solve_settings_; }
    void set_solve_settings(const SolveSettings& settings);

    Selection selection;
    PinList pins;
    PlanList plans;
    PlanJournal journal;
    GraphWatch watch;  ///< watches the graph's file
    BudgetController budget;
    SolveController solver;
    SmallestBudgetProbe probe;
    SweepController sweep;
    CaptureController capture;
    CompareController compare;
    BatchController batch;
    LadderController ladder;

  signals:
    /// Emitted when another graph was opened, and when the graph was closed. After that `graph` is null.
    void graph_changed();
    /// Emitted instead of `graph_changed` when the graph has other blocks. `graph` is then a new pointer.
    void blocks_changed();
    void compared_plan_changed();
    void partition_changed();  ///< emitted when another partition was chosen, before the blocks change
    void schedule_changed();   ///< emitted when `schedule` is another schedule, or null
    /// Emitted when the best schedule of a cancelled or replaced solver was added as the plan with this name.
    void best_kept(const QString& plan);
    void plan_chosen();       ///< emitted when the user has chosen a plan, which is now shown
    void question_changed();  ///< emitted when the copies, the pins, the solver or its time limit change; not
                              ///< when the budget changes
    void known_changed();
    void opened(const QString& path);
    void failed(const QString& message);
    void all_opened();
    void opening_started(const QString& path);

  private:
    void open_next();
    void take(Opened opened);
    void set_graph(GraphPtr graph, const SchedulePtr& all_kept, KeptPlans kept);
    void show_plan();
    void show_prepared(SchedulePtr schedule);
    void keep_point(const SweptPoint& found);
    void open_journal();
    void follow_file();
    void keep_left(const SchedulePtr& found);
    void keep_left_in_file(const LoadedGraph& graph, const Schedule& left);
    void show_in_blocks(GraphPtr graph);
    void note_answered();
    void show_known();
    Question question_of(const SolveRequest& request) const;
    void compare_shown();

    GraphPtr graph_;
    SchedulePtr schedule_, all_kept_;
    SchedulePtr prepared_;  ///< the schedule of the plan that is about to be shown, else null
    bool keeps_plans_ = true;
    QString compared_;  ///< key of the plan that the shown plan is compared with
    struct Queued {
        QString path;
        bool is_copied;  ///< the file is on another machine, and its local copy is up to date
    };
    std::vector<Queued> queue_;
    std::optional<Partition> partition_;
    SolveSettings solve_settings_;
    std::optional<GraphAnswers> answers_;
    SolverQuestion asked_;  ///< the last question that the solver was asked
    BackgroundJob opening_, partitioning_;
};

}  // namespace rematlas::explorer
