#include "core/solvers/hierarchical/level.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rematlas::hierarchical {

Level::Level(const FlatGraph& whole, std::vector<LevelBlock> blocks, const Subproblem* parent)
    : whole_(whole), blocks_(std::move(blocks)), parent_(parent), number_(whole.tensor_count, -1) {
    // Everything that some block makes for others first: what is left is given to the level.
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

/// A second forward visit would leave out such an op: what it made would have to be there since the first.
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

/// Makes one tensor of those that all visits treat alike: a move's cost is linear in what the visits touch, and
/// most of it are the gradients of parameters, which one visit makes and the end reads.
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

const Level::Interface& Level::interface_of(const Visit& visit, const LevelSchedule& schedule) const {
    if (visit.kind == Visit::Kind::outside) return outside_;
    const BlockInterface& block = interfaces_[visit.block];
    return visit.kind == Visit::Kind::backward ? block.backward[schedule.option[visit.block]] : block.forward;
}

LevelSchedule Level::once(std::vector<std::int32_t> option) const {
    LevelSchedule schedule{.visits = {}, .option = std::move(option)};
    for (int b = 0; b < size(); ++b) schedule.visits.push_back({b, Visit::Kind::save});
    if (parent_) schedule.visits.push_back({size(), Visit::Kind::outside});
    for (int b = size(); b-- > 0;) schedule.visits.push_back({b, Visit::Kind::backward});
    return schedule;
}

// Lifetimes are those of run sequences: between two events a tensor is kept if the second one reads it.
LevelCost Level::cost_of(const LevelSchedule& schedule, std::int64_t budget) const {
    enum : std::uint8_t { none, read, made };
    next_.assign(bytes_.size(), none);
    for (const int t : results_) next_[t] = read;
    std::size_t events = 0;
    for (const Visit& visit : schedule.visits) {
        const Interface& interface = interface_of(visit, schedule);
        events += interface.reads.size() + interface.makes.size();
    }
    kept_.resize(events);
    for (std::size_t i = schedule.visits.size(), at = events; i-- > 0;) {
        const Interface& interface = interface_of(schedule.visits[i], schedule);
        at -= interface.reads.size() + interface.makes.size();
        std::size_t k = at;
        for (const int t : interface.reads) kept_[k++] = next_[t] == read;
        for (const int t : interface.makes) kept_[k++] = next_[t] == read;
        for (const int t : interface.makes) next_[t] = made;
        for (const int t : interface.reads) next_[t] = read;
    }
    LevelCost cost{.time = time_of(schedule)};
    made_.assign(bytes_.size(), 0);
    done_.assign(blocks_.size(), 0);
    bool may_run_backward = !has_outside();
    std::int64_t alive = always_bytes_;
    std::size_t at = 0;
    for (const Visit& visit : schedule.visits) {
        const Interface& interface = interface_of(visit, schedule);
        std::int64_t during = alive;
        if (visit.kind == Visit::Kind::outside) {
            during += workspace_;
            may_run_backward = true;
            for (const int t : interface.makes) during += bytes_[t];
        } else {
            const BlockOptions& options = *blocks_[visit.block].options;
            const std::int32_t chosen = schedule.option[visit.block];
            const BlockOption& option = options.options[chosen];
            if (visit.kind == Visit::Kind::advance) {
                during += options.advance.forward_peak;
                if (runs_forward_once_[visit.block] || done_[visit.block]) cost.executable = false;
            } else if (visit.kind == Visit::Kind::save) {
                during += option.forward_peak;
                alive += option.saved;
            } else {
                during += option.backward_peak - interfaces_[visit.block].counted[chosen];
                alive -= option.saved;
                cost.executable = cost.executable && may_run_backward;
                done_[visit.block] = 1;
            }
        }
        for (const int t : interface.reads) {
            cost.executable = cost.executable && made_[t];
            alive -= kept_[at++] ? 0 : bytes_[t];
        }
        for (const int t : interface.makes) {
            made_[t] = 1;
            alive += kept_[at++] ? bytes_[t] : 0;
        }
        cost.peak = std::max(cost.peak, during);
        cost.excess += std::max<std::int64_t>(0, during - budget);
    }
    return cost;
}

std::int64_t Level::time_of(const LevelSchedule& schedule) const {
    std::int64_t time = 0;
    for (const Visit& visit : schedule.visits) {
        if (visit.kind == Visit::Kind::outside) continue;
        const BlockOptions& options = *blocks_[visit.block].options;
        const BlockOption& option = options.options[schedule.option[visit.block]];
        if (visit.kind == Visit::Kind::advance) time += options.advance.forward_time;
        if (visit.kind == Visit::Kind::save) time += option.forward_time;
        if (visit.kind == Visit::Kind::backward) time += option.backward_time;
    }
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
