#include "core/planning/request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/checking/check.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/long_chain.h"

namespace rematlas {
namespace {

using nlohmann::json;

std::shared_ptr<const json> options_of(json options) {
    return std::make_shared<const json>(std::move(options));
}

TEST(SolveRequest, AnswersForTheBytesThatItsBudgetMeansInTheGraph) {
    const Graph graph = long_chain(ChainKind::uneven, 12);
    const FlatGraph flat = flatten(graph);
    const Bytes peak = keep_all_peak(flat), resident(flat.resident_bytes);
    const std::pair<const char*, Bytes> budgets[] = {
        {"100%", peak},
        {"80%", Bytes(peak.value * 8 / 10)},
        {"80% of activations", resident + Bytes((peak - resident).value * 8 / 10)}};
    for (const auto& [text, bytes] : budgets) {
        const Result<Outcome> outcome = solve(graph, {.solver = "rotor", .budget = *parse_budget(text)});
        ASSERT_TRUE(outcome) << outcome.error().message;
        EXPECT_EQ(outcome->budget, bytes) << text;
        ASSERT_TRUE(outcome->schedule()) << text;
        EXPECT_EQ(outcome->schedule()->budget, bytes) << text;
        EXPECT_TRUE(check(graph, *outcome->schedule(), bytes).ok()) << text;
    }
}

TEST(SolveRequest, TellsItsBudgetWhereNothingFits) {
    const Graph graph = long_chain(ChainKind::uneven, 12);
    const Result<Outcome> outcome = solve(graph, {.solver = "rotor", .budget = Bytes(1)});
    ASSERT_TRUE(outcome && outcome->infeasible());
    EXPECT_EQ(outcome->budget, Bytes(1));
}

TEST(SolveRequest, ItsOptionsAreTheSchedulesConfiguration) {
    const Graph graph = long_chain(ChainKind::uneven, 6);
    const SolveRequest request{
        .solver = "rotor", .options = options_of({{"slots", 100}}), .budget = *parse_budget("90%")};
    const Result<Outcome> outcome = solve(graph, request);
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_TRUE(outcome->schedule() && outcome->schedule()->config);
    EXPECT_EQ(*outcome->schedule()->config, *request.options);
}

TEST(SolveRequest, WithAnArenaTheBudgetBoundsThePlannedAddresses) {
    const Graph graph = long_chain(ChainKind::uneven, 12);
    const Result<Outcome> outcome = solve(graph, {.solver = "rotor",
                                                  .budget = *parse_budget("90%"),
                                                  .arena = true,
                                                  .limits = {.time = std::chrono::hours(1)}});
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_TRUE(outcome->schedule() && outcome->schedule()->addresses);
    EXPECT_LE(outcome->schedule()->addresses->arena, outcome->budget);
}

TEST(SolveRequest, PlannedAddressesAreAlignedAsTheGraphsDeviceSaysWhateverItsProvenanceSays) {
    const auto alignment = [](const Graph& graph) {
        const Result<Outcome> outcome =
            solve(graph, {.solver = "keep-all", .budget = *parse_budget("200%"), .arena = true});
        return outcome->schedule()->addresses->alignment;
    };
    for (const char* captured_on : {"meta:cpu", "meta:h200", "cuda:0", "cpu"}) {
        Graph graph = long_chain(ChainKind::uneven, 4);
        graph.provenance = options_of({{"device", captured_on}});
        EXPECT_EQ(alignment(graph), Device{}.alignment) << captured_on;
        graph.device = Device{.name = "a GPU", .memory = {}, .kind = "cuda", .alignment = 512};
        EXPECT_EQ(alignment(graph), 512) << captured_on;
        graph.device = Device{.name = "a processor", .memory = {}, .kind = "cpu", .alignment = 64};
        EXPECT_EQ(alignment(graph), 64) << captured_on;
    }
}

TEST(SolveRequest, AGapIsAnOptionOfSolversThatHaveOne) {
    SolveRequest atlas, checkmate{.solver = "checkmate", .options = options_of({{"warm_up", 0.5}})};
    set_gap(atlas, 0.25);
    set_gap(checkmate, 0.25);
    EXPECT_EQ(atlas.limits.gap, 0.25);
    EXPECT_EQ(atlas.options, nullptr);
    EXPECT_EQ(checkmate.limits.gap, 0.25);
    EXPECT_EQ(*checkmate.options, json({{"warm_up", 0.5}, {"gap", 0.25}})) << "the other options stay";
}

TEST(SolveRequest, ALibraryIsAnOptionOfSolversOfProgrammes) {
    SolveRequest atlas, checkmate{.solver = "checkmate"};
    EXPECT_FALSE(set_milp(atlas, "highs"));
    EXPECT_EQ(atlas.options, nullptr);
    ASSERT_TRUE(set_milp(checkmate, "highs"));
    EXPECT_EQ(checkmate.options->at("milp"), "highs");
}

TEST(SolveRequest, WhatIsNotKnownIsAnError) {
    const Graph graph = long_chain(ChainKind::uneven, 4);
    EXPECT_FALSE(solve(graph, {.solver = "oracle", .budget = *parse_budget("90%")}));
    EXPECT_FALSE(solve(
        graph, {.solver = "rotor", .options = options_of({{"memory", 1}}), .budget = *parse_budget("90%")}));
    EXPECT_FALSE(solve(graph, {.budget = *parse_budget("0.0000001%")})) << "less than a byte";
}

}  // namespace
}  // namespace rematlas
