#include "core/solvers/hierarchical/level.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rematlas::hierarchical {

Level::Level(const FlatGraph& whole, std::vector<LevelBlock> blocks, const Subproblem* parent)
    : whole_(whole), blocks_(std::move(blocks)), parent_(parent), number_(whole.tensor_count, -1) {
    // A tensor gets an id in the level if `outside` makes it, or if some block makes it and other blocks read
    // it or it stays until the end. All other tensors that the blocks read are given to the level.
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Subproblem& block = *blocks_[b].block;
        for (const int t : block.passed_on) maker_[number(block.tensor_of[t])] = static_cast<std::int32_t>(b);
        for (const int t : block.left) number(block.tensor_of[t]);
    }
    if (parent_) {
        for (const int t : parent_->received) outside_.makes.push_back(number(parent_->tensor_of[t]));
        for (const int t : parent_->passed_on) outside_.reads.push_back(number(parent_->tensor_of[t]));
    }
    const auto& results = parent_ ? parent_->flat.results : whole.results;
    for (const int t : results)
        if (const int n = number_[parent_ ? parent_->tensor_of[t] : t]; n >= 0) results_.push_back(n);
    for (const LevelBlock& block : blocks_) interfaces_.push_back(interface_of(block));
    find_ops_that_run_once();
    merge_alike();
    lay_out();
    for (const BlockInterface& block : interfaces_) {
        std::vector<std::int32_t>& makers = makers_.emplace_back();
        for (const int t : block.forward.reads)
            if (maker_[t] >= 0) makers.push_back(maker_[t]);
        std::sort(makers.begin(), makers.end());
        makers.erase(std::unique(makers.begin(), makers.end()), makers.end());
    }
}

std::int32_t Level::number(std::int32_t tensor) {
    if (number_[tensor] < 0) {
        number_[tensor] = static_cast<std::int32_t>(bytes_.size());
        bytes_.push_back(whole_.bytes[tensor]);
        maker_.push_back(-1);
    }
    return number_[tensor];
}

Level::BlockInterface Level::interface_of(const LevelBlock& level_block) {
    const Subproblem& block = *level_block.block;
    BlockInterface made;
    const auto add = [&](std::vector<std::int32_t>& list, int tensor) {
        if (number_[tensor] >= 0) list.push_back(number_[tensor]);
    };
    for (const int op : level_block.options->advance.forward)
        for (const int t : block.given_inputs[op]) add(made.forward.reads, t);
    for (int op = 0; op < block.outside; ++op)
        for (const int t : block.given_inputs[op]) add(made.forward.reads, t);
    std::sort(made.forward.reads.begin(), made.forward.reads.end());
    made.forward.reads.erase(std::unique(made.forward.reads.begin(), made.forward.reads.end()),
                             made.forward.reads.end());
    for (const int t : block.passed_on) add(made.forward.makes, block.tensor_of[t]);
    for (const BlockOption& option : level_block.options->options) {
        Interface& backward = made.backward.emplace_back();
        std::int64_t counted = option.saved;
        for (const int t : option.held) {
            add(backward.reads, block.tensor_of[t]);
            counted += block.flat.bytes[t];
        }
        for (const int t : block.received) {
            add(backward.reads, block.tensor_of[t]);
            counted += block.flat.bytes[t];
        }
        for (const int t : option.reread) add(backward.reads, block.given[t]);
        for (const int t : block.left) add(backward.makes, block.tensor_of[t]);
        made.counted.push_back(counted);
    }
    return made;
}

/// Finds the blocks that must never advance. Ops that may run only once would not run in a second forward
/// visit. So the tensors that they made in the first visit would have to be kept until then.
void Level::find_ops_that_run_once() {
    for (const LevelBlock& level_block : blocks_) {
        const Subproblem& block = *level_block.block;
        const int end = block.outside < 0 ? block.flat.op_count : block.outside;
        std::uint8_t& once = runs_forward_once_.emplace_back(0);
        for (int op = 0; op < end; ++op) {
            if (block.flat.recomputable[op]) continue;
            for (const int t : block.flat.outputs[op]) {
                const std::int32_t tensor = block.tensor_of[t];
                once |= !whole_.users[tensor].empty();
                if (!whole_.users[tensor].empty() || number_[tensor] < 0) continue;
                always_bytes_ += std::exchange(bytes_[number_[tensor]], 0);
            }
        }
    }
}

