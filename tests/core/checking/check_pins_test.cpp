#include "core/checking/check_pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checking/check.h"
#include "core/graph/flat_graph.h"
#include "core/pins/pinned_ops.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Graph small_graph_with_modules() {
    Graph graph = small_graph();
    graph.ops[OpId(0)].module = "part.first";
    graph.ops[OpId(1)].module = "part.second";
    return graph;
}

std::vector<std::string> broken(const RunSequence& runs, const Pin& pin) {
    const Graph graph = small_graph_with_modules();
    return broken_pins(graph, lower(flatten(graph), runs), {pin});
}

TEST(CheckPins, AKeptOpRunsOnce) {
    EXPECT_THAT(broken({0, 1, 2, 3, 4}, {"part.*", PinKind::keep}), IsEmpty());
    EXPECT_THAT(broken({0, 1, 2, 0, 3, 4}, {"part.second", PinKind::keep}), IsEmpty());
    EXPECT_THAT(broken({0, 1, 2, 0, 3, 4}, {"part.first", PinKind::keep}),
                ElementsAre("step 4: op 0 (a) runs again, against the pin 'part.first=keep'"));
    EXPECT_THAT(broken({0, 1, 2, 0, 3, 4}, {"#0", PinKind::keep}).size(), 1u);
    EXPECT_THAT(broken({0, 1, 2, 0, 3, 4}, {"a", PinKind::keep}).size(), 1u);
}

TEST(CheckPins, WhatIsToBeMadeAgainIsNotReadFromBeforeTheBackwardPass) {
    EXPECT_THAT(broken({0, 1, 2, 0, 3, 4}, {"a", PinKind::recompute}), IsEmpty());
    EXPECT_THAT(
        broken({0, 1, 2, 3, 4}, {"a", PinKind::recompute}),
        ElementsAre(HasSubstr("op 3 (backward_b) reads tensor 1 (a) from before the backward pass, against "
                              "the pin 'a=recompute'"),
                    HasSubstr("op 4 (backward_a)")));
    // `a` is made twice, but both times before the loss.
    EXPECT_THAT(broken({0, 1, 0, 2, 3, 4}, {"a", PinKind::recompute}).size(), 2u);
    // `a` is made again, but only for the second reader.
    EXPECT_THAT(broken({0, 1, 2, 3, 0, 4}, {"a", PinKind::recompute}), ElementsAre(HasSubstr("op 3")));
}

TEST(CheckPins, AModuleMayHandOnWhatOthersRead) {
    // `a` stays inside the module `part`: part.first makes it and part.second reads it. The loss reads `b`.
    EXPECT_THAT(broken({0, 1, 2, 3, 4}, {"part", PinKind::recompute}).size(), 2u);
    EXPECT_THAT(broken({0, 1, 2, 0, 3, 4}, {"part", PinKind::recompute}), IsEmpty());
    EXPECT_THAT(broken({0, 1, 2, 3, 4}, {"part.*", PinKind::recompute}), IsEmpty());
}

TEST(CheckPins, APinThatMatchesNothingIsBroken) {
    EXPECT_THAT(broken({0, 1, 2, 3, 4}, {"port", PinKind::keep}),
                ElementsAre(HasSubstr("'port=keep' matches nothing")));
}

TEST(CheckPins, AScheduleIsCheckedAgainstItsOwnPins) {
    const Graph graph = small_graph_with_modules();
    Schedule schedule;
    schedule.steps = lower(flatten(graph), RunSequence{0, 1, 2, 3, 4});
    EXPECT_TRUE(check(graph, schedule).ok());
    schedule.pins = {{"part.first", PinKind::keep}, {"a", PinKind::recompute}};
    EXPECT_THAT(check(graph, schedule).violations, testing::Each(HasSubstr("'a=recompute'")));
}

TEST(CheckPins, SeesTheSameTensorsAsWhoMakesSchedulesObey) {
    const Graph graph = gpt_graph({.layers = 2});
    const FlatGraph flat = flatten(graph);
    std::set<std::string> patterns = {"*"};
    for (const Op& op : graph.ops) {
        if (!op.module.empty()) patterns.insert({op.module, op.module.substr(0, op.module.rfind('.'))});
    }
    const auto maker = producers(graph);
    int compared = 0;
    for (const std::string& pattern : patterns) {
        const Result<PinnedOps> pinned = pinned_ops(graph, {{pattern, PinKind::recompute}});
        if (!pinned) continue;
        // Every op runs once, so each op after the loss breaks the pin if it reads a tensor that must be made
        // again.
        std::size_t reads = 0;
        for (OpId op : graph.ops.ids()) {
            if (op < pinned->loss || op == pinned->loss) continue;
            for (TensorId t : graph.ops[op].inputs) {
                if (!maker[t].valid() || !pinned->made_again[t]) continue;
                ++reads;
                break;
            }
        }
        const auto found =
            broken_pins(graph, lower(flat, keep_all_sequence(flat)), {{pattern, PinKind::recompute}});
        EXPECT_EQ(found.size(), std::min<std::size_t>(reads, 20)) << pattern;
        compared += reads > 0;
    }
    EXPECT_GE(compared, 5);
}

}  // namespace
}  // namespace rematlas
