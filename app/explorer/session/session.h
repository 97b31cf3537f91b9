// What is open in the window: one graph, its plans, the schedule of the one that is shown, and everything that works
// on them. No widgets.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <chrono>
#include <memory>
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

/// What solves for a budget, and for how long at most: what people set in the window.
struct SolveSettings {
    std::string solver = "atlas";
    std::chrono::milliseconds time = std::chrono::seconds(10);
    Copies copies = {};  ///< links that copy nothing stand for those of the graph's device
    bool operator==(const SolveSettings&) const = default;
};

class Session : public QObject {
    Q_OBJECT
  public:
    explicit Session(QObject* parent = nullptr);

    /// Reads in the background, one file after the other; `opened` or `failed` for each, `all_opened` at the
    /// end.
    void open(const QStringList& paths);
    /// The same of a file of another machine (ssh://...) whose copy here has just come from there.
    void open_copied(const QString& url);
    bool opening() const { return opening_.running(); }
    void close();
    /// Whether plans are kept beside the graph, and those that were are read. On from the beginning.
    void set_keeps_plans(bool keeps) { keeps_plans_ = keeps; }

    const GraphPtr& graph() const { return graph_; }
    const SchedulePtr& schedule() const { return schedule_; }
    /// What is found and proven of the graph that is open. There must be one.
    const GraphAnswers& answers() const { return *answers_; }
    /// What is asked for a budget: by `solve_settings`, under the pins.
    Question question(Bytes budget) const;
    /// Whether the solver that is set has answered the question, with no less time than is set.
    bool was_solved(const Question& question) const;

    /// The step without recomputation; null without a graph.
    const SchedulePtr& all_kept() const { return all_kept_; }
    /// Shown by all views; one that passes the check is a plan from then on. Null: none.
    void set_schedule(SchedulePtr schedule, PlanRow::Origin origin = PlanRow::Origin::solved);
    /// Shows the plan, and sets the question that the plan answers: its budget, and the copies that it makes.
    /// `PlanList::none` does nothing.
    void choose_plan(int row);
    /// Shows the schedule behind a sweep's point, or solves for its budget when the point has no steps.
    void show_point(const SweptPoint& found);
    /// Moves the cursor to the next run of the schedule shown (+1) or the one before (-1), and selects its op.
    void go_by_runs(int direction);
    /// That copies of `solve_settings` go over: those that were picked, else the graph's. Without a speed: none are known.
    Links links() const;
    void solve(SolveRequest request);  ///< under the pins
    void solve_for(Bytes budget);      ///< by `solve_settings`

    /// The plan that the shown one is compared with; from the beginning the step without recomputation.
    void compare_with(int row);
    /// Its row; `PlanList::none` without a graph.
    int compared_plan() const { return plans.row_of(compared_); }

    /// Where the blocks of all views begin and end, of this graph and of those opened later; none: each
    /// graph's own. In the background; the schedule, the budget, the sweep and what is under way stay.
    void set_partition(std::optional<Partition> partition);
    std::optional<Partition> partition() const { return partition_; }

    /// True when something long is under way, and cancels all of it.
    bool busy() const;
    void cancel_all();

    const SolveSettings& solve_settings() const { return solve_settings_; }
    void set_solve_settings(const SolveSettings& settings);

    Selection selection;
    PinList pins;
    PlanList plans;
    PlanJournal journal;
    GraphWatch watch;  ///< of the graph's file
    BudgetController budget;
    SolveController solver;
    SmallestBudgetProbe probe;
    SweepController sweep;
    CaptureController capture;
    CompareController compare;
    BatchController batch;
    LadderController ladder;

  signals:
    void graph_changed();
    void blocks_changed();  ///< the same graph in other blocks
    void compared_plan_changed();
    void partition_changed();  ///< what was chosen, before the blocks follow
    void schedule_changed();
    void best_kept(const QString& plan);  ///< of a solver that was cancelled or replaced
    void plan_chosen();                   ///< by the user: the plan that is shown
    void question_changed();              ///< but for its budget
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
    void show_in_blocks(GraphPtr graph);
    void note_answered();
    void show_known();
    Question question_of(const SolveRequest& request) const;
    void compare_shown();

    GraphPtr graph_;
    SchedulePtr schedule_, all_kept_;
    SchedulePtr prepared_;  ///< of the plan that is about to be shown; or null
    bool keeps_plans_ = true;
    QString compared_;  ///< key of the plan that the shown one is compared with
    struct Queued {
        QString path;
        bool is_copied;  ///< from another machine, and the copy is here
    };
    std::vector<Queued> queue_;
    std::optional<Partition> partition_;
    SolveSettings solve_settings_;
    std::optional<GraphAnswers> answers_;
    SolverQuestion asked_;  ///< of the solver, last
    BackgroundJob opening_, partitioning_;
};

}  // namespace rematlas::explorer
