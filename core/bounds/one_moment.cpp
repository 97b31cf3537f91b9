#include "core/bounds/one_moment.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/bounds/min_cut.h"
#include "core/bounds/moment_chain.h"
#include "core/bounds/subset_sum.h"

namespace rematlas {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// The linear program of one moment: the first run of the required op b.
///
/// Required ops that descend from b run after the moment. The op b and its ancestors have run by the end of
/// the moment, so each of their runs after the moment is an extra run. Any other required op may run before
/// or after the moment, at no extra cost. An op that runs after the moment gets each input from the moment
/// (the tensor was kept) or from a run of the input's maker after the moment. The same holds for the results.
/// With a price for each byte kept, the cheapest choice is a minimum cut of a network with three kinds of
/// edges: from "tensor t is needed" to "the maker of t runs", with capacity price * bytes; from "op runs" to
/// the sink, with the op's time; from "op runs" to "its input is needed", without limit. The cut minus price
/// * (bytes of the budget that b leaves) is a bound for every price, and the best of these bounds is the
/// optimum of the relaxation.
class MomentProgramme {
  public:
    MomentProgramme(const FlatGraph& flat, int moment)
        : flat_(flat),
          moment_(moment),
          role_(flat.op_count, Role::free),
          at_moment_(flat.tensor_count, 0),
          tensor_index_(flat.tensor_count, -1),
          op_index_(flat.op_count, -1) {
        mark_roles();
        held_ = flat.resident_bytes + flat.footprint(moment);
        for (const auto list : {flat.inputs[moment], flat.outputs[moment]})
            for (int t : list) at_moment_[t] = 1;
    }

    /// Returns the bytes of the residents and of the run of the moment's op.
    std::int64_t held() const { return held_; }

    /// Returns a lower bound in nanoseconds on the extra time after the moment; infinite if the budget cannot
    /// be kept. `budget` must be at least `held`. If `price` is positive, only that price is tried, which is
    /// much cheaper than a search for the best price. Otherwise the best price is written into `price`.
    double extra_time(std::int64_t budget, double& price, const std::function<bool()>& stop) {
        collect();
        const Choice keep = keep_the_needed();
        if (keep.kept <= budget - held_) return 0;
        MinCut network = build_network();
        for (int op : ops_) all_time_ += time_again(op);
        if (price > 0) return value_of(cut_at(network, price, stop), price, budget - held_);
        const std::optional<Choice> least = keep_the_least(network, stop);
        if (!least) return 0;
        std::vector<std::int64_t> sizes;
        for (const Tensor& t : tensors_) sizes.push_back(flat_.bytes[t.id]);
        const std::int64_t room = largest_subset_sum(std::move(sizes), budget - held_);
        if (least->kept > room) return kImpossible;
        return keep.kept <= room ? 0 : best_price(network, keep, *least, room, price, stop);
    }

  private:
    enum class Role : std::uint8_t { free, before, after };

    /// A way to continue after the moment: its extra time and the bytes kept.
    struct Choice {
        double time = 0;
        std::int64_t kept = 0;
    };
    struct Tensor {
        int id;
        /// Whether the tensor is a result or is read by an op that runs after the moment. If not, only reruns
        /// need the tensor.
        bool needed;
        int maker;  ///< index of the maker in `ops_`; -1 if the maker cannot run again
        int edge = -1;
    };

    void mark_roles() {
        std::vector<int> walk{moment_};
        role_[moment_] = Role::before;
        while (!walk.empty()) {
            const int op = walk.back();
            walk.pop_back();
            for (int t : flat_.inputs[op]) {
                const int maker = flat_.producer[t];
                if (role_[maker] != Role::free) continue;
                role_[maker] = Role::before;
                walk.push_back(maker);
            }
        }
        walk.push_back(moment_);
        while (!walk.empty()) {
            const int op = walk.back();
            walk.pop_back();
            for (int t : flat_.outputs[op]) {
                for (int user : flat_.users[t]) {
                    if (!flat_.required[user] || role_[user] != Role::free) continue;
                    role_[user] = Role::after;
                    walk.push_back(user);
                }
            }
        }
    }

