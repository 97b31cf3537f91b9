#include "app/cli/serve/solve_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/infeasible_answer.h"
#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/planning/registry.h"
#include "viz/paint/axis.h"
#include "viz/paint/sweep_curves.h"

namespace rematlas {

using nlohmann::json;

namespace {

constexpr std::chrono::seconds usual_time_limit(20);
constexpr int usual_count = 8;

void expect_known(const Fields& fields, const json& asked, std::initializer_list<std::string_view> known) {
    for (const auto& [key, value] : asked.items())
        if (std::find(known.begin(), known.end(), key) == known.end())
            fields.fail("'" + key.substr(0, 60) + "' is not known");
}

Bytes bytes_asked(const Fields& fields, const json& value, const StepBytes& step) {
    if (!value.is_string()) {
        const Bytes bytes(fields.whole(value, "budget"));
        if (bytes.value <= 0) fields.fail("budget is not above 0");
        return bytes;
    }
    const Result<Budget> budget = parse_budget(value.get_ref<const std::string&>());
    if (!budget) fields.fail("budget: " + budget.error().message);
    const Result<Bytes> bytes = bytes_of(*budget, step);
    if (!bytes) fields.fail("budget: " + bytes.error().message);
    return *bytes;
}

/// Returns the time limit of the job: the limit that was asked for, but at most `longest_job`. The job's
/// state shows this limit.
std::chrono::nanoseconds time_asked(const Fields& fields) {
    if (!fields.has("time_limit")) return usual_time_limit;
    const std::chrono::nanoseconds most = SolveCalls::longest_job;
    if (fields.at("time_limit").is_number()) {
        const double seconds = fields.number("time_limit");
        if (!(seconds > 0)) fields.fail("time_limit is not above 0");
        if (seconds >= std::chrono::duration<double>(most).count()) return most;
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
    }
    const Result<Nanoseconds> time = parse_duration(fields.text("time_limit"));
    if (!time) fields.fail("time_limit: " + time.error().message);
    if (time->value <= 0) fields.fail("time_limit is not above 0");
    return std::min<std::chrono::nanoseconds>(most, std::chrono::nanoseconds(time->value));
}

void expect_graph(const Fields& fields, const Graph& graph) {
    if (fields.text_or("graph", graph.name) != graph.name)
        fields.fail("graph: there is only '" + graph.name + "' here");
}

void expect_solver(const Fields& fields, const std::string& name) {
    if (const auto known = make_solver(name); !known) fields.fail("solver: " + known.error().message);
}

Offload offload_asked(const Fields& fields) {
    const std::string text = fields.text_or("offload", "none");
    const std::optional<Offload> what = offload_from(text);
    if (!what)
        fields.fail("offload: '" + text.substr(0, 60) + "' is none of none, activations, weights, all");
    return *what;
}

/// Returns for example "2 GiB by atlas with copies of weights".
std::string words_of(const std::string& budget, const std::string& solver, Offload offload) {
    return budget + " by " + solver +
           (offload == Offload::none ? "" : " with copies of " + std::string(to_string(offload)));
}

/// Reads a question. Turns the exception for a wrong field into an error.
template <class Read>
auto read_question(Read read) -> Result<decltype(read())> {
    try {
        return read();
    } catch (const FieldError& wrong) {
        return Error{wrong.message};
    }
}

/// Runs the work. If the work throws, returns the end of a failed job, because an exception in a job must not
/// end the program.
JobEnd guarded(const std::function<JobEnd()>& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return {JobPhase::failed,
                "There was not enough memory for it: ask for fewer budgets or another solver."};
    } catch (const std::exception& failure) {
        return {JobPhase::failed, std::string("It failed, please report it: ") + failure.what()};
    }
}

std::string sentence(std::string text) {
    if (text.empty()) return text;
    if (text.front() >= 'a' && text.front() <= 'z')
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    return text.back() == '.' ? text : text + ".";
}

std::string found_words(const Schedule& schedule) {
    std::string words = "It needs " + format_bytes(schedule.peak) + " and takes " +
                        format_overhead(schedule.overhead) + " time";
    if (schedule.status == "optimal") return words + ", which is the best possible.";
    if (schedule.bound) words += "; no schedule takes less than " + format_overhead(schedule.bound->overhead);
    return words + ".";
}

}  // namespace

SolveCalls::SolveCalls(const Graph& graph, PlanBoard& board, std::size_t processors)
    : graph_(graph),
      flat_(flatten(graph)),
      step_(step_bytes(flat_)),
      board_(board),
      processors_(processors),
      queue_(processors) {}

