#include "app/explorer/session/answer.h"

#include <gtest/gtest.h>

#include <QRegularExpression>

#include "app/explorer/session/budget_controller.h"
#include "tests/app/explorer/training_chain.h"

namespace rematlas::explorer {
namespace {

Schedule plan_of(Bytes peak, double overhead) {
    Schedule schedule;
    schedule.peak = schedule.budget = peak;
    schedule.overhead = overhead;
    schedule.solver = "atlas";
    return schedule;
}

TEST(FitAnswer, SaysWhatFitsWhatItCostsAndWhatIsImpossible) {
    const GraphPtr graph = loaded_chain(8);
    const Bytes full = graph->full_peak, least = graph->least.bytes;
    PlanList plans;
    const auto answer = [&](Bytes limit, Bytes known = {}) {
        return fit_answer(*graph, plans, limit, known);
    };
    EXPECT_EQ(answer(full).kind, FitAnswer::Kind::fits);
    EXPECT_EQ(answer(full - Bytes(1)).kind, FitAnswer::Kind::unknown);
    EXPECT_EQ(answer(full - Bytes(1), full - Bytes(1)).kind, FitAnswer::Kind::to_solve);
    EXPECT_EQ(answer(least).kind, FitAnswer::Kind::unknown);
    EXPECT_EQ(answer(least - Bytes(1)).kind, FitAnswer::Kind::impossible);
    EXPECT_TRUE(answer(least - Bytes(1)).headline.contains("at least"));

    const Bytes middle((least.value + full.value) / 2);
    plans.add(plan_of(middle, 1.25), PlanRow::Origin::solved);
    plans.add(plan_of(middle - Bytes(1), 1.125), PlanRow::Origin::solved);
    plans.add(plan_of(middle + Bytes(1), 1.0625), PlanRow::Origin::solved);
    EXPECT_EQ(answer(middle).kind, FitAnswer::Kind::with_plan);
    EXPECT_EQ(answer(middle).plan, 1) << "the fastest of those that fit";
    EXPECT_TRUE(answer(middle).headline.contains("+12.50 %")) << answer(middle).headline.toStdString();
    EXPECT_EQ(answer(middle + Bytes(1)).plan, 2);
    EXPECT_FALSE(answer(middle + Bytes(1)).can_solve) << "it was made for this budget";
    const Bytes more = middle + Bytes(1 << 20);
    EXPECT_TRUE(answer(more).can_solve) << "with more room there may be a faster one";
    EXPECT_TRUE(answer(more).detail.contains("It was made for"))
        << "what is proven of another budget is not told of this one";
    EXPECT_EQ(answer(middle - Bytes(2)).kind, FitAnswer::Kind::unknown);

    Schedule pinned = plan_of(middle - Bytes(2), 1.5);
    pinned.status = "optimal";
    pinned.pins = {{"layers.0", PinKind::recompute}};
    plans.add(pinned, PlanRow::Origin::solved);
    EXPECT_TRUE(answer(middle - Bytes(2)).detail.contains("keeps its pins"))
        << "without them there may be a faster one";
}

TEST(FitAnswer, ThatABudgetIsRoundedInItsFieldMakesNoOtherBudgetOfIt) {
    const GraphPtr graph = loaded_chain(8);
    const Bytes made((graph->least.bytes.value + graph->full_peak.value) / 2 + 1);
    Schedule plan = plan_of(made, 1.25);
    plan.status = "optimal";
    PlanList plans;
    plans.add(plan, PlanRow::Origin::solved);
    BudgetController field;
    field.set_range(graph->least.bytes, step_bytes(graph->flat));
    field.set_budget(made);
    ASSERT_NE(field.budget(), made);
    const FitAnswer answer = fit_answer(*graph, plans, field.budget(), {});
    EXPECT_TRUE(answer.detail.contains("No schedule within its budget is faster"))
        << answer.detail.toStdString();
    EXPECT_FALSE(answer.can_solve);
}

TEST(FitAnswer, TwoBudgetsThatAreOfferedAreNotCalledTheSame) {
    const GraphPtr graph = loaded_chain(8);
    const Bytes made((graph->least.bytes.value + graph->full_peak.value) / 2);
    PlanList plans;
    plans.add(plan_of(made, 1.25), PlanRow::Origin::solved);
    for (int step = 1; step < 400; ++step) {
        const QString detail = fit_answer(*graph, plans, made + Bytes(step * 256), {}).detail;
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
    PlanList plans;
    EXPECT_TRUE(fit_answer(*loaded, plans, least - Bytes(1), {}).detail.contains("may live on the host"));
    Schedule plan = plan_of(limit, 1.25);
    plan.bound = Bound{1.125, 0.1, ScheduleClass::any_order};
    plans.add(plan, PlanRow::Origin::solved);
    EXPECT_TRUE(fit_answer(*loaded, plans, limit, {}).detail.contains("without copies to the host"));
    Schedule copying = plan_of(limit, 1.0625);
    copying.steps = {Step::run(OpId(0))};  // or it would be the same plan again
    copying.bound = Bound{1.03125, 0.03, ScheduleClass::with_copies};
    plans.add(copying, PlanRow::Origin::solved);
    EXPECT_FALSE(fit_answer(*loaded, plans, limit, {}).detail.contains("That is"));
    Schedule activations = plan_of(limit, 1.03125);
    activations.steps = {Step::run(OpId(1))};
    activations.bound = Bound{1.015625, 0.015, ScheduleClass::with_activation_copies};
    plans.add(activations, PlanRow::Origin::solved);
    EXPECT_TRUE(fit_answer(*loaded, plans, limit, {}).detail.contains("with weights on the device"));
    plans.add(plan_of(least - Bytes(2), 2), PlanRow::Origin::solved);
    EXPECT_EQ(fit_answer(*loaded, plans, least - Bytes(1), {}).kind, FitAnswer::Kind::with_plan)
        << "its weights live on the host";
}

TEST(FitAnswer, SaysInWordsThatUpdatesOnTheHostSaveTime) {
    const GraphPtr loaded = loaded_chain(8, Device{.name = "card"});
    const Bytes limit((loaded->least.bytes.value + loaded->full_peak.value) / 2);
    PlanList plans;
    Schedule plan = plan_of(limit, 0.975);
    plan.bound = Bound{0.9705, 0.1, ScheduleClass::with_host_ops};
    plans.add(plan, PlanRow::Origin::solved);
    const FitAnswer answer = fit_answer(*loaded, plans, limit, {});
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
