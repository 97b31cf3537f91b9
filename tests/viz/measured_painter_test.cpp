// Tests pictures of measured memory: the bands add up, no column loses a peak, and a plan is fitted to the
// measurement.
#include "viz/paint/measured_painter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/support/pickle_writer.h"
#include "tests/core/support/random_snapshot.h"
#include "tests/viz/recording_canvas.h"

namespace rematlas {
namespace {

class MeasuredPictures : public testing::Test {
  protected:
    void SetUp() override {
        Result<MeasuredMemory> read =
            parse_measured_memory(pickled(random_snapshot(4, {.events = 900, .kept = 700}).snapshot), "m");
        ASSERT_TRUE(read) << read.error().message;
        measured = read.take();
        bands = measured_bands(measured, device(), 3);
        columns = columns_of(bands, 0, bands.length(), 200);
    }
    const MeasuredDevice& device() const { return measured.devices[0]; }
    MeasuredScene scene() const {
        return {
            .bands = bands, .columns = columns, .from = 0, .to = bands.length(), .rect = {0, 0, 1000, 300}};
    }
    RecordingCanvas painted(const MeasuredScene& of) const {
        RecordingCanvas canvas;
        paint_measured(canvas, of);
        EXPECT_EQ(canvas.open, 0);
        EXPECT_EQ(canvas.clipped, 0);
        return canvas;
    }

    MeasuredMemory measured;
    MeasuredBands bands;
    BandColumns columns;
};

TEST_F(MeasuredPictures, HaveBandsThatAddUpToWhatIsAllocated) {
    for (const double most : {1.0, 7.0, 200.0, 5000.0}) {
        for (const double from : {0.0, 100.5, 650.0}) {
            const BandColumns part = columns_of(bands, from, bands.length(), static_cast<std::size_t>(most));
            for (std::size_t c = 0; c < part.columns.size(); ++c) {
                std::int64_t sum = 0;
                const std::vector<std::int64_t> there = bytes_by_band(bands, part.columns[c].shown);
                for (std::size_t band = 0; band < part.bytes.size(); ++band) {
                    sum += part.bytes[band][c];
                    EXPECT_EQ(part.bytes[band][c], there[band]);
                }
                EXPECT_EQ(sum, device().allocated[part.columns[c].shown]);
                EXPECT_EQ(sum, part.columns[c].allocated);
            }
        }
    }
}

TEST_F(MeasuredPictures, HaveColumnsThatLoseNoPeakAndNoMoment) {
    for (const std::size_t most : {1u, 3u, 200u, 699u, 5000u}) {
        const BandColumns all = columns_of(bands, 0, bands.length(), most);
        EXPECT_EQ(all.columns.size(), std::min<std::size_t>(most, device().allocated.size()));
        std::int64_t highest = 0, reserved = 0;
        double end = 0;
        for (const BandColumn& column : all.columns) {
            EXPECT_EQ(column.begin, end);
            EXPECT_GT(column.end, column.begin);
            end = column.end;
            highest = std::max(highest, column.allocated);
            reserved = std::max(reserved, column.reserved);
        }
        EXPECT_EQ(end, bands.length());
        EXPECT_EQ(highest, device().allocated[bands.peak]);
        EXPECT_EQ(reserved, *std::max_element(device().reserved.begin(), device().reserved.end()));
    }
}

TEST_F(MeasuredPictures, NameTheLargestPlacesAndThePeak) {
    const std::vector<std::int64_t> there = bytes_by_band(bands, bands.peak);
    MeasuredScene of = scene();
    of.legend = &there;
    const RecordingCanvas canvas = painted(of);
    EXPECT_TRUE(canvas.says("peak "));
    EXPECT_TRUE(canvas.says("alive at the peak"));
    EXPECT_TRUE(canvas.says("model.py:"));
    EXPECT_TRUE(canvas.says("reserved"));
    EXPECT_FALSE(canvas.says("plan"));
    of.cursor = 12;
    EXPECT_TRUE(painted(of).says("alive after event 12"));
    of.rect.width = 500;
    EXPECT_FALSE(painted(of).says("alive after")) << "there is no room for names";
}

TEST_F(MeasuredPictures, MarkWhereMemoryRanOut) {
    std::size_t marks = 0;
    const RecordingCanvas canvas = painted(scene());
    for (const RecordingCanvas::Line& path : canvas.paths)
        if (path.fill && same_hue(*path.fill, palette::kVermilion)) ++marks;
    EXPECT_EQ(marks, device().failures.size());
    EXPECT_GT(marks, 0u);
}

TEST_F(MeasuredPictures, CostColumnsAndNotEvents) {
    EXPECT_LT(painted(scene()).calls(), 200u);
}

TEST_F(MeasuredPictures, OfSegmentsLeaveGapsAndTellWhatIsNotShown) {
    ASSERT_GT(device().segments.size(), 4u);
    RecordingCanvas all, few;
    const auto count = static_cast<double>(device().segments.size());
    paint_segments(all, {.device = device(), .rect = {0, 0, 600, 20 * count}});
    EXPECT_FALSE(all.says(" more"));
    double held = 0, rows = 0;
    for (const RecordingCanvas::Box& box : all.boxes) (box.pen ? rows : held) += box.rect.width;
    const Fragmentation sums = fragmentation_of(device());
    const double free_share =
        static_cast<double>(sums.inactive.value) / static_cast<double>(sums.reserved.value);
    EXPECT_NEAR(held / rows, 1 - free_share, 0.02);
    paint_segments(few, {.device = device(), .rect = {0, 0, 600, 50}});
    EXPECT_TRUE(few.says(" more"));
}

TEST(PlanOverMeasured, LiesOnTheStepOfThePeakAmongOthers) {
    // Three steps with smaller rises inside them, and a plateau at the peak.
    const std::vector<std::int64_t> allocated{20, 90, 60, 70, 30, 60, 100, 100, 50, 55, 31, 95, 30};
    const std::vector<MemoryPoint> points = laid_over({1, 8, 2}, allocated);
    EXPECT_EQ(points[0].x, 4);
    EXPECT_EQ(points[1].x, 6);
    EXPECT_EQ(points[2].x, 10);
}

TEST(PlanOverMeasured, LiesPeakOnPeakFromBeginToEnd) {
    const std::vector<std::int64_t> allocated{10, 10, 10, 30, 50, 110, 60, 20, 10, 10};
    const std::vector<std::int64_t> planned{5, 40, 80, 100, 5};
    const std::vector<MemoryPoint> points = laid_over(planned, allocated);
    ASSERT_EQ(points.size(), 5u);
    EXPECT_EQ(points[0].x, 2);
    EXPECT_EQ(points[3].x, 5);
    EXPECT_EQ(points[3].bytes, 100);
    EXPECT_EQ(points[4].x, 8);
    EXPECT_TRUE(laid_over({}, allocated).empty());
    EXPECT_EQ(laid_over({3, 3}, allocated)[0].x, 5) << "the first step is the peak";
    EXPECT_TRUE(laid_over(planned, {7}).empty());
}

}  // namespace
}  // namespace rematlas
