#include "viz/paint/lifetimes_painter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/viz/recording_canvas.h"

namespace rematlas {
namespace {

/// Ten runs of 1 ms each. The cursor is at the sixth run.
LifetimeBars ten_runs() {
    LifetimeBars bars{.spans = {.axis = LaneAxis::time, .length = 1e7}, .step = 5};
    for (int i = 0; i < 10; ++i) {
        bars.spans.begin.push_back(i * 1e6);
        bars.spans.end.push_back((i + 1) * 1e6);
    }
    return bars;
}

LifetimeBar bar_of_op(int op, Bytes bytes, int made, std::vector<int> reads) {
    LifetimeBar bar{.name = "tensor_" + std::to_string(op),
                    .shape = "f32[4,4]",
                    .tensor = TensorId(op),
                    .maker = OpId(op),
                    .bytes = bytes,
                    .made = made,
                    .freed = reads.back(),
                    .reads = reads,
                    .begin = made * 1e6,
                    .end = (reads.back() + 1) * 1e6};
    bar.idle_begin = (made + 1) * 1e6;
    bar.idle_end = reads.front() * 1e6;
    return bar;
}

class LifetimePaint : public testing::Test {
  protected:
    LifetimePaint() : bars(ten_runs()) {
        bars.bars = {bar_of_op(1, Bytes(4 << 20), 0, {7, 9}), bar_of_op(2, Bytes(1 << 20), 4, {6})};
    }
    LifetimesScene scene() const { return {.data = bars, .rect = {0, 0, 1000, 200}}; }
    RecordingCanvas painted(const LifetimesScene& s) const {
        RecordingCanvas canvas;
        paint_lifetimes(canvas, s);
        EXPECT_EQ(canvas.open, 0);
        EXPECT_EQ(canvas.clipped, 0);
        return canvas;
    }
    LifetimeBars bars;
};

TEST_F(LifetimePaint, EachTensorHasItsNameShapeBytesAndIdleTime) {
    const RecordingCanvas canvas = painted(scene());
    for (const char* text : {"tensor_1", "tensor_2", "f32[4,4]", "4.00 MiB", "1.00 MiB", "idle 6.00 ms"})
        EXPECT_TRUE(canvas.says(text)) << text;
}

TEST_F(LifetimePaint, BarsReachFromTheMakingToTheEnd) {
    const LifetimesScene s = scene();
    const LifetimesPlaces places = places_of(s);
    const RecordingCanvas canvas = painted(s);
    for (const LifetimeBar& bar : bars.bars)
        EXPECT_TRUE(std::any_of(canvas.boxes.begin(), canvas.boxes.end(), [&](const auto& box) {
            return std::abs(box.rect.x - places.x.at(bar.begin)) < 1e-6 &&
                   std::abs(box.rect.x + box.rect.width - places.x.at(bar.end)) < 1e-6;
        })) << bar.name;
}

TEST_F(LifetimePaint, MarksOfMakersAndReadersAreFound) {
    const LifetimesScene s = scene();
    const LifetimesPlaces places = places_of(s);
    const auto at = [&](double value, int row) {
        return Point{places.x.at(value), places.rows.y + (row + 0.5) * s.row_height};
    };
    EXPECT_EQ(mark_at(s, at(7.5e6, 0)), 7);
    EXPECT_EQ(mark_at(s, at(9.5e6, 0)), 9);
    EXPECT_EQ(mark_at(s, at(0, 0)), 0);
    EXPECT_EQ(mark_at(s, at(3e6, 0)), -1) << "between the uses";
    EXPECT_EQ(mark_at(s, at(7.5e6, 1)), -1) << "that tensor is not read there";
    EXPECT_EQ(mark_at(s, at(4e6, 1)), 4);
    EXPECT_EQ(bar_at(s, at(3e6, 1)), 1);
    EXPECT_EQ(bar_at(s, at(3e6, 2)), -1);
    EXPECT_EQ(bar_at(s, {20, 5}), -1) << "above the rows";
}

TEST_F(LifetimePaint, WhatHasNoBarIsSummedUpInARow) {
    bars.more = 12;
    bars.more_bytes = Bytes(3 << 20);
    EXPECT_TRUE(painted(scene()).says("12 more, 3.00 MiB"));
    EXPECT_EQ(rows_height(bars, 20), 60);
}

TEST_F(LifetimePaint, RowsThatAreScrolledAwayAreNotPainted) {
    for (int i = 3; i < 300; ++i) bars.bars.push_back(bar_of_op(i, Bytes(1 << 10), 1, {8}));
    LifetimesScene s = scene();
    const RecordingCanvas above = painted(s);
    EXPECT_TRUE(above.says("tensor_1"));
    EXPECT_FALSE(above.says("tensor_250"));
    EXPECT_LT(above.texts.size(), 80u);
    s.scroll = 249 * s.row_height;
    EXPECT_TRUE(painted(s).says("tensor_250"));
    EXPECT_EQ(bar_at(s, {20, places_of(s).rows.y + 1}), 249);
}

TEST_F(LifetimePaint, ReadsThatShareAPointAreOneMark) {
    bars.bars = {bar_of_op(1, Bytes(1 << 20), 0, {9})};
    bars.bars[0].reads.clear();
    const std::size_t without = painted(scene()).boxes.size();
    for (int i = 0; i < 5000; ++i) bars.bars[0].reads.push_back(9);
    EXPECT_EQ(painted(scene()).boxes.size(), without + 1);
}

}  // namespace
}  // namespace rematlas
