#include "runtime/device/measured_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rematlas {
namespace {

TEST(MeasuredTime, IsScaledByAFifthToFiveByTheKindOfWorkAndTheSeedAlone) {
    std::vector<double> scales;
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
        for (int kind = 0; kind < 200; ++kind) {
            const std::string work = "aten::op|" + std::to_string(kind);
            const double scale = time_scale(seed, work);
            EXPECT_EQ(scale, time_scale(seed, work));
            EXPECT_GE(scale, 0.2);
            EXPECT_LE(scale, 5.0);
            scales.push_back(scale);
        }
    std::sort(scales.begin(), scales.end());
    EXPECT_LT(scales.front(), 0.22);
    EXPECT_GT(scales.back(), 4.5);
    EXPECT_NEAR(scales[scales.size() / 2], 1, 0.3) << "as often longer as shorter";
    EXPECT_EQ(std::unique(scales.begin(), scales.end()), scales.end());
}

}  // namespace
}  // namespace rematlas
