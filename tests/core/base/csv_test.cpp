#include "core/base/csv.h"

#include <gtest/gtest.h>

namespace rematlas {
namespace {

TEST(Csv, fields_that_would_break_a_line_stand_in_quotes) {
    EXPECT_EQ(csv_field("blocks.0.attn"), "blocks.0.attn");
    EXPECT_EQ(csv_field(""), "");
    EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
    EXPECT_EQ(csv_field("say \"no\""), "\"say \"\"no\"\"\"");
    EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

}  // namespace
}  // namespace rematlas