    /// Collects the tensors that may be kept and the ops that may run again.
    void collect() {
        for (int op = 0; op < flat_.op_count; ++op) {
            if (role_[op] != Role::after) continue;
            for (int t : flat_.inputs[op]) add(t, true);
        }
        for (int t : flat_.results) add(t, true);
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            for (int t : flat_.inputs[ops_[i]]) add(t, false);
        }
    }

    void add(int t, bool needed) {
        const int maker = flat_.producer[t];
        if (at_moment_[t] || role_[maker] == Role::after || tensor_index_[t] >= 0) return;
        tensor_index_[t] = static_cast<int>(tensors_.size());
        const bool again = role_[maker] == Role::free || flat_.recomputable[maker];
        if (again && op_index_[maker] < 0) {
            op_index_[maker] = static_cast<int>(ops_.size());
            ops_.push_back(maker);
        }
        tensors_.push_back({t, needed, again ? op_index_[maker] : -1});
    }

    double time_again(int op) const {
        return role_[op] == Role::before ? static_cast<double>(flat_.time[op]) : 0;
    }

    Choice keep_the_needed() const {
        Choice choice;
        for (const Tensor& t : tensors_) choice.kept += t.needed ? flat_.bytes[t.id] : 0;
        return choice;
    }

    /// Returns the choice that keeps the fewest bytes with which the step can continue; nothing if stopped.
    /// This choice does not always rerun every op that can run again, because a rerun may need a tensor that
    /// cannot be made again.
    std::optional<Choice> keep_the_least(MinCut& network, const std::function<bool()>& stop) const {
        for (const Tensor& t : tensors_) network.set_capacity(t.edge, flat_.bytes[t.id]);
        for (std::size_t i = 0; i < ops_.size(); ++i)
            network.set_capacity(op_edges_ + static_cast<int>(i), 0);
        const MinCut::Cut cut = network.solve(stop);
        if (!cut.finished) return std::nullopt;
        Choice choice = read(cut);
        choice.kept = cut.value;
        return choice;
    }

    /// As a function of the price, each choice gives a line, and the bound is the lower envelope of these
    /// lines. The search follows the breakpoints of the envelope. `below` and `above` are the choices at the
    /// nearest lower and the nearest higher price so far. Their lines meet at the next price.
    double best_price(MinCut& network, Choice below, Choice above, std::int64_t room, double& best_at,
                      const std::function<bool()>& stop) {
        double best = 0;
        for (int i = 0; i < 40 && !stop(); ++i) {
            const double price = (above.time - below.time) / static_cast<double>(below.kept - above.kept);
            if (!(price > 0)) break;
            const MinCut::Cut cut = cut_at(network, price, stop);
            const double value = value_of(cut, price, room);
            if (value > best) {
                best = value;
                best_at = price;
            }
            if (!cut.finished) break;
            const Choice choice = read(cut);
            const double line = below.time + price * static_cast<double>(below.kept);
            if (choice.time + price * static_cast<double>(choice.kept) >= line * (1 - 1e-12)) break;
            (choice.kept > room ? below : above) = choice;
        }
        return best;
    }

    double value_of(const MinCut::Cut& cut, double price, std::int64_t room) const {
        return static_cast<double>(cut.value) / scale_ * (1 - 8 * kEpsilon) -
               price * static_cast<double>(room) * (1 + 8 * kEpsilon);
    }

