#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "core/milp/milp_thread.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/annealing/anneal.h"
#include "core/solvers/checkmate/checkmate.h"
#include "core/solvers/chen/chen.h"
#include "core/solvers/dtr/dtr.h"
#include "core/solvers/staged/staged_model.h"
#include "core/solving/answers.h"
#include "core/solving/incumbent.h"
#include "core/solving/library_option.h"
#include "core/solving/limits.h"
#include "core/solving/option_reader.h"

namespace rematlas {
namespace {

constexpr double kStartShare = 0.05;             ///< share of the time for each solver in `start`
constexpr std::size_t kThresholds = 64;          ///< most fixed thresholds
constexpr std::size_t kMostRepairs = 8;          ///< at most so many schedules are repaired per relaxation
constexpr std::uint64_t kRepairMovesAnOp = 100;  ///< annealing moves for each op and schedule
constexpr double kRepairHeat = 0.1;              ///< low, so that a repair changes little of the schedule
constexpr double kMargins[] = {1.0, 0.95, 0.9, 0.8, 0.65, 0.5};  ///< budgets to try: the residents, and
                                                                 ///< these shares of the rest of the budget

class Rounding {
  public:
    Rounding(const Problem& problem, Bytes budget, const Limits& limits, const CheckmateLpOptions& options,
             const Progress& progress)
        : problem_(problem),
          graph_(problem.flat),
          budget_(budget),
          limits_(limits),
          options_(options),
          deadline_(limits),
          best_(problem.flat, budget, deadline_, progress) {}

    Answer run() {
        start();
        const bool small = StagedModel::fits(graph_);
        for (double margin : kMargins) {
            if (!small || deadline_.passed()) break;
            // A smaller budget is only used to find a first schedule that fits.
            if (margin < 1 && rounded_) break;
            round_at(margin);
            repair();
        }
        return best_.answer();
    }

  private:
    void start() {
        const std::unique_ptr<Solver> published[] = {make_chen_greedy(), make_chen_sqrt(), make_dtr()};
        const Limits share = limits_.with_time(share_of(limits_.time, kStartShare));
        for (const auto& solver : published) {
            const Answer answer = solver->solve(problem_, budget_, share, {});
            if (const auto* solution = std::get_if<Solution>(&answer)) best_.offer_solution(*solution);
        }
    }

