#include "core/solvers/atlas/copy_search.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solvers/annealing/anneal_copies.h"
#include "core/solvers/atlas/atlas.h"
#include "core/solving/answers.h"

namespace rematlas {

namespace {

using annealing::CopyAnnealer;
using annealing::CopyState;

// Shares of the time limit.
constexpr double kPlainShare = 0.15;    // for the answer without copies
constexpr double kLargerShare = 0.07;   // for that at each larger budget
constexpr double kCopyRaceShare = 0.4;  // of what is left then: after it the best lane goes on alone

/// Of what a link carries in a third of the step.
constexpr double kLarger[] = {0.2, 0.4, 0.7, 1.0};
constexpr double kPartOfStep = 0.35;
constexpr double kLeftToActivations[] = {0.9, 0.6};  // of the budget, where residents may leave

constexpr double kPrices[] = {0.01, 0.003, 0.03};
constexpr double kCopyHeats[] = {1, 0.3, 3, 0.1};
constexpr double kMovesToCoolCopies = 100;  // for each op: a cycle with fewer moves starts less hot
constexpr double kLeastCopyHeat = 0.03;
constexpr std::uint64_t kLaneSeedStride = 0x9e3779b97f4a7c15u;
constexpr double kCopyPatience =
    5;  // times the moves to the best answer, after which nothing better is hoped for
constexpr double kLeastCycles = 40;

class CopySearch {
  public:
    CopySearch(const Problem& problem, Bytes budget, const Limits& limits, const AnnealingOptions& options,
               const Progress& progress)
        : problem_(problem),
          budget_(budget),
          limits_(limits),
          options_(options),
          progress_(progress),
          deadline_(limits),
          graph_(annealing::copy_graph(problem)),
          repeats_(annealing::repeats_of(problem.graph)) {}

    Answer run() {
        start_without_copies();
        if (graph_.home >= 0)
            start_without_residents();
        else
            start_from_larger_budgets();
        if (!is_over()) race();
        if (best_) return *std::move(best_);
        return infeasible_from(problem_, budget_, smallest_);
    }

  private:
    using Lane = std::unique_ptr<CopyAnnealer>;

    Nanoseconds least_time() const {
        const SequenceCost once = cost_of(problem_.flat, required_once(problem_.flat));
        return Nanoseconds(once.time);
    }
    bool is_over() const { return deadline_.passed() || (best_ && best_->time <= least_time()); }

    std::optional<RunSequence> plain_runs(Bytes budget, double share, bool offers) {
        Limits limits = limits_;
        limits.time = std::min(share_of(limits_.time, share), deadline_.left());
        const Answer answer =
            make_atlas(options_)->solve({problem_.graph, problem_.flat}, budget, limits, {});
        if (const auto* none = std::get_if<Infeasible>(&answer)) {
            if (none->smallest_found)
                smallest_ = std::min(smallest_.value_or(*none->smallest_found), *none->smallest_found);
            return std::nullopt;
        }
        const Solution& found = std::get<Solution>(answer);
        // Solvers without copies know nothing of what updates of residents need.
        if (offers && simulate(problem_.graph, found.steps)) offer(found);
        return runs_of(found.steps);
    }

    void start_without_copies() {
        if (auto runs = plain_runs(budget_, kPlainShare, true)) add_start(*runs);
    }

    void add_start(const RunSequence& runs) {
        starts_.push_back({.runs = annealing::with_early_updates(problem_, graph_, runs), .aways = {}});
    }

    /// As if residents took no bytes, and neither did what the optimizer reads, which is gone early. A part of the
    /// budget is left to residents that are there for a while.
    void start_without_residents() {
        FlatGraph free = problem_.flat;
        free.resident_bytes = 0;
        for (const OpId id : problem_.graph.ops.ids()) {
            if (problem_.graph.ops[id].phase != Phase::optimizer) continue;
            for (const std::int32_t t : free.inputs[id.index()]) free.bytes[t] = 0;
        }
        for (const double part : kLeftToActivations) {
            if (is_over()) return;
            const Bytes left(static_cast<std::int64_t>(part * static_cast<double>(budget_.value)));
            Limits limits = limits_;
            limits.time = std::min(share_of(limits_.time, kLargerShare), deadline_.left());
            const Answer answer = make_atlas(options_)->solve({problem_.graph, free}, left, limits, {});
            const auto* found = std::get_if<Solution>(&answer);
            if (!found) continue;
            if (const auto runs = runs_of(found->steps)) add_start(*runs);
        }
        add_start(required_once(problem_.flat));
    }