/// Merges tensors that are read and made by the same visits. This makes moves of the annealing cheaper,
/// because their cost is linear in the tensors that the visits touch. Most merged tensors are gradients of
/// parameters: one visit makes them, and they stay until the end of the step.
void Level::merge_alike() {
    std::vector<Interface*> lists{&outside_};
    for (BlockInterface& block : interfaces_) {
        lists.push_back(&block.forward);
        for (Interface& backward : block.backward) lists.push_back(&backward);
    }
    std::vector<std::vector<std::int32_t>> touched_by(bytes_.size());
    for (const int t : results_) touched_by[t].push_back(0);
    std::int32_t number = 0;
    for (const Interface* list : lists) {
        ++number;
        for (const int t : list->reads) touched_by[t].push_back(number);
        for (const int t : list->makes) touched_by[t].push_back(-number);
    }
    std::map<std::vector<std::int32_t>, std::int32_t> one_of;
    std::vector<std::int32_t> merged(bytes_.size());
    std::vector<std::int64_t> bytes;
    std::vector<std::int32_t> makers;
    for (std::size_t t = 0; t < merged.size(); ++t) {
        const auto [at, is_first] = one_of.emplace(touched_by[t], static_cast<std::int32_t>(bytes.size()));
        merged[t] = at->second;
        if (is_first) {
            bytes.push_back(bytes_[t]);
            makers.push_back(maker_[t]);
        } else {
            bytes[merged[t]] += bytes_[t];
        }
    }
    const auto renumber = [&](std::vector<std::int32_t>& tensors) {
        for (std::int32_t& t : tensors) t = merged[t];
        std::sort(tensors.begin(), tensors.end());
        tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
    };
    for (Interface* list : lists) {
        renumber(list->reads);
        renumber(list->makes);
    }
    renumber(results_);
    bytes_ = std::move(bytes);
    maker_ = std::move(makers);
}

/// Writes flat arrays with the costs of each visit and the tensors that it reads and makes.
void Level::lay_out() {
    const auto add = [&](const Interface& interface, std::int64_t time, std::int64_t bytes,
                         std::int64_t saved) {
        Play play{.first_read = static_cast<std::int32_t>(touched_.size()),
                  .time = time,
                  .bytes = bytes,
                  .saved = saved};
        touched_.insert(touched_.end(), interface.reads.begin(), interface.reads.end());
        play.first_made = static_cast<std::int32_t>(touched_.size());
        touched_.insert(touched_.end(), interface.makes.begin(), interface.makes.end());
        play.end = static_cast<std::int32_t>(touched_.size());
        plays_.push_back(play);
    };
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        first_play_.push_back(static_cast<std::int32_t>(plays_.size()));
        const BlockOptions& options = *blocks_[b].options;
        add(interfaces_[b].forward, options.advance.forward_time, options.advance.forward_peak, 0);
        for (std::size_t k = 0; k < options.options.size(); ++k) {
            const BlockOption& option = options.options[k];
            add(interfaces_[b].forward, option.forward_time, option.forward_peak, option.saved);
            add(interfaces_[b].backward[k], option.backward_time,
                backward_bytes(static_cast<int>(b), static_cast<int>(k)), -option.saved);
        }
    }
    first_play_.push_back(static_cast<std::int32_t>(plays_.size()));
    add(outside_, 0, 0, 0);
    set_workspace(0);
}

void Level::set_workspace(std::int64_t bytes) {
    workspace_ = bytes;
    plays_.back().bytes = bytes;
    for (const int t : outside_.makes) plays_.back().bytes += bytes_[t];
}

const Level::Play& Level::play(const Visit& visit, const LevelSchedule& schedule) const {
    const std::int32_t first = first_play_[visit.block];
    if (visit.kind == Visit::Kind::outside || visit.kind == Visit::Kind::advance) return plays_[first];
    return plays_[first + 1 + 2 * schedule.option[visit.block] + (visit.kind == Visit::Kind::backward)];
}

