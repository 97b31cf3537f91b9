#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "core/milp/milp_thread.h"
#include "core/solvers/atlas/anneal.h"
#include "core/solvers/checkmate/best_found.h"
#include "core/solvers/checkmate/checkmate.h"
#include "core/solvers/checkmate/library_option.h"
#include "core/solvers/checkmate/staged_model.h"
#include "core/solvers/chen.h"
#include "core/solvers/deadline.h"
#include "core/solvers/dtr.h"
#include "core/solvers/option_reader.h"
#include "core/solvers/required_once.h"

namespace rematlas {
namespace {

constexpr std::size_t kThresholds = 64;                          ///< at most so many
constexpr std::size_t kMostRepairs = 8;                          ///< of a relaxation's schedules
constexpr std::uint64_t kRepairMovesAnOp = 100;                  ///< each
constexpr double kRepairHeat = 0.1;                              ///< little: the start is to be kept
constexpr double kMargins[] = {1.0, 0.95, 0.9, 0.8, 0.65, 0.5};  ///< of the room beside the residents

class Rounding {
  public:
    Rounding(const Problem& problem, Bytes budget, const Limits& limits, const CheckmateLpOptions& options,
             const Progress& progress)
        : problem_(problem),
          graph_(problem.flat),
          budget_(budget),
          limits_(limits),
          options_(options),
          progress_(progress),
          deadline_(limits),
          best_(problem.flat, budget) {}

    Answer run() {
        start();
        const bool small = StagedModel::fits(graph_);
        for (double margin : kMargins) {
            if (!small || deadline_.passed()) break;
            // A smaller budget only serves to find something at all.
            if (margin < 1 && rounded_) break;
            round_at(margin);
            repair();
        }
        if (!best_.any()) return infeasible_from(graph_, budget_, {});
        Solution solution = solution_from(graph_, best_.runs());
        if (!solution.bound && bound_ > 0) {
            const double bound = std::min(bound_, solution.overhead);
            solution.bound =
                Bound{bound, (solution.overhead - bound) / bound, kStagedClass, bounding_.count()};
        }
        return solution;
    }

  private:
    void offer(RunSequence runs) {
        if (best_.offer(std::move(runs)) && progress_)
            progress_({best_.overhead(), best_.peak(), std::nullopt, deadline_.fraction()});
    }

    void start() {
        const std::unique_ptr<Solver> published[] = {make_chen_greedy(), make_chen_sqrt(), make_dtr()};
        Limits share = limits_;
        share.time = limits_.time / 20;
        for (const auto& solver : published) {
            const Answer answer = solver->solve(problem_, budget_, share, {});
            if (const auto* solution = std::get_if<Solution>(&answer)) best_.offer(*solution);
        }
    }

    void round_at(double margin) {
        const auto room = static_cast<double>(budget_.value - graph_.resident_bytes);
        const auto budget = graph_.resident_bytes + static_cast<std::int64_t>(room * margin);
        const auto begin = std::chrono::steady_clock::now();
        StagedModelOptions interest{.stop = limits_.stop};
        if (best_.any() && margin == 1) interest.below = best_.time();
        const auto shared = std::make_shared<const StagedModel>(graph_, budget, interest);
        const StagedModel& model = *shared;
        const std::optional<MilpAnswer> answer = relaxed(shared);
        if (!answer) return;
        if (margin == 1) {
            bounding_ = std::chrono::steady_clock::now() - begin;
            const double base = double(std::max<std::int64_t>(graph_.base_time, 1));
            bound_ = model.time_of(answer->objective) / base * (1 - kBoundRounding);
            if (best_.any()) bound_ = std::min(bound_, best_.overhead());
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

    /// The optimum of the relaxation; nothing when there is none or the time ends first.
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
        if (const SequenceCost cost = cost_of(graph_, *runs); cost.peak > budget_.value) {
            over_.push_back({*std::move(runs), cost.time, cost.peak});
            return;
        }
        rounded_ = true;
        offer(*std::move(runs));
    }

    /// Those that are least over the budget, by annealing that ends at the first schedule that fits.
    void repair() {
        std::sort(over_.begin(), over_.end(), [](const atlas::Candidate& a, const atlas::Candidate& b) {
            return std::pair(a.peak, a.time) < std::pair(b.peak, b.time);
        });
        const auto same = [](const atlas::Candidate& a, const atlas::Candidate& b) {
            return a.runs == b.runs;
        };
        over_.erase(std::unique(over_.begin(), over_.end(), same), over_.end());
        if (over_.size() > kMostRepairs) over_.resize(kMostRepairs);
        const AtlasOptions annealing;
        const auto moves = kRepairMovesAnOp * static_cast<std::uint64_t>(graph_.op_count);
        for (const atlas::Candidate& over : std::exchange(over_, {})) {
            if (deadline_.passed()) return;
            atlas::Annealer annealer(graph_, budget_.value, over, annealing, options_.seed + limits_.seed);
            annealer.run_cycle(moves, kRepairHeat, deadline_,
                               [&](const atlas::Candidate& found) { return found.peak > budget_.value; });
            rounded_ |= annealer.best().peak <= budget_.value;
            offer(annealer.best().runs);
        }
    }

    /// The shares that occur, thinned out evenly when they are many.
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
    const Progress& progress_;
    const Deadline deadline_;
    BestFound best_;
    std::vector<atlas::Candidate> over_;  ///< rounded schedules that do not fit the budget
    bool rounded_ = false;                ///< a rounded schedule fits it, as it is or repaired
    double bound_ = 0;
    std::chrono::duration<double> bounding_{};  ///< with the relaxation that the bound is from
};

class CheckmateLp final : public Solver {
  public:
    explicit CheckmateLp(const CheckmateLpOptions& options) : options_(options) {}
    std::string_view name() const override { return "checkmate-lp"; }
    std::string_view summary() const override {
        return "the relaxation of checkmate, rounded in two phases; never worse than chen and dtr, which it "
               "gives beyond "
               "600 ops";
    }
    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        if (auto solution = optimal_without_reruns(problem.flat, budget)) return *std::move(solution);
        if (least_peak(problem.flat).bytes > budget) return infeasible_from(problem.flat, budget, {});
        return Rounding(problem, budget, limits, options_, progress).run();
    }

  private:
    CheckmateLpOptions options_;
};

}  // namespace

Result<CheckmateLpOptions> checkmate_lp_options(const nlohmann::json* json) {
    CheckmateLpOptions options;
    OptionReader reader("checkmate-lp", json);
    reader.integer("draws", options.draws, 0, 100000);
    reader.unsigned_integer("seed", options.seed);
    if (Result<void> read = finish_with_library(reader, "checkmate-lp", options.library); !read)
        return read.error();
    return options;
}

std::unique_ptr<Solver> make_checkmate_lp(const CheckmateLpOptions& options) {
    return std::make_unique<CheckmateLp>(options);
}

}  // namespace rematlas
