#include "app/explorer/session/answer.h"

#include <gtest/gtest.h>

#include <QRegularExpression>

#include "app/explorer/session/budget_controller.h"
#include "core/planning/request.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

Schedule plan_of(Bytes peak, double overhead, const std::optional<Bound>& bound = {}) {
    Schedule schedule;
    schedule.peak = schedule.budget = peak;
    schedule.overhead = overhead;
    schedule.bound = bound;
    schedule.solver = "atlas";
    return schedule;
}

Bound proven(double overhead, ScheduleClass over = ScheduleClass::any_order) {
    return {.overhead = overhead, .over = over};
}

/// A graph with plans. Answers questions about the graph; a question is a budget with its copies and pins.
class Asked {
  public:
    explicit Asked(GraphPtr graph) : graph_(std::move(graph)), known_(graph_->graph) {}

    void add(const Schedule& plan) {
        plans_.add(plan, PlanRow::Origin::solved);
        known_.add(plan);
    }
    FitAnswer answer(const Question& question, bool was_solved = false) const {
        return fit_answer(*graph_, plans_, known_, question, was_solved);
    }
    FitAnswer answer(Bytes limit) const { return answer(Question{.budget = limit}); }
    KnownAnswers& known() { return known_; }

  private:
    GraphPtr graph_;
    PlanList plans_;
    KnownAnswers known_;
};

TEST(FitAnswer, SaysWhatFitsWhatItCostsAndWhatIsImpossible) {
    const GraphPtr graph = loaded_chain(8);
    const Bytes full = graph->full_peak, least = graph->least.bytes;
    Asked asked(graph);
    EXPECT_EQ(asked.answer(full).kind, FitAnswer::Kind::fits);
    EXPECT_EQ(asked.answer(full - Bytes(1)).kind, FitAnswer::Kind::unknown);
    asked.known().add_peak({}, full - Bytes(1));
    EXPECT_EQ(asked.answer(full - Bytes(1)).kind, FitAnswer::Kind::to_solve);
    EXPECT_EQ(asked.answer(least).kind, FitAnswer::Kind::unknown);
    EXPECT_EQ(asked.answer(least - Bytes(1)).kind, FitAnswer::Kind::impossible);
    EXPECT_TRUE(asked.answer(least - Bytes(1)).headline.contains("at least"));

    const Bytes middle((least.value + full.value) / 2);
    asked.add(plan_of(middle, 1.25));
    asked.add(plan_of(middle - Bytes(1), 1.125));
    asked.add(plan_of(middle + Bytes(1), 1.0625));
    EXPECT_EQ(asked.answer(middle).kind, FitAnswer::Kind::with_plan);
    EXPECT_EQ(asked.answer(middle).plan, 1) << "the fastest of those that fit";
    EXPECT_TRUE(asked.answer(middle).headline.contains("+12.50 %"))
        << asked.answer(middle).headline.toStdString();
    EXPECT_EQ(asked.answer(middle + Bytes(1)).plan, 2);
    EXPECT_FALSE(asked.answer(middle + Bytes(1)).can_solve) << "it was made for this budget";
    const Bytes more = middle + Bytes(1 << 20);
    EXPECT_TRUE(asked.answer(more).can_solve) << "with more room there may be a faster one";
    EXPECT_TRUE(asked.answer(more).detail.contains("It was made for"));
    EXPECT_EQ(asked.answer(middle - Bytes(2)).kind, FitAnswer::Kind::unknown);
}

