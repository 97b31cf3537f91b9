// Tests the cache on disk for the options of blocks: a block finds the options of an equal block, and no
// options are taken from a damaged file.
#include "core/solvers/hierarchical/option_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

#include "core/base/files.h"
#include "core/solvers/hierarchical/block_table.h"
#include "core/solvers/hierarchical/hiremate.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/shuffled_graph.h"

namespace rematlas::hierarchical {
namespace {

namespace fs = std::filesystem;

const CachedOptions kSome{.times = {5, 7, 9}, .options = {{0, 1, 2}, {0, 1, 0, 2}}};

class OptionCacheTest : public testing::Test {
  protected:
    OptionCacheTest()
        : folder(fs::temp_directory_path() / ("rematlas-option-cache-" + std::to_string(getpid()))) {
        fs::remove_all(folder);
    }
    ~OptionCacheTest() override { fs::remove_all(folder); }

    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        if (fs::exists(folder))
            for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
        return found;
    }

    const fs::path folder;
};

TEST_F(OptionCacheTest, GivesBackWhatWasKept) {
    OptionCache(folder).keep("a block", kSome);
    const OptionCache cache(folder);
    const auto found = cache.find("a block", kSome.times, 0);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->times, kSome.times);
    EXPECT_EQ(found->options, kSome.options);
    EXPECT_FALSE(cache.find("another block", kSome.times, 0));
    EXPECT_EQ(cache.damaged(), 0);
}

TEST_F(OptionCacheTest, TakesTimesWithinTheToleranceAlone) {
    const OptionCache cache(folder);
    cache.keep("a block", {.times = {100, 100}, .options = {{0, 1}}});
    EXPECT_TRUE(cache.find("a block", {101, 99}, 0.01));
    EXPECT_FALSE(cache.find("a block", {102, 99}, 0.01));
    EXPECT_FALSE(cache.find("a block", {101, 99}, 0));
    EXPECT_EQ(cache.damaged(), 0);
}

TEST_F(OptionCacheTest, KeepsNothingWithoutAFolderOrWhereItMayNotWrite) {
    OptionCache({}).keep("a block", kSome);
    EXPECT_FALSE(OptionCache({}).find("a block", kSome.times, 0));
    std::ofstream(folder.string()) << "a file";
    const OptionCache cache(folder);
    cache.keep("a block", kSome);
    EXPECT_FALSE(cache.find("a block", kSome.times, 0));
}

TEST_F(OptionCacheTest, NoticesEveryDamage) {
    const std::string text = cached_text(kSome);
    ASSERT_TRUE(parse_cached(text));
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string other = text;
        other[i] = static_cast<char>(other[i] ^ 4);
        EXPECT_FALSE(parse_cached(other)) << i;
        EXPECT_FALSE(parse_cached(text.substr(0, i))) << i;
    }
    EXPECT_FALSE(parse_cached(text + "x"));
    EXPECT_FALSE(parse_cached(cached_text({.times = {1}, .options = {{0, 1}}}))) << "no such op";
    EXPECT_FALSE(parse_cached(cached_text({.times = {1}, .options = {{-1}}}))) << "no such op";
}

TEST_F(OptionCacheTest, ReplacesADamagedFile) {
    const OptionCache cache(folder);
    cache.keep("a block", kSome);
    ASSERT_EQ(files().size(), 1u);
    fs::resize_file(files().front(), 40);
    EXPECT_FALSE(cache.find("a block", kSome.times, 0));
    EXPECT_EQ(cache.damaged(), 1);
    cache.keep("a block", kSome);
    EXPECT_TRUE(cache.find("a block", kSome.times, 0));
    EXPECT_EQ(cache.damaged(), 1);
}

TEST_F(OptionCacheTest, RemovesTheOldestFilesAboveItsSize) {
    const OptionCache cache(folder);
    for (int i = 0; i < 5; ++i) {
        const std::vector<fs::path> before = files();
        cache.keep(std::to_string(i), kSome);
        for (const fs::path& path : files())
            if (std::find(before.begin(), before.end(), path) == before.end())
                fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(5 - i));
    }
    std::ofstream(folder / "of somebody else") << "text";
    cache.shrink(2 * static_cast<std::int64_t>(cached_text(kSome).size()));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(cache.find(std::to_string(i), kSome.times, 0).has_value(), i >= 3);
    EXPECT_TRUE(fs::exists(folder / "of somebody else"));
}

