// The folders form floors: a file may include files of lower floors, but not of the same or a higher floor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// Folder names, from the lowest floor to the highest. Folders of one floor must not include each other.
using Floors = std::vector<std::vector<std::string>>;

struct House {
    /// A folder of the source tree. Its subfolders are on the floors. If the text is empty, this is the root,
    /// and folders of the root that are on no floor are ignored.
    std::string folder;
    Floors floors;
};

const std::vector<House> houses = {
    // Two lists for the root. The first says that runtime and viz must not include each other, the second
    // that runtime and app must not.
    {"", {{"core"}, {"runtime", "viz"}, {"app"}}},
    {"", {{"core"}, {"viz"}, {"runtime", "app"}}},
    {"core",
     {{"base"},
      {"graph", "milp", "costs", "dtr"},
      {"schedule", "hierarchy"},
      {"addresses", "bounds", "checking", "pins", "snapshots"},
      {"solving"},
      {"solvers"},
      {"planning"}}},
    // A solver may start from the answers of solvers on lower floors.
    {"core/solvers",
     {{"keep_all", "chen", "rotor", "dtr", "selective", "annealing", "staged"},
      {"revolve", "hierarchical"},
      {"offmate"},
      {"atlas"},
      {"checkmate"}}},
    {"runtime",
     {{"torch_versions"},
      {"allocator", "dispatch", "model", "transfers"},
      {"device"},
      {"replay", "shapes"},
      {"capture"},
      {"eviction"},
      {"verify"},
      {"training", "program"}}},
    {"viz", {{"layout"}, {"block_view"}, {"paint"}, {"report"}}},
    {"app", {{"programs"}, {"cli", "explorer"}}},
    // The lower floors have no widgets: loaded files, words, background jobs, tables, files and the session.
    // Above them are the common look, the parts of the window, and the window.
    {"app/explorer",
     {{"loaded"},
      {"words"},
      {"jobs"},
      {"models"},
      {"files"},
      {"session"},
      {"look"},
      {"graph", "docks", "measured", "followed"},
      {"window"}}},
};

bool is_source(const fs::path& file) {
    return file.extension() == ".h" || file.extension() == ".cpp";
}

bool has_sources(const fs::path& folder) {
    return std::any_of(fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator(),
                       [](const auto& file) { return is_source(file.path()); });
}

std::map<std::string, std::size_t> numbered(const Floors& floors) {
    std::map<std::string, std::size_t> floor_of;
    for (std::size_t floor = 0; floor < floors.size(); ++floor)
        for (const std::string& folder : floors[floor]) floor_of[folder] = floor;
    return floor_of;
}

/// Returns the includes between subfolders of `house.folder` that do not lead to a lower floor.
std::vector<std::string> arrows_up(const fs::path& root, const House& house) {
    const std::string prefix = house.folder.empty() ? "" : house.folder + "/";
    const std::regex include("^\\s*#\\s*include \"" + prefix + "([a-z_-]+)/");
    const std::map<std::string, std::size_t> floor_of = numbered(house.floors);
    std::vector<std::string> found;
    for (const auto& [folder, floor] : floor_of) {
        for (const auto& file : fs::recursive_directory_iterator(root / house.folder / folder)) {
            if (!is_source(file.path())) continue;
            std::ifstream text(file.path());
            for (std::string line; std::getline(text, line);) {
                std::smatch match;
                if (!std::regex_search(line, match, include) || match[1] == folder) continue;
                const auto to = floor_of.find(match[1]);
                if (to == floor_of.end() || to->second >= floor)
                    found.push_back(fs::relative(file.path(), root).string() + ": " + line);
            }
        }
    }
    return found;
}

/// Returns the subfolders of `house.folder` that have sources but are on no floor, and the names on floors
/// that are no subfolders.
std::vector<std::string> without_floor(const fs::path& root, const House& house) {
    const std::map<std::string, std::size_t> floor_of = numbered(house.floors);
    std::vector<std::string> found;
    for (const auto& [folder, floor] : floor_of)
        if (!fs::is_directory(root / house.folder / folder)) found.push_back(folder + " is not there");
    if (house.folder.empty()) return found;
    for (const auto& folder : fs::directory_iterator(root / house.folder))
        if (folder.is_directory() && has_sources(folder) && !floor_of.contains(folder.path().filename()))
            found.push_back(fs::relative(folder.path(), root).string() + " is on no floor");
    return found;
}

const fs::path root = REMATLAS_SOURCE_DIR;

TEST(Floors, ArrowsPointDown) {
    for (const House& house : houses) EXPECT_THAT(arrows_up(root, house), testing::IsEmpty()) << house.folder;
}

TEST(Floors, NoFolderIsWithoutOne) {
    for (const House& house : houses)
        EXPECT_THAT(without_floor(root, house), testing::IsEmpty()) << house.folder;
}

TEST(Floors, AnArrowUpIsSeen) {
    for (House house : houses) {
        std::reverse(house.floors.begin(), house.floors.end());
        EXPECT_THAT(arrows_up(root, house), testing::Not(testing::IsEmpty())) << house.folder;
    }
}

TEST(Floors, AnArrowToTheSideIsSeen) {
    for (House house : houses) {
        house.floors[0].insert(house.floors[0].end(), house.floors[1].begin(), house.floors[1].end());
        house.floors.erase(house.floors.begin() + 1);
        EXPECT_THAT(arrows_up(root, house), testing::Not(testing::IsEmpty())) << house.folder;
    }
}

TEST(Floors, AFolderWithoutOneIsSeen) {
    for (House house : houses) {
        if (house.folder.empty()) continue;
        const std::string dropped = house.floors.back().back();
        house.floors.back().back() = "attic";
        EXPECT_THAT(without_floor(root, house),
                    testing::UnorderedElementsAre("attic is not there",
                                                  house.folder + "/" + dropped + " is on no floor"));
    }
}

}  // namespace
