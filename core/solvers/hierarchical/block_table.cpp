#include "core/solvers/hierarchical/block_table.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "core/solvers/hierarchical/level_search.h"
#include "core/solving/library_option.h"

namespace rematlas::hierarchical {

namespace {

constexpr std::int64_t kMostCached = std::int64_t{256} << 20;  // bytes

/// Returns the place of each op, which is the inverse of `CanonicalBlock::ops`.
std::vector<std::int32_t> places_in(const CanonicalBlock& block) {
    std::vector<std::int32_t> place(block.ops.size());
    for (std::size_t i = 0; i < place.size(); ++i) place[block.ops[i]] = static_cast<std::int32_t>(i);
    return place;
}

/// Calls `work(0)` .. `work(count - 1)` on up to `threads` threads.
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

void read_bottom_options(OptionReader& reader, PartitionOptions& partition, BlockTableOptions& blocks) {
    using enum Partition;
    reader.choice<Partition>("partition", partition.by,
                             {{to_string(articulation), articulation},
                              {to_string(bottom_up), bottom_up},
                              {to_string(modules), modules},
                              {to_string(repeats), repeats}});
    reader.integer("most_items", partition.most_items, 2, 1000);
    reader.number("size_power", partition.size_power, 0, 4);
    reader.integer("saved_limits", blocks.bottom.saved_limits, 1, 100);
    reader.integer("peak_limits", blocks.bottom.peak_limits, 1, 100);
    reader.integer("moves_an_op", blocks.bottom.moves_an_op, 1, 100'000);
}

void read_block_options(OptionReader& reader, PartitionOptions& partition, BlockTableOptions& blocks) {
    read_bottom_options(reader, partition, blocks);
    reader.unsigned_integer("seed", blocks.seed);
    reader.choice<BlockSolver>("block_solver", blocks.bottom.solver,
                               {{"annealing", BlockSolver::annealing},
                                {"checkmate", BlockSolver::checkmate},
                                {"dtr", BlockSolver::dtr}});
    bool programmes = blocks.programme.has_value();
    reader.choice<bool>("level_solver", programmes, {{"annealing", false}, {"milp", true}});
    if (programmes && !blocks.programme) blocks.programme.emplace();
    ProgrammeLimits& own = blocks.programme ? *blocks.programme : blocks.bottom.programme;
    read_library(reader, own.library, programmes || blocks.bottom.solver == BlockSolver::checkmate);
    blocks.bottom.programme.library = own.library;
}

BlockTable::BlockTable(const Problem& problem, TrainingTree tree, const BlockTableOptions& options,
                       const std::vector<std::uint8_t>& always)
    : flat_(always.empty() ? problem.flat : without_bytes(problem.flat, always)),
      options_(options),
      tree_(std::move(tree)) {
    EqualBlocks equal(options.tolerance);
    parts_.resize(1);
    canonical_.resize(1);
    class_.resize(1, -1);
    for (int b = 1; b < static_cast<int>(tree_.blocks.size()); ++b) {
        const TrainingBlock& block = tree_.blocks[b];
        std::vector<std::int32_t> forward(tree_.forward.begin() + block.begin,
                                          tree_.forward.begin() + block.end);
        parts_.push_back(subproblem(flat_, tree_.rank, forward, block.backward));
        canonical_.push_back(canonical(parts_.back()));
        class_.push_back(equal.class_of(canonical_.back()));
        of_class_.resize(std::max<std::size_t>(of_class_.size(), class_.back() + 1));
        of_class_[class_.back()].push_back(b);
        const CanonicalBlock& first = canonical_[of_class_[class_.back()].front()];
        for (std::size_t place = 0; place < first.times.size(); ++place)
            parts_.back().flat.time[canonical_.back().ops[place]] = first.times[place];
    }
    options_of_.resize(parts_.size());
}

bool BlockTable::fill(const Deadline& deadline, int threads, const OptionCache& cache) {
    std::vector<int> height(tree_.blocks.size(), 0);
    for (std::size_t b = tree_.blocks.size(); b-- > 1;)
        height[tree_.blocks[b].parent] = std::max(height[tree_.blocks[b].parent], height[b] + 1);
    std::atomic<bool> has_kept = false;
    for (int level = 0; level < height.front(); ++level) {
        std::vector<int> classes;
        for (std::size_t c = 0; c < of_class_.size(); ++c)
            if (height[of_class_[c].front()] == level) classes.push_back(static_cast<int>(c));
        for_each_side_by_side(static_cast<int>(classes.size()), threads, [&](int i) {
            if (solve_block(of_class_[classes[i]].front(), deadline, cache)) has_kept = true;
            copy_to_equals(classes[i]);
        });
    }
    if (has_kept) cache.shrink(kMostCached);
    return !deadline.passed();
}

bool BlockTable::solve_block(int b, const Deadline& deadline, const OptionCache& cache) {
    const std::string key = key_of(b);
    if (take_cached(b, key, cache)) return false;
    // The seed is derived from the key, not from the id of the class, so that the options of a block do not
    // depend on the other blocks of the step.
    const std::uint64_t seed = options_.seed + 1000 * (std::hash<std::string>()(key) % 1'000'000);
    options_of_[b] = tree_.blocks[b].children.empty()
                         ? search_options(parts_[b], options_.bottom, seed, deadline)
                         : combined(b, seed, deadline);
    if (deadline.passed()) return false;
    keep_in(cache, key, b);
    return true;
}

/// Copies the options of the class's first block, op by op, to the other blocks of the class.
void BlockTable::copy_to_equals(int class_number) {
    const int first = of_class_[class_number].front();
    const std::vector<std::int32_t> place = places_in(canonical_[first]);
    for (const int b : of_class_[class_number]) {
        if (b == first) continue;
        const auto there = [&](const BlockOption& option) {
            RunSequence runs = whole_sequence(parts_[first], option);
            for (std::int32_t& run : runs) run = canonical_[b].ops[place[run]];
            return runs;
        };
        options_of_[b].advance = advance_option(parts_[b]);
        for (const BlockOption& option : options_of_[first].options)
            options_of_[b].options.push_back(measured(parts_[b], there(option)));
    }
}

/// Returns everything, except times, on which the options of a block depend: the structure of the block, the
/// way it is partitioned, and the effort of the search.
std::string BlockTable::key_of(int b) const {
    std::string key = canonical_[b].structure;
    const auto append = [&](auto number) { key += " " + std::to_string(number); };
    const auto append_programme = [&](const ProgrammeLimits& programme) {
        key += to_string(programme.library);
        append(programme.time.count());
        append(programme.gap);
    };
    const auto& children = tree_.blocks[b].children;
    append(options_.seed);
    append(options_.bottom.saved_limits);
    append(options_.bottom.peak_limits);
    append(options_.bottom.moves_an_op);
    append(options_.bottom.least_moves);
    append(static_cast<int>(options_.bottom.solver));
    if (options_.bottom.solver == BlockSolver::checkmate) append_programme(options_.bottom.programme);
    append(children.size());
    if (children.empty()) return key;
    append(options_.level_saved_limits);
    append(options_.level_peak_limits);
    append(options_.level_moves);
    if (options_.programme) append_programme(*options_.programme);
    for (const int child : children) key += key_of(child);
    return key;
}

bool BlockTable::take_cached(int b, const std::string& key, const OptionCache& cache) {
    const auto found = cache.find(key, canonical_[b].times, options_.tolerance);
    if (!found) return false;
    BlockOptions options{.advance = advance_option(parts_[b]), .options = {}};
    for (RunSequence runs : found->options) {
        for (std::int32_t& run : runs) run = canonical_[b].ops[run];
        if (!is_executable(parts_[b].flat, runs)) return false;
        options.options.push_back(measured(parts_[b], runs));
    }
    if (options.options.empty()) return false;
    keep_best(options.options);
    options_of_[b] = std::move(options);
    return true;
}

void BlockTable::keep_in(const OptionCache& cache, const std::string& key, int b) const {
    CachedOptions kept{.times = canonical_[b].times, .options = {}};
    const std::vector<std::int32_t> place = places_in(canonical_[b]);
    for (const BlockOption& option : options_of_[b].options) {
        RunSequence runs = whole_sequence(parts_[b], option);
        for (std::int32_t& run : runs) run = place[run];
        kept.options.push_back(std::move(runs));
    }
    cache.keep(key, kept);
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
    // Without reruns, blocks with children take many bytes, and under a tight budget they get only a small
    // part of these. So the limits grow exponentially: most of them are near the least peak.
    const double growth =
        std::log(static_cast<double>(most) / static_cast<double>(std::max<std::int64_t>(least, 1)));
    for (int p = options_.level_peak_limits; p-- > 0;) {
        const double share = static_cast<double>(p + 1) / options_.level_peak_limits;
        const auto peak =
            static_cast<std::int64_t>(static_cast<double>(most) * std::exp(growth * (share - 1)));
        LevelSchedule start = schedule;
        for (int s = options_.level_saved_limits; s-- > 0;) {
            if (deadline.passed()) break;
            const double part_saved = static_cast<double>(s) / options_.level_saved_limits;
            const auto saved =
                static_cast<std::int64_t>(static_cast<double>(all.saved) * part_saved * part_saved);
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
