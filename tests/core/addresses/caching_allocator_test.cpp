#include "core/addresses/caching_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20;
constexpr CachingAllocatorOptions expandable{.expandable_segments = true};

/// Implements the rules of CachingAllocator on plain lists, which are searched from end to end.
class NaiveAllocator {
  public:
    explicit NaiveAllocator(CachingAllocatorOptions options) : options_(options) {}

    std::int64_t allocate(std::int64_t bytes) {
        const std::int64_t size = (bytes + 511) / 512 * 512;
        const bool small = size <= MiB;
        std::size_t in = 0, at = 0;
        if (!find(small, size, in, at)) make_room(small, size, in, at);
        std::vector<Block>& blocks = segments_[in].blocks;
        blocks[at].free = false;
        const std::int64_t rest = blocks[at].size - size;
        if (small || options_.expandable_segments ? rest >= 512 : rest > MiB) {
            blocks[at].size = size;
            const Block left{blocks[at].address + size, rest, true};
            blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(at) + 1, left);
        }
        return blocks[at].address;
    }

    void free(std::int64_t address) {
        for (Segment& segment : segments_) {
            for (std::size_t i = 0; i < segment.blocks.size(); ++i)
                if (segment.blocks[i].address == address) segment.blocks[i].free = true;
            for (std::size_t i = 1; i < segment.blocks.size();) {
                Block &left = segment.blocks[i - 1], &right = segment.blocks[i];
                if (!left.free || !right.free) {
                    ++i;
                    continue;
                }
                left.size += right.size;
                segment.blocks.erase(segment.blocks.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }

    std::int64_t allocated() const {
        return sum([](const Block& block) { return !block.free; });
    }
    std::int64_t reserved() const {
        return sum([](const Block&) { return true; });
    }

  private:
    struct Block {
        std::int64_t address, size;
        bool free;
    };
    struct Segment {
        bool small;
        std::vector<Block> blocks;
    };

    template <class Counts>
    std::int64_t sum(Counts counts) const {
        std::int64_t bytes = 0;
        for (const Segment& segment : segments_)
            for (const Block& block : segment.blocks) bytes += counts(block) ? block.size : 0;
        return bytes;
    }

    bool find(bool small, std::int64_t size, std::size_t& in, std::size_t& at) const {
        std::tuple<bool, std::int64_t, std::int64_t> best{true, INT64_MAX, INT64_MAX};
        bool found = false;
        for (std::size_t s = 0; s < segments_.size(); ++s) {
            for (std::size_t i = 0; i < segments_[s].blocks.size(); ++i) {
                const Block& block = segments_[s].blocks[i];
                if (segments_[s].small != small || !block.free || block.size < size) continue;
                const bool grows = options_.expandable_segments && i + 1 == segments_[s].blocks.size();
                const std::tuple key{grows, block.size, block.address};
                if (found && key >= best) continue;
                best = key, in = s, at = i, found = true;
            }
        }
        return found;
    }

    void make_room(bool small, std::int64_t size, std::size_t& in, std::size_t& at) {
        if (!options_.expandable_segments) {
            const std::int64_t bytes = small                   ? 2 * MiB
                                       : size < 10 * MiB       ? options_.large_segment
                                       : size % (2 * MiB) == 0 ? size
                                                               : size / (2 * MiB) * 2 * MiB + 2 * MiB;
            segments_.push_back({small, {{next_, bytes, false}}});
            next_ += bytes;
            in = segments_.size() - 1, at = 0;
            return;
        }
        const auto same = [&](const Segment& segment) { return segment.small == small; };
        auto segment = std::find_if(segments_.begin(), segments_.end(), same);
        if (segment == segments_.end()) {
            segments_.push_back({small, {}});
            segment = std::prev(segments_.end());
            base_[small] = next_;
            next_ += std::int64_t{1} << 61;
        }
        std::vector<Block>& blocks = segment->blocks;
        while (blocks.empty() || !blocks.back().free || blocks.back().size < size) {
            const std::int64_t page = small ? 2 * MiB : options_.large_segment;
            const std::int64_t end =
                blocks.empty() ? base_[small] : blocks.back().address + blocks.back().size;
            if (!blocks.empty() && blocks.back().free)
                blocks.back().size += page;
            else
                blocks.push_back({end, page, true});
        }
        in = static_cast<std::size_t>(segment - segments_.begin()), at = blocks.size() - 1;
    }

    CachingAllocatorOptions options_;
    std::vector<Segment> segments_;
    std::int64_t next_ = 0, base_[2] = {0, 0};
};

/// Returns a random size near a limit at which the allocator's rules change.
std::int64_t random_size(std::mt19937_64& random) {
    const std::int64_t around[] = {1, 512, 100 * KiB, MiB, 3 * MiB, 10 * MiB, 40 * MiB};
    const std::int64_t middle = around[random() % 7];
    return std::max<std::int64_t>(1, middle + static_cast<std::int64_t>(random() % 2048) - 1024);
}

TEST(CachingAllocator, equals_the_naive_one_request_by_request) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        std::mt19937_64 random(seed);
        const CachingAllocatorOptions options{.expandable_segments = seed % 2 == 0};
        CachingAllocator model(options);
        NaiveAllocator naive(options);
        std::vector<std::int64_t> alive;
        for (int i = 0; i < 400; ++i) {
            if (!alive.empty() && random() % 5 < 2) {
                const std::size_t pick = random() % alive.size();
                model.free(alive[pick]);
                naive.free(alive[pick]);
                alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(pick));
            } else {
                const std::int64_t size = random_size(random);
                alive.push_back(model.allocate(size));
                ASSERT_EQ(alive.back(), naive.allocate(size)) << "seed " << seed << ", request " << i;
            }
            ASSERT_EQ(model.allocated(), naive.allocated()) << "seed " << seed << ", request " << i;
            ASSERT_EQ(model.reserved(), naive.reserved()) << "seed " << seed << ", request " << i;
        }
    }
}

