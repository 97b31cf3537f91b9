#include "app/explorer/session/answer.h"

#include <gtest/gtest.h>

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
    plans.add(plan_of(middle, 1.25), Plan::Origin::solved);
    plans.add(plan_of(middle - Bytes(1), 1.125), Plan::Origin::solved);
    plans.add(plan_of(middle + Bytes(1), 1.0625), Plan::Origin::solved);
    EXPECT_EQ(answer(middle).kind, FitAnswer::Kind::with_plan);
    EXPECT_EQ(answer(middle).plan, 1) << "the fastest of those that fit";
    EXPECT_TRUE(answer(middle).headline.contains("+12.50 %")) << answer(middle).headline.toStdString();
    EXPECT_EQ(answer(middle + Bytes(1)).plan, 2);
    EXPECT_FALSE(answer(middle + Bytes(1)).can_solve) << "it was made for this budget";
    EXPECT_TRUE(answer(middle + Bytes(2)).can_solve) << "with more room there may be a faster one";
    EXPECT_TRUE(answer(middle + Bytes(2)).detail.contains("It was made for"))
        << "what is proven of another budget is not told of this one";
    EXPECT_EQ(answer(middle - Bytes(2)).kind, FitAnswer::Kind::unknown);

    Schedule pinned = plan_of(middle - Bytes(2), 1.5);
    pinned.status = "optimal";
    pinned.pins = {{"layers.0", PinKind::recompute}};
    plans.add(pinned, Plan::Origin::solved);
    EXPECT_TRUE(answer(middle - Bytes(2)).detail.contains("keeps its pins"))
        << "without them there may be a faster one";
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
    plans.add(plan, Plan::Origin::solved);
    EXPECT_TRUE(fit_answer(*loaded, plans, limit, {}).detail.contains("without copies to the host"));
    Schedule copying = plan_of(limit, 1.0625);
    copying.steps = {Step::run(OpId(0))};  // or it would be the same plan again
    copying.bound = Bound{1.03125, 0.03, ScheduleClass::with_copies};
    plans.add(copying, Plan::Origin::solved);
    EXPECT_FALSE(fit_answer(*loaded, plans, limit, {}).detail.contains("without copies"));
    plans.add(plan_of(least - Bytes(2), 2), Plan::Origin::solved);
    EXPECT_EQ(fit_answer(*loaded, plans, least - Bytes(1), {}).kind, FitAnswer::Kind::with_plan)
        << "its weights live on the host";
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
