// The folders of core and of the explorer are floors: what lies on one includes what lies below, never what lies above or beside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

using Floors = std::vector<std::vector<std::string>>;

/// From the lowest to the highest; folders of one floor do not know each other.
const Floors of_core = {{"base"},
                        {"graph", "milp", "costs", "dtr"},
                        {"schedule", "hierarchy"},
                        {"addresses", "bounds", "checking", "pins"},
                        {"solving"},
                        {"solvers"},
                        {"planning"}};

/// A solver may start from the answers of those below it.
const Floors of_solvers = {{"keep_all", "chen", "rotor", "dtr", "annealing", "staged"},
                           {"revolve", "hierarchical"},
                           {"offmate"},
                           {"atlas"},
                           {"checkmate"}};

/// The explorer: models without widgets, what all looks come from, the parts of the window, the window.
const Floors of_explorer = {{"session"}, {"look"}, {"graph", "docks"}, {"window"}};

std::vector<std::string> arrows_up(const std::filesystem::path& under, const std::string& prefix,
                                   const Floors& floors) {
    std::map<std::string, std::size_t> floor_of;
    for (std::size_t floor = 0; floor < floors.size(); ++floor)
        for (const std::string& folder : floors[floor]) floor_of[folder] = floor;
    const std::regex include("#include \"" + prefix + "/([a-z_]+)/");
    std::vector<std::string> found;
    for (const auto& folder : std::filesystem::directory_iterator(under)) {
        if (!folder.is_directory()) continue;
        const std::string from = folder.path().filename();
        if (!floor_of.contains(from)) {
            found.push_back(from + " is on no floor");
            continue;
        }
        for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
            std::ifstream text(file.path());
            for (std::string line; std::getline(text, line);) {
                std::smatch match;
                if (!std::regex_search(line, match, include) || match[1] == from) continue;
                const auto to = floor_of.find(match[1]);
                if (to == floor_of.end() || to->second >= floor_of.at(from))
                    found.push_back(file.path().filename().string() + ": " + line);
            }
        }
    }
    return found;
}

TEST(Floors, ArrowsPointDown) {
    const std::filesystem::path core = std::filesystem::path(REMATLAS_SOURCE_DIR) / "core";
    EXPECT_THAT(arrows_up(core, "core", of_core), testing::IsEmpty());
    EXPECT_THAT(arrows_up(core / "solvers", "core/solvers", of_solvers), testing::IsEmpty());
    const std::filesystem::path explorer = std::filesystem::path(REMATLAS_SOURCE_DIR) / "app" / "explorer";
    EXPECT_THAT(arrows_up(explorer, "app/explorer", of_explorer), testing::IsEmpty());
}

TEST(Floors, AnArrowUpIsSeen) {
    const std::filesystem::path core = std::filesystem::path(REMATLAS_SOURCE_DIR) / "core";
    const Floors upside_down(of_core.rbegin(), of_core.rend());
    EXPECT_THAT(arrows_up(core, "core", upside_down), testing::Not(testing::IsEmpty()));
}

}  // namespace