TEST_F(OptionCacheTest, IsSharedByWriters) {
    const auto work = [&](int first) {
        const OptionCache cache(folder);
        for (int i = 0; i < 200; ++i) {
            cache.keep(std::to_string(i % 5), {.times = {5, 7, 9}, .options = {{0, 1, (first + i) % 3}}});
            EXPECT_TRUE(cache.find(std::to_string(i % 5), {5, 7, 9}, 0));
        }
        EXPECT_EQ(cache.damaged(), 0);
    };
    std::jthread one(work, 0), two(work, 1), three(work, 2);
}

Graph layers() {
    return gpt_graph({.layers = 3, .batch = 1, .sequence = 64, .width = 32, .heads = 2, .vocabulary = 64});
}

/// Returns, for each block in the order of the tree, the saved bytes and the time of each option.
std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> options_in(const BlockTable& table) {
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> all;
    for (std::size_t b = 1; b < table.tree().blocks.size(); ++b) {
        all.emplace_back();
        for (const BlockOption& option : table.options_of(static_cast<int>(b)).options)
            all.back().emplace_back(option.saved, option.time());
    }
    return all;
}

class TableCacheTest : public OptionCacheTest {
  protected:
    /// Returns the options of a filled table. With a time of 0, all options except the one that keeps
    /// everything can come only from the cache.
    auto filled(const Graph& graph, const OptionCache& cache, std::chrono::nanoseconds time) const {
        const FlatGraph flat = flatten(graph);
        BlockTable table({graph, flat}, training_tree(graph, flat, {.by = Partition::articulation}), options);
        table.fill(Deadline({.time = time}), 1, cache);
        return options_in(table);
    }
    const BlockTableOptions options{.bottom = {.saved_limits = 3, .peak_limits = 2, .moves_an_op = 20},
                                    .level_moves = 500};
};

TEST_F(TableCacheTest, HasTheOptionsOfBlocksWithoutASearch) {
    const Graph graph = layers();
    const auto searched = filled(graph, OptionCache(folder), std::chrono::hours(1));
    EXPECT_EQ(filled(graph, OptionCache(folder), {}), searched);
    EXPECT_NE(filled(graph, OptionCache({}), {}), searched);
}

TEST_F(TableCacheTest, HasThemWhateverTheIdsAndTheOrder) {
    const Graph graph = layers();
    const auto searched = filled(graph, OptionCache(folder), std::chrono::hours(1));
    EXPECT_EQ(filled(shuffled(graph, 3), OptionCache(folder), {}), searched);
}

TEST_F(TableCacheTest, SearchesAnewWhatIsDamaged) {
    const Graph graph = layers();
    const auto searched = filled(graph, OptionCache(folder), std::chrono::hours(1));
    for (const fs::path& path : files()) fs::resize_file(path, fs::file_size(path) / 2);
    const OptionCache cache(folder);
    EXPECT_EQ(filled(graph, cache, std::chrono::hours(1)), searched);
    EXPECT_EQ(cache.damaged(), static_cast<int>(files().size()));
    EXPECT_EQ(filled(graph, OptionCache(folder), {}), searched);
}

TEST_F(TableCacheTest, KeepsNothingOfASearchThatWasStopped) {
    const Graph graph = layers();
    filled(graph, OptionCache(folder), {});
    EXPECT_TRUE(files().empty());
}

TEST_F(TableCacheTest, OptionsThatCannotRunAreSearchedAnew) {
    const Graph graph = layers();
    const auto searched = filled(graph, OptionCache(folder), std::chrono::hours(1));
    for (const fs::path& path : files()) {
        auto kept = parse_cached(*read_file(path));
        ASSERT_TRUE(kept);
        for (RunSequence& runs : kept->options) std::reverse(runs.begin(), runs.end());
        ASSERT_TRUE(write_file(path, cached_text(*kept)));
    }
    EXPECT_EQ(filled(graph, OptionCache(folder), std::chrono::hours(1)), searched);
}

TEST_F(TableCacheTest, AnswersDoNotDependOnIt) {
    const Graph graph = layers();
    const FlatGraph flat = flatten(graph);
    HiremateOptions small;
    small.blocks = options;
    const std::int64_t least = least_peak(flat).bytes.value, most = keep_all_peak(flat).value;
    const auto steps = [&](const fs::path& at) {
        const Answer answer =
            make_hiremate(small)->solve({graph, flat}, Bytes(least + (most - least) * 7 / 10),
                                        {.time = std::chrono::hours(1), .cache = at}, {});
        return std::get<Solution>(answer).steps;
    };
    const auto without = steps({});
    EXPECT_EQ(steps(folder), without);
    EXPECT_FALSE(files().empty());
    EXPECT_EQ(steps(folder), without);
}

}  // namespace
}  // namespace rematlas::hierarchical
