// Which tensors are on the device while one step of a schedule runs.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct HeldTensor {
    TensorId tensor;
    /// The bytes of both copies where an output is still held from an earlier run; fewer bytes where another
    /// tensor is being written over this tensor.
    Bytes bytes;
};

struct Held {
    std::vector<HeldTensor> tensors;  ///< by id
    Bytes workspace;                  ///< of the op that runs
    Bytes total() const;              ///< the same as `StepTrace::during` of the simulator
};

/// The tensors held during step `at`, an index of `steps`. The steps must be playable on the graph with
/// these homes (simulate.h). Cost: linear in the steps up to `at` and the tensors.
Held held_during(const Graph& graph, const std::vector<Step>& steps, std::size_t at, const Homes& homes = {});

}  // namespace rematlas
