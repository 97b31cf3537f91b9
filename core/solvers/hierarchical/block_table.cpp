#include "core/solvers/hierarchical/block_table.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/solvers/hierarchical/level_search.h"

namespace rematlas::hierarchical {

namespace {

/// Calls `work(0)` .. `work(count - 1)`, some at a time.
template <class Work>
void for_each_side_by_side(int count, int threads, const Work& work) {
    std::atomic<int> next = 0;
    const auto take = [&] {
        for (int i = next++; i < count; i = next++) work(i);
    };
    std::vector<std::jthread> helpers;
    for (int i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(take);
    take();
}

}  // namespace

BlockTable::BlockTable(const Problem& problem, TrainingTree tree, const BlockTableOptions& options,
                       const std::vector<std::uint8_t>& always)
    : flat_(always.empty() ? problem.flat : without_bytes(problem.flat, always)),
      options_(options),
      tree_(std::move(tree)) {
    EqualBlocks equal(options.tolerance);
    parts_.resize(1);
    class_.resize(1, -1);
    for (int b = 1; b < static_cast<int>(tree_.blocks.size()); ++b) {
        const TrainingBlock& block = tree_.blocks[b];
        std::vector<std::int32_t> forward(tree_.forward.begin() + block.begin,
                                          tree_.forward.begin() + block.end);
        parts_.push_back(subproblem(flat_, tree_.rank, forward, block.backward));
        class_.push_back(equal.class_of(parts_.back()));
        if (class_.back() == static_cast<int>(first_of_.size())) first_of_.push_back(b);
    }
    by_class_.resize(first_of_.size());
}

bool BlockTable::fill(const Deadline& deadline, int threads) {
    std::vector<int> height(tree_.blocks.size(), 0);
    for (std::size_t b = tree_.blocks.size(); b-- > 1;)
        height[tree_.blocks[b].parent] = std::max(height[tree_.blocks[b].parent], height[b] + 1);
    for (int level = 0; level < height.front(); ++level) {
        std::vector<int> classes;
        for (std::size_t c = 0; c < first_of_.size(); ++c)
            if (height[first_of_[c]] == level) classes.push_back(static_cast<int>(c));
        for_each_side_by_side(static_cast<int>(classes.size()), threads, [&](int i) {
            const int c = classes[i], block = first_of_[c];
            const std::uint64_t seed = options_.seed + 1000 * static_cast<std::uint64_t>(c);
            by_class_[c] = level == 0 ? search_options(parts_[block], options_.bottom, seed, deadline)
                                      : combined(block, seed, deadline);
        });
    }
    return !deadline.passed();
}

Level BlockTable::level_of(int block) const {
    std::vector<LevelBlock> blocks;
    for (const int child : tree_.blocks[block].children)
        blocks.push_back({&parts_[child], &options_of(child)});
    return Level(flat_, std::move(blocks), block == 0 ? nullptr : &parts_[block]);
}

LevelSchedule BlockTable::choose(int block, const Level& level, LevelSchedule start, std::int64_t budget,
                                 std::uint64_t seed, std::uint64_t moves, const Deadline& deadline) const {
    std::vector<std::int32_t> classes;
    for (const int child : tree_.blocks[block].children) classes.push_back(class_[child]);
    LevelSchedule found =
        search_level(level, std::move(start),
                     {.budget = budget, .seed = seed, .moves = moves, .group = &classes}, deadline);
    if (!options_.programme) return found;
    return solve_programme(level, std::move(found), budget, *options_.programme, deadline);
}

BlockOptions BlockTable::combined(int b, std::uint64_t seed, const Deadline& deadline) const {
    const Subproblem& part = parts_[b];
    BlockOptions found{.advance = advance_option(part), .options = {keep_all_option(part)}};
    if (part.outside < 0) return found;
    Level level = level_of(b);
    std::vector<std::int32_t> local(flat_.op_count, -1);
    for (int op = 0; op < part.flat.op_count; ++op)
        if (part.op_of[op] >= 0) local[part.op_of[op]] = op;
    const std::int64_t beside = bytes_beside(part);
    const BlockOption all = found.options.front();
    const std::int64_t most = std::max(all.forward_peak, all.backward_peak);
    const std::int64_t least = std::min(most, least_peak(part.flat).bytes.value);
    LevelSchedule schedule = level.once(std::vector<std::int32_t>(level.size(), 0));
    for (int p = options_.level_peak_limits; p-- > 0;) {
        const std::int64_t peak = least + (most - least) * (p + 1) / options_.level_peak_limits;
        LevelSchedule start = schedule;
        for (int s = options_.level_saved_limits; s-- > 0;) {
            if (deadline.passed()) break;
            const std::int64_t saved = all.saved * s / options_.level_saved_limits;
            level.set_workspace(std::max<std::int64_t>(0, peak - beside - saved));
            start = choose(b, level, start, peak, ++seed, static_cast<std::uint64_t>(options_.level_moves),
                           deadline);
            if (s + 1 == options_.level_saved_limits) schedule = start;
            RunSequence runs = level.lowered(start);
            for (std::int32_t& run : runs) run = run < 0 ? part.outside : local[run];
            found.options.push_back(measured(part, without_useless(part.flat, runs)));
        }
        keep_best(found.options);
    }
    return found;
}

}  // namespace rematlas::hierarchical
