#include "core/solvers/hierarchical/hiremate.h"

#include <algorithm>

#include "core/solvers/annealing/anneal.h"
#include "core/solvers/annealing/greedy_start.h"
#include "core/solvers/annealing/portfolio.h"
#include "core/solvers/dtr/dtr.h"
#include "core/solvers/hierarchical/rockmate.h"
#include "core/solving/answers.h"
#include "core/solving/incumbent.h"
#include "core/solving/library_option.h"

namespace rematlas {

namespace {

using namespace hierarchical;

constexpr double kAbove[] = {1, 1.01, 1.03, 1.06, 1.1};  // memory limits of the last level, as multiples of
                                                         // the budget
constexpr double kStartShare = 0.1;                      // share of the time for the first answer
constexpr int kFirstCycles = 10, kLastCycles = 50;       // most cycles of annealing while no schedule fits
constexpr double kSequenceShare = 0.3;                   // share of the time for the sequence of blocks
constexpr double kBlockShare = 0.6;                      // share of the remaining time for options of blocks
// The last level is annealed again under the memory limit that gave the best result. The number of moves is
// multiplied by these factors. The second factor is tried only if the first improved the schedule.
constexpr std::uint64_t kTopMoves[] = {2, 6};

/// The data that the calls of `solve` for one problem share, whatever their budgets. Each part is computed
/// when a call first needs it, within the limits of that call.
class Shared {
  public:
    /// Keeps a reference to `options`.
    Shared(const Problem& problem, const HiremateOptions& options) : problem_(problem), options_(options) {}

    /// Returns Rotor's dynamic program over the sequence of blocks, for budgets up to `largest`. (In the
    /// paper, this program is used in addition to the nested levels.) Returns null if the options do not ask
    /// for it or the step is not a sequence of blocks.
    const Solver* sequence(Bytes largest, const Limits& limits) {
        if (!is_sequence_known_) {
            is_sequence_known_ = true;
            RockmateOptions rockmate;
            rockmate.blocks = options_.blocks;
            if (options_.sequence && is_sequence_of_blocks(problem_))
                sequence_ = make_rockmate(rockmate)->up_to(problem_, largest, limits);
        }
        return sequence_.get();
    }

    const BlockTable& table(const Limits& limits) {
        if (!table_) {
            table_.emplace(problem_, training_tree(problem_.graph, problem_.flat, options_.partition),
                           options_.blocks);
            table_->fill(Deadline(limits), limits.threads, OptionCache(limits.cache));
        }
        return *table_;
    }

  private:
    const Problem problem_;
    const HiremateOptions& options_;
    bool is_sequence_known_ = false;
    std::unique_ptr<Solver> sequence_;
    std::optional<BlockTable> table_;
};

class Hiremate final : public Solver {
  public:
    Hiremate(const SolverEntry& entry, const HiremateOptions& options)
        : name_(entry.traits.name), options_(options) {}
    std::string_view name() const override { return name_; }

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        Shared shared(problem, options_);
        return solve(problem, budget, limits, progress, shared);
    }

    std::unique_ptr<Solver> up_to(const Problem& problem, Bytes largest, const Limits& limits) const override;

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits, const Progress& progress,
                 Shared& shared) const {
        if (auto solution = optimal_without_reruns(problem.flat, budget)) return *std::move(solution);
        const FlatGraph& flat = problem.flat;
        if (least_peak(flat).bytes > budget) return infeasible_from(flat, budget, std::nullopt);
        const Deadline deadline(limits);
        Incumbent best(flat, budget, deadline, progress);
        find_first(problem, budget, limits, deadline, best);
        Limits part = limits.with_time(share_of(limits.time, kSequenceShare));
        std::optional<Candidate> of_sequence;
        if (const Solver* sequence = shared.sequence(budget, part)) {
            part.time = deadline.left();
            const Answer answer = sequence->solve(problem, budget, part, {});
            if (const auto* solution = std::get_if<Solution>(&answer)) best.offer_solution(*solution);
            if (best.fits()) of_sequence = best.best();
        }
        part.time = share_of(deadline.left(), kBlockShare);
        offer_from_levels(shared.table(part), problem.flat, budget, of_sequence, deadline, best);
        anneal_until_it_fits(problem.flat, budget, kLastCycles, deadline, best);
        if (options_.polish) polish(problem, budget, limits, deadline, best);
        return best.answer();
    }

