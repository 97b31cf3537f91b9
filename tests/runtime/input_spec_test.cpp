#include "runtime/model/input_spec.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rematlas {
namespace {

using ::testing::HasSubstr;

TEST(InputSpec, ReadsTypeShapeAndBound) {
    const Result<InputSpec> images = parse_input_spec("f32[8,3,224,224]");
    ASSERT_TRUE(images) << images.error().message;
    EXPECT_EQ(images->dtype, c10::ScalarType::Float);
    EXPECT_EQ(images->sizes, (std::vector<std::int64_t>{8, 3, 224, 224}));
    EXPECT_FALSE(images->bound);

    const Result<InputSpec> tokens = parse_input_spec("i64[8,256]<4096");
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_EQ(tokens->bound, 4096);
    EXPECT_TRUE(parse_input_spec("f64[]")) << "a scalar";
}

TEST(InputSpec, WritesWhatItReads) {
    for (const char* text : {"f32[8,3,224,224]", "i64[8,256]<4096", "bf16[1]", "bool[2,2]", "u8[3]<256",
                             "u16[3]<65536", "u32[3]<4294967296", "int:3", "int:-7", "float:0.5",
                             "float:1e+20", "bool:true", "bool:false", "str:mean", "str:", "none"}) {
        const Result<InputSpec> spec = parse_input_spec(text);
        ASSERT_TRUE(spec) << spec.error().message;
        EXPECT_EQ(to_string(*spec), text);
    }
}

TEST(InputSpec, SaysWhatIsWrongInOneLine) {
    for (const char* text : {"",
                             "f32",
                             "f33[2]",
                             "f32[",
                             "f32]2[",
                             "f32[2,]",
                             "f32[-1]",
                             "f32[0]",
                             "f32[2]x",
                             "f32[2]<5",
                             "int:",
                             "int:2.5",
                             "float:x",
                             "bool:1",
                             "complex:1",
                             "int:3 ",
                             "i64[2]<0",
                             "i8[2]<300",
                             "u16[2]<65537",
                             "u32[2]<4294967297",
                             "i64[2]<",
                             "f32[9999999999999999999]",
                             "f32[1048576,1048576,1048576]"}) {
        const Result<InputSpec> spec = parse_input_spec(text);
        ASSERT_FALSE(spec) << text;
        EXPECT_THAT(spec.error().message, HasSubstr("--input '" + std::string(text) + "'"));
        EXPECT_EQ(spec.error().message.find('\n'), std::string::npos);
    }
}

TEST(InputSpec, DrawsTheSameValuesForTheSameSeed) {
    const std::vector<InputSpec> specs{*parse_input_spec("f32[16]"), *parse_input_spec("i64[512]<7")};
    const auto first = draw_inputs(specs, 5), second = draw_inputs(specs, 5), other = draw_inputs(specs, 6);
    EXPECT_TRUE(at::equal(first[0], second[0]) && at::equal(first[1], second[1]));
    EXPECT_FALSE(at::equal(first[0], other[0]));
    EXPECT_EQ(at::min(first[1]).item<std::int64_t>(), 0);
    EXPECT_EQ(at::max(first[1]).item<std::int64_t>(), 6);
}

}  // namespace
}  // namespace rematlas
