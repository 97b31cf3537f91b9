#include "runtime/capture/profile.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "runtime/model/load_model.h"
#include "runtime/replay/op_signature.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

/// A GPT with three equal blocks, whose graph has no times and workspaces, and functions that fill them.
struct Profiled {
    Graph graph = test::captured("gpt_scripted");
    Model model = load_model(test::model_path("gpt_scripted")).take();
    Result<Executor> executor = Executor::create(graph, model, test::cpu());
    int replays = 0;

    explicit Profiled(ProfileOptions options) {
        for (Op& op : graph.ops) op.time = Nanoseconds(0), op.workspace = Bytes(0);
        options.progress = [this](double) { ++replays; };
        const auto inputs = draw_inputs(test::model_inputs("gpt_scripted"), 1);
        const Result<void> done = profile(graph, *executor, inputs, options);
        EXPECT_TRUE(done) << done.error().message;
    }
    /// Returns the ops by signature. Ops that write over a tensor are omitted, because some of them first
    /// copy that tensor.
    std::map<std::string, std::vector<OpId>> alike() const {
        std::map<std::string, std::vector<OpId>> groups;
        for (OpId op : graph.ops.ids())
            if (executor->tape().ops[op].overwrites.empty())
                groups[signature_of(executor->tape(), op)].push_back(op);
        return groups;
    }
};

TEST(Profile, OpsOfEqualSignatureHaveEqualTimesAndWorkspaces) {
    const Profiled profiled({.most_replays = 2, .fewest_replays = 1});
    std::size_t several = 0;
    for (const auto& [signature, ops] : profiled.alike()) {
        several += ops.size() > 1;
        for (OpId op : ops) {
            EXPECT_EQ(profiled.graph.ops[op].time, profiled.graph.ops[ops.front()].time) << signature;
            EXPECT_EQ(profiled.graph.ops[op].workspace, profiled.graph.ops[ops.front()].workspace)
                << signature;
        }
    }
    EXPECT_GT(several, 20u) << "the blocks of the model are alike";
}

TEST(Profile, EveryOpHasATimeAndTheWorkspacesAreThoseOfOpsAlone) {
    const Profiled pooled({.most_replays = 1, .fewest_replays = 1});
    const Profiled alone({.most_replays = 1, .fewest_replays = 1, .pool = false});
    for (OpId op : pooled.graph.ops.ids()) {
        EXPECT_GT(pooled.graph.ops[op].time.value, 0);
        EXPECT_GE(pooled.graph.ops[op].workspace, alone.graph.ops[op].workspace) << pooled.graph.ops[op].name;
    }
}

TEST(Profile, TakesAsManyReplaysAsItIsAllowedWhereEveryOpIsAlone) {
    const std::chrono::hours time(1);
    EXPECT_EQ(Profiled({.most_replays = 4, .fewest_replays = 2, .time = time, .pool = false}).replays, 4);
    EXPECT_LE(Profiled({.most_replays = 4, .fewest_replays = 2, .time = time}).replays, 4);
}

}  // namespace
}  // namespace rematlas