TEST(FitAnswer, CountsOnlyPlansThatMayAnswerTheQuestion) {
    Device device{.name = "card"};
    device.links = {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9};
    const GraphPtr graph = loaded_chain(8, device);
    const Bytes limit((graph->least.bytes.value + graph->full_peak.value) / 2);
    Asked asked(graph);
    Schedule copying = plan_of(limit, 1.0625);
    copying.steps = {Step::offload(graph->graph.ops[OpId(0)].outputs.front())};
    copying.host_peak = Bytes(1000);
    asked.add(copying);
    const Question without{.budget = limit};
    const Question with{.budget = limit, .copies = {.what = Offload::activations, .links = device.links}};
    EXPECT_EQ(asked.answer(with).kind, FitAnswer::Kind::with_plan);
    EXPECT_EQ(asked.answer(without).kind, FitAnswer::Kind::unknown)
        << "the plan copies what may not be copied";
    Question over_another_link = with;
    over_another_link.copies.links.to_host_bytes_per_second = 2e9;
    EXPECT_EQ(asked.answer(over_another_link).plan, PlanList::none);
    Question on_a_small_host = with;
    on_a_small_host.copies.host_budget = Bytes(999);
    EXPECT_EQ(asked.answer(on_a_small_host).plan, PlanList::none);

    Schedule pinned = plan_of(limit, 1.5);
    pinned.steps = keep_all_schedule(*graph).steps;
    pinned.pins = {{"layers.0", PinKind::recompute}};
    asked.add(pinned);
    const Question under_pins{.budget = limit, .copies = {}, .pins = pinned.pins};
    EXPECT_EQ(asked.answer(under_pins).plan, 1);
    EXPECT_FALSE(asked.answer(under_pins).can_solve);
    EXPECT_EQ(asked.answer(without).plan, 1) << "what keeps pins is a schedule without pins, too";
    EXPECT_TRUE(asked.answer(without).can_solve) << "without them there may be a faster one";
    EXPECT_TRUE(asked.answer(without).detail.contains("Solve without them"));
    Question under_others = under_pins;
    under_others.pins = {{"layers.1", PinKind::recompute}};
    EXPECT_EQ(asked.answer(under_others).plan, PlanList::none) << "it does not obey this pin";
}

TEST(FitAnswer, RecommendsNothingThatWasJustTried) {
    const GraphPtr graph = loaded_chain(8);
    const Bytes limit((graph->least.bytes.value + graph->full_peak.value) / 2);
    Asked asked(graph);
    EXPECT_TRUE(asked.answer({.budget = limit}).can_solve);
    EXPECT_FALSE(asked.answer({.budget = limit}, true).can_solve);
    EXPECT_TRUE(asked.answer({.budget = limit}, true).detail.contains("Give it more time"));
    asked.add(plan_of(limit - Bytes(1 << 20), 1.25));
    EXPECT_TRUE(asked.answer({.budget = limit}).can_solve);
    EXPECT_FALSE(asked.answer({.budget = limit}, true).can_solve)
        << "the plan of a smaller budget was faster";
}

TEST(FitAnswer, TellsWhatIsProvenOfTheQuestionByWhomever) {
    const GraphPtr graph = loaded_chain(8);
    const Bytes limit((graph->least.bytes.value + graph->full_peak.value) / 2);
    Asked asked(graph);
    asked.add(plan_of(limit, 1.25, proven(1.125)));
    EXPECT_TRUE(asked.answer(limit).detail.contains("less than +12.50 %"))
        << asked.answer(limit).detail.toStdString();
    asked.known().add_bound({.budget = limit + Bytes(5)}, ScheduleClass::with_copies, 1.1875);
    EXPECT_TRUE(asked.answer(limit).detail.contains("less than +18.75 %"))
        << "a larger budget and more copies could do no better";
    asked.known().add_bound({.budget = limit - Bytes(5)}, ScheduleClass::any_order, 1.2);
    EXPECT_TRUE(asked.answer(limit).detail.contains("less than +18.75 %")) << "a smaller budget says nothing";
    asked.known().add_bound({.budget = limit}, ScheduleClass::staged, 1.25);
    EXPECT_TRUE(asked.answer(limit).detail.contains("less than +18.75 %")) << "of Checkmate's stages alone";
    asked.known().add_bound({.budget = limit}, ScheduleClass::any_order, 1.25);
    EXPECT_EQ(asked.answer(limit).detail, "No schedule within its budget is faster.");
}

TEST(FitAnswer, ThatABudgetIsRoundedInItsFieldMakesNoOtherBudgetOfIt) {
    const GraphPtr graph = loaded_chain(8);
    const Bytes made((graph->least.bytes.value + graph->full_peak.value) / 2 + 1);
    Asked asked(graph);
    asked.add(plan_of(made, 1.25, proven(1.25)));
    BudgetController field;
    field.set_range(graph->least.bytes, step_bytes(graph->flat));
    field.set_budget(made);
    ASSERT_NE(field.budget(), made);
    const FitAnswer answer = asked.answer(field.budget());
    EXPECT_TRUE(answer.detail.contains("No schedule within its budget is faster"))
        << answer.detail.toStdString();
    EXPECT_FALSE(answer.can_solve);
}

