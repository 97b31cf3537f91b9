#include "core/base/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace rematlas {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::path(testing::TempDir()) / ("rematlas_files_" + std::to_string(::getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    fs::path folder_;
};

TEST_F(Files, what_is_written_is_read) {
    const std::string bytes("line\n\0binary", 12);
    ASSERT_TRUE(write_file(folder_ / "f", bytes));
    EXPECT_EQ(*read_file(folder_ / "f"), bytes);
}

TEST_F(Files, a_write_that_fails_leaves_nothing_behind) {
    fs::create_directories(folder_ / "taken");
    const Result<void> written = write_file(folder_ / "taken", "x");
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find("taken"), std::string::npos);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
    EXPECT_FALSE(write_file(folder_ / "missing" / "f", "x"));
}

TEST_F(Files, reading_a_folder_or_nothing_names_the_path) {
    EXPECT_NE(read_file(folder_).error().message.find(folder_.string()), std::string::npos);
    EXPECT_NE(read_file(folder_ / "none").error().message.find("none"), std::string::npos);
}

TEST(Sha256, matches_the_standard_vector) {
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Json, repeated_keys_and_deep_nesting_are_refused) {
    EXPECT_FALSE(parse_json(R"({"a": 1, "a": 2})", "f"));
    EXPECT_TRUE(parse_json(R"({"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]})", "f"));
    EXPECT_FALSE(parse_json(std::string(100000, '['), "f"));
    EXPECT_FALSE(parse_json(std::string(300, '[') + std::string(300, ']'), "f"));
}

TEST(Json, errors_are_one_line) {
    const Result<nlohmann::json> read = parse_json("{\n\"a\": \n", "file.json");
    ASSERT_FALSE(read);
    EXPECT_TRUE(read.error().message.starts_with("file.json: "));
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace rematlas
