#include "core/pins/pinned_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/graph/graph_file.h"

namespace rematlas {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Returns a captured GPT with three blocks and dropout.
const Graph& three_blocks() {
    static const Graph graph =
        read_graph(std::filesystem::path(REMATLAS_SOURCE_DIR) / "resources/graphs/gpt.graph.json").take();
    return graph;
}

std::string message_of_pins(const Pins& pins) {
    const Result<PinnedOps> pinned = pinned_ops(three_blocks(), pins);
    return pinned ? "" : pinned.error().message;
}

std::vector<std::string> modules_of(const Pin& pin) {
    std::vector<std::string> modules;
    const Result<std::vector<OpId>> ops = ops_of_pin(three_blocks(), pin);
    for (OpId op : ops ? *ops : std::vector<OpId>()) modules.push_back(three_blocks().ops[op].module);
    return modules;
}

TEST(Pattern, AStarStandsForAnythingButADot) {
    EXPECT_TRUE(matches_pattern("blocks.*.attn", "blocks.12.attn"));
    EXPECT_TRUE(matches_pattern("blocks.1*", "blocks.12"));
    EXPECT_TRUE(matches_pattern("*.a*c*.d", "x.abcbc.d"));
    EXPECT_TRUE(matches_pattern("**", "x"));
    EXPECT_FALSE(matches_pattern("blocks.*", "blocks.1.attn"));
    EXPECT_FALSE(matches_pattern("blocks", "blocks.1"));
    EXPECT_FALSE(matches_pattern("*.attn", "blocks.1.attn"));
    EXPECT_FALSE(matches_pattern("", "x"));
}

TEST(Pin, IsAPatternAndADecision) {
    const Result<Pin> pin = parse_pin("blocks.*.attn=recompute");
    ASSERT_TRUE(pin);
    EXPECT_EQ(*pin, (Pin{"blocks.*.attn", PinKind::recompute}));
    EXPECT_EQ(to_string(*pin), "blocks.*.attn=recompute");
    for (const char* text : {"blocks", "=keep", "a=maybe", "a=", ""}) EXPECT_FALSE(parse_pin(text)) << text;
}

TEST(PinnedOps, AModuleIsItselfAndTheModulesInIt) {
    const std::vector<std::string> modules = modules_of({"blocks.*.attn", PinKind::keep});
    EXPECT_THAT(modules, Each(testing::MatchesRegex("blocks\\.[0-2]\\.attn.*")));
    EXPECT_THAT(modules, testing::Contains("blocks.2.attn.qkv"));
    EXPECT_THAT(modules, testing::Contains("blocks.0.attn"));
}

TEST(PinnedOps, NoOpOfTheBackwardPassIsPinnedByItsModule) {
    const Result<std::vector<OpId>> ops = ops_of_pin(three_blocks(), {"blocks.0", PinKind::keep});
    ASSERT_TRUE(ops);
    for (OpId op : *ops) EXPECT_EQ(three_blocks().ops[op].phase, Phase::forward);
}

TEST(PinnedOps, WhatABlockHandsOnIsNotMadeAgain) {
    const Graph& graph = three_blocks();
    const Result<PinnedOps> pinned = pinned_ops(graph, {{"blocks.*", PinKind::recompute}});
    ASSERT_TRUE(pinned);
    const auto maker = producers(graph);
    std::size_t inner = 0;
    for (OpId op : graph.ops.ids()) {
        if (graph.ops[op].phase != Phase::forward) continue;
        for (TensorId t : graph.ops[op].inputs) {
            if (!maker[t].valid()) continue;
            const auto block = [&](OpId id) { return graph.ops[id].module.substr(0, 8); };
            if (block(maker[t]) != block(op)) {
                EXPECT_FALSE(pinned->made_again[t]) << graph.tensors[t].name;
            } else if (block(op).starts_with("blocks.")) {
                EXPECT_TRUE(pinned->made_again[t]) << graph.tensors[t].name;
                ++inner;
            }
        }
    }
    EXPECT_GT(inner, 50u);
}

TEST(PinnedOps, ATensorByItsNameAndAnOpByItsNumber) {
    EXPECT_THAT(modules_of({"blocks.1.mlp.1.gelu", PinKind::recompute}), ElementsAre("blocks.1.mlp.1"));
    const Result<std::vector<OpId>> op = ops_of_pin(three_blocks(), {"#29", PinKind::keep});
    ASSERT_TRUE(op);
    EXPECT_THAT(*op, ElementsAre(OpId(29)));
    EXPECT_FALSE(ops_of_pin(three_blocks(), {"#195", PinKind::keep}));
    EXPECT_FALSE(ops_of_pin(three_blocks(), {"#", PinKind::keep}));
    EXPECT_FALSE(ops_of_pin(three_blocks(), {"#1x", PinKind::keep}));
}

TEST(PinnedOps, WhatCannotBeObeyedNamesThePin) {
    const Pin attention{"blocks.*.attn", PinKind::recompute};
    EXPECT_THAT(message_of_pins({attention, {"blocks.*.att", PinKind::keep}}),
                HasSubstr("'blocks.*.att=keep'"));
    const std::string both = message_of_pins({attention, {"blocks.1", PinKind::keep}});
    EXPECT_THAT(both, HasSubstr("'blocks.*.attn=recompute'"));
    EXPECT_THAT(both, HasSubstr("'blocks.1=keep'"));
    EXPECT_THAT(both, HasSubstr("contradict"));
    EXPECT_THAT(message_of_pins({{"head.mm", PinKind::recompute}}), HasSubstr("result of the step"));
    EXPECT_THAT(message_of_pins({{"grad:head.mm", PinKind::recompute}}), HasSubstr("forward pass makes"));
    EXPECT_EQ(message_of_pins({{"grad:head.mm", PinKind::keep}}), "");
    EXPECT_EQ(message_of_pins({attention, {"blocks.*.mlp", PinKind::keep}}), "");
}

TEST(PinnedOps, AnOpThatRunsOnceIsNoMatterUnlessTheBackwardPassNeedsItAgain) {
    Graph graph = three_blocks();
    graph.ops[OpId(29)].recomputable = false;  // the first block's gelu
    const Result<PinnedOps> needed = pinned_ops(graph, {{"blocks.0", PinKind::recompute}});
    ASSERT_FALSE(needed);
    EXPECT_THAT(needed.error().message, HasSubstr("op 29 (aten::gelu blocks.0.mlp.1)"));
    EXPECT_TRUE(pinned_ops(graph, {{"blocks.0", PinKind::keep}}));
    EXPECT_TRUE(pinned_ops(graph, {{"blocks.0.attn", PinKind::recompute}}));
    const auto unet =
        read_graph(std::filesystem::path(REMATLAS_SOURCE_DIR) / "resources/graphs/unet.graph.json");
    ASSERT_TRUE(unet);
    EXPECT_TRUE(pinned_ops(*unet, {{"down1", PinKind::recompute}})) << "its counters of batches run once";
}

std::vector<std::string> idle_pins(const Graph& graph, const Pins& pins) {
    std::vector<std::string> lines;
    const Result<PinnedOps> pinned = pinned_ops(graph, pins);
    EXPECT_TRUE(pinned);
    if (!pinned) return lines;
    for (const IdlePin& idle : pinned->idle) {
        EXPECT_THAT(idle.why, HasSubstr(to_string(pins.at(idle.pin))));
        lines.push_back(idle.why);
    }
    return lines;
}

TEST(PinnedOps, APinThatAsksForNothingIsTold) {
    const Pin busy{"blocks.*.attn", PinKind::recompute}, kept{"blocks.0.mlp", PinKind::keep};
    EXPECT_THAT(idle_pins(three_blocks(), {busy, kept}), IsEmpty());
    EXPECT_THAT(idle_pins(three_blocks(), {busy, {"blocks.*.mlp.1", PinKind::recompute}}),
                ElementsAre(HasSubstr("read outside of it")))
        << "a module of one op";
    Graph graph = three_blocks();
    graph.ops[OpId(29)].recomputable = false;  // the first block's gelu
    EXPECT_THAT(idle_pins(graph, {{"#29", PinKind::keep}}), ElementsAre(HasSubstr("only once")));
    const auto maker = producers(graph);
    std::vector<char> is_read(graph.tensors.size(), 0);
    for (const Op& op : graph.ops)
        for (TensorId t : op.inputs)
            if (op.phase == Phase::backward) is_read[t.index()] = 1;
    std::size_t unread = 0;
    for (TensorId t : graph.tensors.ids()) {
        if (is_read[t.index()] || !maker[t].valid() || graph.ops[maker[t]].outputs.size() > 1) continue;
        const Pin pin{"#" + std::to_string(maker[t].value), PinKind::recompute};
        if (!pinned_ops(graph, {pin})) continue;  // a result, or a tensor that is not made in the forward
        EXPECT_THAT(idle_pins(graph, {pin}), ElementsAre(HasSubstr("reads nothing of it")));
        ++unread;
    }
    EXPECT_GT(unread, 0u);
}

TEST(PinnedOps, APinOnAParameterIsToldWhatItNames) {
    for (const PinKind kind : {PinKind::keep, PinKind::recompute}) {
        const std::string message = message_of_pins({{"tokens.weight", kind}});
        EXPECT_THAT(message, HasSubstr("tokens.weight, of kind parameter"));
        EXPECT_THAT(message, HasSubstr("no op of the step makes"));
    }
}

TEST(PinnedOps, WithoutALossNothingCanBePinnedToRecompute) {
    Graph graph = three_blocks();
    for (Op& op : graph.ops)
        if (op.phase == Phase::loss) op.phase = Phase::backward;
    EXPECT_FALSE(pinned_ops(graph, {{"blocks.0", PinKind::recompute}}));
    EXPECT_TRUE(pinned_ops(graph, {{"blocks.0", PinKind::keep}}));
}

}  // namespace
}  // namespace rematlas
