// Which tensors are on the device while one step of a schedule runs.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct HeldTensor {
    TensorId tensor;
    Bytes bytes;  ///< of both copies where an output is still held from an earlier run; less where another
                  ///< tensor is being written over it
};

struct Held {
    std::vector<HeldTensor> tensors;  ///< by id
    Bytes workspace;                  ///< of the op that runs
    Bytes total() const;              ///< what the simulator says of this step, `StepTrace::during`
};

/// `steps` can be played on the graph with these homes (simulate.h) and `at` is one of them. Cost: linear in the steps up to `at`
/// and the tensors.
Held held_during(const Graph& graph, const std::vector<Step>& steps, std::size_t at, const Homes& homes = {});

}  // namespace rematlas
