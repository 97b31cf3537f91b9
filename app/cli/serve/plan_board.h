// What all pages of `rematlas serve` see: the plans of the files and those found since, sweeps as they grow,
// and the jobs. Each change has a number, so that a page asks for what came after the last one that it knows.
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
    std::string words;             ///< sentences for people
    std::optional<int> plan = {};  ///< the one that it found
};

class PlanBoard {
  public:
    /// `given` has a graph, and what it points to outlives the board. `on_change` is called from any thread,
    /// after each change.
    PlanBoard(const ReportOf& given, std::function<void()> on_change);

    /// Plays the schedule through the checker, and returns the place of the plan among those of the page. A
    /// schedule whose steps are known is the plan that has them. Errors: what the checker refuses, more
    /// plans than are kept.
    Result<int> add_plan(const std::string& name, Schedule schedule);
    /// The points of a sweep, in place of those that the job had before. Their schedules are plans already.
    /// Shows the sweep as it stands. Once it is whole (`is_whole`), the board uses the bounds that it proved.
    void set_sweep(int job, const Sweep& sweep, bool is_whole);

    int add_job(const std::string& words, std::chrono::nanoseconds limit);
    void begin_job(int job);
    void improve_job(int job, const ProgressReport& best);
    void end_job(int job, JobEnd end);
    /// Whether the job waits or runs: false once a page can see that it has ended.
    bool is_open(int job) const;

    /// With the largest bound that is known of its question by now. None where there is no such plan.
    std::optional<Schedule> plan(int index) const;
    std::uint64_t revision() const;
    /// What a page that knows the board of that revision must be told, as one JSON object:
    /// - "revision": of the board that the page knows then. Another one may be there already: long lists of
    ///   plans are told in parts.
    /// - "plans": those that came since, as in viz/report/page_data.h, each with its "index".
    /// - "bounds": what is proven for the budgets of all plans by now, by index; null where nothing is.
    /// - "sweeps": all of them, "job", "curves" and "bounds" as in viz/report/page_data.h; null where none
    ///   has changed.
    /// - "jobs": "id", "phase", "asked", "seconds" in this phase, "limit_seconds", "best" (overhead, peak,
    ///   bound, fraction; null), and of an ended one "words" and "plan" (its index; null).
    std::string changes_since(std::uint64_t revision) const;

  private:
    using Clock = std::chrono::steady_clock;

    struct BoardPlan {
        Schedule schedule;
        Question question;
        std::string name;
        std::string packed;  ///< what the page is told of it; empty where the page holds it already
        std::uint64_t revision = 0;
    };
    struct BoardJob {
        std::string words;
        std::chrono::nanoseconds limit;
        Clock::time_point since;  ///< of its phase
        std::optional<ProgressReport> best = {};
        JobEnd end = {.phase = JobPhase::waiting, .words = {}};
        double seconds = 0;  ///< that it took, once it has ended
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
    std::map<int, std::string> sweeps_;  ///< by their jobs, as the page reads them
    std::uint64_t sweeps_revision_ = 0;
    std::map<int, BoardJob> jobs_;
    int next_job_ = 1;
};

}  // namespace rematlas
