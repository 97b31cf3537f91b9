#include "core/solvers/atlas/host_choice.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/schedule/run_sequence.h"
#include "core/solvers/annealing/copy_graph.h"
#include "tests/core/support/gpt_graph.h"

namespace rematlas {
namespace {

/// A model of blocks whose updates take `slower` times as long on the host as on the device.
Graph with_host(int blocks, std::int64_t slower) {
    Graph graph =
        gpt_graph({.layers = blocks, .batch = 1, .sequence = 256, .width = 512, .heads = 8, .adamw = true});
    for (Op& op : graph.ops)
        if (op.phase == Phase::optimizer) op.host_time = Nanoseconds(slower * op.time.value);
    graph.device =
        Device{.name = "d", .links = {.to_host_bytes_per_second = 1e10, .to_device_bytes_per_second = 1e10}};
    return graph;
}

struct Chosen {
    std::size_t ops = 0;
    std::int64_t work = 0;
};

class Choosing {
  public:
    explicit Choosing(std::int64_t slower)
        : graph_(with_host(6, slower)),
          flat_(flatten(graph_)),
          problem_{graph_, flat_, {.what = Offload::all, .links = graph_.device->links}},
          all_(annealing::copy_graph(problem_, keep_all_peak(flat_),
                                     annealing::UpdateChoice(graph_.ops.size(), 1))
                   .host) {}

    Chosen by(double share_of_step) const {
        const auto time = static_cast<std::int64_t>(share_of_step * static_cast<double>(flat_.base_time));
        Chosen chosen;
        const annealing::UpdateChoice choice = HostChoice(problem_, all_).done_by(Nanoseconds(time));
        for (const OpId op : graph_.ops.ids()) {
            if (!choice[op.index()]) continue;
            EXPECT_EQ(graph_.ops[op].phase, Phase::optimizer);
            ++chosen.ops;
            chosen.work += graph_.ops[op].host_time->value;
        }
        return chosen;
    }
    std::size_t all() const { return all_.runs.size(); }
    std::int64_t step() const { return flat_.base_time; }

  private:
    const Graph graph_;
    const FlatGraph flat_;
    const Problem problem_;
    const annealing::HostUpdates all_;
};

TEST(HostChoices, TakeWhatTheHostHasTimeFor) {
    const Choosing choosing(60);
    ASSERT_GT(choosing.all(), 20u);
    Chosen before;
    for (const double share : {0.2, 0.6, 0.8, 1.0, 1.5, 3.0, 8.0}) {
        const Chosen chosen = choosing.by(share);
        EXPECT_LE(chosen.work, static_cast<std::int64_t>(share * static_cast<double>(choosing.step())));
        EXPECT_GE(chosen.work * 21, before.work * 20) << share;
        before = chosen;
    }
    EXPECT_GT(choosing.by(1.0).ops, 0u);
    EXPECT_LT(choosing.by(1.0).ops, choosing.all());
    EXPECT_EQ(choosing.by(0).ops, 0u);
    EXPECT_EQ(choosing.by(1000).ops, choosing.all());
}

TEST(HostChoices, TakeAllOfAFastHost) {
    const Choosing choosing(1);
    EXPECT_EQ(choosing.by(2).ops, choosing.all());
}

}  // namespace
}  // namespace rematlas
