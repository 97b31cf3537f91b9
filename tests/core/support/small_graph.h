// A small training graph written by hand, for tests that state exact numbers.
#pragma once

#include "core/graph/graph.h"

namespace rematlas {

/// The graph: `x` (resident, 10 bytes) -> `a` -> `b` -> loss, then the backward of `b` and of `a`. Every
/// activation and gradient has 100 bytes, and every op takes 10 ns; op `b` needs 7 bytes of workspace.
/// Op ids: 0 `a`, 1 `b`, 2 loss, 3 backward of `b` (reads `a` and `b`), 4 backward of `a` (reads `a`).
/// Tensor ids: 0 `x`, 1 `a`, 2 `b`, 3 gradient of `b`, 4 gradient of `a`, 5 gradient of `x` (the result).
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

/// In this graph, `c` can overwrite `a` in place, and `d` can overwrite `b`. Then a loss reads `b`, `c` and
/// `d`. Each tensor has 10 bytes, except the loss, which has none. Within 30 bytes, `b` must be overwritten
/// and made again. That costs 3 ns more than the 22 ns of running each op once.
inline Graph graph_of_two_pairs() {
    Graph graph;
    graph.name = "pairs";
    graph.tensors = {Tensor{"a", Bytes(10)}, Tensor{"b", Bytes(10)}, Tensor{"c", Bytes(10)},
                     Tensor{"d", Bytes(10)}, Tensor{"loss", Bytes(0)}};
    const TensorId a(0), b(1), c(2), d(3), loss(4);
    const auto op = [&](const char* name, int time, std::vector<TensorId> inputs,
                        std::vector<TensorId> outputs) -> Op& {
        Op made;
        made.name = name;
        made.time = Nanoseconds(time);
        made.inputs = std::move(inputs);
        made.outputs = std::move(outputs);
        return graph.ops[graph.ops.push_back(made)];
    };
    op("a", 5, {}, {a});
    op("b", 3, {}, {b});
    op("pairs", 7, {a, b}, {c, d}).inplace = {{c, a}, {d, b}};
    op("loss", 7, {b, c, d}, {loss}).phase = Phase::loss;
    graph.results = {loss};
    return graph;
}

}  // namespace rematlas
