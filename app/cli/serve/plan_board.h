// The state that all pages of `rematlas serve` show: the plans of the files, the plans that were found since
// the start, growing sweeps, and the jobs. Each change has a number, so that a page can ask for the changes
// after the last change that it knows.
//
//     PlanBoard board(report, [&] { server.wake(); });
//     const int job = board.add_job("60% by atlas", 20s);
//     board.begin_job(job);
//     const int plan = *board.add_plan("60% by atlas", schedule);
//     board.end_job(job, {.phase = JobPhase::done, .words = ..., .plan = plan});
//
// All functions may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/planning/known_answers.h"
#include "core/planning/sweep.h"
#include "viz/report/report.h"

namespace rematlas {

enum class JobPhase { waiting, running, done, no_schedule, cancelled, failed };

std::string_view to_string(JobPhase phase);

/// How a job ended.
struct JobEnd {
    JobPhase phase = JobPhase::done;
    std::string words;             ///< sentences for the user about how the job ended
    std::optional<int> plan = {};  ///< index of the plan that the job found
};

class PlanBoard {
  public:
    /// `given` must have a graph, and the objects to which it points must outlive the board. `on_change` is
    /// called after each change, from any thread.
    PlanBoard(const ReportOf& given, std::function<void()> on_change);

    /// Checks the schedule, adds it as a plan and returns the index of the plan. If a plan has the same steps
    /// already, returns the index of that plan. Fails if the checker refuses the schedule, or if there are
    /// too many plans.
    Result<int> add_plan(const std::string& name, Schedule schedule);
    /// Replaces the points of the job's sweep. The points' schedules must have been added by `add_plan`. If
    /// the sweep is complete (`is_whole`), the board uses the bounds that the sweep proved.
    void set_sweep(int job, const Sweep& sweep, bool is_whole);

    int add_job(const std::string& words, std::chrono::nanoseconds limit);
    void begin_job(int job);
    void improve_job(int job, const ProgressReport& best);
    void end_job(int job, JobEnd end);
    /// Says whether the job waits or runs. Returns false once a page can see that the job has ended.
    bool is_open(int job) const;

    /// Returns the plan at `index`, with the largest bound that is known so far for the plan's budget, copies
    /// and pins; nullopt if there is no such plan.
    std::optional<Schedule> plan(int index) const;
    std::uint64_t revision() const;
    /// Returns the changes for a page that knows the board at `revision`, as one JSON object:
    /// - "revision": the revision that the page knows afterwards. The board may have a later revision
    ///   already, because long lists of plans are sent in parts.
    /// - "plans": the plans added since `revision`, as in viz/report/page_data.h, each with its "index".
    /// - "bounds": for each plan, by index, the bound proven so far for its budget, copies and pins; null
    ///   if none is known.
    /// - "sweeps": all sweeps with "job", and "curves" and "bounds" as in viz/report/page_data.h; null if
    ///   none has changed.
    /// - "jobs": all jobs that wait or run, and the jobs that ended last. Each has "id", "phase", "asked",
    ///   "seconds" (time in this phase; for a job that has ended, time in the phase before the end),
    ///   "limit_seconds", "best" (overhead, peak, bound, fraction; or null), and, from `JobEnd`, "words"
    ///   (empty before the end) and "plan" (its index, or null).
    std::string changes_since(std::uint64_t revision) const;

  private:
    using Clock = std::chrono::steady_clock;

    struct BoardPlan {
        Schedule schedule;
        Question question;
        std::string name;
        std::string packed;  ///< the plan as JSON for the page; empty if the page contains it already
        std::uint64_t revision = 0;
    };
    struct BoardJob {
        std::string words;
        std::chrono::nanoseconds limit;
        Clock::time_point since;  ///< when the current phase began
        std::optional<ProgressReport> best = {};
        JobEnd end = {.phase = JobPhase::waiting, .words = {}};
        double seconds = 0;  ///< how long the phase before the end took; valid once the job has ended
    };

    template <class Change>
    auto changed(Change change);
    std::vector<ReportedSchedule> reported_plans() const;
    nlohmann::json job_json(int id, const BoardJob& job) const;
    std::string sweeps_text() const;

    const Graph& graph_;
    const std::function<void()> on_change_;
    mutable std::mutex mutex_;
    std::uint64_t revision_ = 1;
    std::deque<BoardPlan> plans_;
    KnownAnswers known_;
    std::map<int, std::string> sweeps_;  ///< sweeps by job, as JSON for the page
    std::uint64_t sweeps_revision_ = 0;
    std::map<int, BoardJob> jobs_;
    int next_job_ = 1;
};

}  // namespace rematlas
