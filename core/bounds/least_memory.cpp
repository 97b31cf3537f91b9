#include "core/bounds/least_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/bounds/rebuild_cut.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostLater = 6;        // a term counts at most this many ops as run after the set: a
                                             // reader and its postdominators
constexpr std::int64_t kPrecision = 10'000;  // the search ends when the relative error is at most 1 /
                                             // kPrecision
constexpr std::int64_t kFirstStep = 64;      // after its first trial, the search goes up by 1 / kFirstStep of
                                             // the proven bytes, and doubles this step after each success

using OpLists = std::vector<std::vector<int>>;

/// The data flow between the required ops.
struct Uses {
    OpLists readers, makers;         ///< per op: the ops that read its outputs; the ops that make its inputs
    std::vector<std::uint8_t> ends;  ///< per op: whether it makes a result, or no op reads its outputs
    std::vector<int> next;           ///< per op: its nearest postdominator; -1: the end of the step
    OpLists dominated;               ///< per op: the ops whose `next` is this op
};

/// Uses the algorithm of Cooper, Harvey and Kennedy (A simple, fast dominance algorithm, 2001) on a graph
/// without cycles.
void find_postdominators(Uses& uses) {
    const int ops = static_cast<int>(uses.readers.size());
    std::vector<int> depth(uses.readers.size(), 1);
    const auto meet = [&](int a, int b) {
        while (a != b && a >= 0 && b >= 0) {
            int& deeper = depth[a] >= depth[b] ? a : b;
            deeper = uses.next[deeper];
        }
        return a == b ? a : -1;
    };
    for (int op = ops; op-- > 0;) {
        if (uses.ends[op]) continue;
        int next = uses.readers[op].front();
        for (int reader : uses.readers[op]) next = meet(next, reader);
        if (next < 0) continue;
        uses.next[op] = next;
        uses.dominated[next].push_back(op);
        depth[op] = depth[next] + 1;
    }
}

Uses uses_of(const FlatGraph& graph) {
    const auto ops = static_cast<std::size_t>(graph.op_count);
    Uses uses{OpLists(ops), OpLists(ops), std::vector<std::uint8_t>(ops, 1), std::vector<int>(ops, -1),
              OpLists(ops)};
    for (int op = 0; op < graph.op_count; ++op) {
        if (!graph.required[op]) continue;
        std::vector<int>& readers = uses.readers[op];
        bool makes_result = false;
        for (int t : graph.outputs[op]) {
            makes_result |= graph.is_result[t] != 0;
            for (int user : graph.users[t]) {
                if (graph.required[user]) readers.push_back(user);
            }
        }
        std::sort(readers.begin(), readers.end());
        readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
        uses.ends[op] = makes_result || readers.empty();
        for (int reader : readers) uses.makers[reader].push_back(op);
    }
    find_postdominators(uses);
    return uses;
}

/// A set of ops, at first all required ops. Computes the memory that the step needs if a given op is the last
/// of the set to run.
class LastOfSet {
  public:
    LastOfSet(const FlatGraph& graph, const Uses& uses)
        : graph_(&graph),
          uses_(&uses),
          cut_(graph),
          in_set_(graph.required),
          open_(graph.op_count, 0),
          below_(graph.op_count, 0) {
        for (int op = graph.op_count; op-- > 0;) {
            below_[op] = static_cast<int>(uses.readers[op].size());
            if (in_set_[op]) members_.push_back(op);
        }
    }

    /// The ops of the set, descending. Ops that `take` has removed remain in the list until `tidy`.
    const std::vector<int>& members() const { return members_; }
    bool holds(int op) const { return in_set_[op] != 0; }
    void tidy() {
        std::erase_if(members_, [&](int op) { return !in_set_[op]; });
    }

    /// Removes the op from the set. `settle` passes the removal to the minimum cut. Until then terms may be
    /// too large, but never too small.
    void take(int op) {
        in_set_[op] = 0;
        taken_.push_back(op);
        if (is_open(uses_->next[op])) open(op);
        if (below_[op] == 0) leave(op);
    }

    /// Passes the removed ops to the minimum cut. Returns whether any op was removed since the last call.
    bool settle() {
        if (taken_.empty()) return false;
        cut_.allow(taken_);
        taken_.clear();
        return true;
    }