    void round_at(double margin) {
        const auto room = static_cast<double>(budget_.value - graph_.resident_bytes);
        const auto budget = graph_.resident_bytes + static_cast<std::int64_t>(room * margin);
        const auto begin = std::chrono::steady_clock::now();
        StagedModelOptions interest{.stop = limits_.stop};
        if (best_.fits() && margin == 1) interest.below = best_.best().time;
        const auto shared = std::make_shared<const StagedModel>(graph_, budget, interest);
        const StagedModel& model = *shared;
        const std::optional<MilpAnswer> answer = relaxed(shared);
        if (!answer) return;
        if (margin == 1) {
            best_.add_bound_work(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
            const double base = double(std::max<std::int64_t>(graph_.base_time, 1));
            const double bound = model.time_of(answer->objective) / base * (1 - kBoundRounding);
            // The bound is at most the best overhead, because the model need not contain slower schedules.
            best_.raise_bound(best_.fits() ? std::min(bound, best_.overhead()) : bound,
                              ScheduleClass::staged);
        }
        for (double threshold : thresholds(model, answer->values)) {
            if (deadline_.passed()) break;
            try_one(model, answer->values, std::vector<double>(model.tensors(), threshold));
        }
        std::mt19937_64 random(options_.seed + limits_.seed);
        for (int draw = 0; draw < options_.draws && !deadline_.passed(); ++draw) {
            std::vector<double> threshold(model.tensors());
            for (double& value : threshold) value = double(random() >> 11) * 0x1p-53;
            try_one(model, answer->values, threshold);
        }
    }

    /// Returns the optimum of the relaxation, or nothing if the relaxation has no solution or the time ends.
    std::optional<MilpAnswer> relaxed(const std::shared_ptr<const StagedModel>& model) const {
        MilpLimits limits{.relaxed = true, .threads = limits_.threads};
        limits.time = deadline_.left();
        MilpThread thread(options_.library, std::shared_ptr<const MilpModel>(model, &model->milp()), limits);
        while (!deadline_.passed()) {
            const std::optional<Result<MilpAnswer>> answer = thread.news(kGlance).answer;
            if (!answer) continue;
            if (*answer && (*answer)->status == MilpStatus::optimal) return **answer;
            break;
        }
        return std::nullopt;
    }

    void try_one(const StagedModel& model, const std::vector<double>& values,
                 const std::vector<double>& threshold) {
        auto runs = model.round(values, threshold);
        if (!runs || !is_executable(graph_, *runs)) return;
        Candidate candidate = Candidate::of(graph_, *std::move(runs));
        if (candidate.peak > budget_.value) over_.push_back(candidate);
        rounded_ |= candidate.peak <= budget_.value;
        best_.offer(std::move(candidate));
    }

    /// Repairs the schedules that exceed the budget by the fewest bytes: anneals each of them until it fits.
    void repair() {
        std::sort(over_.begin(), over_.end(), [](const Candidate& a, const Candidate& b) {
            return std::pair(a.peak, a.time) < std::pair(b.peak, b.time);
        });
        const auto same = [](const Candidate& a, const Candidate& b) { return a.runs == b.runs; };
        over_.erase(std::unique(over_.begin(), over_.end(), same), over_.end());
        if (over_.size() > kMostRepairs) over_.resize(kMostRepairs);
        const AnnealingOptions annealing;
        const auto moves = kRepairMovesAnOp * static_cast<std::uint64_t>(graph_.op_count);
        for (const Candidate& over : std::exchange(over_, {})) {
            if (deadline_.passed()) return;
            annealing::Annealer annealer(graph_, budget_.value, over, annealing,
                                         options_.seed + limits_.seed);
            annealer.run_cycle(moves, kRepairHeat, deadline_,
                               [&](const Candidate& found) { return found.peak > budget_.value; });
            rounded_ |= annealer.best().peak <= budget_.value;
            best_.offer(annealer.best());
        }
    }

    /// Returns the thresholds to try: 0.5, 1 and the shares that occur in the solution. If these are more
    /// than `kThresholds`, returns an evenly spaced selection.
    static std::vector<double> thresholds(const StagedModel& model, const std::vector<double>& values) {
        std::set<double> shares{0.5, 1.0};
        for (double share : model.kept_shares(values))
            if (share > 1e-6) shares.insert(std::round(share * 1e6) / 1e6 - 1e-6);
        std::vector<double> all(shares.begin(), shares.end()), some;
        const std::size_t stride = (all.size() + kThresholds - 1) / kThresholds;
        for (std::size_t i = 0; i < all.size(); i += stride) some.push_back(all[i]);
        return some;
    }

    const Problem& problem_;
    const FlatGraph& graph_;
    const Bytes budget_;
    const Limits& limits_;
    const CheckmateLpOptions& options_;
    const Deadline deadline_;
    Incumbent best_;
    std::vector<Candidate> over_;  ///< rounded schedules that exceed the budget
    bool rounded_ = false;         ///< whether a rounded schedule fits the budget, perhaps after a repair
};

Answer solve_by_checkmate_lp(const Problem& problem, Bytes budget, const Limits& limits,
                             const Progress& progress, const CheckmateLpOptions& options) {
    if (auto solution = optimal_without_reruns(problem.flat, budget)) return *std::move(solution);
    if (least_peak(problem.flat).bytes > budget) return infeasible_from(problem.flat, budget, {});
    return Rounding(problem, budget, limits, options, progress).run();
}

}  // namespace

void read_options(OptionReader& reader, CheckmateLpOptions& options) {
    reader.integer("draws", options.draws, 0, 100000);
    reader.unsigned_integer("seed", options.seed);
    read_library(reader, options.library);
}

std::unique_ptr<Solver> make_checkmate_lp(const CheckmateLpOptions& options) {
    return std::make_unique<FunctionSolver<CheckmateLpOptions>>(checkmate_lp_solver, solve_by_checkmate_lp,
                                                                options);
}

constinit const SolverEntry checkmate_lp_solver = solver_entry<CheckmateLpOptions, make_checkmate_lp>(
    {.name = "checkmate-lp",
     .summary =
         "the relaxation of checkmate, rounded in two phases; never worse than chen and dtr, which it gives "
         "beyond 600 ops"});

}  // namespace rematlas