    /// Nodes: source, sink, then tensors, then ops. The edges of tensors that are needed in any case start at
    /// the source.
    MinCut build_network() {
        const int first_op = 2 + static_cast<int>(tensors_.size());
        MinCut network(first_op + static_cast<int>(ops_.size()), 0, 1);
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            Tensor& t = tensors_[i];
            t.edge = network.add_edge(t.needed ? 0 : 2 + static_cast<int>(i),
                                      t.maker < 0 ? 1 : first_op + t.maker);
        }
        op_edges_ = static_cast<int>(tensors_.size());
        for (std::size_t i = 0; i < ops_.size(); ++i) network.add_edge(first_op + static_cast<int>(i), 1);
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            for (int t : flat_.inputs[ops_[i]]) {
                const int index = tensor_index_[t];
                if (index < 0 || tensors_[index].needed) continue;
                network.set_capacity(network.add_edge(first_op + static_cast<int>(i), 2 + index),
                                     std::int64_t{1} << 61);
            }
        }
        return network;
    }

    /// Returns the minimum cut at this price. Capacities are rounded down, so that the integer cut is not
    /// above the true cut. A tensor's capacity is at most `most`: the cost of running every op that can run
    /// again and of keeping every tensor that cannot be made again. A larger capacity would not change the
    /// minimum cut.
    MinCut::Cut cut_at(MinCut& network, double price, const std::function<bool()>& stop) {
        double most = all_time_;
        for (const Tensor& t : tensors_)
            most += t.maker < 0 ? price * static_cast<double>(flat_.bytes[t.id]) : 0;
        scale_ = std::ldexp(1.0, 60) / (most * static_cast<double>(tensors_.size() + 2));
        for (const Tensor& t : tensors_)
            network.set_capacity(t.edge,
                                 whole(std::min(price * static_cast<double>(flat_.bytes[t.id]), most)));
        for (std::size_t i = 0; i < ops_.size(); ++i)
            network.set_capacity(op_edges_ + static_cast<int>(i), whole(time_again(ops_[i])));
        return network.solve(stop);
    }

    std::int64_t whole(double amount) const {
        return static_cast<std::int64_t>(std::floor(amount * scale_ * (1 - 8 * kEpsilon)));
    }

    Choice read(const MinCut::Cut& cut) const {
        const std::size_t first_op = 2 + tensors_.size();
        Choice choice;
        for (std::size_t i = 0; i < ops_.size(); ++i)
            choice.time += cut.source_side[first_op + i] ? time_again(ops_[i]) : 0;
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            const Tensor& t = tensors_[i];
            const bool needed = t.needed || cut.source_side[2 + i];
            const bool made = t.maker >= 0 && cut.source_side[first_op + static_cast<std::size_t>(t.maker)];
            choice.kept += needed && !made ? flat_.bytes[t.id] : 0;
        }
        return choice;
    }

    const FlatGraph& flat_;
    int moment_;
    /// Per op. Ops that are not required keep Role::free.
    std::vector<Role> role_;
    std::vector<std::uint8_t> at_moment_;  ///< per tensor: whether the op of the moment reads or makes it
    std::vector<int> tensor_index_, op_index_;
    std::vector<Tensor> tensors_;
    std::vector<int> ops_;
    std::int64_t held_ = 0;
    int op_edges_ = 0;
    double all_time_ = 1;  ///< total nanoseconds of one rerun of each op that can run again
    double scale_ = 1;     ///< units of capacity per nanosecond
};

/// Chooses moments to try, among the moments at which the step without reruns holds more than the budget. The
/// moment with the most memory comes first.
class Moments {
  public:
    Moments(const FlatGraph& flat, std::int64_t budget) {
        const std::vector<std::int64_t> during = memory_without_reruns(flat);
        for (int op = 0; op < flat.op_count; ++op) {
            if (!flat.required[op] || during[op] <= budget) continue;
            if (during[op] > most_) {
                most_ = during[op];
                fullest_ = static_cast<int>(ops_.size());
            }
            ops_.push_back(op);
        }
        value_.assign(ops_.size(), -1);
    }