  private:
    /// Finds an answer before the blocks exist. First greedy eviction is tried, then online eviction. If
    /// neither keeps the budget, annealing starts from the better of the two results.
    void find_first(const Problem& problem, Bytes budget, const Limits& limits, const Deadline& deadline,
                    Incumbent& best) const {
        const FlatGraph& flat = problem.flat;
        best.offer(Candidate::of(flat, required_once(flat)));
        annealing::best_start(flat, budget.value, best.best(), deadline, kStartShare,
                              [&](const Candidate& found) { best.offer(found); });
        const Limits part = limits.with_time(share_of(limits.time, kStartShare));
        const Deadline soon(part);
        if (!best.fits()) {
            const Answer answer = make_dtr()->solve(problem, budget, part, {});
            if (const auto* solution = std::get_if<Solution>(&answer)) best.offer_solution(*solution);
        }
        anneal_until_it_fits(flat, budget, kFirstCycles, soon, best);
    }

    /// Anneals until a schedule fits, but for at most `cycles` cycles. Without this limit, the search would
    /// use up the time if no schedule fits the budget.
    void anneal_until_it_fits(const FlatGraph& flat, Bytes budget, int cycles, const Deadline& deadline,
                              Incumbent& best) const {
        if (best.fits()) return;
        const AnnealingOptions options;
        annealing::Annealer annealer(flat, budget.value, best.best(), options, options_.blocks.seed);
        for (int cycle = 0; cycle < cycles && !best.fits(); ++cycle) {
            const bool went_on =
                annealer.run_cycle(5 * level_moves(), 1, deadline, [&](const Candidate& found) {
                    best.offer(found);
                    return !best.fits();
                });
            if (!went_on) break;
        }
    }

    /// The schedule that was found for the last level under one memory limit.
    struct Searched {
        std::int64_t room;  ///< the memory limit: bytes that the level may hold besides the residents
        LevelSchedule schedule;
        Candidate found;  ///< the runs of the schedule, with their exact cost
    };

    void offer_from_levels(const BlockTable& table, const FlatGraph& flat, Bytes budget,
                           const std::optional<Candidate>& sequence, const Deadline& deadline,
                           Incumbent& best) const {
        if (table.tree().blocks.front().children.empty())
            return offer_from_one_block(flat, budget, deadline, best);
        const Level level = table.level_of(0);
        const auto searched = [&](std::int64_t room, LevelSchedule start, std::uint64_t times) {
            LevelSchedule schedule =
                table.choose(0, level, std::move(start), room, options_.blocks.seed + times,
                             times * level_moves(), deadline);
            Candidate found = Candidate::of(flat, without_useless(flat, level.lowered(schedule)));
            best.offer(found);
            return Searched{room, std::move(schedule), std::move(found)};
        };
        std::optional<Searched> nearest;
        for (const double above : kAbove) {
            if (deadline.passed()) return;
            const auto room =
                static_cast<std::int64_t>(above * static_cast<double>(budget.value)) - flat.resident_bytes;
            Searched one = searched(room, level.once(std::vector<std::int32_t>(level.size(), 0)), 1);
            if (!nearest || one.found.better_than(nearest->found, budget.value)) nearest = std::move(one);
        }
        // Gives up if the result is no better than the answer of the sequence of blocks: more moves would not
        // help.
        if (sequence && !nearest->found.better_than(*sequence, budget.value)) return;
        for (const std::uint64_t times : kTopMoves) {
            const std::int64_t before = nearest->found.time;
            nearest = searched(nearest->room, std::move(nearest->schedule), times);
            if (nearest->found.time == before) break;
        }
    }

    /// Anneals the ops of the whole step. Called if the step is a single bottom block, so that it has no
    /// level that could be annealed.
    void offer_from_one_block(const FlatGraph& flat, Bytes budget, const Deadline& deadline,
                              Incumbent& best) const {
        const AnnealingOptions options;
        annealing::Annealer annealer(flat, budget.value, Candidate::of(flat, required_once(flat)), options,
                                     options_.blocks.seed);
        for (int cycle = 0; cycle < 4; ++cycle)
            annealer.run_cycle(5 * level_moves(), 1, deadline, [](const Candidate&) { return true; });
        best.offer(annealer.best());
    }