    /// The memory that the step needs if a given op is the last of the set.
    struct Term {
        std::int64_t bytes = RebuildCut::kImpossible;  ///< kImpossible if the op cannot be the last
        bool in_place = false;
        std::vector<int> later;  ///< ops that certainly run after the set
    };

    /// After the op, the step can continue in several ways: one for each reader that may run next. Returns
    /// the way that needs the fewest bytes. Bytes from `few` to `many` are exact. If they are below `few`,
    /// another way may need even fewer; if they are `many` or more, the true number may be larger.
    Term term(int op, std::int64_t few, std::int64_t many) {
        Term least;
        if (!graph_->recomputable[op] && below_[op] > 0) return least;
        if (uses_->ends[op]) try_later(op, {}, many, least);
        if (uses_->ends[op]) return least;
        for (int reader : uses_->readers[op]) {
            if (!open_[reader]) continue;
            std::vector<int> later;
            for (int at = reader; at >= 0 && later.size() < kMostLater; at = uses_->next[at])
                later.push_back(at);
            try_later(op, std::move(later), many, least);
            if (least.bytes < few) break;
        }
        return least;
    }

    /// Returns an upper bound on the term, or kImpossible if the op cannot be the last. Cost: linear in the
    /// inputs of the ops that run later.
    std::int64_t most_term(int op) const {
        if (!graph_->recomputable[op] && below_[op] > 0) return RebuildCut::kImpossible;
        const std::int64_t most = held(op, false) + cut_.value();
        if (uses_->ends[op]) return most;
        std::int64_t least = RebuildCut::kImpossible;
        for (int reader : uses_->readers[op]) {
            if (!open_[reader]) continue;
            std::int64_t read = 0;
            std::size_t count = 0;
            for (int at = reader; at >= 0 && count < kMostLater; at = uses_->next[at], ++count) {
                for (int t : graph_->inputs[at]) read += graph_->producer[t] == op ? 0 : graph_->bytes[t];
            }
            least = std::min(least, most + read);
        }
        return least;
    }

    /// Returns a lower bound on the term. Cost: linear in the inputs and outputs of the op.
    std::int64_t least_term(int op) const { return held(op, true) + cut_.least_at({.op = op}); }

    std::vector<std::int32_t> cut_tensors(int op, const Term& term) {
        return cut_.tensors_at({.op = op, .in_place = term.in_place}, term.later);
    }

  private:
    void try_later(int op, std::vector<int> later, std::int64_t many, Term& least) {
        const bool pairs = !graph_->inplace_pairs(op).empty();
        for (const bool in_place : {false, true}) {
            if (in_place && !pairs) continue;
            const std::int64_t cut =
                cut_.value_at({.op = op, .in_place = in_place}, later, many - held(op, in_place));
            const std::int64_t bytes = std::min(held(op, in_place) + cut, RebuildCut::kImpossible);
            if (bytes < least.bytes) least = {bytes, in_place, later};
        }
    }

    std::int64_t held(int op, bool in_place) const {
        return graph_->resident_bytes + graph_->footprint(op) + (in_place ? 0 : graph_->saved_in_place(op));
    }

    bool is_open(int op) const { return op < 0 || open_[op]; }

    void open(int first) {
        std::vector<int> walk{first};
        while (!walk.empty()) {
            const int op = walk.back();
            walk.pop_back();
            open_[op] = 1;
            for (int behind : uses_->dominated[op]) {
                if (!in_set_[behind]) walk.push_back(behind);
            }
        }
    }

    void leave(int first) {
        std::vector<int> walk{first};
        while (!walk.empty()) {
            const int op = walk.back();
            walk.pop_back();
            for (int maker : uses_->makers[op]) {
                if (--below_[maker] == 0 && !in_set_[maker]) walk.push_back(maker);
            }
        }
    }

    const FlatGraph* graph_;
    const Uses* uses_;
    RebuildCut cut_;
    std::vector<int> members_;
    std::vector<int> taken_;  ///< removed ops that the cut does not know of yet
    std::vector<std::uint8_t> in_set_;
    std::vector<std::uint8_t> open_;  ///< per op: whether the set has neither the op nor a postdominator of
                                      ///< it
    std::vector<int> below_;          ///< per op: number of its readers that are in the set or have a
                                      ///< descendant in the set
};

class Search {
  public:
    Search(const FlatGraph& graph, const LeastMemoryLimits& limits)
        : graph_(graph), limits_(limits), uses_(uses_of(graph)), best_(least_peak(graph)) {}

