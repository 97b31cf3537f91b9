// Finds the tensors that are on the device while one step of a schedule runs.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct HeldTensor {
    TensorId tensor;
    /// Usually the bytes of the tensor. If an output is still held from an earlier run: the bytes of both
    /// copies. If another tensor is being written over this tensor: only the bytes that are not overwritten.
    Bytes bytes;
};

struct Held {
    std::vector<HeldTensor> tensors;  ///< ascending by id
    Bytes workspace;                  ///< workspace of the op that runs
    Bytes total() const;              ///< same as `StepTrace::during` in the simulation
};

/// Returns the tensors held during step `at`, an index into `steps`. The steps must be valid for the graph
/// with these homes (simulate.h). Cost: linear in the steps up to `at` and in the tensors.
Held held_during(const Graph& graph, const std::vector<Step>& steps, std::size_t at, const Homes& homes = {});

}  // namespace rematlas
