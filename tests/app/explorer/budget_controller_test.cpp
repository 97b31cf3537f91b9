#include "app/explorer/session/budget_controller.h"

#include <gtest/gtest.h>

#include <QSignalSpy>

#include "core/base/sizes.h"

namespace rematlas::explorer {
namespace {

constexpr Bytes smallest(300 << 20), full(std::int64_t{2} << 30), resident(100 << 20);
constexpr StepBytes step{.peak = full, .resident = resident};

TEST(BudgetController, StartsAtSixtyPercent) {
    BudgetController budget;
    budget.set_range(smallest, step);
    EXPECT_NEAR(static_cast<double>(budget.budget().value), 0.6 * full.value, 0.001 * full.value);
    EXPECT_TRUE(budget.valid());
}

TEST(BudgetController, StartsAtTheSmallestWhereSixtyPercentIsTooLittle) {
    BudgetController budget;
    budget.set_range(Bytes(full.value * 9 / 10), step);
    EXPECT_GE(budget.budget(), budget.smallest());
}

TEST(BudgetController, AcceptsSizesSharesAndBytes) {
    BudgetController budget;
    budget.set_range(smallest, step);
    EXPECT_TRUE(budget.set_text("1 GiB"));
    EXPECT_EQ(budget.budget(), Bytes(1 << 30));
    EXPECT_TRUE(budget.set_text("50 %"));
    EXPECT_EQ(budget.budget(), Bytes(full.value / 2));
    EXPECT_TRUE(budget.set_text("50% of activations"));
    EXPECT_EQ(budget.budget(), resident + Bytes((full - resident).value / 2));
    EXPECT_TRUE(budget.set_text("1 500 MB"));
    EXPECT_EQ(budget.budget(), Bytes(1'500'000'000));
    EXPECT_TRUE(budget.set_text("123456789"));
    EXPECT_EQ(budget.budget(), Bytes(123456789));
}

TEST(BudgetController, TypingMovesTheSliderAndLeavesTheTextAlone) {
    BudgetController budget;
    budget.set_range(smallest, step);
    budget.set_text("100%");
    EXPECT_EQ(budget.slider(), BudgetController::slider_steps);
    EXPECT_EQ(budget.text(), "100%");
    budget.set_text("1 B");
    EXPECT_EQ(budget.slider(), 0);
}

TEST(BudgetController, MovingTheSliderRewritesTheTextAndTheTextIsWhatIsSolved) {
    BudgetController budget;
    budget.set_range(smallest, step);
    for (int position = 0; position <= BudgetController::slider_steps; position += 37) {
        budget.set_slider(position);
        EXPECT_NEAR(budget.slider(), position, 2);
        EXPECT_GE(budget.budget(), smallest) << "rounding must not fall below what is feasible";
        EXPECT_EQ(*bytes_of(*parse_budget(budget.text().toStdString()), step), budget.budget());
    }
}

TEST(BudgetController, KeepsTheLastGoodBudgetOnNonsense) {
    BudgetController budget;
    budget.set_range(smallest, step);
    budget.set_text("1GiB");
    for (const char* wrong : {"", "-1", "0", "abc", "1 GB of it", "0%", "-3%", "9e99GiB"}) {
        EXPECT_FALSE(budget.set_text(wrong)) << wrong;
        EXPECT_FALSE(budget.error().isEmpty());
        EXPECT_FALSE(budget.valid());
        EXPECT_EQ(budget.budget(), Bytes(1 << 30));
    }
    budget.set_slider(500);
    EXPECT_TRUE(budget.valid()) << "the slider is a way out of a wrong text";
}

TEST(BudgetController, ASmallerKnownBudgetWidensTheSliderOnly) {
    BudgetController budget;
    budget.set_range(smallest, step);
    budget.set_text("1GiB");
    QSignalSpy changed(&budget, &BudgetController::range_changed);
    budget.set_smallest(Bytes(100 << 20));
    EXPECT_EQ(changed.count(), 1);
    EXPECT_EQ(budget.budget(), Bytes(1 << 30));
    EXPECT_EQ(budget.text(), "1GiB");
}

TEST(BudgetController, TheFirstBudgetIsOneThatIsKnownToWork) {
    BudgetController budget;
    budget.set_range(smallest, step);
    budget.set_smallest(Bytes(full.value / 2));
    EXPECT_NEAR(static_cast<double>(budget.budget().value), 0.6 * full.value, 0.001 * full.value);
    budget.set_smallest(Bytes(full.value * 9 / 10));
    EXPECT_NEAR(static_cast<double>(budget.budget().value), 0.95 * full.value, 0.001 * full.value);
}

TEST(BudgetController, ABudgetThatWasSetStaysWhateverIsKnown) {
    BudgetController budget;
    budget.set_range(smallest, step);
    budget.set_budget(Bytes(full.value / 2));
    const Bytes set = budget.budget();
    budget.set_smallest(Bytes(full.value * 9 / 10));
    EXPECT_EQ(budget.budget(), set);
}

TEST(PreciseBytes, NeverRoundsDown) {
    for (std::int64_t bytes : {std::int64_t{1}, std::int64_t{1023}, std::int64_t{1025},
                               std::int64_t{207654321}, std::int64_t{14588462592}}) {
        QString shown = precise_bytes(Bytes(bytes));
        EXPECT_GE(parse_bytes(shown.remove(' ').toStdString())->value, bytes);
    }
}

}  // namespace
}  // namespace rematlas::explorer