    PeakBound run() {
        LastOfSet set(graph_, uses_);
        if (set.members().empty() || (limits_.only_budget && best_.bytes > limits_.budget.value_or(Bytes(0))))
            return std::move(best_);
        std::int64_t proven = best_.bytes.value, step = std::max<std::int64_t>(1, proven / kFirstStep);
        std::int64_t first = std::max(proven + 1, limits_.budget ? limits_.budget->value + 1 : 0);
        std::optional<std::int64_t> most;  // no set proves more bytes than this
        while (!most || *most - proven > proven / kPrecision) {
            const std::int64_t between = proven + (most ? (*most - proven + 1) / 2 : step);
            const std::int64_t aim = first > 0 ? std::exchange(first, 0) : between;
            LastOfSet trial = set;
            const std::optional<std::int64_t> highest = leave_out(trial, aim);
            if (stopped()) break;
            if (trial.members().empty()) {
                most = std::min(*highest, most.value_or(*highest));
            } else {
                set = std::move(trial);
                proven = aim;
                step *= 2;
            }
            if (limits_.only_budget) break;
        }
        if (proven > best_.bytes.value) name_the_op(set, proven);
        return std::move(best_);
    }

  private:
    bool stopped() {
        stopped_ = stopped_ || limits_.stop.stop_requested() ||
                   std::chrono::steady_clock::now() - start_ >= limits_.time;
        return stopped_;
    }

    /// Removes ops whose term is below `aim` from the set, until no such op is left. Returns the largest term
    /// (or upper bound on a term) of the removed ops; nothing if no op was removed.
    std::optional<std::int64_t> leave_out(LastOfSet& set, std::int64_t aim) {
        std::optional<std::int64_t> highest;
        const auto take = [&](int op, std::int64_t bytes) {
            set.take(op);
            highest = std::max(bytes, highest.value_or(bytes));
        };
        for (bool any = true; any;) {
            do {
                for (int op : set.members()) {
                    const std::int64_t bytes = set.most_term(op);
                    if (bytes < aim) take(op, bytes);
                }
                set.tidy();
            } while (set.settle());
            any = false;
            for (int op : set.members()) {
                if (set.least_term(op) >= aim) continue;
                const std::int64_t bytes = set.term(op, aim, aim).bytes;
                if (stopped()) return highest;
                if (bytes >= aim) continue;
                take(op, bytes);
                set.settle();
                any = true;
            }
            set.tidy();
        }
        return highest;
    }

    /// Finds the op that has the least term of all ops of the set, and writes this op into `best_`. Computes
    /// exact terms until the least one is known or the time is over.
    void name_the_op(LastOfSet& set, std::int64_t proven) {
        std::vector<std::pair<std::int64_t, int>> least;  // negated, so that the least is on top of the heap
        for (int op : set.members()) least.push_back({-set.least_term(op), op});
        std::make_heap(least.begin(), least.end());
        std::vector<std::optional<LastOfSet::Term>> exact(graph_.op_count);
        while (!exact[least.front().second]) {
            const int op = least.front().second;
            exact[op] = set.term(op, 0, RebuildCut::kImpossible);
            if (stopped()) break;
            std::pop_heap(least.begin(), least.end());
            least.back().first = -exact[op]->bytes;
            std::push_heap(least.begin(), least.end());
        }
        const int op = least.front().second;
        best_ = {Bytes(std::max(proven, -least.front().first)), OpId(op), {}};
        std::vector<std::int32_t> held = set.cut_tensors(op, *exact[op]);
        for (const auto list : {graph_.inputs[op], graph_.outputs[op]})
            held.insert(held.end(), list.begin(), list.end());
        for (int t = 0; t < graph_.tensor_count; ++t) {
            if (graph_.producer[t] < 0) held.push_back(t);
        }
        std::stable_sort(held.begin(), held.end(),
                         [&](int a, int b) { return graph_.bytes[a] > graph_.bytes[b]; });
        for (std::int32_t t : held) best_.tensors.push_back(TensorId(t));
    }

    const FlatGraph& graph_;
    const LeastMemoryLimits& limits_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    bool stopped_ = false;
    const Uses uses_;
    PeakBound best_;
};

}  // namespace

PeakBound least_memory(const FlatGraph& graph, const LeastMemoryLimits& limits) {
    return Search(graph, limits).run();
}

}  // namespace rematlas
