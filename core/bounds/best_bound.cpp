#include "core/bounds/best_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "core/bounds/first_order_lp.h"
#include "core/bounds/moment_chain.h"
#include "core/bounds/two_sided_moments.h"
#include "core/bounds/whole_moments.h"

namespace rematlas {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kExactDouble = std::int64_t{1} << 53;
constexpr int kMostOpsAllMoments = 200, kMostOpsSomeMoments = 2500;
constexpr int kSomeMoments = 16, kJoin = 4, kFewMarginRows = 6;
constexpr double kRelaxedShare = 0.4;  // share of the remaining time that one relaxation by the first-order
                                       // method may take

class BestBound {
  public:
    BestBound(const FlatGraph& graph, Bytes budget, const BestBoundLimits& limits)
        : graph_(graph), budget_(budget), limits_(limits) {
        for (int op = 0; op < graph.op_count; ++op) bound_.time += graph.required[op] ? graph.time[op] : 0;
        required_ = bound_.time;
    }

    ProvenBound run() {
        if (limits_.host)
            try_with_copies();
        else
            try_relaxations();
        const double base = static_cast<double>(graph_.base_time);
        bound_.overhead = bound_.time == kNone ? std::numeric_limits<double>::infinity()
                          : base > 0           ? static_cast<double>(bound_.time) / base
                                               : 1;
        bound_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
        return std::move(bound_);
    }

  private:
    void try_relaxations() {
        try_one_moment();
        const bool small = graph_.op_count <= kMostOpsAllMoments;
        if (is_done() || graph_.op_count > kMostOpsSomeMoments || !fits_doubles()) return;
        try_chain(small ? 0 : kSomeMoments);
        if (!is_done() && limits_.whole) try_whole(small ? 0 : kSomeMoments);
    }

    void try_with_copies() {
        if (!fits_doubles()) return;
        if (!limits_.host_ops.empty()) try_two_sided({});
        if (graph_.op_count > kMostOpsSomeMoments) return;
        for (const int op : moments_by_promise()) {
            if (is_done()) return;
            try_two_sided({.ops = {op}, .fullest = 0});
        }
        const MomentChain chain = moment_chain(graph_, budget_.value, kSomeMoments);
        if (!is_done() && graph_.op_count <= kMostOpsAllMoments && chain.ops.size() > 1) try_two_sided(chain);
    }

    /// Returns the moments to try, in order. The first is the fullest moment of the chain (moment_chain.h).
    /// Then two kinds alternate: the moment with the next most memory, and the next moment of an even spread
    /// over the step.
    std::vector<int> moments_by_promise() const {
        const std::vector<std::int64_t> during = memory_without_reruns(graph_);
        std::vector<int> over, order = moment_chain(graph_, budget_.value, 1).ops;
        for (int op = 0; op < graph_.op_count; ++op) {
            if (graph_.required[op] && during[op] > budget_.value) over.push_back(op);
        }
        std::vector<int> fullest = over;
        std::stable_sort(fullest.begin(), fullest.end(), [&](int a, int b) { return during[a] > during[b]; });
        const std::size_t most = std::min(over.size(), static_cast<std::size_t>(limits_.moments));
        for (std::size_t i = 0; i < most; ++i) {
            order.push_back(fullest[i]);
            order.push_back(over[(2 * i + 1) * over.size() / (2 * most)]);
        }
        std::vector<int> once;
        for (const int op : order) {
            if (once.size() < most && std::find(once.begin(), once.end(), op) == once.end())
                once.push_back(op);
        }
        return once;
    }

    /// Raises the bound by a relaxation with no, one or a few moments. A library solves the relaxation if the
    /// build has one, because the multipliers of a library are optimal.
    std::int64_t try_two_sided(MomentChain chain) {
        const bool library = limits_.whole && !milp_libraries().empty();
        const TwoSidedMoments relaxation(graph_, budget_.value, std::move(chain), *limits_.host,
                                         library ? TwoSidedMoments::kAllMarginRows : kFewMarginRows,
                                         limits_.host_ops);
        std::int64_t time = kNone;
        if (!relaxation.impossible()) {
            const MilpModel& programme = relaxation.programme();
            const auto balance = [&](std::span<double> multipliers) { relaxation.balance(multipliers); };
            time = relaxation.bound(library ? relax_by_library(programme) : relax(programme, balance));
        }
        raise(time, ProvenBound::By::chain_moments);
        return time;
    }

