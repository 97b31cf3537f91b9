// Makes a schedule from arbitrary bytes, and plays it with the simulator and with the checker.
//
// The first two bytes choose a random graph with links and collectives, and the third byte chooses the homes
// of residents. Each further pair of bytes is a step: its kind, and its op or tensor.
#include <cstddef>
#include <cstdint>

#include "tests/core/support/random_copies.h"
#include "tests/core/support/random_queues.h"
#include "tests/fuzz/players_agree.h"

namespace {

using namespace rematlas;

Schedule schedule_from(const Graph& graph, const std::uint8_t* bytes, std::size_t size) {
    Schedule schedule;
    schedule.graph = graph.name;
    const auto producer = producers(graph);
    const int share = bytes[2] % 8;
    schedule.homes.cyclic = bytes[2] >= 128;
    for (TensorId t : graph.tensors.ids()) {
        if (producer[t].valid() || t.value % 8 >= share) continue;
        schedule.homes.on_host.push_back(t);
        if (t.value % 3 == 0) schedule.homes.stays.push_back(t);
    }
    for (std::size_t i = 3; i + 1 < size; i += 2) {
        Step step{static_cast<StepKind>(bytes[i] % 7), 0};
        const std::size_t count = step.names_op() ? graph.ops.size() : graph.tensors.size();
        step.id = static_cast<std::int32_t>(bytes[i + 1] % count);
        schedule.steps.push_back(step);
    }
    return schedule;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 5 || size > 2000) return 0;
    const std::uint64_t seed = bytes[0] + 256 * (bytes[1] % 4);
    Graph graph = random_graph_with_links(seed);
    if (bytes[1] >= 64) graph = with_random_queues(std::move(graph), seed);
    players_must_agree(graph, schedule_from(graph, bytes, size));
    return 0;
}