TEST(FitAnswer, TwoBudgetsThatAreOfferedAreNotCalledTheSame) {
    const GraphPtr graph = loaded_chain(8);
    const Bytes made((graph->least.bytes.value + graph->full_peak.value) / 2);
    Asked asked(graph);
    asked.add(plan_of(made, 1.25));
    for (int step = 1; step < 400; ++step) {
        const QString detail = asked.answer(made + Bytes(step * 256)).detail;
        if (!detail.contains("It was made for")) continue;
        static const QRegularExpression sizes("for ([0-9.]+ \\w+)\\..*what ([0-9.]+ \\w+) allow");
        const QRegularExpressionMatch two = sizes.match(detail);
        ASSERT_TRUE(two.hasMatch()) << detail.toStdString();
        EXPECT_NE(two.captured(1), two.captured(2)) << detail.toStdString();
    }
}

TEST(FitAnswer, TellsThatCopiesToTheHostWereLeftOut) {
    Device device{.name = "card"};
    device.links = {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9};
    const GraphPtr loaded = loaded_chain(8, device);
    const Bytes least = loaded->least.bytes, limit((least.value + loaded->full_peak.value) / 2);
    const auto with = [&](Offload what, Bytes budget) {
        return Question{.budget = budget, .copies = {.what = what, .links = device.links}};
    };
    Asked asked(loaded);
    EXPECT_TRUE(asked.answer(least - Bytes(1)).detail.contains("may live on the host"));
    asked.add(plan_of(limit, 1.25, proven(1.125)));
    EXPECT_TRUE(asked.answer(limit).detail.contains("without copies to the host"));
    EXPECT_TRUE(asked.answer(with(Offload::all, limit)).detail.contains("with fewer copies"))
        << "its bound says nothing of schedules that copy, and copies may be faster";
    const Question activations = with(Offload::activations, limit);
    asked.known().add_bound(activations, ScheduleClass::with_activation_copies, 1.25);
    EXPECT_TRUE(asked.answer(activations).detail.contains("with weights on the device"));
    const Question all = with(Offload::all, limit);
    asked.known().add_bound(all, ScheduleClass::with_copies, 1.25);
    EXPECT_EQ(asked.answer(all).detail, "No schedule within its budget is faster.");

    Schedule at_home = plan_of(least - Bytes(2), 2);
    at_home.homes.on_host = {TensorId(0)};
    at_home.host_peak = Bytes(1);
    asked.add(at_home);
    EXPECT_EQ(asked.answer(with(Offload::all, least - Bytes(1))).kind, FitAnswer::Kind::with_plan)
        << "its weights live on the host";
    EXPECT_EQ(asked.answer(least - Bytes(1)).kind, FitAnswer::Kind::impossible);
}

TEST(FitAnswer, SaysInWordsThatUpdatesOnTheHostSaveTime) {
    Device device{.name = "card"};
    device.links = {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9};
    const GraphPtr loaded = loaded_chain(8, device);
    const Bytes limit((loaded->least.bytes.value + loaded->full_peak.value) / 2);
    Asked asked(loaded);
    asked.add(plan_of(limit, 0.975, proven(0.9705, ScheduleClass::with_host_ops)));
    const Question all{.budget = limit, .copies = {.what = Offload::all, .links = device.links}};
    asked.known().add_bound(all, ScheduleClass::with_host_ops, 0.9705);
    const FitAnswer answer = asked.answer(all);
    EXPECT_TRUE(answer.headline.endsWith("2.50 % less time than with all on the device"))
        << answer.headline.toStdString();
    EXPECT_EQ(answer.detail,
              "Within its budget no schedule saves more than 2.95 % of the time that the step takes with all "
              "on the "
              "device.");
}

TEST(FitAnswer, KnowsCardsAndLeavesSomeOfTheirMemoryToTheDriver) {
    const std::vector<Card> cards = known_cards();
    ASSERT_GE(cards.size(), 3u);
    for (std::size_t i = 0; i < cards.size(); ++i) {
        EXPECT_GT(cards[i].memory, Bytes(std::int64_t{8} << 30)) << cards[i].name.toStdString();
        if (i > 0) {
            EXPECT_LE(cards[i].memory, cards[i - 1].memory);
        }
        EXPECT_GT(usual_reserve(cards[i].memory), Bytes(0));
    }
    EXPECT_EQ(usual_reserve(Bytes(1000)), Bytes(100));
}

}  // namespace
}  // namespace rematlas::explorer
