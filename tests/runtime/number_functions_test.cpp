#include "runtime/model/exported/number_functions.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace rematlas {
namespace {

using exported::number_function;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

std::int64_t computed(const char* target, std::int64_t a, std::int64_t b) {
    return number_function(target)->compute({a, b}).toInt();
}

}  // namespace

TEST(NumberFunctions, PowersAreThoseOfPython) {
    EXPECT_EQ(computed("_operator.pow", 3, 4), 81);
    EXPECT_EQ(computed("_operator.pow", -2, 63), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(computed("_operator.pow", 0, 0), 1);
    EXPECT_EQ(computed("_operator.pow", 7, 0), 1);
    EXPECT_THROW(computed("_operator.pow", 2, 63), c10::Error);
}

TEST(NumberFunctions, ALargePowerTakesNoLoop) {
    EXPECT_EQ(computed("_operator.pow", -1, kLargest), -1);
    EXPECT_EQ(computed("_operator.pow", -1, kLargest - 1), 1);
    EXPECT_EQ(computed("_operator.pow", 0, kLargest), 0);
    EXPECT_EQ(computed("_operator.pow", 1, kLargest), 1);
    EXPECT_THROW(computed("_operator.pow", 2, kLargest), c10::Error);
}

TEST(NumberFunctions, DivisionRoundsDownAsInPython) {
    EXPECT_EQ(computed("_operator.floordiv", -7, 2), -4);
    EXPECT_EQ(computed("_operator.floordiv", 7, -2), -4);
    EXPECT_EQ(computed("_operator.mod", -7, 2), 1);
    EXPECT_EQ(computed("_operator.mod", 7, -2), -1);
    EXPECT_THROW(computed("_operator.floordiv", 1, 0), c10::Error);
    EXPECT_THROW(computed("_operator.mod", 1, 0), c10::Error);
    EXPECT_THROW(computed("_operator.floordiv", std::numeric_limits<std::int64_t>::min(), -1), c10::Error);
}

TEST(NumberFunctions, AShiftBeyond64BitsIsRefused) {
    EXPECT_EQ(computed("_operator.lshift", 3, 2), 12);
    EXPECT_EQ(computed("_operator.lshift", 0, kLargest), 0);
    EXPECT_THROW(computed("_operator.lshift", 1, 63), c10::Error);
    EXPECT_THROW(computed("_operator.lshift", 1, -1), c10::Error);
    EXPECT_EQ(computed("_operator.rshift", -1, kLargest), -1);
}

TEST(NumberFunctions, NaNIsUnequalToAndUnorderedWithEveryNumber) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto holds = [&](const char* target) {
        return number_function(target)->compute({nan, 1.0}).toBool();
    };
    EXPECT_TRUE(holds("_operator.ne"));
    for (const char* target :
         {"_operator.eq", "_operator.lt", "_operator.le", "_operator.gt", "_operator.ge"})
        EXPECT_FALSE(holds(target)) << target;
}

TEST(NumberFunctions, AnUnknownFunctionIsNone) {
    EXPECT_EQ(number_function("_operator.matmul"), nullptr);
}

}  // namespace rematlas