TEST(CachingAllocator, live_blocks_are_large_enough_aligned_and_do_not_overlap) {
    for (const bool grows : {false, true}) {
        std::mt19937_64 random(7);
        CachingAllocator model({.expandable_segments = grows});
        std::map<std::int64_t, std::int64_t> alive;  // address, requested bytes
        for (int i = 0; i < 3000; ++i) {
            if (!alive.empty() && random() % 2) {
                const auto pick =
                    std::next(alive.begin(), static_cast<std::ptrdiff_t>(random() % alive.size()));
                model.free(pick->first);
                alive.erase(pick);
                continue;
            }
            const std::int64_t size = random_size(random), address = model.allocate(size);
            EXPECT_EQ(address % 512, 0);
            EXPECT_GE(model.size_at(address), size);
            const auto [entry, fresh] = alive.emplace(address, size);
            ASSERT_TRUE(fresh);
            if (const auto next = std::next(entry); next != alive.end()) {
                EXPECT_LE(address + model.size_at(address), next->first);
            }
            if (entry != alive.begin()) {
                EXPECT_LE(std::prev(entry)->first + model.size_at(std::prev(entry)->first), address);
            }
            EXPECT_GE(model.reserved(), model.allocated());
        }
    }
}

TEST(CachingAllocator, freeing_everything_brings_back_whole_segments) {
    for (const bool grows : {false, true}) {
        std::mt19937_64 random(3);
        CachingAllocator model({.expandable_segments = grows});
        std::vector<std::int64_t> alive;
        for (int i = 0; i < 500; ++i) alive.push_back(model.allocate(random_size(random)));
        std::shuffle(alive.begin(), alive.end(), random);
        for (std::int64_t address : alive) model.free(address);
        EXPECT_EQ(model.allocated(), 0);
        EXPECT_EQ(model.free_blocks(), model.segments());
        EXPECT_EQ(model.segments() == 2, grows);
    }
}