    void start_from_larger_budgets() {
        const Links& links = problem_.copies.links;
        const double carried = kPartOfStep * static_cast<double>(problem_.flat.base_time) / 1e9 *
                               std::min(links.to_host_bytes_per_second, links.to_device_bytes_per_second);
        const RunSequence once = required_once(problem_.flat);
        const Bytes all(cost_of(problem_.flat, once).peak);
        for (const double part : kLarger) {
            if (is_over()) return;
            const double larger = static_cast<double>(budget_.value) + part * carried;
            if (larger >= static_cast<double>(all.value)) break;
            if (auto runs = plain_runs(Bytes(static_cast<std::int64_t>(larger)), kLargerShare, false))
                add_start(*runs);
        }
        add_start(once);
    }

    void race() {
        std::vector<Lane> lanes;
        for (const CopyState& start : starts_) {
            lanes.push_back(lane_from(start, lanes.size()));
            lanes.back()->make_room(deadline_);
            take(*lanes.back());
        }
        const double started = deadline_.fraction();
        double planned = options_.first_cycle;
        for (std::size_t round = 0; !is_over(); ++round) {
            for (Lane& lane : lanes)
                if (!run_cycle(*lane, round, static_cast<std::uint64_t>(planned))) return;
            std::stable_sort(lanes.begin(), lanes.end(),
                             [](const Lane& a, const Lane& b) { return a->rank() < b->rank(); });
            const bool last = race_is_over(started);
            lanes.resize(last ? 1 : (lanes.size() + 1) / 2);
            if (lanes.size() == 1 && has_stagnated()) return;
            planned *= options_.cycle_growth;
        }
    }

    Lane lane_from(const CopyState& start, std::size_t number) const {
        return std::make_unique<CopyAnnealer>(
            problem_, graph_, start,
            annealing::CopyAnnealing{.budget = budget_,
                                     .contended = number % 2 == 1,
                                     .price = kPrices[number % std::size(kPrices)],
                                     .seed = limits_.seed + options_.seed + kLaneSeedStride * number,
                                     .repeats = &repeats_},
            options_);
    }

    /// False: that was the last one.
    bool run_cycle(CopyAnnealer& lane, std::size_t round, std::uint64_t moves) {
        if (options_.max_moves > 0)
            moves = std::min(moves, options_.max_moves - std::min(moves_, options_.max_moves));
        if (moves == 0) return false;
        const double cooled =
            static_cast<double>(moves) / (kMovesToCoolCopies * std::max(graph_.real_ops, 1));
        const double heat =
            kCopyHeats[round % std::size(kCopyHeats)] * std::clamp(cooled, kLeastCopyHeat, 1.0);
        const bool goes_on = lane.run_cycle(moves, heat, deadline_, [this, &lane](const Solution&) {
            take(lane);
            return !is_over();
        });
        take(lane);
        moves_ += moves;
        return goes_on;
    }

    bool race_is_over(double started) const {
        if (options_.max_moves > 0)
            return static_cast<double>(moves_) > kCopyRaceShare * static_cast<double>(options_.max_moves);
        return deadline_.fraction() > started + kCopyRaceShare * (1 - started);
    }

    bool has_stagnated() const {
        if (options_.max_moves > 0 || !best_) return false;
        const double least = std::max(kLeastCycles * options_.first_cycle, static_cast<double>(found_at_));
        return static_cast<double>(moves_) > kCopyPatience * least;
    }

    void take(const CopyAnnealer& lane) {
        if (lane.best()) offer(*lane.best());
    }

    void offer(const Solution& found) {
        if (best_ && best_->time <= found.time) return;
        best_ = found;
        best_->status = Status::feasible;
        best_->bound.reset();
        found_at_ = moves_;
        if (progress_)
            progress_({.overhead = best_->overhead,
                       .peak = best_->peak,
                       .bound = {},
                       .fraction_done = deadline_.fraction()});
    }

    const Problem& problem_;
    const Bytes budget_;
    const Limits& limits_;
    const AnnealingOptions& options_;
    const Progress& progress_;
    const Deadline deadline_;
    const annealing::CopyGraph graph_;
    const annealing::Repeats repeats_;
    std::vector<CopyState> starts_;
    std::optional<Solution> best_;
    std::optional<Bytes> smallest_;
    std::uint64_t moves_ = 0, found_at_ = 0;
};

}  // namespace

Answer solve_with_copies(const Problem& problem, Bytes budget, const Limits& limits,
                         const AnnealingOptions& options, const Progress& progress) {
    return CopySearch(problem, budget, limits, options, progress).run();
}

}  // namespace rematlas
