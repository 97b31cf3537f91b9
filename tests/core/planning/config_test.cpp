#include "core/planning/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
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

TEST(GeneratedConfig, holds_the_options_of_the_solver) {
    const std::map<std::string, std::vector<const char*>> options{
        {"rotor", {"max_stages", "slots"}},
        {"rockmate",
         {"most_items", "moves_an_op", "partition", "peak_limits", "saved_limits", "seed", "slots"}},
        {"hiremate",
         {"level_moves", "most_items", "moves_an_op", "peak_limits", "saved_limits", "seed", "size_power"}},
        {"checkmate", {"gap", "milp", "warm_up"}},
        {"checkmate-lp", {"draws", "milp", "seed"}},
        {"dtr", {"deallocation", "heuristic", "ignore_small", "sample", "seed", "thrash"}},
        {"atlas",
         {"cycle_growth", "end_temperature", "first_cycle", "max_moves", "seed", "start_temperature"}},
        {"chen-sqrt", {"segments"}},
        {"chen-greedy", {"thresholds"}},
        {"offmate",
         {"partition", "most_items", "size_power", "saved_limits", "peak_limits", "moves_an_op", "slots",
          "most_options", "least_copy_bytes", "copy_price", "host_optimizer", "sequences", "trials", "seed",
          "gap", "programme_seconds", "milp"}},
        {"revolve", {"max_stages"}}};
    for (const auto& [type, keys] : options) {
        const nlohmann::json generated = nlohmann::json::parse(*generate_config(type)).at("options");
        for (const char* key : keys) EXPECT_TRUE(generated.contains(key)) << type << ": " << key;
    }
}

TEST_F(ConfigFile, numbers_are_accepted_up_to_their_limits) {
    struct Range {
        const char *type, *key;
        double least, most;
        double step = 1;  ///< distance from a limit to a value beyond it, which must be refused
    };
    const Range ranges[] = {{"rotor", "slots", 10, 100'000},
                            {"rotor", "max_stages", 2, 1000},
                            {"revolve", "max_stages", 2, 1000},
                            {"chen-sqrt", "segments", 0, 1'000'000},
                            {"chen-greedy", "thresholds", 1, 100'000},
                            {"rockmate", "most_items", 2, 1000},
                            {"rockmate", "saved_limits", 1, 100},
                            {"rockmate", "peak_limits", 1, 100},
                            {"rockmate", "moves_an_op", 1, 100'000},
                            {"rockmate", "slots", 10, 100'000},
                            {"hiremate", "most_items", 2, 1000},
                            {"hiremate", "size_power", 0, 4, 0.01},
                            {"hiremate", "level_moves", 100, 100'000'000},
                            {"offmate", "most_options", 2, 100'000},
                            {"offmate", "sequences", 1, 1000},
                            {"offmate", "trials", 0, 100'000'000},
                            {"offmate", "copy_price", 0, 1, 0.01},
                            {"offmate", "gap", 0, 1, 0.01},
                            {"offmate", "least_copy_bytes", 0, 1'000'000'000},
                            {"dtr", "thrash", 1, 1e6, 0.01},
                            {"checkmate", "gap", 0, 1, 0.01},
                            {"checkmate", "warm_up", 0, 1, 0.01},
                            {"checkmate-lp", "draws", 0, 100'000},
                            {"atlas", "first_cycle", 100, 1'000'000'000},
                            {"atlas", "cycle_growth", 1, 10, 0.01},
                            {"atlas", "start_temperature", 0.01, 1e6, 0.005}};
    for (const Range& range : ranges) {
        if (milp_libraries().empty() && std::string_view(range.type).starts_with("checkmate")) continue;
        const auto message = [&](double value) {
            nlohmann::json number = value;
            if (range.step == 1) number = static_cast<std::int64_t>(value);
            const Result<Config> config = read(nlohmann::json{
                {"format", "rematlas.config"},
                {"version", 1},
                {"type", range.type},
                {"options", {{range.key, number}}}}.dump());
            return config ? std::string() : config.error().message;
        };
        EXPECT_EQ(message(range.least), "");
        EXPECT_EQ(message(range.most), "");
        for (const double wrong : {range.least - range.step, range.most + range.step})
            EXPECT_NE(message(wrong).find(range.key), std::string::npos) << range.type << " " << wrong;
    }
}

TEST_F(ConfigFile, a_type_that_is_not_known_is_told_with_those_that_are) {
    const Result<std::string> magic = generate_config("magic");
    ASSERT_FALSE(magic);
    EXPECT_NE(magic.error().message.find("offmate"), std::string::npos);
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

/// Returns the section of `published_options.md` about a type: from its heading to the next one.
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
        const nlohmann::json options = nlohmann::json::parse(*config).at("options");
        for (const auto& [option, value] : options.items())
            EXPECT_NE(section.find("`" + option + "`"), std::string::npos)
                << option << " of " << type << " is not in core/solvers/published_options.md";
    }
}

}  // namespace
}  // namespace rematlas
