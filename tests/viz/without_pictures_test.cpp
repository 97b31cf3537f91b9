// A build without cairo draws no pictures and makes no reports, and says so.
#include <gtest/gtest.h>

#include "viz/paint/draw.h"
#include "viz/report/report.h"

namespace rematlas {
namespace {

TEST(BuildWithoutCairo, SaysThatItDrawsNoPictures) {
    EXPECT_FALSE(can_draw_pictures());
    const auto drawn = draw_sweep_file(Sweep(), "s.svg");
    ASSERT_FALSE(drawn);
    EXPECT_NE(drawn.error().message.find("cairo"), std::string::npos);
    const auto written = write_report({}, "r.html");
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find("cairo"), std::string::npos);
}

}  // namespace
}  // namespace rematlas
