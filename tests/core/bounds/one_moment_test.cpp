// Compares the relaxation of one moment with an enumeration of all sets of ops that may run again.
#include "core/bounds/one_moment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/bounds/moment_chain.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// The cost of a set of reruns: its time, and the bytes that must be kept beyond the moment.
struct Way {
    double time;
    double kept;
};

/// The relaxation of one moment, by the definition in one_moment.h, computed on sets.
class Enumeration {
  public:
    Enumeration(const FlatGraph& flat, int moment)
        : flat_(flat), moment_(moment), before_(ancestors(moment)) {
        before_.insert(moment);
        at_moment_.insert(flat.inputs[moment].begin(), flat.inputs[moment].end());
        at_moment_.insert(flat.outputs[moment].begin(), flat.outputs[moment].end());
        held_ = flat.resident_bytes + flat.workspace[moment];
        for (int t : at_moment_) held_ += flat.bytes[t];
        for (const FlatGraph::Pair& pair : flat.inplace_pairs(moment)) held_ -= pair.saved;
        needed_ = left({flat.results.begin(), flat.results.end()});
        for (int op = 0; op < flat.op_count; ++op)
            if (runs_after(op)) needed_.merge(inputs_left(op));
        for (int t : needed_) add_maker(t);
    }

    /// Returns the least extra time after the moment if two sets of reruns may be mixed in any ratio: the
    /// value of the lower convex hull of all ways at the available bytes.
    double extra_time(std::int64_t budget) const {
        if (held_ > budget) return kImpossible;
        const std::vector<Way> ways = all_ways();
        const double room = static_cast<double>(room_within(budget - held_));
        double least = kImpossible;
        for (const Way& a : ways) {
            if (a.kept > room) continue;
            least = std::min(least, a.time);
            for (const Way& b : ways) {
                if (b.kept > room)
                    least = std::min(least, a.time + (b.time - a.time) * (room - a.kept) / (b.kept - a.kept));
            }
        }
        return least;
    }

    std::size_t makers() const { return makers_.size(); }

  private:
    std::set<int> ancestors(int op) const {
        std::set<int> found;
        for (int t : flat_.inputs[op]) {
            found.insert(flat_.producer[t]);
            found.merge(ancestors(flat_.producer[t]));
        }
        return found;
    }
    bool runs_after(int op) const {
        return flat_.required[op] && op != moment_ && ancestors(op).contains(moment_);
    }
    /// Returns the tensors of the set that must be kept during the moment or be made again after it.
    std::set<int> left(std::set<int> tensors) const {
        std::erase_if(tensors,
                      [&](int t) { return at_moment_.contains(t) || runs_after(flat_.producer[t]); });
        return tensors;
    }
    std::set<int> inputs_left(int op) const {
        return left({flat_.inputs[op].begin(), flat_.inputs[op].end()});
    }
    void add_maker(int t) {
        const int maker = flat_.producer[t];
        if (before_.contains(maker) && !flat_.recomputable[maker]) return;
        if (!makers_.insert(maker).second) return;
        for (int needed : inputs_left(maker)) add_maker(needed);
    }

    std::vector<Way> all_ways() const {
        const std::vector<int> makers(makers_.begin(), makers_.end());
        std::vector<Way> ways;
        for (std::uint32_t set = 0; set < 1u << makers.size(); ++set) {
            std::set<int> run, wanted = needed_;
            for (std::size_t i = 0; i < makers.size(); ++i)
                if (set >> i & 1) run.insert(makers[i]);
            Way way{0, 0};
            for (int op : run) {
                way.time += before_.contains(op) ? static_cast<double>(flat_.time[op]) : 0;
                wanted.merge(inputs_left(op));
            }
            for (int t : wanted)
                way.kept += run.contains(flat_.producer[t]) ? 0 : static_cast<double>(flat_.bytes[t]);
            ways.push_back(way);
        }
        return ways;
    }

    /// Returns the largest sum of sizes of whole tensors that is at most `most` bytes.
    std::int64_t room_within(std::int64_t most) const {
        std::set<int> tensors = needed_;
        for (int op : makers_) tensors.merge(inputs_left(op));
        std::set<std::int64_t> sums{0};
        for (int t : tensors)
            for (std::int64_t sum : std::vector<std::int64_t>(sums.begin(), sums.end()))
                sums.insert(sum + flat_.bytes[t]);
        return *std::prev(sums.upper_bound(most));
    }