    void polish(const Problem& problem, Bytes budget, const Limits& limits, const Deadline& deadline,
                Incumbent& best) const {
        const annealing::Repeats repeats = annealing::repeats_of(problem.graph);
        const Limits left = limits.with_time(deadline.left());
        annealing::PortfolioResult result =
            annealing::anneal_portfolio(problem.flat, best.best(),
                                        {.budget = budget.value,
                                         .seed = options_.blocks.seed,
                                         .threads = limits.threads,
                                         .trials = 1,
                                         .repeats = &repeats,
                                         .report = [&](const Candidate& found) { best.offer(found); }},
                                        AnnealingOptions{}, Deadline(left));
        best.settle(std::move(result.best));
    }

    std::uint64_t level_moves() const { return static_cast<std::uint64_t>(options_.blocks.level_moves); }

    const std::string_view name_;
    const HiremateOptions options_;
};

/// Solves one problem for many budgets.
class HiremateUpTo final : public Solver {
  public:
    HiremateUpTo(const Hiremate& solver, const HiremateOptions& options, const Problem& problem,
                 Bytes largest, const Limits& limits)
        : solver_(solver), options_(options), shared_(problem, options_) {
        Limits part = limits.with_time(share_of(limits.time, kSequenceShare));
        const Deadline deadline(limits);
        shared_.sequence(largest, part);
        part.time = deadline.left();
        shared_.table(part);
    }
    std::string_view name() const override { return solver_.name(); }
    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        return solver_.solve(problem, budget, limits, progress, shared_);
    }

  private:
    const Hiremate solver_;
    const HiremateOptions options_;
    mutable Shared shared_;
};

std::unique_ptr<Solver> Hiremate::up_to(const Problem& problem, Bytes largest, const Limits& limits) const {
    return std::make_unique<HiremateUpTo>(*this, options_, problem, largest, limits);
}

}  // namespace

void read_options(OptionReader& reader, HiremateOptions& options) {
    read_block_options(reader, options.partition, options.blocks);
    reader.integer("level_moves", options.blocks.level_moves, 100, 100'000'000);
    reader.flag("sequence", options.sequence);
    reader.flag("polish", options.polish);
}

std::unique_ptr<Solver> make_hiremate(const HiremateOptions& options) {
    return std::make_unique<Hiremate>(hiremate_solver, options);
}

void read_options(OptionReader& reader, HilpOptions& options) {
    reader.integer("most_items", options.hiremate.partition.most_items, 2, 100);
    reader.number("size_power", options.hiremate.partition.size_power, 0, 4);
    reader.integer("saved_limits", options.hiremate.blocks.level_saved_limits, 1, 100);
    reader.integer("peak_limits", options.hiremate.blocks.level_peak_limits, 1, 100);
    reader.integer("level_moves", options.hiremate.blocks.level_moves, 100, 100'000'000);
    reader.unsigned_integer("seed", options.hiremate.blocks.seed);
    ProgrammeLimits& programme = *options.hiremate.blocks.programme;
    reader.number("gap", programme.gap, 0, 1);
    double seconds = std::chrono::duration<double>(programme.time).count();
    reader.number("programme_seconds", seconds, 0.01, 1e6);
    programme.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    read_library(reader, programme.library);
}

std::unique_ptr<Solver> make_hilp(const HilpOptions& options) {
    return std::make_unique<Hiremate>(hilp_solver, options.hiremate);
}

constinit const SolverEntry hilp_solver = solver_entry<HilpOptions, make_hilp>(
    {.name = "hilp",
     .summary =
         "nested blocks, a mixed-integer programme at each level down to single ops (Gusak et al. 2025)",
     .finds = ScheduleClass::any_order});

constinit const SolverEntry hiremate_solver = solver_entry<HiremateOptions, make_hiremate>(
    {.name = "hiremate",
     .summary = "nested blocks with options, recombined level by level (Gusak et al. 2025)",
     .finds = ScheduleClass::any_order,
     .compared = true});

}  // namespace rematlas
