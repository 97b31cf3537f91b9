// Trains every model of resources/models/whole_models.py by schedules, both traced and scripted. Every bit of
// the values must be as in the original, and the peak must be the predicted one to the byte.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/sizes.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "tests/runtime/captured_model.h"

namespace rematlas {
namespace {

/// Returns the schedule of the solver atlas within `budget`, if the solver finds one.
std::optional<Schedule> scheduled(const Graph& graph, Bytes budget) {
    const nlohmann::json options = {{"max_moves", 1000}};
    const Result<Outcome> outcome = solve(graph, {.solver = "atlas",
                                                  .options = std::make_shared<const nlohmann::json>(options),
                                                  .budget = budget,
                                                  .limits = {.time = std::chrono::seconds(60)}});
    if (!outcome) ADD_FAILURE() << outcome.error().message;
    if (!outcome || !outcome->schedule()) return std::nullopt;
    return *outcome->schedule();
}

/// Returns a plan that recomputes some tensors. The first budget is the residents plus 60 % of the bytes that
/// all other tensors take at the peak without recomputation. If the schedule for it recomputes nothing, or if
/// no schedule is found, bisection finds another budget.
Plan solved(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    const Bytes residents(flat.resident_bytes), activations = keep_all_peak(flat) - residents;
    for (std::int64_t least = 0, most = 1000, share = 600, tries = 0; tries < 9; ++tries) {
        const std::optional<Schedule> found =
            scheduled(graph, residents + Bytes(activations.value * share / 1000));
        if (found && found->overhead > 1.0) return {.graph = graph, .schedule = *found};
        (found ? most : least) = share;
        share = (least + most) / 2;
    }
    ADD_FAILURE() << graph.name << ": no budget was found at which something is computed again";
    return test::plan_of(graph, keep_all_sequence(flat));
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
    test::expect_identical(name(), plan);
}

INSTANTIATE_TEST_SUITE_P(Table, WholeModels, ::testing::ValuesIn(in_both_forms()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rematlas