    DualValue relax_by_library(const MilpModel& programme) const {
        const Result<MilpAnswer> answer = solve_milp(milp_libraries().front(), programme,
                                                     {.time = left(), .stop = limits_.stop, .relaxed = true});
        const bool solved = answer && answer->multipliers.size() == programme.rows();
        return dual_value(programme, solved ? answer->multipliers : std::vector<double>(programme.rows()));
    }

    using Clock = std::chrono::steady_clock;

    std::chrono::nanoseconds left() const { return limits_.time - (Clock::now() - start_); }
    bool is_done() const {
        return proves_optimal(bound_.time, limits_.known) || limits_.stop.stop_requested() ||
               left().count() <= 0;
    }
    bool fits_doubles() const {
        std::int64_t bytes = 0;
        for (std::int64_t b : graph_.bytes) bytes += b;
        return graph_.base_time < kExactDouble / 16 && bytes < kExactDouble;
    }

    /// Raises the bound to `time`, even above the time of the known schedule. A bound above that time can
    /// only be an error, which the caller must detect.
    void raise(std::int64_t time, ProvenBound::By by) {
        if (time <= bound_.time) return;
        bound_.time = time;
        bound_.by = by;
    }

    void try_one_moment() {
        const OverheadBound one =
            overhead_lower_bound(graph_, budget_, {.time = limits_.time / 4, .stop = limits_.stop});
        if (std::isinf(one.overhead)) return raise(kNone, ProvenBound::By::one_moment);
        // Converts the overhead back to nanoseconds, with a factor that makes rounding errors harmless. Then
        // rounds up to the next time that a schedule can have.
        const double time = one.overhead * static_cast<double>(graph_.base_time) * (1 - 1e-15);
        if (time > static_cast<double>(required_))
            raise(next_possible_time(graph_, static_cast<std::int64_t>(std::ceil(time))),
                  ProvenBound::By::one_moment);
    }

    void try_chain(int moments) {
        const ChainMoments relaxation(graph_, budget_.value, {.moments = moments, .join = kJoin});
        if (relaxation.impossible()) return raise(kNone, ProvenBound::By::chain_moments);
        relaxed_ = relax(relaxation.programme());
        raise(relaxed_.infeasible ? kNone : next_possible_time(graph_, relaxed_.bound),
              ProvenBound::By::chain_moments);
    }

    DualValue relax(const MilpModel& programme, std::function<void(std::span<double>)> improve = {}) const {
        const auto end = Clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(
                                            kRelaxedShare * static_cast<double>(left().count())));
        const auto stop = [&] { return limits_.stop.stop_requested() || Clock::now() >= end; };
        return solve_relaxation(programme,
                                {.stop = stop, .enough = limits_.known, .improve = std::move(improve)})
            .value;
    }

    void try_whole(int moments) {
        if (milp_libraries().empty()) return;
        Result<WholeMoments> whole = solve_whole_moments(
            graph_, budget_, relaxed_, milp_libraries().front(),
            {.time = left(), .stop = limits_.stop, .known = limits_.known, .moments = moments});
        if (!whole) return;
        bound_.runs = std::move(whole->runs);
        raise(whole->bound, ProvenBound::By::whole_moments);
        bound_.nodes = whole->nodes;
    }

    const FlatGraph& graph_;
    const Bytes budget_;
    const BestBoundLimits& limits_;
    const Clock::time_point start_ = Clock::now();
    std::int64_t required_ = 0;
    DualValue relaxed_;  ///< value of the most recent relaxation of a chain
    ProvenBound bound_;
};

}  // namespace

ProvenBound best_bound(const FlatGraph& graph, Bytes budget, const BestBoundLimits& limits) {
    return BestBound(graph, budget, limits).run();
}

}  // namespace rematlas