json SolveCalls::about() const {
    json solvers = json::array();
    for (const SolverEntry* entry : all_solvers())
        if (!graph_.boundary || entry->traits.boundary)
            solvers.push_back({{"name", entry->traits.name}, {"offload", to_string(entry->traits.copies)}});
    return {{"graphs", {{{"name", graph_.name}, {"peak", step_.peak.value}}}},
            {"solvers", std::move(solvers)},
            {"longest_seconds", longest_job.count()},
            {"processors", processors_}};
}

Result<json> SolveCalls::start(const std::string& words, std::chrono::nanoseconds limit,
                               std::function<JobEnd(int, std::stop_token)> work) {
    if (queue_.count_waiting() >= most_waiting)
        return Error{std::to_string(most_waiting) + " jobs wait already: cancel one, or wait until one ends",
                     ErrorKind::negative};
    const int job = board_.add_job(words, limit);
    queue_.add(job, [this, job, work = std::move(work)](std::stop_token stop) {
        board_.begin_job(job);
        board_.end_job(job, guarded([&] { return work(job, stop); }));
    });
    return json{{"job", job}};
}

Result<json> SolveCalls::solve(const json& asked) {
    const Result<SolveRequest> request = read_question([&] {
        const Fields fields(asked, "");
        expect_known(fields, asked, {"graph", "budget", "solver", "offload", "time_limit"});
        expect_graph(fields, graph_);
        // These calls may throw, so they come before the aggregate initialization: GCC 12 destroys some
        // members of an aggregate twice if a later initializer throws.
        const Bytes budget = bytes_asked(fields, fields.at("budget"), step_);
        const std::chrono::nanoseconds time = time_asked(fields);
        const Offload offload = offload_asked(fields);
        const std::string solver = fields.text_or("solver", "atlas");
        SolveRequest request{.solver = solver,
                             .budget = budget,
                             .limits = {.time = time, .cache = cache_folder()},
                             .copies = {.what = offload}};
        expect_solver(fields, request.solver);
        const Result<Copies> copies = copies_for(graph_, request.solver, request.copies);
        if (!copies) fields.fail("offload: " + copies.error().message);
        request.copies = *copies;
        return request;
    });
    if (!request) return request.error();
    const std::string words =
        words_of(format_bytes(request->budget.bytes), request->solver, request->copies.what);
    return start(words, request->limits.time,
                 [this, request = *request, words](int job, std::stop_token stop) {
                     return solve_now(request, words, job, stop);
                 });
}

JobEnd SolveCalls::solve_now(SolveRequest request, const std::string& words, int job, std::stop_token stop) {
    request.limits.stop = stop;
    const Result<Outcome> outcome =
        rematlas::solve(Problem{graph_, flat_}, request,
                        [this, job](const ProgressReport& best) { board_.improve_job(job, best); });
    if (!outcome) return {JobPhase::failed, sentence(outcome.error().message)};
    if (outcome->infeasible()) {
        if (stop.stop_requested()) return {JobPhase::cancelled, "It had found no schedule yet."};
        JobEnd end{JobPhase::no_schedule, {}};
        const InfeasibleAnswer answer(graph_, flat_, request.solver, request.copies.what, *outcome);
        for (const std::string& line : answer.lines())
            end.words += (end.words.empty() ? "" : " ") + sentence(line);
        if (answer.as_json()["works"].is_null()) end.words += " Ask for a larger budget.";
        return end;
    }
    const Schedule& schedule = *outcome->schedule();
    const Result<int> plan = board_.add_plan(words, schedule);
    if (!plan) return {JobPhase::failed, sentence(plan.error().message)};
    return {stop.stop_requested() ? JobPhase::cancelled : JobPhase::done, found_words(schedule), *plan};
}