LevelSchedule Level::once(std::vector<std::int32_t> option) const {
    LevelSchedule schedule{.visits = {}, .option = std::move(option)};
    for (int b = 0; b < size(); ++b) schedule.visits.push_back({b, Visit::Kind::save});
    if (parent_) schedule.visits.push_back({size(), Visit::Kind::outside});
    for (int b = size(); b-- > 0;) schedule.visits.push_back({b, Visit::Kind::backward});
    return schedule;
}

// As in run sequences, a tensor is kept between two visits that touch it if the second visit reads it.
LevelCost Level::cost_of(const LevelSchedule& schedule, std::int64_t budget) const {
    enum : std::uint8_t { none, read, made };
    const std::size_t visits = schedule.visits.size();
    playing_.resize(visits);
    std::size_t events = 0;
    for (std::size_t i = 0; i < visits; ++i) {
        playing_[i] = &play(schedule.visits[i], schedule);
        events += playing_[i]->end - playing_[i]->first_read;
    }
    next_.assign(bytes_.size(), none);
    for (const int t : results_) next_[t] = read;
    kept_.resize(events);
    for (std::size_t i = visits, at = events; i-- > 0;) {
        const Play& play = *playing_[i];
        for (std::int32_t k = play.end; k-- > play.first_read;) kept_[--at] = next_[touched_[k]] == read;
        for (std::int32_t k = play.first_made; k < play.end; ++k) next_[touched_[k]] = made;
        for (std::int32_t k = play.first_read; k < play.first_made; ++k) next_[touched_[k]] = read;
    }
    LevelCost cost;
    made_.assign(bytes_.size(), 0);
    done_.assign(blocks_.size(), 0);
    bool may_run_backward = !has_outside();
    std::int64_t alive = always_bytes_;
    const std::uint8_t* kept = kept_.data();
    std::uint8_t are_made = 1;
    for (std::size_t i = 0; i < visits; ++i) {
        const Visit& visit = schedule.visits[i];
        const Play& play = *playing_[i];
        if (visit.kind == Visit::Kind::outside) {
            may_run_backward = true;
        } else if (visit.kind == Visit::Kind::advance) {
            if (runs_forward_once_[visit.block] || done_[visit.block]) cost.executable = false;
        } else if (visit.kind == Visit::Kind::backward) {
            cost.executable = cost.executable && may_run_backward;
            done_[visit.block] = 1;
        }
        const std::int64_t during = alive + play.bytes;
        cost.time += play.time;
        cost.peak = std::max(cost.peak, during);
        cost.excess += std::max<std::int64_t>(0, during - budget);
        alive += play.saved;
        for (std::int32_t k = play.first_read; k < play.first_made; ++k) {
            const std::int32_t t = touched_[k];
            are_made &= made_[t];
            alive -= bytes_[t] * (1 - *kept++);
        }
        for (std::int32_t k = play.first_made; k < play.end; ++k) {
            const std::int32_t t = touched_[k];
            made_[t] = 1;
            alive += bytes_[t] * *kept++;
        }
    }
    cost.executable = cost.executable && are_made;
    return cost;
}

std::int64_t Level::time_of(const LevelSchedule& schedule) const {
    std::int64_t time = 0;
    for (const Visit& visit : schedule.visits) time += play(visit, schedule).time;
    return time;
}

RunSequence Level::lowered(const LevelSchedule& schedule) const {
    RunSequence runs;
    std::vector<std::uint8_t> ran(whole_.op_count, 0);
    const auto add = [&](const Subproblem& block, const RunSequence& part) {
        for (const int run : part) {
            const int op = block.op_of[run];
            if (!whole_.recomputable[op] && ran[op]) continue;
            ran[op] = 1;
            runs.push_back(op);
        }
    };
    for (const Visit& visit : schedule.visits) {
        if (visit.kind == Visit::Kind::outside) {
            runs.push_back(-1);
            continue;
        }
        const LevelBlock& block = blocks_[visit.block];
        const BlockOption& option = block.options->options[schedule.option[visit.block]];
        if (visit.kind == Visit::Kind::advance) add(*block.block, block.options->advance.forward);
        if (visit.kind == Visit::Kind::save) add(*block.block, option.forward);
        if (visit.kind == Visit::Kind::backward) add(*block.block, option.backward);
    }
    return runs;
}

}  // namespace rematlas::hierarchical
