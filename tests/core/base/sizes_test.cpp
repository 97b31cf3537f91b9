#include "core/base/sizes.h"

#include <gtest/gtest.h>

namespace rematlas {
namespace {

Bytes budget(const std::string& text, Bytes peak, Bytes resident = {}) {
    return *bytes_of(*parse_budget(text), {.peak = peak, .resident = resident});
}

TEST(Sizes, binary_and_decimal_units_are_read) {
    EXPECT_EQ(*parse_bytes("2GiB"), Bytes(std::int64_t{2} << 30));
    EXPECT_EQ(*parse_bytes("512 MiB"), Bytes(512 << 20));
    EXPECT_EQ(*parse_bytes("1500MB"), Bytes(1'500'000'000));
    EXPECT_EQ(*parse_bytes("1.5KiB"), Bytes(1536));
    EXPECT_EQ(*parse_bytes("4096"), Bytes(4096));
}

TEST(Sizes, units_are_read_as_people_write_them) {
    for (const char* text : {"300MB", "300M", "300 mb", "300m", "300 Mb"})
        EXPECT_EQ(*parse_bytes(text), Bytes(300'000'000)) << text;
    for (const char* text : {"3KiB", "3Ki", "3kib", "3 ki"})
        EXPECT_EQ(*parse_bytes(text), Bytes(3072)) << text;
    EXPECT_EQ(*parse_bytes("0.4G"), Bytes(400'000'000)) << "kept whichever was meant";
    EXPECT_EQ(*parse_bytes("2t"), Bytes(2'000'000'000'000));
    EXPECT_FALSE(parse_duration("5S"));
}

TEST(Sizes, plain_bytes_and_the_whole_peak_are_exact_beyond_what_a_double_holds) {
    const Bytes odd((std::int64_t{1} << 60) + 1);
    EXPECT_EQ(*parse_bytes(std::to_string(odd.value)), odd);
    EXPECT_EQ(budget(std::to_string(odd.value) + " B", Bytes(1)), odd);
    const Bytes peak((std::int64_t{1} << 55) + 1);
    EXPECT_EQ(budget("100%", peak), peak);
}

TEST(Sizes, nonsense_is_refused_with_the_text_in_the_message) {
    for (const char* text :
         {"", "GiB", "2 gigs", "-1", "1e400", "nan", "inf", "0x10", "12%", "9999999999TiB", "1,5GiB"}) {
        const Result<Bytes> read = parse_bytes(text);
        ASSERT_FALSE(read) << text;
        EXPECT_NE(read.error().message.find(text), std::string::npos) << read.error().message;
    }
}

TEST(Sizes, what_was_meant_is_told_where_it_is_plain) {
    const auto complaint = [](const char* text) { return parse_budget(text).error().message; };
    EXPECT_EQ(complaint("0.3"), "'0.3' is less than a byte; for a share of the peak write 30%");
    EXPECT_EQ(complaint("1,5 GiB"), "'1,5 GiB' has a comma: write 1.5 GiB");
    EXPECT_EQ(complaint("1,"),
              "'1,' is not a budget such as 2GiB, 512MiB, 4096, 60% or '60% of activations'");
    EXPECT_EQ(complaint(" "), "no budget is given: write one such as 2GiB, 512MiB or 60%");
    EXPECT_EQ(complaint("-1"), "'-1' is negative: write a budget such as 2GiB, 512MiB or 60%");
    EXPECT_EQ(complaint("-3%"), "'-3%' is negative: write a budget such as 2GiB, 512MiB or 60%");
    EXPECT_EQ(parse_bytes("1,5GiB").error().message, "'1,5GiB' has a comma: write 1.5GiB");
}

TEST(Sizes, a_budget_may_be_a_percentage_of_the_peak) {
    EXPECT_EQ(budget("60%", Bytes(1001)), Bytes(600));
    EXPECT_EQ(budget("100 %", Bytes(1001)), Bytes(1001));
    EXPECT_EQ(budget("1KiB", Bytes(1001)), Bytes(1024));
}

TEST(Sizes, a_share_of_activations_comes_on_top_of_what_is_resident) {
    EXPECT_EQ(budget("60% of activations", Bytes(1001), Bytes(400)), Bytes(400 + 360));
    EXPECT_EQ(budget("100 % of activations", Bytes(1001), Bytes(400)), Bytes(1001));
    EXPECT_EQ(budget("1KiB", Bytes(1001), Bytes(400)), Bytes(1024)) << "bytes are all bytes";
}

TEST(Sizes, a_budget_is_above_zero) {
    for (const char* text : {"0", "0%", "-5%", "-1GiB", "abc", "%", "", "0% of activations", "60% of peaks",
                             "2GiB of activations", "2000000%", "0.6", "1.5"})
        EXPECT_FALSE(parse_budget(text)) << text;
    const Result<Bytes> none = bytes_of(*parse_budget("1%"), {.peak = Bytes(99), .resident = {}});
    ASSERT_FALSE(none) << "less than a byte";
    EXPECT_NE(none.error().message.find("1% of 99 bytes"), std::string::npos) << none.error().message;
    EXPECT_FALSE(bytes_of(*parse_budget("1000000%"), {.peak = Bytes(std::int64_t{1} << 60), .resident = {}}));
}

TEST(Sizes, the_smallest_share_that_is_enough_can_be_given_as_a_budget) {
    const StepBytes step{.peak = Bytes(1'000'003), .resident = Bytes(400'001)};
    for (const std::int64_t bytes : {1, 7, 400'002, 615'000, 999'999, 1'000'003, 1'500'000})
        for (const Budget::Of of : {Budget::Of::peak, Budget::Of::activations}) {
            const std::string share = share_of(Bytes(bytes), of, step);
            ASSERT_TRUE(parse_budget(share)) << bytes;
            const Result<Bytes> meant = bytes_of(*parse_budget(share), step);
            ASSERT_TRUE(meant) << share;
            EXPECT_GE(*meant, Bytes(bytes)) << share;
            const std::int64_t beside = of == Budget::Of::activations ? 400'001 : 0;
            const Bytes most(std::max<std::int64_t>(bytes, beside) + (1'000'003 - beside) / 500);
            EXPECT_LE(*meant, most) << share << " is much more than " << bytes;
        }
    EXPECT_EQ(share_of(Bytes(500), Budget::Of::peak, {.peak = Bytes(1000), .resident = {}}), "50%");
    EXPECT_EQ(share_of(Bytes(501), Budget::Of::activations, {.peak = Bytes(1000), .resident = Bytes(0)}),
              "50.1% of activations");
    EXPECT_EQ(share_of(Bytes(5), Budget::Of::activations, {.peak = Bytes(9), .resident = Bytes(9)}), "");
}

TEST(Sizes, durations_have_units) {
    EXPECT_EQ(*parse_duration("60s"), Nanoseconds(60'000'000'000));
    EXPECT_EQ(*parse_duration("500ms"), Nanoseconds(500'000'000));
    EXPECT_EQ(*parse_duration("2m"), Nanoseconds(120'000'000'000));
    EXPECT_EQ(*parse_duration("10"), Nanoseconds(10'000'000'000));
    EXPECT_FALSE(parse_duration("soon"));
}

TEST(Sizes, printed_with_three_digits) {
    EXPECT_EQ(format_bytes(Bytes(17)), "17 B");
    EXPECT_EQ(format_bytes(Bytes(1536)), "1.50 KiB");
    EXPECT_EQ(format_bytes(Bytes(std::int64_t{812} << 20)), "812 MiB");
    EXPECT_EQ(format_duration(Nanoseconds(35'100'000)), "35.1 ms");
}

}  // namespace
}  // namespace rematlas