    /// Returns the index of the next moment to try; -1 if all were tried. After the first moment, two kinds
    /// of moments take turns: moments that divide the step more and more finely, and moments near the best
    /// one so far.
    int next() {
        if (tried_ == static_cast<int>(ops_.size())) return -1;
        if (tried_ == 0) return fullest_;
        if (tried_ % 2 == 0) return beside_the_best();
        int at = fullest_;
        while (value_[at] >= 0) at = static_cast<int>(static_cast<double>(ops_.size()) * reversed(++spread_));
        return at;
    }

    int op(int index) const { return ops_[index]; }
    void record(int index, double value) {
        value_[index] = value;
        ++tried_;
    }

  private:
    /// Returns 1/2, 1/4, 3/4, 1/8 ...: the van der Corput sequence.
    static double reversed(unsigned n) {
        double value = 0;
        for (double bit = 0.5; n > 0; n /= 2, bit /= 2) value += n % 2 * bit;
        return value;
    }

    /// The untried moments right before and right after the best moment form two gaps. Returns the middle of
    /// the wider gap. If both gaps are empty, returns the first untried moment; -1 if there is none.
    int beside_the_best() const {
        const int count = static_cast<int>(ops_.size());
        const int best = static_cast<int>(std::max_element(value_.begin(), value_.end()) - value_.begin());
        int left = best, right = best;
        while (left > 0 && value_[left - 1] < 0) --left;
        while (right + 1 < count && value_[right + 1] < 0) ++right;
        if (left == best && right == best) {
            const auto open = std::find(value_.begin(), value_.end(), -1.0);
            return open == value_.end() ? -1 : static_cast<int>(open - value_.begin());
        }
        return right - best >= best - left ? best + (right - best + 1) / 2 : best - (best - left + 1) / 2;
    }

    std::vector<int> ops_;  ///< in the graph's order
    std::vector<double> value_;
    int fullest_ = 0, tried_ = 0;
    unsigned spread_ = 0;
    std::int64_t most_ = 0;
};

OverheadBound bound_of_moments(const FlatGraph& graph, Bytes budget, int at_most,
                               const std::function<bool()>& stop) {
    double required = 0;
    for (int op = 0; op < graph.op_count; ++op)
        required += graph.required[op] ? static_cast<double>(graph.time[op]) : 0;
    OverheadBound bound;
    Moments moments(graph, budget.value);
    double extra = 0, price = 0;
    while (bound.moments < at_most && !stop()) {
        const int index = moments.next();
        if (index < 0) break;
        ++bound.moments;
        MomentProgramme programme(graph, moments.op(index));
        if (programme.held() > budget.value) return {.overhead = kImpossible, .moments = bound.moments};
        // The best price so far shows at little cost whether a moment is promising. Only a promising moment
        // gets a search for its own best price.
        double value = price > 0 ? programme.extra_time(budget.value, price, stop) : 0;
        if (price <= 0 || value > 0.97 * extra) {
            double own_price = 0;
            MomentProgramme again(graph, moments.op(index));
            value = std::max(value, again.extra_time(budget.value, own_price, stop));
            if (value > extra) price = own_price;
        }
        moments.record(index, std::max(value, 0.0));
        extra = std::max(extra, value);
        if (extra == kImpossible) break;
    }
    if (graph.base_time <= 0) return {.overhead = 1, .moments = bound.moments};
    bound.overhead = (required + extra) / static_cast<double>(graph.base_time);
    if (extra > 0) bound.overhead *= 1 - 4 * kEpsilon;
    return bound;
}

}  // namespace

OverheadBound overhead_lower_bound(const FlatGraph& graph, Bytes budget, const BoundLimits& limits) {
    const auto start = std::chrono::steady_clock::now();
    const auto stop = [&] {
        return limits.stop.stop_requested() || std::chrono::steady_clock::now() - start >= limits.time;
    };
    OverheadBound bound = bound_of_moments(graph, budget, limits.moments, stop);
    bound.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return bound;
}

}  // namespace rematlas
