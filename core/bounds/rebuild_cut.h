// The fewest bytes from which the results of a step can still be made, when some ops run no more.
//
//     RebuildCut cut(flat);                  // no op runs again: all results are held
//     cut.allow(op);                         // from now on this one may
//     cut.value();                           // bytes that any way to make the results starts from
//     cut.value_at({.op = b}, {{c}})         // the same beside the inputs and outputs of b, with c to run as
//     well
//
// A way to make the results is a set of tensors that are held and a set of ops that run: a result or an input
// of an op that runs is held or made by an op that runs. The cheapest is a minimum cut: a needed tensor is
// held (an edge of its bytes is cut) or its maker runs and needs its inputs, without limit; from a maker that
// does not run again the edge leads to the sink. The maximum flow is kept from one question to the next: what
// a question changes is sent along other paths (Ford and Fulkerson 1956), and put back after it. All
// questions are about required ops; others make nothing that the results need.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

class RebuildCut {
  public:
    static constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 4;

    explicit RebuildCut(const FlatGraph& graph);

    /// The required op may run again. Cost: that of the flow through its outputs.
    void allow(int op);

    std::int64_t value() const { return value_; }

    /// The moment during or right after a run of an op: its inputs and outputs are there without being
    /// counted, but for those inputs that a run in place writes over, which are gone.
    struct Moment {
        int op;
        bool in_place = false;
    };

    /// The fewest bytes at the moment from which the results and the inputs of the ops `later` can be made;
    /// kImpossible when they cannot. Does not change the object beyond the call.
    std::int64_t value_at(Moment moment, std::span<const int> later);

    /// At most `value_at`, with any `later`. Cost: linear in the inputs and outputs of the op.
    std::int64_t least_at(Moment moment) const;

    /// Tensors of such a cut: with these held, no others need be.
    std::vector<std::int32_t> tensors_at(Moment moment, std::span<const int> later);

  private:
    enum class Goal : std::uint8_t { sink, source };
    struct Frame {
        int node;
        int move;  ///< the one that is tried, or was taken to the frame above
    };
    struct Change {
        std::int64_t* number;
        std::int64_t before;
    };

    void set(std::int64_t& number, std::int64_t to) {
        if (logging_) log_.push_back({&number, number});
        number = to;
    }
    int node_of_op(int op) const { return graph_->tensor_count + op; }
    int moves_of(int node) const;
    int target_of(int node, int move) const;
    std::int64_t room_of(int node, int move) const;
    void push(int node, int move, std::int64_t amount);

    bool find_path(int start, Goal goal);
    std::int64_t push_along_path(std::int64_t at_most);
    void forget_dead_ends();
    void settle(int node, std::int64_t excess);
    void raise(std::span<const std::int32_t> needed);
    void stop_flow_through(int tensor);
    void change_to(Moment moment, std::span<const int> later);
    void change_back(std::int64_t value);

    static constexpr int kSink = -1, kSource = -2;

    const FlatGraph* graph_;
    std::vector<std::uint8_t> allowed_;      ///< per op: may run again
    std::vector<std::int64_t> capacity_;     ///< per tensor: its bytes, or what a question makes of them
    std::vector<std::int64_t> through_;      ///< per tensor: flow to its maker or the sink
    std::vector<std::int64_t> from_source_;  ///< per tensor
    std::vector<std::int64_t> read_;         ///< per item of `graph.inputs`: flow from the op to the tensor
    std::vector<std::int64_t> excess_;       ///< per tensor: flow that ends there, while the flow changes
    std::vector<std::int32_t> item_;         ///< per item of `graph.users`: the same edge in `graph.inputs`
    std::int64_t value_ = 0;

    std::vector<std::uint32_t> seen_;  ///< per node: the last search that came by
    std::vector<std::uint32_t> dead_;  ///< per node: no path leads on from there, since that round
    std::uint32_t search_ = 0, round_ = 1;
    std::vector<int> visited_;
    std::vector<Frame> path_;
    std::vector<std::pair<int, std::int64_t>> missing_;
    bool logging_ = false;
    std::vector<Change> log_;
};

}  // namespace rematlas