    const FlatGraph& flat_;
    int moment_;
    std::set<int> before_, at_moment_, needed_, makers_;
    std::int64_t held_ = 0;
};

std::int64_t time_of_required(const FlatGraph& flat) {
    std::int64_t required = 0;
    for (int op = 0; op < flat.op_count; ++op) required += flat.required[op] ? flat.time[op] : 0;
    return required;
}

/// The memory without reruns at a moment, and the bound on the overhead from this moment.
struct Moment {
    std::int64_t memory;
    double overhead;
};

/// Returns the moments of the required ops whose runs exceed the budget in the step without reruns. Returns
/// no moments if there is too much to enumerate.
std::vector<Moment> moments_over(const FlatGraph& flat, std::int64_t budget) {
    const std::vector<std::int64_t> during = memory_without_reruns(flat);
    const auto required = static_cast<double>(time_of_required(flat));
    std::vector<Moment> moments;
    for (int op = 0; op < flat.op_count; ++op) {
        if (!flat.required[op] || during[op] <= budget) continue;
        const Enumeration enumeration(flat, op);
        if (enumeration.makers() > 9) return {};
        const double time = required + enumeration.extra_time(budget);
        moments.push_back({during[op], time / static_cast<double>(flat.base_time)});
    }
    return moments;
}

bool near(double a, double b) {
    return a == b || std::abs(a - b) < 1e-9;
}

/// Compares the bound that the code finds with the best bound over all moments. `share` is the sum of the
/// ratios of the two bounds, after the time of the required runs is subtracted from each. Not compared are
/// cases in which the best bound is infinite, or is only the time of the required runs.
struct Found {
    int compared = 0, impossible = 0;
    double share = 0;
};

void compare(const Graph& graph, Found& found) {
    const FlatGraph flat = flatten(graph);
    if (flat.base_time == 0) return;
    const std::int64_t most = cost_of(flat, keep_all_sequence(flat)).peak,
                       least = least_peak(flat).bytes.value;
    const double required = static_cast<double>(time_of_required(flat)) / static_cast<double>(flat.base_time);
    for (std::int64_t budget = least - 2; budget <= most; budget += 1 + (most - least) / 6) {
        const std::vector<Moment> moments = moments_over(flat, budget);
        if (moments.empty()) continue;
        const BoundLimits one{.time = std::chrono::hours(1), .moments = 1},
            all{.time = std::chrono::hours(1)};
        const double of_one = overhead_lower_bound(flat, Bytes(budget), one).overhead,
                     of_all = overhead_lower_bound(flat, Bytes(budget), all).overhead;
        const std::string what = graph.name + " at " + std::to_string(budget);
        const auto fullest = std::ranges::max_element(moments, {}, &Moment::memory)->memory;
        const double highest = std::ranges::max_element(moments, {}, &Moment::overhead)->overhead;
        EXPECT_TRUE(
            std::any_of(moments.begin(), moments.end(),
                        [&](const Moment& m) { return m.memory == fullest && near(m.overhead, of_one); }))
            << what << ": " << of_one;
        EXPECT_GE(of_all, of_one) << what;
        EXPECT_LE(of_all, highest + 1e-9) << what;
        found.impossible += highest == kImpossible;
        if (highest == kImpossible || highest <= required) continue;
        ++found.compared;
        found.share += (of_all - required) / (highest - required);
    }
}

TEST(OneMomentBound, of_the_fullest_moment_is_the_optimum_of_its_relaxation) {
    Found found;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        compare(random_training_graph(seed, {.forward_ops = 2 + static_cast<int>(seed % 3)}), found);
        compare(random_odd_graph(seed, 4 + static_cast<int>(seed % 9)), found);
        compare(random_chain(seed, 3 + static_cast<int>(seed % 5)), found);
    }
    EXPECT_GT(found.compared, 300);
    EXPECT_GT(found.impossible, 50);
    // The code searches for the best price of a byte (one_moment.h) only at moments that are promising at the
    // best price so far. So it can miss the best bound.
    EXPECT_GT(found.share / found.compared, 0.94);
}

}  // namespace
}  // namespace rematlas