Result<json> SolveCalls::sweep(const json& asked) {
    const Result<SweepOptions> options = read_question([&] {
        const Fields fields(asked, "");
        expect_known(fields, asked, {"graph", "budgets", "count", "solvers", "offload", "time_limit"});
        expect_graph(fields, graph_);
        const std::int64_t count_asked = fields.integer_or("count", usual_count);
        const std::chrono::nanoseconds time = time_asked(fields);
        const Offload offload = offload_asked(fields);
        SweepOptions options{
            .solvers = {},
            .count = static_cast<int>(std::clamp<std::int64_t>(count_asked, 0, most_budgets + 1)),
            .limits = {.time = time, .cache = cache_folder()},
            .copies = {Copies{.what = offload}}};
        if (fields.has("budgets"))
            for (const json& budget : fields.array("budgets"))
                options.budgets.push_back(bytes_asked(fields, budget, step_));
        const std::size_t count =
            fields.has("budgets") ? options.budgets.size() : static_cast<std::size_t>(options.count);
        if (count < 1 || count > most_budgets)
            fields.fail("a sweep has from 1 to " + std::to_string(most_budgets) + " budgets");
        if (fields.has("solvers"))
            for (const json& solver : fields.array("solvers"))
                options.solvers.push_back(solver.is_string() ? solver.get<std::string>() : "");
        else
            options.solvers = {"atlas"};
        for (const std::string& solver : options.solvers) {
            if (std::count(options.solvers.begin(), options.solvers.end(), solver) > 1)
                fields.fail("solvers: " + solver.substr(0, 60) + " stands there twice");
            expect_solver(fields, solver);
            const Result<Copies> copies = copies_for(graph_, solver, options.copies.front());
            if (!copies) fields.fail("offload: " + copies.error().message);
            options.copies.front() = *copies;
        }
        if (options.solvers.empty()) fields.fail("solvers: the list is empty");
        return options;
    });
    if (!options) return options.error();
    std::string names;
    for (const std::string& solver : options->solvers) names += (names.empty() ? "" : ", ") + solver;
    const std::size_t count =
        options->budgets.empty() ? static_cast<std::size_t>(options->count) : options->budgets.size();
    const Offload offload = options->copies.front().what;
    const std::string words = words_of(
        "A sweep of " + std::to_string(count) + (count == 1 ? " budget" : " budgets"), names, offload);
    return start(words, options->limits.time, [this, options = *options](int job, std::stop_token stop) {
        return sweep_now(options, job, stop);
    });
}

JobEnd SolveCalls::sweep_now(SweepOptions options, int job, std::stop_token stop) {
    options.limits.stop = stop;
    Sweep so_far{.graph = graph_.name, .graph_sha256 = graph_.sha256, .curves = {}};
    std::optional<Error> refused;
    const auto take = [&](const SweepCurve& curve, const SweepPoint& point) {
        if (const Result<void> added = add_point(curve, point); !added) refused = added.error();
    };
    const auto on_point = [&](const SweepCurve& curve, const SweepPoint& point) {
        take(curve, point);
        const auto same = std::find_if(so_far.curves.begin(), so_far.curves.end(), [&](const auto& one) {
            return one.solver == curve.solver && one.copies == curve.copies;
        });
        if (same == so_far.curves.end())
            so_far.curves.push_back(curve);
        else
            *same = curve;
        board_.set_sweep(job, so_far, false);
    };
    const Result<Sweep> sweep = run_sweep(graph_, options, on_point);
    if (!sweep) return {JobPhase::failed, sentence(sweep.error().message)};
    int found = 0;
    for (const SweepCurve& curve : sweep->curves)
        for (const SweepPoint& point : curve.points) {
            take(curve, point);
            found += was_found(point) ? 1 : 0;
        }
    board_.set_sweep(job, *sweep, true);
    if (refused) return {JobPhase::failed, sentence(refused->message)};
    const std::string words =
        found == 1 ? "One point has a plan." : std::to_string(found) + " points have plans.";
    if (stop.stop_requested()) return {JobPhase::cancelled, words};
    if (found > 0) return {JobPhase::done, words};
    return {JobPhase::no_schedule, "No schedule keeps any of these budgets: ask for larger ones."};
}

Result<void> SolveCalls::add_point(const SweepCurve& curve, const SweepPoint& point) {
    if (!was_found(point)) return {};
    const Problem problem{graph_, flat_, curve.copies};
    const Result<int> plan =
        board_.add_plan(words_of(format_bytes(point.budget), curve.solver, curve.copies.what),
                        schedule_of(problem, curve.solver, point));
    return plan ? Result<void>() : plan.error();
}

Result<json> SolveCalls::cancel(const json& asked) {
    const Result<int> job = read_question([&] {
        const Fields fields(asked, "");
        expect_known(fields, asked, {"job"});
        return static_cast<int>(std::clamp<std::int64_t>(fields.integer("job"), -1, 1 << 30));
    });
    if (!job) return job.error();
    // For a moment after the board says that a job has ended, the queue may still contain it.
    switch (board_.is_open(*job) ? queue_.cancel(*job) : JobQueue::Found::nowhere) {
        case JobQueue::Found::nowhere:
            return Error{"no job " + std::to_string(*job) + " waits or runs: it has ended",
                         ErrorKind::negative};
        case JobQueue::Found::waiting:
            board_.end_job(*job, {JobPhase::cancelled, "It had not begun."});
            break;
        case JobQueue::Found::running:
            break;
    }
    return json{{"job", *job}};
}

}  // namespace rematlas
