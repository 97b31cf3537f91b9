#include "core/planning/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/milp/milp.h"
#include "core/planning/registry.h"

namespace rematlas {
namespace {

class ConfigFile : public testing::Test {
  protected:
    std::filesystem::path path_ = std::filesystem::path(testing::TempDir()) /
                                  ("rematlas_config_" + std::to_string(::getpid()) + ".json");
    void TearDown() override { std::filesystem::remove(path_); }
    Result<Config> read(const std::string& text) {
        EXPECT_TRUE(write_file(path_, text));
        return read_config(path_);
    }
};

TEST_F(ConfigFile, every_generated_type_is_accepted_and_names_a_solver) {
    for (std::string_view type : config_types()) {
        const Result<std::string> text = generate_config(type);
        ASSERT_TRUE(text) << text.error().message;
        const Result<Config> config = read(*text);
        if (milp_libraries().empty() && type.starts_with("checkmate")) {
            EXPECT_FALSE(config);
            continue;
        }
        ASSERT_TRUE(config) << config.error().message;
        EXPECT_TRUE(make_solver(config->solver, config->options.get()));
    }
}

TEST_F(ConfigFile, a_type_whose_solver_is_missing_says_so) {
    EXPECT_NE(generate_config("offmate").error().message.find("not in this version"), std::string::npos);
    EXPECT_FALSE(generate_config("magic"));
}

TEST_F(ConfigFile, errors_name_the_key) {
    const auto message = [&](const char* options) {
        const Result<Config> config =
            read(R"({"format":"rematlas.config","version":1,"type":"dtr","options":)" + std::string(options) +
                 "}");
        return config ? std::string() : config.error().message;
    };
    EXPECT_EQ(message(R"({"heuristic": "lru"})"), "");
    EXPECT_NE(message(R"({"colour": 1})").find("colour"), std::string::npos);
    EXPECT_NE(message(R"({"heuristic": 7})").find("heuristic"), std::string::npos);
    EXPECT_NE(message(R"({"heuristic": "astrology"})").find("heuristic"), std::string::npos);
    EXPECT_NE(message(R"({"thrash": -1})").find("thrash"), std::string::npos);
    EXPECT_NE(read(R"({"format":"rematlas.config","version":1,"type":"dtr","extra":1})")
                  .error()
                  .message.find("extra"),
              std::string::npos);
}

/// What `published_options.md` says of a type: from its heading to the next one.
std::string section_of(const std::string& document, std::string_view type) {
    const std::string heading = "\n## " + std::string(type) + "\n";
    const std::size_t begin = document.find(heading);
    if (begin == std::string::npos) return {};
    return document.substr(begin, document.find("\n## ", begin + 1) - begin);
}

TEST(PublishedOptions, NameEveryOptionOfTheTypesThatThePublishedToolHasToo) {
    const std::string document =
        read_file(std::filesystem::path(REMATLAS_SOURCE_DIR) / "core/solvers/published_options.md").take();
    for (const char* type : {"rotor", "rockmate", "checkmate", "hilp", "hiremate", "noremat"}) {
        const std::string section = section_of(document, type);
        EXPECT_NE(section.find("| published | default | meaning | ours |"), std::string::npos) << type;
        const Result<std::string> config = generate_config(type);
        if (!config) continue;
        for (const auto& [option, value] : nlohmann::json::parse(*config).at("options").items())
            EXPECT_NE(section.find("`" + option + "`"), std::string::npos)
                << option << " of " << type << " is not in core/solvers/published_options.md";
    }
}

}  // namespace
}  // namespace rematlas
