#include "tests/core/support/random_queues.h"

#include <random>

namespace rematlas {

Graph with_random_queues(Graph graph, std::uint64_t seed) {
    std::mt19937_64 random(seed * 2862933555777941757ull + 3);
    for (OpId id : graph.ops.ids()) {
        Op& op = graph.ops[id];
        if (!op.mutates.empty() || random() % 3 != 0) continue;
        op.collective = Collective{random() % 3 == 0 ? "right" : "left",
                                   Bytes(static_cast<std::int64_t>(random() % 100))};
        op.workspace = Bytes(0);
        op.host_time.reset();
    }
    return graph;
}

}  // namespace rematlas
