// The fewest bytes from which the results of a step can still be made if some ops must not run again.
//
//     RebuildCut cut(flat);            // no op runs again: all results are held
//     cut.allow({{op}});               // from now on this op may run again
//     cut.value();                     // the fewest bytes from which the results can be made
//     cut.value_at({b}, {{c}});        // the same during b, besides b's inputs and outputs, if c runs later
//
// A way to make the results is a set of tensors that are held and a set of ops that run. Each result, and
// each input of these ops, must be held or be made by one of these ops. The cheapest way is a minimum cut. A
// needed tensor is either held (an edge with its bytes is cut), or its maker runs and needs its inputs (edges
// without limit). If the maker must not run again, the edge of the tensor leads to the sink. The maximum flow
// is kept between queries. The flow that a query displaces is sent along other paths (Dinic 1970), and the
// old flow is restored after the query. All queries are about required ops; the results need nothing from
// other ops.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

class RebuildCut {
  public:
    static constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 4;

    explicit RebuildCut(const FlatGraph& graph);

    /// Allows these required ops to run again.
    void allow(std::span<const int> ops);

    std::int64_t value() const { return value_; }

    /// The moment during or right after a run of an op. The inputs and outputs of the op are on the device
    /// and are not counted. Inputs that a run in place overwrites are gone.
    struct Moment {
        int op;
        bool in_place = false;
    };

    /// Returns the fewest bytes that must be held at the moment if the results and the inputs of the ops
    /// `later` are to be made; kImpossible if they cannot be made. Once `enough` bytes are proven, the search
    /// ends and returns the proven bytes. The object is unchanged afterwards.
    std::int64_t value_at(Moment moment, std::span<const int> later, std::int64_t enough = kImpossible);

    /// Returns a lower bound on `value_at` for any `later`. Cost: linear in the inputs and outputs of the op.
    std::int64_t least_at(Moment moment) const;

    /// Returns the tensors of a minimum cut: if these are held, no other tensor needs to be held.
    std::vector<std::int32_t> tensors_at(Moment moment, std::span<const int> later);

  private:
    /// An edge of the residual network in one direction. The nodes are the tensors, then the ops.
    struct Arc {
        int to;
        int back;  ///< the same edge in the other direction
    };
    struct Change {
        std::int64_t* number;
        std::int64_t before;
    };
    using Amounts = std::vector<std::pair<int, std::int64_t>>;  ///< (node, flow)

    int node_of(int op) const { return graph_->tensor_count + op; }
    void add_arcs();
    void set(std::int64_t& number, std::int64_t to) {
        if (logging_) log_.push_back({&number, number});
        number = to;
    }
    void push(int arc, std::int64_t amount) {
        set(room_[arc], room_[arc] - amount);
        set(room_[arcs_[arc].back], room_[arcs_[arc].back] + amount);
    }
    std::int64_t through(int tensor) const {
        return to_sink_[tensor] + room_[arcs_[maker_arc_[tensor]].back];
    }

    bool has_room_to_sink(int node) const { return node < graph_->tensor_count && sink_room_[node] > 0; }
    bool is_live(int node) const {
        return node < graph_->tensor_count || live_[node - graph_->tensor_count] != 0;
    }
    bool find_levels(const Amounts& starts);
    bool find_path(int start);
    std::int64_t push_along_path(std::int64_t at_most);
    void send(Amounts& starts, std::int64_t enough);
    void raise(std::span<const int> later, std::int64_t enough);
    void give_back(int node, std::int64_t amount);
    void stop_flow_through(int tensor);
    void settle_idle(int op);
    void change_to(Moment moment, std::span<const int> later, std::int64_t enough);
    void change_back(std::int64_t value);

    const FlatGraph* graph_;
    std::vector<std::uint8_t> allowed_;  ///< per op: whether it may run again
    std::vector<int> live_inputs_;       ///< per op: number of inputs whose makers are live (see `live_`)
    /// Per op: whether the op is live, that is, must not run again or has an input with a live maker.
    std::vector<std::uint8_t> live_;

    std::vector<int> arc_begin_;  ///< per node: index of its first arc in `arcs_`
    std::vector<Arc> arcs_;
    std::vector<int> maker_arc_;             ///< per tensor: the arc to its maker
    std::vector<std::int64_t> room_;         ///< per arc: how much more flow it can take
    std::vector<std::int64_t> sink_room_;    ///< per tensor: its bytes minus its flow to the sink; 0 if its
                                             ///< maker may run
    std::vector<std::int64_t> to_sink_;      ///< per tensor: flow to the sink
    std::vector<std::int64_t> from_source_;  ///< per tensor: flow from the source
    std::vector<std::int64_t> excess_;       ///< per tensor: flow that ends at the tensor while the flow is
                                             ///< being changed
    std::int64_t value_ = 0;

    std::vector<std::uint32_t> seen_;  ///< per node: the last search that reached it
    std::vector<int> level_;           ///< per node: distance from the starts of the last search
    std::vector<int> next_arc_;        ///< per node: the first arc that may still lead to the sink
    std::uint32_t search_ = 0;
    std::vector<int> queue_;
    std::vector<int> path_;  ///< nodes of a path; each node's `next_arc_` leads to the next node
    Amounts walk_;
    bool logging_ = false;
    std::vector<Change> log_;
};

}  // namespace rematlas
