// The tensors that a step of a schedule uses. Two steps must keep their order if one changes a tensor that
// the other reads or changes.
#pragma once

#include <algorithm>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct StepUses {
    std::vector<TensorId> reads;
    std::vector<TensorId> changes;  ///< tensors that the step makes, overwrites, mutates, frees or copies

    static StepUses of(const Graph& graph, const Step& step) {
        if (!step.names_op()) return {{}, {step.tensor()}};
        const Op& op = graph.ops[step.op()];
        StepUses uses{op.inputs, op.outputs};
        uses.changes.insert(uses.changes.end(), op.mutates.begin(), op.mutates.end());
        if (step.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace) uses.changes.push_back(pair.in);
        return uses;
    }

    /// Says whether the two steps must keep their order.
    bool conflicts_with(const StepUses& other) const {
        return meet(changes, other.changes) || meet(changes, other.reads) || meet(reads, other.changes);
    }

  private:
    static bool meet(const std::vector<TensorId>& some, const std::vector<TensorId>& others) {
        return std::find_first_of(some.begin(), some.end(), others.begin(), others.end()) != some.end();
    }
};

}  // namespace rematlas
