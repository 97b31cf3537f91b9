#include "core/base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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

TEST_F(Files, what_a_link_points_to_is_written_and_the_link_stays) {
    ASSERT_TRUE(write_file(folder_ / "real", "old"));
    fs::create_symlink("real", folder_ / "link");
    fs::create_symlink("not yet", folder_ / "dangling");
    EXPECT_TRUE(write_file(folder_ / "link", "new"));
    EXPECT_TRUE(write_file(folder_ / "dangling", "new"));
    EXPECT_TRUE(fs::is_symlink(folder_ / "link") && fs::is_symlink(folder_ / "dangling"));
    EXPECT_EQ(*read_file(folder_ / "real"), "new");
    EXPECT_EQ(*read_file(folder_ / "not yet"), "new");
}

TEST_F(Files, a_pipe_is_written_to_and_stays_a_pipe) {
    const fs::path pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    EXPECT_TRUE(write_file(pipe, "through"));
    std::array<char, 16> read{};
    EXPECT_EQ(::read(reader, read.data(), read.size()), 7);
    EXPECT_STREQ(read.data(), "through");
    ::close(reader);
    EXPECT_TRUE(fs::is_fifo(pipe));
    EXPECT_FALSE(write_file("/dev/full", "x")) << "no space left";
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(Files, reading_a_folder_or_nothing_names_the_path) {
    EXPECT_NE(read_file(folder_).error().message.find(folder_.string()), std::string::npos);
    EXPECT_NE(read_file(folder_ / "none").error().message.find("none"), std::string::npos);
}

TEST(CacheFolder, is_named_by_the_environment) {
    const auto set = [](const char* name, const char* value) {
        value ? setenv(name, value, 1) : unsetenv(name);
    };
    const auto get = [](const char* name) {
        const char* value = std::getenv(name);
        return value ? std::optional<std::string>(value) : std::nullopt;
    };
    const char* const names[] = {"REMATLAS_CACHE", "XDG_CACHE_HOME", "HOME"};
    std::vector<std::optional<std::string>> before;
    for (const char* name : names) before.push_back(get(name));
    const auto folder = [&](const char* own, const char* xdg, const char* home) {
        set(names[0], own);
        set(names[1], xdg);
        set(names[2], home);
        return cache_folder();
    };
    EXPECT_EQ(folder("/somewhere", "/x", "/h"), fs::path("/somewhere"));
    EXPECT_EQ(folder("", "/x", "/h"), fs::path());
    EXPECT_EQ(folder(nullptr, "/x", "/h"), fs::path("/x/rematlas"));
    EXPECT_EQ(folder(nullptr, "not absolute", "/h"), fs::path("/h/.cache/rematlas"));
    EXPECT_EQ(folder(nullptr, nullptr, nullptr), fs::path());
    for (std::size_t i = 0; i < before.size(); ++i) set(names[i], before[i] ? before[i]->c_str() : nullptr);
}

TEST(Sha256, matches_the_standard_vector) {
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Cbor, is_read_as_the_same_text_is_and_refuses_deep_nesting) {
    const nlohmann::json told = nlohmann::json::parse(
        R"({"a": [1, -2, 18446744073709551615, 0.5, null, true, "text"], "b": {"c": []}})");
    std::string bytes;
    nlohmann::json::to_cbor(told, bytes);
    EXPECT_EQ(*parse_cbor(bytes, "x"), told);
    EXPECT_EQ(*parse_json(told.dump(), "x"), told);
    for (std::size_t end = 0; end < bytes.size(); ++end)
        EXPECT_FALSE(parse_cbor(std::string_view(bytes).substr(0, end), "x")) << end;
    EXPECT_TRUE(parse_cbor(std::string(199, '\x81') + '\x01', "x"));  // arrays of one element
    EXPECT_FALSE(parse_cbor(std::string(100'000, '\x81') + '\x01', "x"));
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
