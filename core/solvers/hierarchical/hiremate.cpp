#include "core/solvers/hierarchical/hiremate.h"

#include <algorithm>

#include "core/solvers/annealing/anneal.h"
#include "core/solvers/annealing/greedy_start.h"
#include "core/solvers/hierarchical/block_table.h"
#include "core/solvers/hierarchical/level_search.h"
#include "core/solving/answers.h"
#include "core/solving/incumbent.h"

namespace rematlas {

namespace {

using namespace hierarchical;

constexpr double kAbove[] = {1, 1.01, 1.03, 1.06, 1.1};  // budgets of the last level
constexpr double kBlockShare = 0.6;                      // of the time, for options
constexpr std::uint64_t kTopMoves = 20;                  // times those of a level

class Hiremate final : public Solver {
  public:
    explicit Hiremate(const HiremateOptions& options) : options_(options) {}
    std::string_view name() const override { return "hiremate"; }
    std::string_view summary() const override {
        return "nested blocks with options, recombined level by level (Gusak et al. 2025)";
    }

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        if (auto solution = optimal_without_reruns(problem.flat, budget)) return *std::move(solution);
        const FlatGraph& flat = problem.flat;
        if (least_peak(flat).bytes > budget) return infeasible_from(flat, budget, std::nullopt);
        const Deadline deadline(limits);
        Incumbent best(flat, budget, deadline, progress);
        best.offer(Candidate::of(flat, required_once(flat)));
        Limits part = limits;
        part.time = share_of(limits.time, kBlockShare);
        const Deadline until(part);
        BlockTable table(problem, training_tree(problem.graph, flat, options_.partition), options_.blocks);
        table.fill(until, limits.threads);
        if (table.tree().blocks.front().children.empty()) {
            const AnnealingOptions annealing;
            annealing::Annealer annealer(flat, budget.value, best.best(), annealing, options_.blocks.seed);
            for (int c = 0; c < 4; ++c)
                annealer.run_cycle(kTopMoves / 8 * static_cast<std::uint64_t>(options_.blocks.level_moves), 1,
                                   deadline, [](const Candidate&) { return true; });
            best.offer(annealer.best());
            return best.answer();
        }
        const Level level = table.level_of(0);
        const std::vector<std::int32_t> groups = table.classes_of_children(0);
        for (const double above : kAbove) {
            if (deadline.passed()) break;
            const auto room =
                static_cast<std::int64_t>(above * static_cast<double>(budget.value)) - flat.resident_bytes;
            LevelSchedule schedule = level.once(std::vector<std::int32_t>(level.size(), 0));
            schedule =
                search_level(level, schedule,
                             {.budget = room,
                              .seed = options_.blocks.seed,
                              .moves = kTopMoves * static_cast<std::uint64_t>(options_.blocks.level_moves),
                              .group = &groups},
                             deadline);
            best.offer_runs(without_useless(flat, level.lowered(schedule)));
        }
        return best.answer();
    }

  private:
    HiremateOptions options_;
};

}  // namespace

void read_options(OptionReader& reader, HiremateOptions& options) {
    reader.integer("most_items", options.partition.most_items, 2, 1000);
    reader.number("size_power", options.partition.size_power, 0, 4);
    reader.integer("saved_limits", options.blocks.bottom.saved_limits, 1, 100);
    reader.integer("peak_limits", options.blocks.bottom.peak_limits, 1, 100);
    reader.integer("moves_an_op", options.blocks.bottom.moves_an_op, 1, 100'000);
    reader.integer("level_moves", options.blocks.level_moves, 100, 100'000'000);
    reader.unsigned_integer("seed", options.blocks.seed);
}

std::unique_ptr<Solver> make_hiremate(const HiremateOptions& options) {
    return std::make_unique<Hiremate>(options);
}

constinit const SolverEntry hiremate_solver = solver_entry<HiremateOptions, make_hiremate>(
    {.name = "hiremate", .finds = ScheduleClass::any_order, .compared = true});

}  // namespace rematlas
