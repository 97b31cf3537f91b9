#include "app/explorer/look/shown_range.h"

#include <gtest/gtest.h>

namespace rematlas::explorer {
namespace {

TEST(ShownRange, ZoomsAtAPlaceThatStays) {
    ShownRange shown;
    shown.show_all(1000);
    EXPECT_TRUE(shown.is_all());
    const double before = shown.at(150, 100, 200);
    EXPECT_DOUBLE_EQ(before, 250);
    shown.zoom(before, 0.5);
    EXPECT_DOUBLE_EQ(shown.span(), 500);
    EXPECT_DOUBLE_EQ(shown.at(150, 100, 200), before);
    EXPECT_FALSE(shown.is_all());
    shown.zoom(before, 100);
    EXPECT_TRUE(shown.is_all());
}

TEST(ShownRange, StaysWithinTheAxisAndIsNeverEmpty) {
    ShownRange shown;
    shown.show_all(1000);
    shown.set(-50, 50);
    EXPECT_EQ(shown.from(), 0);
    EXPECT_DOUBLE_EQ(shown.to(), 100);
    shown.set(990, 1190);
    EXPECT_DOUBLE_EQ(shown.from(), 800);
    shown.set(500, 500);
    EXPECT_GT(shown.span(), 0);
    shown.show_all(0);
    EXPECT_GT(shown.span(), 0);
}

TEST(ShownRange, ADragMovesItAndAClickDoesNot) {
    ShownRange shown;
    shown.show_all(1000);
    shown.set(400, 600);
    shown.press(50);
    EXPECT_FALSE(shown.drag(52, 200));
    EXPECT_FALSE(shown.dragged());
    EXPECT_EQ(shown.from(), 400);
    EXPECT_TRUE(shown.drag(100, 200));
    EXPECT_TRUE(shown.dragged());
    EXPECT_DOUBLE_EQ(shown.from(), 350);
    EXPECT_DOUBLE_EQ(shown.span(), 200);
}

}  // namespace
}  // namespace rematlas::explorer
