#include "core/planning/batch_inputs.h"

#include <gtest/gtest.h>

namespace rematlas {
namespace {

TEST(BatchInputs, TheLetterIsADimensionAndNothingElse) {
    EXPECT_TRUE(has_batch("f32[B,3,8,8]"));
    EXPECT_TRUE(has_batch("i64[16,B]<4096"));
    EXPECT_FALSE(has_batch("str:B"));
    EXPECT_FALSE(has_batch("f32[3B,4]"));
    EXPECT_FALSE(has_batch("B"));
    EXPECT_EQ(at_batch("f32[B,3,B]", 12), "f32[12,3,12]");
    EXPECT_EQ(at_batch("i64[16,B]<4096", 7), "i64[16,7]<4096");
    EXPECT_EQ(at_batch("f32[2,3]", 12), "f32[2,3]");
}

TEST(BatchInputs, TheFirstDimensionOfTheFirstTensorIsTakenForTheBatch) {
    const auto found = with_batch_letter({"int:3", "f32[8,3,8,8]", "i64[8]<10", "f32[3,8]", "f32[8]"});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->batch, 8);
    EXPECT_EQ(found->inputs,
              (std::vector<std::string>{"int:3", "f32[B,3,8,8]", "i64[B]<10", "f32[3,8]", "f32[B]"}));
    for (std::size_t i = 0; i < found->inputs.size(); ++i)
        EXPECT_EQ(at_batch(found->inputs[i], 8),
                  (std::vector<std::string>{"int:3", "f32[8,3,8,8]", "i64[8]<10", "f32[3,8]", "f32[8]"})[i]);
    EXPECT_FALSE(with_batch_letter({"int:3", "f32[]", "none"}));
    EXPECT_FALSE(with_batch_letter({}));
}

}  // namespace
}  // namespace rematlas
