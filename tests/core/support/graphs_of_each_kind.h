// One small training graph of each kind, with two budgets that need recomputation.
#pragma once

#include <string>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/image_graphs.h"
#include "tests/core/support/irregular_graph.h"
#include "tests/core/support/long_chain.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {

struct GraphOfAKind {
    std::string name;
    Graph graph;
    FlatGraph flat;
    std::vector<Bytes> budgets;  ///< two budgets between the largest need of a single op and the peak without
                                 ///< reruns
};

/// Returns graphs of about 20 to 130 ops. The tensors of the random graphs have only a few bytes, so many
/// costs are equal.
inline std::vector<GraphOfAKind> graphs_of_each_kind() {
    std::vector<GraphOfAKind> all;
    const auto add = [&](std::string name, Graph graph) {
        FlatGraph flat = flatten(graph);
        const std::int64_t least = least_peak(flat).bytes.value, most = keep_all_peak(flat).value;
        std::vector<Bytes> budgets = {Bytes(least + (most - least) * 3 / 10),
                                      Bytes(least + (most - least) * 6 / 10)};
        all.push_back({std::move(name), std::move(graph), std::move(flat), std::move(budgets)});
    };
    add("equal chain", long_chain(ChainKind::equal, 12));
    add("uneven chain", long_chain(ChainKind::uneven, 20, 3));
    add("random", random_training_graph(11, {.forward_ops = 10, .run_once = false}));
    add("with ops that run once", random_training_graph(12, {.forward_ops = 12}));
    add("gpt", gpt_graph({.layers = 2}));
    add("densenet", densenet_graph({.layers = {3, 4}}));
    add("unet", unet_graph({.depth = 2}));
    add("irregular", irregular_graph({.forward_ops = 30, .seed = 5}));
    return all;
}

}  // namespace rematlas
