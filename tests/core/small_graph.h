// A small training graph written by hand, for tests that state exact numbers.
#pragma once

#include "core/graph/graph.h"

namespace rematlas {

/// x (resident, 10 bytes) -> a -> b -> loss, then backward through b and a. Every activation and gradient has
/// 100 bytes, every op takes 10 ns; op `b` needs 7 bytes of workspace. op ids: 0 a, 1 b, 2 loss, 3 backward
/// of b (reads a, b's output), 4 backward of a (reads a). tensor ids: 0 x, 1 a, 2 b, 3 gradient of b, 4
/// gradient of a, 5 gradient of x (the result).
inline Graph small_graph() {
    Graph graph;
    graph.name = "small";
    graph.tensors = {Tensor{"x", Bytes(10), TensorKind::input},
                     Tensor{"a", Bytes(100), TensorKind::activation},
                     Tensor{"b", Bytes(100), TensorKind::activation},
                     Tensor{"grad_b", Bytes(100), TensorKind::gradient},
                     Tensor{"grad_a", Bytes(100), TensorKind::gradient},
                     Tensor{"grad_x", Bytes(100), TensorKind::gradient}};
    const auto op = [&](const char* name, Phase phase, std::vector<TensorId> inputs, TensorId output) {
        Op made;
        made.name = name;
        made.time = Nanoseconds(10);
        made.inputs = std::move(inputs);
        made.outputs = {output};
        made.phase = phase;
        graph.ops.push_back(made);
    };
    op("a", Phase::forward, {TensorId(0)}, TensorId(1));
    op("b", Phase::forward, {TensorId(1)}, TensorId(2));
    op("loss", Phase::loss, {TensorId(2)}, TensorId(3));
    op("backward_b", Phase::backward, {TensorId(1), TensorId(2), TensorId(3)}, TensorId(4));
    op("backward_a", Phase::backward, {TensorId(1), TensorId(4)}, TensorId(5));
    graph.ops[OpId(1)].workspace = Bytes(7);
    graph.results = {TensorId(5)};
    return graph;
}

}  // namespace rematlas
