#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/base/files.h"
#include "core/planning/file_kind.h"
#include "core/planning/fits_file.h"
#include "tests/viz/xml_fault.h"
#include "viz/paint/draw.h"

namespace rematlas {
namespace {

const std::string kAnswer =
    R"({"format": "rematlas.fits", "version": 1, "name": "net:make & more", "varies": "batch",
 "cards": [{"card": "rtx4090", "name": "NVIDIA GeForce RTX 4090", "memory_bytes": 25769803776, "room_bytes": 25098715136,
            "ways": [{"way": "plain", "fits": false, "peak_bytes": 65011712000, "needed_bytes": 65011712000, "largest": 0},
                     {"way": "recompute", "fits": false, "overhead": 1.31, "peak_bytes": 20000000000, "largest": 3},
                     {"way": "offload", "fits": true, "overhead": 1.258, "peak_bytes": 25098715136, "largest": 7}]},
           {"card": "h100", "memory_bytes": 85899345920,
            "ways": [{"way": "plain", "fits": true, "overhead": 1.0, "peak_bytes": 65011712000, "largest": 9}]}]})";

std::string replaced(const std::string& what, const std::string& by) {
    std::string text = kAnswer;
    return text.replace(text.find(what), what.size(), by);
}

TEST(FitsFile, IsReadAsItWasWritten) {
    const Result<FitsAnswer> fits = parse_fits(kAnswer, "x");
    ASSERT_TRUE(fits) << fits.error().message;
    EXPECT_EQ(fits->varies, "batch");
    ASSERT_EQ(fits->cards.size(), 2u);
    const FitsCard& card = fits->cards[0];
    EXPECT_EQ(card.room, Bytes(25098715136));
    ASSERT_EQ(card.ways.size(), 3u);
    EXPECT_FALSE(card.ways[0].fits);
    EXPECT_FALSE(card.ways[0].overhead);
    EXPECT_EQ(card.ways[0].needed, Bytes(65011712000));
    EXPECT_EQ(card.ways[2].largest, 7);
    EXPECT_EQ(fits->cards[1].name, "h100");
    EXPECT_EQ(fits->cards[1].room, fits->cards[1].memory);
}

TEST(FitsFile, WhatIsWrongIsNamed) {
    const auto message = [](const std::string& text) {
        const Result<FitsAnswer> read = parse_fits(text, "x");
        return read ? std::string() : read.error().message;
    };
    EXPECT_EQ(message(replaced("\"plain\"", "\"magic\"")), "x: cards[0].ways[0]: way 'magic' is not known");
    EXPECT_EQ(message(replaced("\"peak_bytes\": 25098715136, ", "")),
              "x: cards[0].ways[2]: peak_bytes is missing");
    EXPECT_EQ(message(replaced("25769803776", "-1")), "x: cards[0]: memory_bytes is out of range");
    EXPECT_EQ(message(replaced("1.258", "-2")), "x: cards[0].ways[2]: overhead is out of range");
    EXPECT_EQ(message(R"({"format": "rematlas.fits", "version": 1, "cards": []})"), "x: cards is empty");
    EXPECT_NE(message(R"({"format": "rematlas.sweep", "version": 1})"), "");
    EXPECT_NE(message("[]"), "");
    EXPECT_FALSE(read_fits("missing.fits.json"));
}

TEST(FitsPicture, SaysWhatFitsAndAtWhatCost) {
    if (!can_draw_pictures()) GTEST_SKIP() << "this build has no cairo";
    const auto folder = std::filesystem::path(testing::TempDir()) / ("fits_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    const Result<FitsAnswer> fits = parse_fits(kAnswer, "x");
    ASSERT_TRUE(fits) << fits.error().message;
    for (const char* name : {"x.svg", "x.png", "x.pdf"}) {
        const Result<void> drawn = draw_fits_file(*fits, folder / name);
        ASSERT_TRUE(drawn) << drawn.error().message;
        EXPECT_GT(std::filesystem::file_size(folder / name), 500u);
    }
    const std::string svg = *read_file(folder / "x.svg");
    EXPECT_EQ(xml_fault(svg), "");
    for (const char* words : {"RTX 4090", "does not fit: 60.5 GiB", "too slow: +31.0 %", "+25.8 %; batch 7",
                              "no more time", "h100"})
        EXPECT_NE(svg.find(words), std::string::npos) << words;
    EXPECT_FALSE(draw_fits_file(*fits, folder / "x.gif"));
    std::filesystem::remove_all(folder);
}

TEST(FitsFile, IsKnownByItsFormat) {
    const auto path = std::filesystem::path(testing::TempDir()) / ("kind_" + std::to_string(getpid()));
    ASSERT_TRUE(write_file(path, kAnswer));
    EXPECT_EQ(file_kind(path), FileKind::fits);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace rematlas
