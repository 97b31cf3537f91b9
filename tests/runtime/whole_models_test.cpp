// The table of resources/models/whole_models.py: every model, traced and scripted, trained by schedules
// against the original, bit by bit and byte by byte.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/sizes.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

/// Of the default solver at 60 % of what is not resident in the step without recomputation, or at the first
/// larger budget that it keeps: a quarter and more of the way from what every schedule needs.
Plan solved(const Graph& graph) {
    const nlohmann::json options = {{"max_moves", 1000}};
    const FlatGraph flat = flatten(graph);
    const Bytes all = keep_all_peak(flat), residents(flat.resident_bytes);
    for (Bytes budget(residents.value + (all - residents).value * 6 / 10); budget < all;) {
        Result<Outcome> outcome = solve(graph, {.solver = "atlas",
                                                .options = std::make_shared<const nlohmann::json>(options),
                                                .budget = budget,
                                                .limits = {.time = std::chrono::seconds(60)}});
        if (!outcome) {
            ADD_FAILURE() << outcome.error().message;
            break;
        }
        if (const Schedule* schedule = outcome->schedule()) return {.graph = graph, .schedule = *schedule};
        const Bytes needed = outcome->infeasible()->needed;
        budget = std::max(needed + Bytes((all - needed).value / 4),
                          budget + Bytes((all - residents).value / 50 + 1));
    }
    ADD_FAILURE() << graph.name << ": no schedule needs less than " << format_bytes(all);
    return test::plan_of(graph, keep_all_sequence(flatten(graph)));
}

std::vector<std::string> in_both_forms() {
    std::vector<std::string> names;
    for (const char* model :
         {"resnet50", "densenet121", "regnet", "mobilenet_v3", "convnext", "vit", "swin", "unet", "gpt",
          "llama", "transformer", "mixer", "lstm", "fno", "mixture_of_experts"}) {
        for (const char* form : {"_traced", "_scripted"}) names.push_back(std::string(model) + form);
    }
    return names;
}

class WholeModels : public ::testing::TestWithParam<std::string> {
  protected:
    std::string name() const { return "whole/" + GetParam(); }
    const Graph& graph() const { return test::captured(name()); }

    void expect_identical(const RunSequence& runs) const {
        ASSERT_FALSE(graph().ops.empty());
        ASSERT_TRUE(is_executable(flatten(graph()), runs));
        test::expect_identical(name(), test::plan_of(graph(), runs));
    }
};

TEST_P(WholeModels, WithoutRecomputationAreIdentical) {
    expect_identical(keep_all_sequence(flatten(graph())));
}

TEST_P(WholeModels, WithRerunsAreIdentical) {
    expect_identical(test::shuffled_with_reruns(flatten(graph()), 0.3, /*shuffle=*/false, 5));
}

TEST_P(WholeModels, WithRerunsInAnotherOrderAreIdentical) {
    expect_identical(test::shuffled_with_reruns(flatten(graph()), 0.2, /*shuffle=*/true, 6));
}

TEST_P(WholeModels, UnderABudgetAreIdentical) {
    ASSERT_FALSE(graph().ops.empty());
    const Plan plan = solved(graph());
    RecordProperty("budget", format_bytes(plan.schedule.budget));
    RecordProperty("overhead", std::to_string(plan.schedule.overhead));
    EXPECT_LE(plan.schedule.peak, plan.schedule.budget);
    EXPECT_GT(plan.schedule.overhead, 1.0) << "nothing is recomputed";
    test::expect_identical(name(), plan);
}

INSTANTIATE_TEST_SUITE_P(Table, WholeModels, ::testing::ValuesIn(in_both_forms()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rematlas