TEST(CachingAllocator, documented_sizes) {
    CachingAllocator model;
    EXPECT_EQ(model.size_at(model.allocate(1)), 512);
    EXPECT_EQ(model.size_at(model.allocate(513)), 1024);
    EXPECT_EQ(model.reserved(), 2 * MiB) << "small requests share a segment of 2 MiB";
    model.allocate(MiB);
    EXPECT_EQ(model.reserved(), 2 * MiB);
    const std::int64_t large = model.allocate(MiB + 1);
    EXPECT_EQ(model.reserved(), 22 * MiB) << "from 1 MiB on segments have 20 MiB";
    EXPECT_EQ(model.size_at(large), MiB + 512);
    const std::int64_t own = model.allocate(25 * MiB);
    EXPECT_EQ(model.reserved(), 48 * MiB) << "from 10 MiB on a request has a segment of its own";
    EXPECT_EQ(model.size_at(own), 26 * MiB) << "what is left is not more than 1 MiB: not split";
    CachingAllocator growing(expandable);
    EXPECT_EQ(growing.size_at(growing.allocate(25 * MiB)), 25 * MiB) << "expandable segments always split";
    EXPECT_EQ(growing.reserved(), 40 * MiB);
}

TEST(CachingAllocator, an_expandable_segment_keeps_its_end_for_what_fits_nowhere_else) {
    CachingAllocator model(expandable);
    const std::int64_t hole = model.allocate(4 * MiB), wall = model.allocate(2 * MiB);
    model.free(hole);  // free now: a hole of 4 MiB, and 14 MiB at the end
    EXPECT_EQ(model.allocate(3 * MiB), hole);
    EXPECT_EQ(model.allocate(8 * MiB), wall + 2 * MiB);
    EXPECT_EQ(model.allocate(8 * MiB), wall + 10 * MiB) << "the 6 MiB that are left grow";
    EXPECT_EQ(model.reserved(), 40 * MiB);
}

TEST(CachingAllocator, peaks_of_a_schedule_hold_its_live_peak) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Graph graph = seed % 2 ? random_training_graph(seed) : random_odd_graph(seed, 12);
        for (Tensor& tensor : graph.tensors)
            tensor.bytes = Bytes(tensor.bytes.value * (seed % 3 ? 300'000 : 1));
        const FlatGraph flat = flatten(graph);
        const std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
        const Bytes live = simulate(graph, steps)->peak;
        for (const bool grows : {false, true}) {
            const auto peaks = caching_allocator_peaks(graph, steps, {.expandable_segments = grows});
            ASSERT_TRUE(peaks) << peaks.error().message;
            EXPECT_GE(peaks->allocated, live) << seed;
            EXPECT_GE(peaks->reserved, peaks->allocated) << seed;
        }
    }
}

/// If all sizes are multiples of 512 bytes, the most bytes that the allocator hands out are exactly the live
/// peak. So the budget of the graph also limits the allocator.
TEST(CachingAllocator, expandable_segments_allocate_the_live_peak_of_a_graph_in_granules) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Graph graph = random_training_graph(seed, {.inplace = seed % 2 == 0});
        for (Tensor& tensor : graph.tensors) tensor.bytes = Bytes(tensor.bytes.value * 512 * (seed % 5000));
        for (Op& op : graph.ops) op.workspace = Bytes(op.workspace.value * 512);
        for (Op& op : graph.ops)
            std::erase_if(op.inplace, [&](const InplacePair& pair) {
                return graph.tensors[pair.in].bytes != graph.tensors[pair.out].bytes;
            });
        const FlatGraph flat = flatten(graph);
        const std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
        EXPECT_EQ(caching_allocator_peaks(graph, steps, expandable)->allocated, simulate(graph, steps)->peak)
            << seed;
    }
}

TEST(CachingAllocator, steps_that_are_not_possible_and_absurd_sizes_are_refused) {
    EXPECT_FALSE(caching_allocator_peaks(small_graph(), {Step::run(OpId(1))}, {}));
    Graph huge = small_graph();
    huge.tensors[TensorId(1)].bytes = Bytes(std::int64_t{1} << 61);
    const std::vector<Step> steps = lower(flatten(huge), keep_all_sequence(flatten(huge)));
    EXPECT_FALSE(caching_allocator_peaks(huge, steps, {}));
    EXPECT_FALSE(caching_allocator_peaks(huge, steps, expandable));
}

}  // namespace
}  // namespace rematlas
