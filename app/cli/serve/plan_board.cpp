#include "app/cli/serve/plan_board.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/checking/check.h"
#include "viz/report/page_data.h"
#include "viz/report/plain_step.h"

namespace rematlas {

using nlohmann::json;

namespace {

constexpr std::size_t most_plans = 1000, most_ended_jobs = 20;
constexpr std::size_t bytes_of_plans_at_once = 4'000'000;

json number_or_null(const std::optional<double>& number) {
    return number ? json(*number) : json();
}

json best_json(const std::optional<ProgressReport>& best) {
    if (!best) return nullptr;
    return {{"overhead", best->overhead},
            {"peak", best->peak.value},
            {"bound", number_or_null(best->bound)},
            {"fraction", best->fraction_done}};
}

bool has_ended(JobPhase phase) {
    return phase != JobPhase::waiting && phase != JobPhase::running;
}

double seconds_of(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

/// Makes a JSON list of texts that are JSON themselves.
std::string list_text(const std::vector<std::string>& items) {
    std::string text = "[";
    for (const std::string& item : items) text += (text.size() > 1 ? "," : "") + item;
    return text + "]";
}

/// Returns the sweep without the schedules of its points, because the board keeps these schedules as plans.
Sweep without_schedules(Sweep sweep) {
    for (SweepCurve& curve : sweep.curves)
        for (SweepPoint& point : curve.points) {
            point.steps.clear();
            point.homes = {};
            point.arena.reset();
        }
    return sweep;
}

}  // namespace

std::string_view to_string(JobPhase phase) {
    static constexpr std::string_view words[] = {"waiting",     "running",   "done",
                                                 "no schedule", "cancelled", "failed"};
    return words[static_cast<std::size_t>(phase)];
}

PlanBoard::PlanBoard(const ReportOf& given, std::function<void()> on_change)
    : graph_(*given.graph), on_change_(std::move(on_change)), known_(graph_) {
    const Schedule plain = plain_step(graph_);
    for (const ReportedSchedule& one : plans_of_page(given.schedules, plain)) {
        known_.add(*one.schedule);
        plans_.push_back({.schedule = *one.schedule,
                          .question = question_of(graph_, *one.schedule),
                          .name = one.name,
                          .packed = {}});
    }
    for (const Sweep* sweep : given.sweeps) add_sweep(*sweep, known_);
}

template <class Change>
auto PlanBoard::changed(Change change) {
    {
        const std::lock_guard lock(mutex_);
        ++revision_;
        change();
    }
    on_change_();
}

std::vector<ReportedSchedule> PlanBoard::reported_plans() const {
    std::vector<ReportedSchedule> plans;
    for (const BoardPlan& plan : plans_) plans.push_back({plan.name, &plan.schedule});
    return plans;
}

Result<int> PlanBoard::add_plan(const std::string& name, Schedule schedule) {
    const auto place_of = [&] {
        const auto same = std::find_if(plans_.begin(), plans_.end(), [&](const BoardPlan& plan) {
            return plan.schedule.steps == schedule.steps && plan.schedule.homes == schedule.homes;
        });
        return same == plans_.end() ? -1 : static_cast<int>(same - plans_.begin());
    };
    {
        const std::lock_guard lock(mutex_);
        if (const int place = place_of(); place >= 0) return place;
    }
    if (const CheckReport report = check(graph_, schedule); !report.ok())
        return Error{"the checker refuses the schedule, please report it: " + report.violations.front()};
    Result<json> packed = plan_data(graph_, {name, &schedule});
    if (!packed) return packed.error();
    int place = -1;
    bool is_full = false;
    changed([&] {
        place = place_of();  // perhaps another job has added the same plan meanwhile
        is_full = place < 0 && plans_.size() >= most_plans;
        if (place >= 0 || is_full) return;
        place = static_cast<int>(plans_.size());
        (*packed)["index"] = place;
        known_.add(schedule);
        const Question question = question_of(graph_, schedule);
        plans_.push_back({std::move(schedule), question, name, packed->dump(), revision_});
    });
    if (is_full)
        return Error{std::to_string(most_plans) +
                     " plans are there already: start rematlas serve anew, with the schedules to keep"};
    return place;
}

void PlanBoard::set_sweep(int job, const Sweep& sweep, bool is_whole) {
    Sweep light = without_schedules(sweep);
    changed([&] {
        if (is_whole) add_sweep(light, known_);
        raise_bounds(graph_, known_, light);
        sweeps_[job] = sweep_data(light, reported_plans()).dump();
        sweeps_revision_ = revision_;
    });
}

int PlanBoard::add_job(const std::string& words, std::chrono::nanoseconds limit) {
    int id = 0;
    changed([&] {
        id = next_job_++;
        jobs_[id] = {.words = words, .limit = limit, .since = Clock::now()};
    });
    return id;
}

void PlanBoard::begin_job(int job) {
    changed([&] {
        jobs_[job].end.phase = JobPhase::running;
        jobs_[job].since = Clock::now();
    });
}

void PlanBoard::improve_job(int job, const ProgressReport& best) {
    changed([&] { jobs_[job].best = best; });
}

void PlanBoard::end_job(int job, JobEnd end) {
    changed([&] {
        BoardJob& ended = jobs_[job];
        ended.seconds = seconds_of(Clock::now() - ended.since);
        ended.end = std::move(end);
        const auto count = std::count_if(jobs_.begin(), jobs_.end(),
                                         [](const auto& one) { return has_ended(one.second.end.phase); });
        if (count > static_cast<std::ptrdiff_t>(most_ended_jobs))
            jobs_.erase(std::find_if(jobs_.begin(), jobs_.end(),
                                     [](const auto& one) { return has_ended(one.second.end.phase); }));
    });
}

bool PlanBoard::is_open(int job) const {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(job);
    return found != jobs_.end() && !has_ended(found->second.end.phase);
}

std::optional<Schedule> PlanBoard::plan(int index) const {
    const std::lock_guard lock(mutex_);
    if (index < 0 || index >= static_cast<int>(plans_.size())) return std::nullopt;
    return with_known_bound(graph_, known_, plans_[static_cast<std::size_t>(index)].schedule);
}

std::uint64_t PlanBoard::revision() const {
    const std::lock_guard lock(mutex_);
    return revision_;
}

json PlanBoard::job_json(int id, const BoardJob& job) const {
    const bool ended = has_ended(job.end.phase);
    return {{"id", id},
            {"phase", to_string(job.end.phase)},
            {"asked", job.words},
            {"seconds", ended ? job.seconds : seconds_of(Clock::now() - job.since)},
            {"limit_seconds", seconds_of(job.limit)},
            {"best", best_json(job.best)},
            {"words", job.end.words},
            {"plan", job.end.plan ? json(*job.end.plan) : json()}};
}

std::string PlanBoard::changes_since(std::uint64_t revision) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> plans;
    std::size_t bytes = 0;
    std::uint64_t told = revision_;
    json bounds = json::array(), jobs = json::array();
    for (const BoardPlan& plan : plans_) {
        bounds.push_back(number_or_null(known_.bound(plan.question)));
        if (plan.revision <= revision || plan.packed.empty() || bytes > bytes_of_plans_at_once) continue;
        plans.push_back(plan.packed);
        bytes += plan.packed.size();
        if (bytes > bytes_of_plans_at_once) told = plan.revision;
    }
    for (const auto& [id, job] : jobs_) jobs.push_back(job_json(id, job));
    return "{\"revision\":" + std::to_string(told) + ",\"plans\":" + list_text(plans) +
           ",\"sweeps\":" + (revision == 0 || sweeps_revision_ > revision ? sweeps_text() : "null") +
           ",\"bounds\":" + bounds.dump() +
           ",\"jobs\":" + jobs.dump(-1, ' ', false, json::error_handler_t::replace) + "}";
}

std::string PlanBoard::sweeps_text() const {
    std::vector<std::string> sweeps;
    for (const auto& [job, sweep] : sweeps_)
        sweeps.push_back("{\"job\":" + std::to_string(job) + "," + sweep.substr(1));
    return list_text(sweeps);
}

}  // namespace rematlas
